"""The loop that all algorithms share: budget, reports, state, signals, resume."""

from neurozoo.training.loop import make_context, train
from neurozoo.training.resuming import resume

__all__ = ["make_context", "resume", "train"]
