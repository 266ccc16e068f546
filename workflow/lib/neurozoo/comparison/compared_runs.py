"""The rollouts of some runs of one game, checked against the frozen models beside them."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.inspection.frozen import FrozenModel, open_frozen
from neurozoo.inspection.rollout_files import REMEDY, RolloutReader, recognise

SEEDS = 2**32  # of t-SNE, UMAP and Keras are below this


@dataclass(frozen=True)
class Recording:
    """One run's rollout.

    Attributes:
        frozen: Who plays.
        title: The run in one word, such as `ga/frostbite/large/1`.
        path: The rollout file.
        steps: Its number of records.
        score: Points of the episode so far, shape (steps,).
        episode: Number of the episode from 0, shape (steps,).
    """

    frozen: FrozenModel
    title: str
    path: Path
    steps: int
    score: np.ndarray
    episode: np.ndarray

    def shape(self, key: str) -> tuple[int, ...]:
        """Returns the shape of one record of a member."""
        with RolloutReader(self.path, keys=[key]) as reader:
            return reader.shape(key)[1:]

    def rows(self, key: str, chosen: np.ndarray) -> Iterator[np.ndarray]:
        """Yields some records of a member, one at a time.

        Args:
            key: `observations`, `frames`, `ram` or `representation`.
            chosen: Their numbers, rising.
        """
        with RolloutReader(self.path, keys=[key]) as reader:
            for _, row in reader.rows_at(key, chosen):
                yield row


def read_recordings(places: Sequence[str | os.PathLike]) -> tuple[list[Recording], dict[str, str]]:
    """Opens the rollouts that are to be compared, and says which of them cannot be.

    Args:
        places: Folders with `frozen/` (`model.json` and `model.keras`) and `rollout.npz`, such as those of runs.

    Returns:
        The recordings, and for each place that is left out the reason in a sentence.

    Raises:
        NeurozooError: None can be used, or they are of different games.
    """
    recordings, left_out = [], {}
    for place in map(Path, places):
        try:
            recordings.append(_read_recording(place))
        except NeurozooError as error:
            left_out[str(place)] = str(error)
    if not recordings:
        reasons = " ".join(left_out.values()) or "None was named."
        raise NeurozooError(f"There should be at least one run with a frozen model and a rollout. {reasons}")
    games = {recording.frozen.game: recording.title for recording in recordings}
    if len(games) > 1:
        shown = ", ".join(f"{game} ({title})" for game, title in games.items())
        raise NeurozooError(f"Runs of one game can be compared, but these are of {len(games)}: {shown}.")
    titles = [recording.title for recording in recordings]
    if len(set(titles)) < len(titles):
        raise NeurozooError(f"Each run can be compared once, but some came twice: {', '.join(sorted(titles))}.")
    return recordings, left_out


def _read_recording(place: Path) -> Recording:
    frozen, path = open_frozen(place / "frozen"), place / "rollout.npz"
    keys = ("observations", "frames", "ram", "representation", "score", "ep_rewards")
    with RolloutReader(path, keys=keys) as reader:
        steps = reader.shape("score")[0]
        expected = {"observations": frozen.shape.observation, "representation": frozen.representation.shape}
        for key, shape in expected.items():
            if reader.shape(key) != (steps, *shape) or not steps:
                raise NeurozooError(
                    f"{path} should hold {key} of shape {(max(steps, 1), *shape)}, as {frozen.title} has them, but "
                    f"holds {reader.shape(key)}: it is another network's. {REMEDY}"
                )
        recognise(reader, frozen)
        score = reader.whole("score")
        episodes = reader.shape("ep_rewards")[0]
    starts = np.zeros(1, np.int64)
    if episodes > 1:
        with RolloutReader(path, keys=["starts"]) as reader:
            starts = reader.whole("starts")[:, 0]
    title = frozen.title if place.parent.name != "tags" else f"{frozen.title}/{place.name}"
    return Recording(frozen, title, path, steps, score, np.searchsorted(starts, np.arange(steps), side="right") - 1)


def spread(counts: Sequence[int], most: int) -> list[np.ndarray]:
    """Chooses records of each run, equally far apart in all of them, so that there are at most so many.

    Args:
        counts: Number of records of each run.
        most: Of all runs together.

    Returns:
        The chosen records' numbers, rising, one array per run.
    """
    stride = 1
    while sum(-(-count // stride) for count in counts) > most and stride < max(counts):
        stride += 1
    return [np.arange(0, count, stride) for count in counts]
