"""The time that a training has taken, over all of its processes."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Spent:
    """Seconds of wall time.

    Attributes:
        counted: Without tests.
        total: All.
        playing: While episodes were being played.
    """

    counted: float = 0.0
    total: float = 0.0
    playing: float = 0.0


@dataclass
class Clock:
    """Adds up seconds.

    Attributes:
        counted: Of all iterations that have ended, without tests.
        total: Of these, all.
        now: Of the present iteration.
    """

    counted: float = 0.0
    total: float = 0.0
    now: Spent = field(default_factory=Spent)

    @classmethod
    def from_state(cls, state: Mapping | None) -> "Clock":
        """Continues from what `to_state` returned; from nothing, begins."""
        if state is None:
            return cls()
        return cls(state["counted"], state["total"], Spent(**state.get("now", {})))

    def to_state(self) -> dict:
        """Returns everything as plain JSON."""
        return {"counted": self.counted, "total": self.total} | ({"now": vars(self.now)} if self.now.total else {})

    def add(self, seconds: float, *, uncounted: float, playing: float) -> None:
        """Counts some seconds of the present iteration."""
        self.now.counted += seconds - uncounted
        self.now.total += seconds
        self.now.playing += playing

    def end_iteration(self) -> Spent:
        """Returns what the iteration took, and begins the next one."""
        spent, self.now = self.now, Spent()
        self.counted += spent.counted
        self.total += spent.total
        return spent
