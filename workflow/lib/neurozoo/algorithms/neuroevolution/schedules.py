"""Values that change during a run."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, Tag, WrapValidator, with_config
from typing_extensions import TypedDict

from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.validation import Number, as_given, either

PUBLISHED_TYPES = {"ConstantSchedule": "constant", "LinearSchedule": "linear", "ExponentialSchedule": "exponential"}
PUBLISHED_KEYS = {"value": "initial", "initial_p": "initial", "final_p": "final", "schedule": "length"}
PUBLISHED_FIELDS = {"timesteps_so_far": "steps"}
FIELDS = ("iteration", "steps", "frames")

Above0 = Annotated[Number, Field(gt=0)]


@with_config({"extra": "forbid"})
class ScheduleSetting(TypedDict, total=False):
    """A value that changes during a run; see `Schedule`."""

    type: Annotated[str, Field(description="constant, linear or exponential.")]
    initial: Annotated[Above0, Field(description="Value at the start.")]
    final: Annotated[Above0, Field(description="Value at the end.")]
    length: Annotated[Above0, Field(description="Where the end is, in units of `field`.")]
    field: Annotated[str, Field(description="What the value depends on: iteration, steps or frames.")]
    value: Annotated[Above0, Field(description="Published name of `initial` (constant).")]
    initial_p: Annotated[Above0, Field(description="Published name of `initial`.")]
    final_p: Annotated[Above0, Field(description="Published name of `final`.")]
    schedule: Annotated[Above0, Field(description="Published name of `length`.")]


MutationPower = Annotated[
    Annotated[Above0, Tag("<number>")] | Annotated[ScheduleSetting, WrapValidator(as_given), Tag("<object>")],
    either("number", "object"),
    Field(
        description="Standard deviation of a mutation: a number, or a schedule such as "
        "{type: linear, initial: 0.005, final: 0.001, length: 1_000_000_000, field: frames}."
    ),
]


@dataclass(frozen=True)
class Schedule:
    """A value from `initial` to `final` over `length` units of `field`, constant afterwards.

    The published exponential schedule raised an error when called. Here it does what was meant: it is linear in the
    logarithm.
    """

    type: Literal["constant", "linear", "exponential"]
    initial: float
    final: float
    length: float = 1.0
    field: Literal["iteration", "steps", "frames"] = "iteration"  # generations, steps or frames so far

    @classmethod
    def from_setting(cls, setting: float | Mapping) -> "Schedule":
        """Reads a number or a mapping with our keys or the published ones, which `MutationPower` has checked.

        Raises:
            NeurozooError: The type or field is unknown, or a key is missing.
        """
        if not isinstance(setting, Mapping):
            return cls("constant", float(setting), float(setting))
        values = {PUBLISHED_KEYS.get(key, key): value for key, value in setting.items()}
        values["type"] = kind = PUBLISHED_TYPES.get(values.get("type", ""), values.get("type"))
        values["field"] = field = PUBLISHED_FIELDS.get(values.get("field", ""), values.get("field", "iteration"))
        if kind not in PUBLISHED_TYPES.values():
            raise unknown_name("schedule type", str(kind), PUBLISHED_TYPES.values())
        if field not in FIELDS:
            raise unknown_name("schedule field", field, FIELDS)
        if kind == "constant" and "initial" in values:
            values |= {"final": values["initial"], "length": 1.0}
        numbers = ("initial", "final", "length")
        if not values.keys() >= set(numbers):
            raise NeurozooError(f"A {kind} schedule needs initial, final and length, but {dict(setting)} came.")
        return cls(**{**values, **{name: float(values[name]) for name in numbers}})

    def value(self, *, iteration: int, steps: int, frames: int) -> float:
        """Returns the value at a point of the run."""
        progress = min({"iteration": iteration, "steps": steps, "frames": frames}[self.field] / self.length, 1.0)
        if self.type == "exponential":
            return math.exp(math.log(self.initial) + progress * (math.log(self.final) - math.log(self.initial)))
        return self.initial + progress * (self.final - self.initial)
