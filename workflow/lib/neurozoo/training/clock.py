"""Measures how long a run has trained, over all its processes."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Spent:
    """Seconds of wall time.

    Attributes:
        counted: Time without tests.
        total: All time.
        playing: Time in which episodes were played.
    """

    counted: float = 0.0
    total: float = 0.0
    playing: float = 0.0


@dataclass
class Clock:
    """Adds up seconds.

    Attributes:
        counted: All finished iterations, without tests.
        total: All finished iterations.
        now: The current iteration.
    """

    counted: float = 0.0
    total: float = 0.0
    now: Spent = field(default_factory=Spent)

    @classmethod
    def from_state(cls, state: Mapping | None) -> "Clock":
        """Restores a clock from what `to_state` returned; None gives a new one."""
        if state is None:
            return cls()
        return cls(state["counted"], state["total"], Spent(**state.get("now", {})))

    def to_state(self) -> dict:
        """Returns everything as plain JSON."""
        return {"counted": self.counted, "total": self.total} | ({"now": vars(self.now)} if self.now.total else {})

    def add(self, seconds: float, *, untimed: float, playing: float) -> None:
        """Adds seconds to the current iteration: of these, `untimed` went into tests and `playing` into episodes."""
        self.now.counted += seconds - untimed
        self.now.total += seconds
        self.now.playing += playing

    def end_iteration(self) -> Spent:
        """Returns the seconds of the current iteration, and begins the next one."""
        spent, self.now = self.now, Spent()
        self.counted += spent.counted
        self.total += spent.total
        return spent
