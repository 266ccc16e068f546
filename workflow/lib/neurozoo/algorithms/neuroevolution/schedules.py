"""Values that change during a run."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from neurozoo.errors import NeurozooError, unknown_name

PUBLISHED_TYPES = {"ConstantSchedule": "constant", "LinearSchedule": "linear", "ExponentialSchedule": "exponential"}
PUBLISHED_KEYS = {"value": "initial", "initial_p": "initial", "final_p": "final", "schedule": "length"}
PUBLISHED_FIELDS = {"timesteps_so_far": "steps"}


@dataclass(frozen=True)
class Schedule:
    """A value from `initial` to `final` over `length` units of `field`, constant afterwards.

    The published exponential schedule raised an error when called. Here it does what was meant: it is linear in the
    logarithm.

    Attributes:
        type: `constant`, `linear` or `exponential`.
        initial: Value at the start.
        final: Value at the end.
        length: Where the end is, in units of `field`.
        field: What the value depends on: `iteration` (generations), `steps` or `frames` so far.
    """

    type: Literal["constant", "linear", "exponential"]
    initial: float
    final: float
    length: float = 1.0
    field: Literal["iteration", "steps", "frames"] = "iteration"

    @classmethod
    def from_setting(cls, setting: float | Mapping) -> "Schedule":
        """Reads a bare number or a mapping, with our keys or with the published ones.

        Raises:
            NeurozooError: An unknown type, field or key, or a value out of range.
        """
        if isinstance(setting, (int, float)) and not isinstance(setting, bool):
            setting = {"type": "constant", "initial": setting}
        if not isinstance(setting, Mapping):
            raise NeurozooError(f"A schedule is a number or a mapping with a type, but {setting!r} came.")
        values = {PUBLISHED_KEYS.get(key, key): value for key, value in setting.items()}
        values["type"] = PUBLISHED_TYPES.get(str(values.get("type")), values.get("type"))
        values["field"] = PUBLISHED_FIELDS.get(str(values.get("field")), values.get("field", "iteration"))
        for kind, name, allowed in (
            ("schedule type", values["type"], ("constant", "linear", "exponential")),
            ("schedule field", values["field"], ("iteration", "steps", "frames")),
            *(("schedule key", key, tuple(cls.__dataclass_fields__)) for key in values),
        ):
            if name not in allowed:
                raise unknown_name(kind, name, allowed)
        if values["type"] == "constant" and "initial" in values:
            values |= {"final": values["initial"], "length": 1.0}
        missing = {"initial", "final"} - set(values)
        if missing or (values["type"] != "constant" and "length" not in values):
            raise NeurozooError(
                f"A {values['type']} schedule needs initial, final and length, but {dict(setting)} came."
            )
        for key in ("initial", "final", "length"):
            number = values[key]
            if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 < number < math.inf:
                raise NeurozooError(
                    f"A schedule's initial, final and length should be numbers above 0, but {dict(setting)} came."
                )
            values[key] = float(number)
        return cls(**values)

    def value(self, *, iteration: int, steps: int, frames: int) -> float:
        """Returns the value at a point of the run."""
        progress = min({"iteration": iteration, "steps": steps, "frames": frames}[self.field] / self.length, 1.0)
        if self.type == "exponential":
            return math.exp(math.log(self.initial) + progress * (math.log(self.final) - math.log(self.initial)))
        return self.initial + progress * (self.final - self.initial)
