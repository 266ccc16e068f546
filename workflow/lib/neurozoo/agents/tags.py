"""Tags: names for moments of a run, such as `400M`, `2HR` or `human`, as the Atari Zoo gave them to its checkpoints.

Source: Such et al. 2018, arXiv:1812.07069, and its model files.
"""

import re
from dataclasses import dataclass
from typing import Literal

from neurozoo.errors import NeurozooError
from neurozoo.games import reference_scores

FINAL = "final"  # a run's result, which is no moment on the way
TAGS = "tags"  # folder of what is kept and made of moments, in that of a run
PUBLISHED = ("initial", "human", "1HR", "2HR", "4HR", "6HR", "10HR", "400M", "1B")  # besides `final`

_FRAMES = {"K": 1e3, "M": 1e6, "B": 1e9}
_SECONDS = {"HR": 3600}
_EXPECTED = (
    "A tag is initial (after the first generation), human (above the human score), a number of frames such as 400K, "
    "400M or 1B, or of hours such as 1HR or 0.5HR"
)


@dataclass(frozen=True)
class Moment:
    """How far a run has come, at the end of a generation.

    Attributes:
        generation: Finished generations.
        frames: Counted frames so far.
        seconds: Wall time of training so far, tests included.
        test_score: Mean test score of the best so far; None before there is one.
    """

    generation: int
    frames: int
    seconds: float
    test_score: float | None


@dataclass(frozen=True)
class Tag:
    """A moment's name.

    Attributes:
        text: The name itself.
        kind: What it goes by.
        amount: Frames or seconds that have to be reached.
    """

    text: str
    kind: Literal["initial", "human", "frames", "seconds"]
    amount: float = 0

    def is_reached(self, moment: Moment, *, game: str) -> bool:
        """Says whether a run has come so far; one without a human score never gets `human`."""
        if self.kind == "initial":
            return moment.generation >= 1
        if self.kind == "human":
            _, human = reference_scores().get(game, (None, None))
            return human is not None and moment.test_score is not None and moment.test_score > human
        return getattr(moment, self.kind) >= self.amount


def parse_tag(text: str) -> Tag:
    """Reads a tag.

    Raises:
        NeurozooError: It is none, or `final`, which stands for a run's result.
    """
    if text in ("initial", "human"):
        return Tag(text, text)
    number = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)(K|M|B|HR)", str(text), re.ASCII)
    if number is None or float(number[1]) == 0:
        hint = " The result of a run, final, lies in the run's own folder." if text == FINAL else ""
        raise NeurozooError(f"{_EXPECTED}, but {text!r} came.{hint}")
    amount, unit = float(number[1]), number[2]
    if unit in _SECONDS:
        return Tag(text, "seconds", amount * _SECONDS[unit])
    return Tag(text, "frames", round(amount * _FRAMES[unit]))
