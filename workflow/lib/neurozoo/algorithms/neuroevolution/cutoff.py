"""The limit of training episodes, which may adapt."""

import math
from dataclasses import dataclass

from neurozoo.errors import NeurozooError

_MOST_STEPS = 2**31 - 1  # of an episode; larger limits than any world needs


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
        """Reads a number of steps, `env_default` or `adaptive:start,fraction,factor[,cap]`.

        Raises:
            NeurozooError: A text is none of these.
        """
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
