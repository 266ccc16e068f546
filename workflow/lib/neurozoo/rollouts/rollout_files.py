"""Readers of rollout files: a few steps at a time, with checks that the rollout belongs to the model at hand."""

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NoReturn, TypedDict

import numpy as np

from neurozoo.agents.frozen import FrozenModel
from neurozoo.errors import NeurozooError
from neurozoo.files import parse_json
from neurozoo.npz_files import NpzReader
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
    """Reads members of any agent's rollout, a few rows at a time.

    `open_rollout` checks the shapes of the arrays, `recognise` the agent.
    """

    def __init__(self, path: str | os.PathLike, *, keys: Iterable[str]):
        """Opens the file and checks that it has the members.

        Raises:
            NeurozooError: The file is missing, damaged, not an `.npz`, of another format, or lacks a member.
        """
        super().__init__(path, keys=keys, remedy=REMEDY)
        number = self.text(KEY) or ""
        check_format({KEY: int(number)} if number.isdecimal() else {}, path, REMEDY)

    def chunks(self, key: str) -> Iterator[np.ndarray]:
        """Yields a member's rows in order, a few at a time."""
        return self.blocks(key, CHUNK)

    def whole(self, key: str) -> np.ndarray:
        """Returns a whole member, which has to be small and to have at least one row.

        Raises:
            NeurozooError: It has more bytes than a rollout can have.
        """
        found: list[np.ndarray] = []
        for chunk in self.chunks(key):
            found.append(chunk)
            if len(found) * chunk.nbytes > MOST_WHOLE:
                _refuse(self.path, f"at most {MOST_WHOLE:,} bytes of {key}", "more")
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


def read_perturbation(reader: RolloutReader, frozen: FrozenModel) -> tuple[Perturbation, int]:
    """Reads how the agent was perturbed while it was recorded.

    Returns:
        The perturbation and the seed of its noise; an empty perturbation and 0 if the file names none.

    Raises:
        NeurozooError: The text is damaged, or the perturbation does not suit the model.
    """
    text = reader.text("perturbation")
    if text is None:
        return Perturbation(), 0
    try:
        fields = parse_json(text)
        seed = int(fields.pop("seed"))
        perturbation = Perturbation(**fields)
        perturbation.check(frozen)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, NeurozooError):
        _refuse(reader.path, "a perturbation and its seed as JSON", text[:200])
    return perturbation, seed


def recognise(reader: RolloutReader, frozen: FrozenModel) -> None:
    """Checks that an agent played a rollout: its network has to compute the recorded representation.

    It compares the first steps, with the recorded parameter noise on the weights if there is any.

    Args:
        reader: Has the members `observations` and `representation`, in the agent's shapes.
        frozen: The agent.

    Raises:
        NeurozooError: The network computes another representation, or cannot be loaded.
    """
    perturbation, seed = read_perturbation(reader, frozen)
    observations, recorded = (next(reader.blocks(key, CHECKED)) for key in ("observations", "representation"))
    network = ReplayedNetwork(frozen, [frozen.representation.name], noise=perturbation.parameter, seed=seed)
    if frozen.has_history:
        actions, scores, starts = (next(reader.blocks(key, CHECKED)) for key in ("actions", "score", "starts"))
        network.rewind(actions=actions, scores=scores, starts=starts[:, 0].tolist())
    computed = network(observations)[0]
    if not np.abs(computed - recorded).max() <= SAME * max(np.abs(recorded).max(), 1e-6):
        raise NeurozooError(
            f"{reader.path} is not a rollout of the agent in {frozen.folder} as it is now: from the recorded "
            f"observations, the network computes another representation than the recorded one. {REMEDY}"
        )


@contextlib.contextmanager
def open_rollout(
    path: str | os.PathLike, frozen: FrozenModel, *, keys: Sequence[str], max_steps: int = 0
) -> Iterator["RolloutFile"]:
    """Opens a rollout of a model for a movie.

    Args:
        path: The file, see `neurozoo.rollouts.rollout.record_rollout`.
        frozen: The model that played.
        keys: Members to read; `RolloutFile` adds those that it always needs.
        max_steps: Shows only the first steps; 0 for all.

    Raises:
        NeurozooError: The file is missing, damaged or empty, its arrays do not have this model's shapes, or
            `max_steps` is negative.
    """
    if max_steps < 0:
        raise NeurozooError(f"max_steps of a movie should be >= 0, but is {max_steps}. Use 0 for all steps.")
    keys = tuple(dict.fromkeys([*keys, "frames", "representation", "actions", "ep_rewards", "starts"]))
    with RolloutReader(path, keys=keys) as reader:
        yield RolloutFile(reader, frozen, keys=keys, max_steps=max_steps)


