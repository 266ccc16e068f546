"""The loop that all algorithms share: budget, reports, state, signals, resume."""

from neurozoo.training.loop import train
from neurozoo.training.resuming import resume

__all__ = ["resume", "train"]
