"""Rollouts: what a frozen agent sees, does and thinks, step by step, in one file.

The keys, types and shapes are the Atari Zoo's, so that its notebooks and viewers read these files too. Two keys are
added, `actions` and `starts`, with which the episodes can be played again frame by frame.
Source: Such et al. 2018, arXiv:1812.07069, and its rollout files.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neurozoo.environments import World, make_world
from neurozoo.environments.single_frame import largest
from neurozoo.errors import NeurozooError
from neurozoo.files import explained
from neurozoo.inspection.frozen import FrozenModel, open_frozen, use_one_thread
from neurozoo.inspection.progress import Progress
from neurozoo.inspection.streams import Spool, npz_written_whole

EMULATOR_SEEDS = 2**31  # seeds of the sticky actions are drawn below this


@dataclass(frozen=True)
class Rollout:
    """What was recorded.

    Attributes:
        steps: Number of records.
        scores: Each episode's score; the last episode may have been cut off.
        steps_per_second: How fast it went, without the writing of the file.
    """

    steps: int
    scores: tuple[float, ...]
    steps_per_second: float


def record_rollout(
    frozen_folder: str | os.PathLike,
    output: str | os.PathLike,
    *,
    episodes: int = 1,
    max_steps: int = 2500,
    seed: int = 0,
    noops: int | None = None,
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
) -> Rollout:
    """Lets a frozen agent play, and records every step before it acts.

    The file holds, for N steps and E episodes: `observations` float32, (N, 84, 84, 4) in [0, 1] for most Atari
    protocols, else what the world shows, `frames` (N, height, width, 3) uint8, `ram` (N, 128) uint8, (N, 0) where there
    is none, `representation` (N, units) float32, the second-to-last layer's activation, `score` (N,) float64, points of
    the episode so far, `actions` (N,) int16, what the agent did then, or (N, outputs) float32 where all outputs are
    obeyed, `ep_rewards` (E,) float64, and `starts` (E, 3) int64: first record, no-ops and seed of each episode. The
    same agent and arguments give the same bytes. Memory does not grow with N.

    Args:
        frozen_folder: The frozen model; nothing else of the run is needed.
        output: The `.npz` to write.
        episodes: How many episodes to play.
        max_steps: Steps of all episodes together after which recording ends; the episode that runs then is cut off.
        seed: Decides the no-ops at the start of each episode and which actions stick.
        noops: Starts every episode with this many no-ops instead of drawing them.
        log: Optional file for progress lines.
        terminal: `bar` for a progress bar where standard error is a terminal, `lines` for lines.

    Returns:
        Steps, scores and speed.

    Raises:
        NeurozooError: The folder is no frozen model or does not fit its game, a number is out of range, or the disk is
            full.
    """
    if episodes < 1 or max_steps < 1:
        raise NeurozooError(f"A rollout has episodes >= 1 and max_steps >= 1, but {episodes} and {max_steps} came.")
    frozen = open_frozen(frozen_folder)
    environment = make_world(frozen.game, frozen.protocol)
    if environment.num_outputs != len(frozen.actions):
        raise NeurozooError(
            f"{frozen.game} has {environment.num_outputs} actions under {frozen.protocol.name}, but the frozen model "
            f"in {frozen.folder} has {len(frozen.actions)}. Freeze an agent that was trained on this game."
        )
    use_one_thread()
    think = _thinking(frozen)
    folder = Path(output).parent
    progress = Progress(f"rollout of {frozen.title}", total=max_steps, log=log, terminal=terminal)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with progress, ExitStack() as spools:
            records = _Records(environment, frozen, folder=folder, spools=spools)
            start = time.perf_counter()
            scores = _play(environment, think, records, _starts(frozen, episodes, seed, noops), max_steps, progress)
            speed = len(records) / (time.perf_counter() - start)
            progress.say(f"scores {', '.join(f'{score:,.0f}' for score in scores)}")
            records.write(output, scores)
    except OSError as error:
        raise explained(error, output) from error
    return Rollout(len(records), tuple(scores), speed)


def _starts(frozen: FrozenModel, episodes: int, seed: int, noops: int | None) -> Iterator[dict[str, int]]:
    """Yields each episode's no-ops and emulator seed, which depend on its number and on nothing played before."""
    for episode in range(episodes):
        generator = np.random.default_rng([seed, episode])
        most = frozen.protocol.max_noops
        drawn = int(generator.integers(1, most, endpoint=True)) if most else 0
        yield {"noops": drawn if noops is None else noops, "seed": int(generator.integers(EMULATOR_SEEDS))}


