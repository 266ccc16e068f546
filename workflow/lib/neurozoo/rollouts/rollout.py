"""Records rollouts: what a frozen agent sees, does and computes, step by step, in one file.

Keys, types and shapes are the Atari Zoo's, so its notebooks and viewers can read these files. We add `format`, and
`actions` and `starts`, with which the episodes can be replayed frame by frame.
Source: Such et al. 2018, arXiv:1812.07069, and its rollout files.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neurozoo import __version__
from neurozoo.agents.frozen import FrozenModel, open_frozen, use_one_thread
from neurozoo.environments import World
from neurozoo.environments.world import largest
from neurozoo.errors import NeurozooError, explained
from neurozoo.files.npz import Spool, npz_written_whole
from neurozoo.folders import opened_parent, reached
from neurozoo.interventions.intervention import Intervention
from neurozoo.records.format import FORMAT, KEY
from neurozoo.rollouts.perturbations import Perturbation
from neurozoo.rollouts.player import Decision, Player, episode_starts, world_of_agent
from neurozoo.rollouts.progress import Progress
from neurozoo.rollouts.step_table import StepTable
from neurozoo.text import number_label


@dataclass(frozen=True)
class Rollout:
    """Summary of a recording."""

    steps: int  # number of recorded steps
    scores: tuple[float, ...]  # score of each episode; the last one may have been cut off
    steps_per_second: float  # recording speed, without the time to write the file
    is_cut: bool = False  # whether the last episode was cut off after `max_steps`


def record_rollout(
    frozen_folder: str | os.PathLike,
    output: str | os.PathLike,
    *,
    episodes: int = 1,
    max_steps: int = 2500,
    min_steps: int = 0,
    seed: int = 0,
    noops: int | None = None,
    observation_noise: float = 0.0,
    parameter_noise: float = 0.0,
    action_noise: float = 0.0,
    sticky_probability: float | None = None,
    intervention: Mapping[str, Any] | None = None,
    recorded: str | os.PathLike | None = None,
    streamlined: bool = False,
    table: str | os.PathLike | None = None,
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
) -> Rollout:
    """Lets a frozen agent play, and records the state of every step before the agent acts.

    The file holds, for N steps and E episodes:

    - `observations`: float32, as the agent saw them, noise included; (N, 84, 84, 4) in [0, 1] for most Atari protocols,
      else (N, *shape of the world's observations).
    - `frames`: (N, height, width, 3) uint8, the screen.
    - `ram`: (N, 128) uint8, or (N, 0) where there is none.
    - `representation`: (N, units) float32, the second-to-last layer's activation.
    - `score`: (N,) float64, points of the episode so far.
    - `actions`: (N,) int16, the action that followed; (N, outputs) float32 where outputs are continuous.
    - `ep_rewards`: (E,) float64, the score of each episode.
    - `starts`: (E, 3) int64, first step, no-ops and seed of each episode.
    - `perturbation`: the JSON text of the `Perturbation` and its `seed`, if there is one or the seed is not 0.
    - `format`: int64, see `neurozoo.records.format`.

    The same agent and arguments give the same bytes. Memory does not grow with N.

    Args:
        frozen_folder: The frozen model; nothing else of the run is needed.
        output: The `.npz` to write.
        episodes: Minimum number of episodes to play.
        max_steps: Recording ends after this many steps of all episodes together; the running episode is cut off.
        min_steps: Plays more episodes until there are this many steps.
        seed: Decides the no-ops at the start of each episode, which actions stick, and all noise.
        noops: Starts every episode with this many no-ops instead of drawing them.
        observation_noise: See `Perturbation`, also for the next three.
        parameter_noise: Of the kernels.
        action_noise: Probability of a random action.
        sticky_probability: That the emulator repeats an action.
        intervention: What is replaced inside the network, see `Intervention.from_config`.
        recorded: A rollout of the agent itself, from which some interventions take activations.
        streamlined: Leaves out `observations`, `frames`, `ram` and `representation`.
        table: Optional `.parquet` of the steps, see `StepTable`; without RAM if `streamlined`.
        log: See `Progress`.
        terminal: See `Progress`.

    Raises:
        NeurozooError: The folder holds no frozen model, the model does not fit its game, a number is out of range, or
            the disk is full.
    """
    if episodes < 1 or max_steps < 1:
        raise NeurozooError(
            f"A rollout needs episodes >= 1 and max_steps >= 1, but episodes is {episodes} and max_steps {max_steps}."
        )
    if not 0 <= min_steps <= max_steps:
        raise NeurozooError(f"min_steps should be from 0 to max_steps, which is {max_steps}, but is {min_steps}.")
    if seed < 0:
        raise NeurozooError(f"The seed of a rollout should be >= 0, but is {seed}.")
    frozen = open_frozen(frozen_folder)
    replaced = None if intervention is None else Intervention.from_config(intervention)
    perturbation = Perturbation(observation_noise, parameter_noise, action_noise, sticky_probability, replaced)
    starts = enumerate(episode_starts(perturbation.protocol(frozen), seed=seed, noops=noops))
    return record_episodes(
        frozen, output, starts, perturbation=perturbation, seed=seed, episodes=episodes, max_steps=max_steps,
        min_steps=min_steps, recorded=recorded, streamlined=streamlined, table=table, log=log, terminal=terminal,
    )  # fmt: skip


def record_episodes(
    frozen: FrozenModel,
    output: str | os.PathLike,
    starts: Iterator[tuple[int, Mapping[str, int]]],
    *,
    perturbation: Perturbation,
    seed: int,
    episodes: int = 1,
    max_steps: int,
    min_steps: int = 0,
    recorded: str | os.PathLike | None = None,
    streamlined: bool = False,
    table: str | os.PathLike | None = None,
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
) -> Rollout:
    """Records episodes as `record_rollout`, which begin as `starts` says: their numbers, no-ops and seeds."""
    protocol = perturbation.protocol(frozen)
    use_one_thread()
    player = Player(frozen, perturbation, seed=seed, recorded=recorded)
    world = world_of_agent(frozen, protocol)
    progress = Progress(f"rollout of {frozen.title}", total=max_steps, log=log, terminal=terminal)
    try:
        with progress, closing(world), ExitStack() as files:
            folder, _ = files.enter_context(opened_parent(output, make=True))
            is_noisy = perturbation.changes_observation
            records = _Records(world, frozen, reached(folder), files, is_noisy=is_noisy, is_streamlined=streamlined)
            if table is not None:
                facts = {"agent": frozen.title, "protocol": asdict(protocol), "seed": seed}
                facts |= {"perturbation": perturbation.record, "neurozoo": __version__}
                ram_bytes = 0 if streamlined else world.ram.size
                records.table = files.enter_context(StepTable(table, frozen, ram_bytes=ram_bytes, facts=facts))
            start = time.perf_counter()
            scores: list[float] = []
            while (len(scores) < episodes or len(records) < min_steps) and len(records) < max_steps:
                number, begins = next(starts)
                observation = world.reset(**begins)
                player.begin(number)
                records.begin_episode(**begins)
                score = reward = 0.0
                while not world.is_done and len(records) < max_steps:
                    if perturbation.change:
                        perturbation.change.write_memory(world)
                    decision = player.decide(observation, reward)
                    observation, reward = records.act(decision, score)
                    score += reward
                    progress.advance()
                scores.append(score)
            speed = len(records) / (time.perf_counter() - start)
            progress.say(f"scores {', '.join(map(number_label, scores))}")
            records.write(output, scores, perturbation, seed)
            is_cut = not world.is_done
    except OSError as error:
        raise explained(error, output) from error
    return Rollout(len(records), tuple(scores), speed, is_cut)


class _Records:
    """The records of a rollout, which wait on disk until their number is known.

    Unless the agent sees something else than its world shows, it stores only each step's newest plane; `write` stacks
    them again.
    """

    def __init__(
        self, world: World, frozen: FrozenModel, folder: Path, files: ExitStack, *, is_noisy: bool, is_streamlined: bool
    ):
        self.table: StepTable | None = None
        self._world, self._shape, self._is_continuous = world, frozen.shape, frozen.is_continuous
        self._is_noisy, self._is_streamlined = is_noisy, is_streamlined  # with noise, a plane differs in each stack
        self._starts: list[tuple[int, int, int]] = []
        large = {
            "seen": (self._shape.observation if is_noisy else self._shape.plane, np.float32),
            "frames": (world.screen_shape, np.uint8),
            "ram": (world.ram.shape, np.uint8),
            "representation": (frozen.representation.shape, np.float32),
        }
        shapes = ({} if is_streamlined else large) | {
            "score": ((), np.float64),
            "actions": ((len(frozen.actions),), np.float32) if frozen.is_continuous else ((), np.int16),
        }
        self._spools = {key: files.enter_context(Spool(folder, shape, dtype)) for key, (shape, dtype) in shapes.items()}

    def __len__(self) -> int:
        return len(self._spools["score"])

    def begin_episode(self, *, noops: int, seed: int) -> None:
        self._starts.append((len(self), noops, seed))

    def act(self, decision: Decision, score: float) -> tuple[np.ndarray, float]:
        """Records the world's current step, and acts. Returns the next observation and the reward."""
        world, chosen = self._world, decision.chosen
        action = largest(chosen)
        rows = {"score": np.float64(score), "actions": chosen if self._is_continuous else np.int16(action)}
        if not self._is_streamlined:
            seen = decision.seen if self._is_noisy else world.plane.reshape(self._shape.plane)
            rows |= {"seen": seen, "frames": world.screen, "ram": world.ram, "representation": decision.representation}
        for key, row in rows.items():
            self._spools[key].append(row)
        before = {"step": world.steps, "frame": world.frames, "ram": world.ram}
        observation, reward, _ = world.act(chosen)
        if self.table is not None:
            before |= {"episode": len(self._starts) - 1, "action": action, "score": score, "outputs": decision.outputs}
            self.table.append(**before, reward=reward, is_last=world.is_done)
        return observation, reward

    def write(self, output: str | os.PathLike, scores: list[float], perturbation: Perturbation, seed: int) -> None:
        """Writes the rollout file."""
        with npz_written_whole(output) as npz:
            if not self._is_streamlined:
                shape = (len(self), *self._shape.observation)
                npz.write("observations", self._observations(), shape=shape, dtype=np.float32)
            for key in ("frames", "ram", "representation", "score", "actions"):
                if key in self._spools:
                    spool = self._spools[key]
                    npz.write(key, spool.rows(), shape=(len(self), *spool.row_shape), dtype=spool.dtype)
            npz.write("ep_rewards", [np.array(scores)], shape=(len(scores),), dtype=np.float64)
            npz.write("starts", [np.array(self._starts)], shape=(len(self._starts), 3), dtype=np.int64)
            npz.write(KEY, [np.array(FORMAT)], shape=(), dtype=np.int64)
            if perturbation != Perturbation() or seed:
                text = np.array(json.dumps({**perturbation.record, "seed": seed}))
                npz.write("perturbation", [text], shape=(), dtype=text.dtype)

    def _observations(self) -> Iterator[np.ndarray]:
        if self._is_noisy:
            yield from self._spools["seen"].rows()
            return
        stack: list[np.ndarray] = []
        starts = {first for first, _, _ in self._starts}
        for number, plane in enumerate(self._spools["seen"].rows()):
            first = plane if self._shape.repeats_first else np.zeros_like(plane)
            before = [first] * self._shape.stack if number in starts else stack
            stack = [*before[1:], plane]
            yield np.concatenate(stack, axis=-1)
