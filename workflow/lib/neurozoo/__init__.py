"""Grows agents for Atari and other small worlds, and looks inside them."""

import os

__version__ = "0.1.0"

# TensorFlow reads these when it is imported. Without its greetings, messages of ours are seen; without oneDNN, frozen
# models sum in the same order on every processor.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")


def __getattr__(name: str):
    """Imports `evaluate_policy` when it is asked for: the command line should not wait for what it does not use."""
    if name == "evaluate_policy":
        from neurozoo.cshenton import evaluate_policy

        return evaluate_policy
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
