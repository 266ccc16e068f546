"""The loop that all algorithms share: budget, reports, state, signals, resume."""

from neurozoo.training.context import make_context
from neurozoo.training.loop import train
from neurozoo.training.resuming import resume

__all__ = ["make_context", "resume", "train"]
