"""An evolved network that runs through platform levels, instead of the agent that searches."""

import os
from collections.abc import Callable

import numpy as np

from neurozoo.environments.evolved_agents import dense_outputs, reading_agent, trained_weights
from neurozoo.environments.platformer.senses import ACTIONS, NUM_SENSED, TICKS_PER_STEP, look_around
from neurozoo.environments.platformer.simulator import CORE, JUMP, RUNNING, Games, Replay, replay, tiles_of_feet
from neurozoo.environments.platformer.tiles import HEIGHT, WIDTH

GAME = "gym.Platformer-v0"
Runner = Callable[[np.ndarray], np.ndarray]  # from what it senses to a value per action, which the largest one wins


def read_runner(path: str | os.PathLike) -> Runner:
    """Reads an agent that was evolved in platform levels: the `checkpoint.npz` of a run of gym.Platformer-v0.

    Raises:
        NeurozooError: The file is missing, damaged, or of another game or network.
    """
    with reading_agent(path, levels="platform levels") as arrays:
        run = trained_weights(arrays, game=GAME, actions=range(len(ACTIONS), len(ACTIONS) + 1))
        return dense_outputs(run, (1, 1, NUM_SENSED))


def run_through(runner: Runner, level: np.ndarray, *, core: str | os.PathLike = CORE) -> tuple[np.ndarray, Replay]:
    """Lets an evolved agent play a level (uint8, shape (16, 56), characters) once; it would do the same again.

    Returned are its decisions, uint8, shape (ticks,), and the game tick by tick.
    """
    buttons, codes = np.zeros(0, np.uint8), list(ACTIONS.values())
    now = replay(level, buttons, newest_only=True, core=core)
    while now.status[-1] == RUNNING:
        sensed = look_around(now, holds_jump=bool(len(buttons) and buttons[-1] & JUMP))
        held = codes[int(runner(sensed).argmax())]
        buttons = np.append(buttons, np.full(TICKS_PER_STEP, held, np.uint8))
        now = replay(level, buttons, newest_only=True, core=core)
    return buttons[: now.tick[-1]], replay(level, buttons, core=core)


def play_with(runner: Runner, levels: np.ndarray, *, core: str | os.PathLike = CORE) -> Games:
    """Lets an evolved agent play levels (uint8, shape (levels, 16, 56), characters), once each."""
    runs = [run_through(runner, level, core=core) for level in levels]
    ticks = [game for _, game in runs]
    length = np.array([[len(buttons)] for buttons, _ in runs], np.int32)
    return Games(
        status=np.array([[game.status[-1]] for game in ticks], np.int32),
        completion=np.array([[game.completion[-1]] for game in ticks], np.float32),
        counts=np.stack([game.counts[-1:] for game in ticks]),
        longest_jump=np.array([[game.longest_jump[-1]] for game in ticks], np.float32),
        ticks=length,
        nodes=np.zeros(length.shape, np.int64),
        occupancy=np.stack([_visits(game) for game in ticks]),
        buttons=np.concatenate([buttons for buttons, _ in runs]),
    )


def _visits(game: Replay) -> np.ndarray:
    """Counts the ticks on each tile, without the start: int32, shape (16, 56)."""
    visited = tiles_of_feet(game.position[1:])
    return np.bincount(visited, minlength=HEIGHT * WIDTH).reshape(HEIGHT, WIDTH).astype(np.int32)
