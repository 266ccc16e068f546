"""Reads rollout files: a few steps at a time, with checks that the rollout belongs to the model at hand."""

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import NoReturn, TypedDict

import numpy as np

from neurozoo.agents.frozen import FrozenModel
from neurozoo.errors import NeurozooError
from neurozoo.files import parse_json
from neurozoo.files.npz import NpzReader
from neurozoo.randomness import MAX_SEED
from neurozoo.records.format import KEY, check_format
from neurozoo.rollouts.perturbations import Perturbation
from neurozoo.rollouts.replayed import ReplayedNetwork

MOST_WHOLE = 2**28  # bytes of a member that is read whole: 256 MiB
CHUNK = 64  # steps in memory at once: about 20 MB
REMEDY = "Record it again: python -m neurozoo rollout, or the rule rollout."
CHECKED = 8  # first steps, by which `recognise` tells one agent from another
SAME = 1e-3  # largest difference between equal representations, relative to the largest absolute value

Action = int | np.ndarray  # an action's index, or the values of continuous outputs


class Moment(TypedDict):
    """A step of a rollout as arguments of `ScreenView.draw`."""

    screen: np.ndarray
    score: float
    step: int
    action: Action


class RolloutReader(NpzReader):
    """Reads members of any agent's rollout, a few rows at a time; `open_rollout` also checks their shapes.

    Raises:
        NeurozooError: The file is missing, damaged, of another format, or lacks one of the `keys`.
    """

    def __init__(self, path: str | os.PathLike, *, keys: Iterable[str]):
        super().__init__(path, keys=keys, remedy=REMEDY)
        number = self.text(KEY) or ""
        check_format({KEY: int(number)} if number.isdecimal() else {}, path, REMEDY)

    def chunks(self, key: str) -> Iterator[np.ndarray]:
        """Yields a member's rows in order, a few at a time."""
        return self.blocks(key, CHUNK)

    def whole(self, key: str) -> np.ndarray:
        """Returns a whole member, which has to be small and to have at least one row."""
        found: list[np.ndarray] = []
        for chunk in self.chunks(key):
            found.append(chunk)
            if len(found) * chunk.nbytes > MOST_WHOLE:
                self.refuse(f"at most {MOST_WHOLE:,} bytes of {key}", "more")
        return np.concatenate(found)

    def rows_at(self, key: str, wanted: Collection[int]) -> Iterator[tuple[int, np.ndarray]]:
        """Yields the wanted steps in ascending order, each with its row of a member; stops reading after the last."""
        steps, first = np.array(sorted(set(wanted)), int), 0
        for chunk in self.chunks(key):
            last = first + len(chunk)
            for step in steps[(first <= steps) & (steps < last)].tolist():
                yield step, chunk[step - first]
            if (steps < last).all():
                return
            first = last

    def refuse(self, wanted: str, held: str) -> NoReturn:
        """Raises the error for a file that holds something else than it should."""
        raise NeurozooError(f"{self.path} should hold {wanted}, but holds {held}. {REMEDY}")


@contextlib.contextmanager
def open_rollout(path: str | os.PathLike, frozen: FrozenModel, *, max_steps: int = 0) -> Iterator["RolloutFile"]:
    """Opens a model's rollout with all its arrays, see `record_rollout`; only the first `max_steps`, or 0 for all.

    Raises:
        NeurozooError: The file is missing, damaged or empty, or its arrays do not have this model's shapes.
    """
    with RolloutReader(path, keys=_shapes(frozen)) as reader:
        yield RolloutFile(reader, frozen, max_steps=max_steps)


class RolloutFile:
    """An open rollout of `steps`.

    Attributes:
        screen_shape: (height, width, 3) of the game's screen.
        actions: For each step, the index of the action, or the values of continuous outputs.
        starts: No-ops and seed of each episode, by the number of its first step.
        perturbation: How the agent was perturbed.
        seed: Seed of the episodes and of all noise; 0 if the file names none.
        final_scores: Score of each episode whose end is read, by the number of its last step.
    """

    def __init__(self, reader: RolloutReader, frozen: FrozenModel, *, max_steps: int):
        self.path, self._reader = reader.path, reader
        recorded = _checked_steps(reader, frozen)
        self.steps = min(recorded, max_steps or recorded)
        self.perturbation, self.seed = _read_perturbation(reader, frozen)
        height, width = reader.shape("frames")[1:3]
        self.screen_shape = (height, width, 3)
        actions = next(reader.blocks("actions", self.steps))
        self.actions: list[Action] = list(actions) if frozen.is_continuous else actions.tolist()
        if not frozen.is_continuous and not all(0 <= action < len(frozen.actions) for action in self.actions):
            reader.refuse(f"{len(frozen.actions)} actions", f"action {max(self.actions, key=abs)}")
        starts, scores = reader.whole("starts"), reader.whole("ep_rewards")
        if not np.isfinite(scores).all():
            reader.refuse("finite scores of episodes", f"{scores.tolist()}")
        is_ordered = starts[0, 0] == 0 and (np.diff(starts[:, 0]) > 0).all() and starts.min() >= 0
        if not is_ordered or starts.max() >= MAX_SEED:
            reader.refuse("starts in order from step 0", f"{starts.tolist()}")
        self.starts = {first: {"noops": noops, "seed": seed} for first, noops, seed in starts.tolist()}
        ends = [*(starts[1:, 0] - 1).tolist(), recorded - 1]
        self.final_scores = {end: score for end, score in zip(ends, scores.tolist(), strict=True) if end < self.steps}

    @cached_property
    def scores_before(self) -> np.ndarray:
        """Points of the episode before each step."""
        return np.concatenate([scores for (scores,) in self.blocks("score")])

    @cached_property
    def scores(self) -> np.ndarray:
        """Points of the episode that a movie shows: those before the step; with its last step, those of the whole."""
        scores = self.scores_before.astype(float)
        scores[list(self.final_scores)] = list(self.final_scores.values())
        return scores

    def blocks(self, *keys: str) -> Iterator[tuple[np.ndarray, ...]]:
        """Yields the members' rows side by side, a few at a time, up to `steps`."""
        left = self.steps
        for blocks in zip(*map(self._reader.chunks, keys), strict=True):
            yield tuple(block[:left] for block in blocks)
            left -= len(blocks[0])
            if left <= 0:
                return

    def rows(self, *keys: str) -> Iterator[tuple[np.ndarray, ...]]:
        """Yields the members' rows one by one."""
        for blocks in self.blocks(*keys):
            yield from zip(*blocks, strict=True)

    def rows_at(self, key: str, wanted: Collection[int]) -> Iterator[tuple[int, np.ndarray]]:
        """Yields the wanted steps in ascending order, each with its row of a member."""
        return self._reader.rows_at(key, wanted)

    def moments(self) -> Iterator[Moment]:
        """Yields each step as arguments of `ScreenView.draw`: screen, score, step of the episode from 1, and action."""
        first = 0
        for number, ((screen,), score) in enumerate(zip(self.rows("frames"), self.scores.tolist(), strict=True)):
            first = number if number in self.starts else first
            yield {"screen": screen, "score": score, "step": number - first + 1, "action": self.actions[number]}


