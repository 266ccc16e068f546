"""The variants of DSAGE: which of its parts each of them uses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Variant:
    """One variant.

    Attributes:
        predicts_occupancy: Whether the surrogate predicts where the agent will be, and uses it.
        selection: Which elites of the surrogate archive are evaluated: one per region, all, or some at random.
        epochs: Factor on the epochs of training, by domain; 1 where it is not named. With it, a variant that trains
            less often trains as much as the others.
    """

    predicts_occupancy: bool
    selection: Literal["regions", "all", "random"]
    epochs: Mapping[str, float] = field(default_factory=dict)


VARIANTS: Mapping[str, Variant] = {
    "full": Variant(True, "regions"),
    "only_ancillary": Variant(True, "all"),
    "only_downsampling": Variant(False, "regions"),
    "basic": Variant(False, "all"),
    "random_sample": Variant(True, "random"),
    "basic_long": Variant(False, "all", {"maze": 6400 / 200, "mario": 1350 / 200}),
    "only_ancillary_long": Variant(True, "all", {"maze": 5300 / 200, "mario": 1350 / 200}),
}
