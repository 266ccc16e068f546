"""Measures how long a run has trained, over all its processes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Spent:
    """Seconds of wall time, and of processor time."""

    counted: float = 0.0  # without tests
    total: float = 0.0
    playing: float = 0.0  # in which episodes were played
    processor: float = 0.0  # of all threads of this process, with tests


@dataclass
class Clock:
    """Adds up seconds: `now` has the current iteration, the others have all finished ones."""

    counted: float = 0.0  # without tests
    total: float = 0.0
    processor: float | None = 0.0  # None if it is not known: other processes, whose time this one does not see, help
    now: Spent = field(default_factory=Spent)

    @classmethod
    def from_state(cls, state: Mapping | None) -> "Clock":
        """Restores a clock from what `to_state` returned; None gives a new one."""
        if state is None:
            return cls()
        return cls(state["counted"], state["total"], state.get("processor"), Spent(**state.get("now", {})))

    @staticmethod
    def is_state(found: object) -> bool:
        """Says whether something that was read can be what `to_state` returned."""
        if not isinstance(found, dict) or not isinstance(now := found.get("now", {}), dict):
            return False
        names = {"counted", "total", "processor"} & set(found)
        return (
            names >= {"counted", "total"}
            and set(now) <= set(vars(Spent()))
            and all(_is_seconds(each) for each in (*(found[name] for name in names), *now.values()))
        )

    def to_state(self) -> dict:
        """Returns everything as plain JSON."""
        spent = {"counted": self.counted, "total": self.total}
        if self.processor is not None:
            spent["processor"] = self.processor
        return spent | ({"now": vars(self.now)} if self.now.total else {})

    def add(self, seconds: float, *, untimed: float, playing: float, processor: float) -> None:
        """Adds seconds to the current iteration: of these, `untimed` went into tests and `playing` into episodes."""
        self.now.counted += seconds - untimed
        self.now.total += seconds
        self.now.playing += playing
        self.now.processor += processor

    def end_iteration(self) -> Spent:
        """Returns the seconds of the current iteration, and begins the next one."""
        spent, self.now = self.now, Spent()
        self.counted += spent.counted
        self.total += spent.total
        if self.processor is not None:
            self.processor += spent.processor
        return spent


def _is_seconds(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)
