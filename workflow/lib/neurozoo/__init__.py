"""Grows agents for Atari and other small worlds, and looks inside them."""

import os
import sys

from neurozoo.signals import end_quietly, open_streams

# Programs of the project, from their first moment: `python -m neurozoo...`, and scripts that Snakemake starts.
if _IS_PROGRAM := (sys.argv[:1] == ["-m"] and any(word.partition(".")[0] == "neurozoo" for word in sys.orig_argv)) or (
    type(getattr(sys.modules["__main__"], "snakemake", None)).__name__ == "Snakemake"
):
    open_streams()
    end_quietly()

from neurozoo.machine import LightImport, complete_account, limit_pools

__version__ = "0.1.0"

# TensorFlow reads these when it is imported. The first silences its greetings, which would bury our messages. The
# second turns oneDNN off: frozen models then add in the same order on every processor.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
if _IS_PROGRAM:
    sys.meta_path.insert(0, LightImport())
complete_account()
if "snakemake.cli" not in sys.modules:  # its jobs get its variables, also on other machines
    limit_pools()


def __getattr__(name: str):
    """Imports `evaluate_policy` at its first use, so that the command line starts quickly."""
    if name == "evaluate_policy":
        from neurozoo.agents.scoring import evaluate_policy

        return evaluate_policy
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
