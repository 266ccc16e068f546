"""Values that change during a run: schedules, and the limit of training episodes."""

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

_MOST_STEPS = 2**31 - 1  # of an episode; larger limits than any world needs

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
        description="Standard deviation of a mutation (of crossover: neurons, the largest one): a number, or a "
        "schedule such as {type: linear, initial: 0.005, final: 0.001, length: 1_000_000_000, field: frames}."
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

        Raises `NeurozooError` if the type or field is unknown, or a key is missing.
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


@dataclass(frozen=True)
class EpisodeCutoff:
    """A limit in steps that may grow when too many episodes reach it.

    The published adaptive limit could be a fraction of a step; here it is rounded down. The published `env_default`
    crashed; here it means the protocol's own limit.
    """

    limit: int | None  # steps; None for the protocol's limit
    fraction: float | None = None  # the limit grows when more than this share of the episodes reached it
    factor: float = 1.0  # by which the limit is multiplied
    cap: float = math.inf  # largest limit, in steps

    @classmethod
    def from_setting(cls, setting: int | str) -> "EpisodeCutoff":
        """Reads a number of steps, `env_default` or `adaptive:start,fraction,factor[,cap]`; or raises an error."""
        if setting == "env_default":
            return cls(None)
        if isinstance(setting, int):
            return cls(setting)
        if setting.startswith("adaptive:"):
            try:
                start, fraction, factor, *cap = (float(part) for part in setting.removeprefix("adaptive:").split(","))
                is_growth = 0 <= fraction <= 1 <= factor < math.inf
                if 1 <= start < math.inf and is_growth and all(end >= start for end in cap):
                    return cls(int(start), fraction, factor, *cap)
            except (ValueError, TypeError):  # no numbers, or too many
                pass
        raise NeurozooError(
            f"episode_cutoff_mode {setting!r} is none of: a number of steps above 0, env_default, "
            "adaptive:start,fraction,factor,cap (for instance adaptive:1000,0.5,2,5000)."
        )

    def after(self, share_at_limit: float) -> "EpisodeCutoff":
        """Returns the limit of the next generation, given the share of training episodes that reached this one."""
        if self.limit is None or self.fraction is None or share_at_limit <= self.fraction:
            return self
        least = self.limit + (self.factor > 1)  # a small limit would not grow, because it is a whole number
        limit = min(max(self.limit * self.factor, least), self.cap, _MOST_STEPS)
        return EpisodeCutoff(int(limit), self.fraction, self.factor, self.cap)
