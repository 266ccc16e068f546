"""Rollout files, read a few steps at a time, and checked whether they are rollouts of the model at hand."""

import contextlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NoReturn

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.inspection.frozen import FrozenModel
from neurozoo.inspection.player import EMULATOR_SEEDS, Disturbance, disturb_kernels
from neurozoo.inspection.streams import NpzReader

CHUNK = 64  # steps that are in memory at once: about 20 MB
REMEDY = "Record it again: python -m neurozoo rollout, or the rule rollout."
CHECKED = 8  # steps by which an agent is recognised
SAME = 1e-3  # largest difference of a representation, as a part of its largest absolute value


class RolloutReader(NpzReader):
    """Members of a rollout, a few rows at a time, whoever played it; `open_rollout` asks that, too."""

    def __init__(self, path: str | os.PathLike, *, keys: Iterable[str]):
        """Opens the file and checks that the members are there.

        Raises:
            NeurozooError: The file is missing, cut off, no `.npz`, or lacks a member.
        """
        super().__init__(path, keys=keys, remedy=REMEDY)

    def chunks(self, key: str) -> Iterator[np.ndarray]:
        """Yields a member's rows in order, a few at a time."""
        return self.blocks(key, CHUNK)

    def whole(self, key: str) -> np.ndarray:
        """Returns a member that is small, and has at least one row."""
        return np.concatenate(list(self.chunks(key)))

    def rows_at(self, key: str, wanted: Collection[int]) -> Iterator[tuple[int, np.ndarray]]:
        """Yields the wanted steps in ascending order, each with its row of a member; what lies behind is not read."""
        steps, first = np.array(sorted(set(wanted)), int), 0
        for chunk in self.chunks(key):
            last = first + len(chunk)
            for step in steps[(first <= steps) & (steps < last)].tolist():
                yield step, chunk[step - first]
            if (steps < last).all():
                return
            first = last


def read_disturbance(reader: RolloutReader, frozen: FrozenModel) -> tuple[Disturbance, int]:
    """Reads what disturbed the agent while it was recorded, nothing and 0 if nothing did, and the seed of that.

    Raises:
        NeurozooError: It is damaged, or the model cannot be disturbed so.
    """
    text = reader.text("disturbance")
    if text is None:
        return Disturbance(), 0
    try:
        said = json.loads(text)
        seed = int(said.pop("seed"))
        disturbance = Disturbance(**said)
        disturbance.check(frozen)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, NeurozooError):
        _refuse(reader.path, "a disturbance and its seed as JSON", text[:200])
    return disturbance, seed


def recognise(reader: RolloutReader, frozen: FrozenModel) -> None:
    """Makes sure by its first steps that a rollout is of an agent, as it is or with the weights' recorded disturbance.

    Args:
        reader: Has the members `observations` and `representation`, of the shapes that the agent has them in.
        frozen: The agent.

    Raises:
        NeurozooError: The network makes another representation of the observations, or cannot be loaded.
    """
    import keras

    disturbance, seed = read_disturbance(reader, frozen)
    observations, recorded = (next(reader.blocks(key, CHECKED)) for key in ("observations", "representation"))
    model = frozen.activations_model([frozen.representation.name])
    if disturbance.parameter:
        disturb_kernels(model, disturbance.parameter, seed=seed)
    computed = keras.tree.flatten(model(observations, training=False))[0].numpy()
    if not np.abs(computed - recorded).max() <= SAME * max(np.abs(recorded).max(), 1e-6):
        raise NeurozooError(
            f"{reader.path} is not a rollout of the agent in {frozen.folder} as it is: the network makes another "
            f"representation of its observations than was recorded. {REMEDY}"
        )


@contextlib.contextmanager
def open_rollout(
    path: str | os.PathLike, frozen: FrozenModel, *, keys: Sequence[str], max_steps: int = 0
) -> Iterator["RolloutFile"]:
    """Opens a rollout.

    Args:
        path: The file, see `neurozoo.inspection.record_rollout`.
        frozen: The model that played.
        keys: Members that will be read; those that `RolloutFile` reads by itself need not be named.
        max_steps: Shows the first steps only; 0 for all.

    Raises:
        NeurozooError: The file is missing, damaged, has no step or arrays of other shapes than a rollout of this model,
            or `max_steps` is negative.
    """
    if max_steps < 0:
        raise NeurozooError(f"A movie has max_steps >= 0, but {max_steps} came.")
    keys = tuple(dict.fromkeys([*keys, "frames", "representation", "actions", "ep_rewards", "starts"]))
    with RolloutReader(path, keys=keys) as reader:
        yield RolloutFile(reader, frozen, keys=keys, max_steps=max_steps)


class RolloutFile:
    """An open rollout.

    Attributes:
        path: The file.
        steps: Number of steps that are shown.
        screen_shape: (height, width, 3) of the game's screen.
        actions: Of each step that is shown, the index of the action, or the values of the outputs that were obeyed.
        starts: No-ops and seed of each episode by the number of its first step.
        disturbance: What disturbed the agent.
        seed: Seed of the disturbance; 0 if there was none.
        final_score: What the last episode came to; None if it is not shown to its end.
    """

    def __init__(self, reader: RolloutReader, frozen: FrozenModel, *, keys: Sequence[str], max_steps: int):
        self.path = reader.path
        self._reader = reader
        steps = self._checked_steps(frozen, keys)
        self.disturbance, self.seed = read_disturbance(reader, frozen)
        self.steps = min(steps, max_steps) if max_steps else steps
        self.screen_shape = reader.shape("frames")[1:]
        actions = next(reader.blocks("actions", self.steps))
        self.actions: list[int] | list[np.ndarray] = list(actions) if frozen.is_continuous else actions.tolist()
        self.final_score = float(reader.whole("ep_rewards")[-1]) if self.steps == steps else None
        starts = reader.whole("starts")
        self.starts = {first: {"noops": noops, "seed": seed} for first, noops, seed in starts.tolist()}
        is_ordered = starts[0, 0] == 0 and (np.diff(starts[:, 0]) > 0).all() and starts.min() >= 0
        if not frozen.is_continuous and not all(0 <= action < len(frozen.actions) for action in self.actions):
            self._refuse(f"{len(frozen.actions)} actions", f"action {max(self.actions, key=abs)}")
        if not is_ordered or starts.max() >= EMULATOR_SEEDS:
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

    def moments(self) -> Iterator[dict]:
        """Yields the steps as `ScreenView.draw` takes them: a screen, the score, the number in its episode, the action.

        The member `score` must be among the keys that the file was opened for.
        """
        first = 0
        for number, (screen, score) in enumerate(self.rows("frames", "score")):
            first = number if number in self.starts else first
            step, action = number - first + 1, self.actions[number]
            yield {"screen": screen, "score": float(score), "step": step, "action": action}

    def _checked_steps(self, frozen: FrozenModel, keys: Sequence[str]) -> int:
        wanted = {
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
        if held != {key: tuple(sizes.get(side, side) for side in wanted[key]) for key in keys} or 0 in sizes.values():
            self._refuse(
                ", ".join(f"{key} ({', '.join(map(str, wanted[key]))})" for key in keys) + ", of at least one step",
                ", ".join(f"{key} {shape}" for key, shape in held.items()),
            )
        return sizes["steps"]

    def _refuse(self, wanted: str, held: str) -> NoReturn:
        _refuse(self.path, wanted, held)


def _refuse(path: str | os.PathLike, wanted: str, held: str) -> NoReturn:
    raise NeurozooError(f"{path} should hold {wanted}, but holds {held}. {REMEDY}")
