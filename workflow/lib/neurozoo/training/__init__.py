"""The loop that all algorithms share: budget, reports, state, signals, resume."""

from neurozoo.training.loop import train

__all__ = ["train"]