class RolloutFile:
    """An open rollout.

    Attributes:
        path: The file.
        steps: Number of steps to show.
        screen_shape: (height, width, 3) of the game's screen.
        actions: For each step to show, the index of the action, or the values of continuous outputs.
        starts: No-ops and seed of each episode, by the number of its first step.
        perturbation: How the agent was perturbed.
        seed: Seed of the perturbation; 0 if there was none.
        final_scores: Score of each episode whose end is shown, by the number of its last step.
    """

    def __init__(self, reader: RolloutReader, frozen: FrozenModel, *, keys: Sequence[str], max_steps: int):
        self.path = reader.path
        self._reader = reader
        steps = self._checked_steps(frozen, keys)
        self.perturbation, self.seed = read_perturbation(reader, frozen)
        self.steps = min(steps, max_steps) if max_steps else steps
        height, width = reader.shape("frames")[1:3]
        self.screen_shape = (height, width, 3)
        actions = next(reader.blocks("actions", self.steps))
        self.actions: list[Action] = list(actions) if frozen.is_continuous else actions.tolist()
        starts = reader.whole("starts")
        ends = [*(starts[1:, 0] - 1).tolist(), steps - 1]
        scores = reader.whole("ep_rewards")
        if not np.isfinite(scores).all():
            self._refuse("finite scores of episodes", f"{scores.tolist()}")
        self.final_scores = {end: score for end, score in zip(ends, scores.tolist(), strict=True) if end < self.steps}
        self.starts = {first: {"noops": noops, "seed": seed} for first, noops, seed in starts.tolist()}
        is_ordered = starts[0, 0] == 0 and (np.diff(starts[:, 0]) > 0).all() and starts.min() >= 0
        if not frozen.is_continuous and not all(0 <= action < len(frozen.actions) for action in self.actions):
            self._refuse(f"{len(frozen.actions)} actions", f"action {max(self.actions, key=abs)}")
        if not is_ordered or starts.max() >= MAX_SEED:
            self._refuse("starts in order from step 0", f"{starts.tolist()}")

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

    def moments(self) -> Iterator[Moment]:
        """Yields each step as arguments of `ScreenView.draw`: screen, score, step of the episode from 1, and action.

        The score is that before the step; with the last step of an episode, its final score. The file must have been
        opened with the key `score`.
        """
        first = 0
        for number, (screen, score) in enumerate(self.rows("frames", "score")):
            first = number if number in self.starts else first
            step, action = number - first + 1, self.actions[number]
            score = self.final_scores.get(number, float(score))
            yield {"screen": screen, "score": score, "step": step, "action": action}

    def _checked_steps(self, frozen: FrozenModel, keys: Sequence[str]) -> int:
        wanted: dict[str, tuple[int | str, ...]] = {
            "observations": ("steps", *frozen.shape.observation),
            "frames": ("steps", "height", "width", 3),
            "score": ("steps",),
            "representation": ("steps", *frozen.representation.shape),
            "actions": ("steps", len(frozen.actions)) if frozen.is_continuous else ("steps",),
            "ep_rewards": ("episodes",),
            "starts": ("episodes", 3),
        }
        held = {key: self._reader.shape(key) for key in keys}
        sizes = {
            side: size
            for key in ("frames", "starts")
            for side, size in zip(wanted[key], held[key], strict=False)
            if isinstance(side, str)
        }
        sized = {
            key: tuple(sizes.get(side, side) if isinstance(side, str) else side for side in wanted[key]) for key in keys
        }
        if held != sized or 0 in sizes.values():
            self._refuse(
                ", ".join(f"{key} ({', '.join(map(str, wanted[key]))})" for key in keys) + ", of at least one step",
                ", ".join(f"{key} {shape}" for key, shape in held.items()),
            )
        for key in keys:
            is_whole = key in ("frames", "starts") or (key == "actions" and not frozen.is_continuous)
            if (dtype := self._reader.dtype(key)).kind not in ("iu" if is_whole else "iuf"):
                self._refuse(f"{'whole numbers' if is_whole else 'numbers'} as {key}", str(dtype))
        return sizes["steps"]

    def _refuse(self, wanted: str, held: str) -> NoReturn:
        _refuse(self.path, wanted, held)


def _refuse(path: str | os.PathLike, wanted: str, held: str) -> NoReturn:
    raise NeurozooError(f"{path} should hold {wanted}, but holds {held}. {REMEDY}")
