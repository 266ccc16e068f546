"""The platform game and its agent, which are native: plays levels, and shows what happened tick by tick.

Buttons of a decision are bits: see `LEFT` to `JUMP`. Levels are characters, see `tiles.to_characters`; the game knows
some more than the alphabet of levels, such as winged enemies in capital letters.

Source: sections 13.3 and 13.4 of the description of DSAGE.
"""

import os
from dataclasses import dataclass

import numpy as np

from neurozoo.environments.platformer.tiles import HEIGHT, TILE_SIZE, WIDTH
from neurozoo.native import CORE, load_core

LEFT, RIGHT, DOWN, SPEED, JUMP = 1, 2, 4, 8, 16
RUNNING, WON, LOST, TIME_OUT = range(4)  # status of a game
COUNTS = (
    "jumps", "stomp_kills", "shell_kills", "fire_kills", "fall_kills", "hurts", "coins", "tile_coins", "lives",
    "mushrooms", "flowers", "longest_air",
)  # fmt: skip
KILLS = ("stomp_kills", "shell_kills", "fire_kills", "fall_kills")
# Kinds of sprites, and what tiles do, by number
KINDS = (
    "runner", "goomba", "green_koopa", "red_koopa", "spiky", "shell", "bullet", "mushroom", "life_mushroom", "flower",
    "fireball",
)  # fmt: skip
TILES = (
    "air", "solid", "used", "cannon", "brick", "coin_block", "power_block", "life_block", "hidden_coin", "hidden_life",
    "platform", "coin",
)  # fmt: skip
SPRITE = np.dtype([(name, "f4") for name in ("kind", "x", "y", "vx", "vy", "facing", "home", "has_wings")])


@dataclass(frozen=True)
class Games:
    """What the agent did in several levels: arrays of shape (levels, runs), unless said."""

    status: np.ndarray  # `WON`, `LOST` or `TIME_OUT`
    completion: np.ndarray  # share of the way, 0 to 1
    counts: np.ndarray  # int32, shape (levels, runs, 12): see `COUNTS`
    longest_jump: np.ndarray  # pixels
    ticks: np.ndarray  # decisions
    nodes: np.ndarray  # nodes that the agent took from its open lists
    # int32, shape (levels, 16, 56): ticks in which the runner's feet were on each tile, over all runs
    occupancy: np.ndarray
    buttons: np.ndarray  # uint8, shape (decisions,): those of all runs, one after the other

    def count(self, name: str) -> np.ndarray:
        """Returns a count of `COUNTS`, or `kills`: int64, shape (levels, runs)."""
        names = KILLS if name == "kills" else (name,)
        return self.counts[..., [COUNTS.index(each) for each in names]].sum(axis=-1)

    def buttons_of_first_runs(self) -> list[np.ndarray]:
        """Returns the decisions of the first run in each level."""
        ends = np.concatenate([[0], np.cumsum(self.ticks.reshape(-1), dtype=np.int64)])
        runs = self.ticks.shape[1]
        return [self.buttons[ends[i * runs] : ends[i * runs + 1]] for i in range(len(self.ticks))]


@dataclass(frozen=True)
class Replay:
    """A game, tick by tick: after its start and after each decision, or after the last one only.

    Attributes have shape (ticks,), unless said.
    """

    position: np.ndarray  # shape (ticks, 4): x and y of the runner's feet in pixels, and its speed
    camera: np.ndarray  # x of the screen's left side in pixels
    longest_jump: np.ndarray  # pixels, so far
    status: np.ndarray  # `RUNNING`, and at the end `WON`, `LOST` or `TIME_OUT`
    power: np.ndarray  # 0 small, 1 large, 2 throws fire
    is_protected: np.ndarray
    facing: np.ndarray  # -1 or 1
    counts: np.ndarray  # shape (ticks, 12): see `COUNTS`
    sprites: list[np.ndarray]  # one structured array per tick, see `SPRITE`; newest first, the runner among them
    tiles: np.ndarray  # shape (ticks, 16, 56): what each tile does, see `TILES`
    completion: np.ndarray  # share of the way
    tick: np.ndarray  # decisions before; 0 is the start


def play(levels: np.ndarray, budgets: np.ndarray, *, threads: int = 1, core: str | os.PathLike = CORE) -> Games:
    """Lets the agent play levels. Level and budget decide a game; the number of threads changes nothing.

    Args:
        levels: uint8, shape (levels, 16, 56), characters.
        budgets: int32, shape (levels, runs): nodes that the agent may take from its open list per tick.
        threads: How many play at once.
        core: The native core.

    Raises:
        NeurozooError: A level has another size or an unknown character, a budget is below 1, or the library is missing
            or does not fit.
    """
    *found, _ = load_core(core).play_platformer(levels=levels, budgets=budgets, num_threads=threads)
    return Games(*found)


def replay(
    level: np.ndarray,
    buttons: np.ndarray,
    *,
    power: int = 0,
    newest_only: bool = False,
    core: str | os.PathLike = CORE,
) -> Replay:
    """Plays decisions in a level, as many as fit before the game ends; both as in `play`.

    The runner starts with some `power`, see `Replay`. To return the last tick only is faster.

    Raises:
        NeurozooError: See `play`.
    """
    runner, state, counts, sprites, tiles, completion = load_core(core).replay_platformer(
        level=level, buttons=buttons, power=power, newest_only=newest_only
    )
    records = sprites.view(SPRITE).reshape(-1)
    return Replay(
        position=runner[:, :4],
        camera=runner[:, 4],
        longest_jump=runner[:, 5],
        status=state[:, 0],
        power=state[:, 1],
        is_protected=state[:, 2] > 0,
        facing=state[:, 3],
        counts=counts,
        sprites=np.split(records, np.cumsum(state[:-1, 4])),
        tiles=tiles.reshape(-1, HEIGHT, WIDTH),
        completion=completion,
        tick=state[:, 5],
    )


def tiles_of_feet(positions: np.ndarray) -> np.ndarray:
    """Returns the tiles at positions, see `Replay.position`: int16, row * 56 + column; places outside are left out."""
    column, row = np.trunc(positions[:, :2].T / TILE_SIZE).astype(np.int16)
    is_inside = (row >= 0) & (row < HEIGHT) & (column >= 0) & (column < WIDTH)
    return (row * WIDTH + column)[is_inside]
