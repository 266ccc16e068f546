"""Values that change during a run."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from neurozoo.errors import NeurozooError, unknown_name

PUBLISHED_TYPES = {"ConstantSchedule": "constant", "LinearSchedule": "linear", "ExponentialSchedule": "exponential"}
PUBLISHED_KEYS = {"value": "initial", "initial_p": "initial", "final_p": "final", "schedule": "length"}
PUBLISHED_FIELDS = {"timesteps_so_far": "steps"}
FIELDS = ("iteration", "steps", "frames")


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