def recognise(rollout: RolloutFile, frozen: FrozenModel) -> None:
    """Checks that an agent played a rollout: its network has to compute the recorded representation.

    It compares the first steps, with the recorded parameter noise on the weights if there is any.

    Raises:
        NeurozooError: The network computes another representation or cannot be loaded, or there was an intervention.
    """
    if intervention := rollout.perturbation.played_intervention:
        raise NeurozooError(
            f"{rollout.path} was played with an intervention in {intervention.layer!r}, so its network was not that of "
            "the agent. Its parquet file and movies of the game alone show what happened."
        )
    first_block = next(rollout.blocks("observations", "representation", "score"))
    observations, recorded, scores = (rows[:CHECKED] for rows in first_block)
    noise, seed = rollout.perturbation.parameter, rollout.seed
    network = ReplayedNetwork(frozen, [frozen.representation.name], noise=noise, seed=seed)
    network.rewind(actions=np.array(rollout.actions), scores=scores, starts=rollout.starts)
    (computed,) = network(observations)
    if not np.abs(computed - recorded).max() <= SAME * max(np.abs(recorded).max(), 1e-6):
        raise NeurozooError(
            f"{rollout.path} is not a rollout of the agent in {frozen.folder} as it is now: from the recorded "
            f"observations, the network computes another representation than the recorded one. {REMEDY}"
        )


def _read_perturbation(reader: RolloutReader, frozen: FrozenModel) -> tuple[Perturbation, int]:
    """Returns the perturbation and the seed of its noise; an empty perturbation and 0 if the file names none."""
    text = reader.text("perturbation")
    if text is None:
        return Perturbation(), 0
    try:
        fields = parse_json(text)
        seed = int(fields.pop("seed"))
        perturbation = Perturbation.from_record(fields)
        perturbation.check(frozen)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, NeurozooError):
        reader.refuse("a perturbation and its seed as JSON", text[:200])
    return perturbation, seed


def _shapes(frozen: FrozenModel) -> dict[str, tuple[int | str, ...]]:
    """Returns the shape of each member; names stand for sides that the model does not decide."""
    return {
        "observations": ("steps", *frozen.shape.observation),
        "frames": ("steps", "height", "width", 3),
        "representation": ("steps", *frozen.representation.shape),
        "score": ("steps",),
        "actions": ("steps", len(frozen.actions)) if frozen.is_continuous else ("steps",),
        "ep_rewards": ("episodes",),
        "starts": ("episodes", 3),
    }


def _checked_steps(reader: RolloutReader, frozen: FrozenModel) -> int:
    """Returns the number of steps if all members have the shapes and types of the model's rollouts."""
    wanted = _shapes(frozen)
    held = {key: reader.shape(key) for key in wanted}
    sides = dict(zip(wanted["frames"] + wanted["starts"], held["frames"] + held["starts"], strict=False))
    shapes = {
        key: tuple(sides.get(side, side) if isinstance(side, str) else side for side in wanted[key]) for key in wanted
    }
    if held != shapes or 0 in sides.values():
        reader.refuse(
            ", ".join(f"{key} ({', '.join(map(str, shape))})" for key, shape in wanted.items())
            + ", of at least one step",
            ", ".join(f"{key} {shape}" for key, shape in held.items()),
        )
    for key in wanted:
        is_whole = key in ("frames", "starts") or (key == "actions" and not frozen.is_continuous)
        if (dtype := reader.dtype(key)).kind not in ("iu" if is_whole else "iuf"):
            reader.refuse(f"{'whole numbers' if is_whole else 'numbers'} as {key}", str(dtype))
    return held["frames"][0]