def _play(
    environment: World,
    think: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    records: "_Records",
    starts: Iterator[dict[str, int]],
    max_steps: int,
    progress: Progress,
) -> list[float]:
    """Plays the episodes until the records are full, and returns their scores."""
    scores = []
    for start in starts:
        observation = environment.reset(**start)
        records.begin_episode(**start)
        scores.append(0.0)
        while not environment.is_done and len(records) < max_steps:
            representation, outputs = think(observation)
            records.append(representation, outputs, scores[-1])
            observation, reward, _ = environment.act(outputs)
            scores[-1] += reward
            progress.advance()
        if len(records) == max_steps:
            break
    return scores


def _thinking(frozen: FrozenModel) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Returns a fast function from one observation to representation and outputs."""
    import tensorflow as tf

    model = frozen.activations_model([frozen.representation.name, frozen.layers[-1].name])
    run = tf.function(lambda batch: model(batch, training=False))

    def think(observation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        representation, outputs = run(tf.constant(observation[np.newaxis]))
        return representation.numpy()[0], outputs.numpy()[0]

    think(np.zeros(frozen.shape.observation, np.float32))  # compiles it
    return think


class _Records:
    """The records of a rollout, on disk until their number is known; planes stand for the stacks that they make."""

    def __init__(self, environment: World, frozen: FrozenModel, *, folder: Path, spools: ExitStack):
        self._environment = environment
        self._starts = []
        self._is_continuous = frozen.is_continuous
        self._shape = frozen.shape
        shapes = {
            "plane": (self._shape.plane, np.float32),
            "frames": (environment.screen_shape, np.uint8),
            "ram": (environment.ram.shape, np.uint8),
            "representation": (frozen.representation.shape, np.float32),
            "score": ((), np.float64),
            "actions": ((len(frozen.actions),), np.float32) if frozen.is_continuous else ((), np.int16),
        }
        self._spools = {
            key: spools.enter_context(Spool(folder, shape, dtype)) for key, (shape, dtype) in shapes.items()
        }

    def __len__(self) -> int:
        return len(self._spools["score"])

    def begin_episode(self, *, noops: int, seed: int) -> None:
        """Says that the records from here on are those of another episode."""
        self._starts.append((len(self), noops, seed))

    def append(self, representation: np.ndarray, outputs: np.ndarray, score: float) -> None:
        """Records the environment's present step."""
        self._spools["plane"].append(self._environment.plane.reshape(self._shape.plane))
        self._spools["frames"].append(self._environment.screen)
        self._spools["ram"].append(self._environment.ram)
        self._spools["representation"].append(representation)
        self._spools["score"].append(np.float64(score))
        self._spools["actions"].append(outputs if self._is_continuous else np.int16(largest(outputs)))

    def write(self, output: str | os.PathLike, scores: list[float]) -> None:
        """Writes the rollout file."""
        with npz_written_whole(output) as npz:
            shape = (len(self), *self._shape.observation)
            npz.write("observations", self._observations(), shape=shape, dtype=np.float32)
            for key in ("frames", "ram", "representation", "score", "actions"):
                spool = self._spools[key]
                npz.write(key, spool.rows(), shape=(len(self), *spool.row_shape), dtype=spool.dtype)
            npz.write("ep_rewards", [np.array(scores)], shape=(len(scores),), dtype=np.float64)
            npz.write("starts", [np.array(self._starts)], shape=(len(self._starts), 3), dtype=np.int64)

    def _observations(self) -> Iterator[np.ndarray]:
        stack = []
        starts = {first for first, _, _ in self._starts}
        for number, plane in enumerate(self._spools["plane"].rows()):
            before = [np.zeros_like(plane)] * self._shape.stack if number in starts else stack
            stack = [*before[1:], plane]
            yield np.concatenate(stack, axis=-1)
