"""Tags: names for points in a run's training, such as `400M`, `2HR` or `human`, as in the Atari Zoo.

Source: Such et al. 2018, arXiv:1812.07069, and its model files.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from neurozoo.environments.games import reference_scores
from neurozoo.errors import NeurozooError

FINAL = "final"  # a run's result; not a point during training
TAGS = "tags"  # folder in a run's folder, for the agents at its tags
SNAPSHOTS = "snapshots"  # folder in a run's folder, for the checkpoints that it keeps every so many frames
PUBLISHED = ("initial", "human", "1HR", "2HR", "4HR", "6HR", "10HR", "400M", "1B")  # the Atari Zoo's, besides `final`

_FRAMES = {"K": 1e3, "M": 1e6, "B": 1e9}
_SECONDS = {"HR": 3600}
_EXPECTED = (
    "A tag should be initial (after the first generation), human (above the human score), a number of frames such as "
    "400K, 400M or 1B, or a number of hours such as 1HR or 0.5HR"
)


@dataclass(frozen=True)
class Moment:
    """How far a run has come, at the end of a generation."""

    generation: int  # finished generations
    frames: int  # frames counted so far
    seconds: float  # wall time of training so far, including tests
    test_score: float | None  # mean test score of the best agent so far; None before the first test


@dataclass(frozen=True)
class Tag:
    """The condition that a tag stands for."""

    text: str  # the tag itself
    kind: Literal["initial", "human", "frames", "seconds"]  # what the condition is about
    amount: float = 0  # frames or seconds that the run has to reach

    def is_reached(self, moment: Moment, *, game: str) -> bool:
        """Checks whether a run has reached the tag; `human` is never reached in games without a human score."""
        if self.kind == "initial":
            return moment.generation >= 1
        if self.kind == "human":
            _, human = reference_scores().get(game, (None, None))
            return human is not None and moment.test_score is not None and moment.test_score > human
        return getattr(moment, self.kind) >= self.amount

    def check_game(self, game: str, *, run: str) -> None:
        """Raises `NeurozooError` if no run can reach the tag in this game; `run` is the name of one."""
        if self.kind == "human" and game not in reference_scores():
            raise NeurozooError(f"No human score is known for {game!r}, so {run} cannot reach {self.text}.")


def parse_tag(text: str) -> Tag:
    """Parses a tag.

    Raises:
        NeurozooError: `text` is not a tag, or is `final`, which stands for the run's result.
    """
    if text == "initial":
        return Tag(text, "initial")
    if text == "human":
        return Tag(text, "human")
    number = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)(K|M|B|HR)", str(text), re.ASCII)
    if number is None or float(number[1]) == 0:
        hint = " The result of a run, final, is in the run's own folder." if text == FINAL else ""
        raise NeurozooError(f"{_EXPECTED}, but is {text!r}.{hint}")
    amount, unit = float(number[1]), number[2]
    if unit in _SECONDS:
        return Tag(text, "seconds", amount * _SECONDS[unit])
    return Tag(text, "frames", round(amount * _FRAMES[unit]))


def snapshot_path(run_dir: Path, frames: int) -> Path:
    """Returns the checkpoint that a run keeps when it passes this many frames."""
    return run_dir / SNAPSHOTS / f"{frames}.npz"


def tag_path(run_dir: Path, tag: str) -> Path:
    """Returns the checkpoint that a run keeps when it reaches a tag."""
    return run_dir / TAGS / tag / "checkpoint.npz"
