"""What every training is watched by and writes to while it goes on."""

from typing import NamedTuple

from neurozoo.training.heartbeat import Heartbeat
from neurozoo.training.interruption import Interruption
from neurozoo.training.reporting import RunReporter
from neurozoo.training.state import RunState

POLL = 0.2  # seconds until a signal is noticed


class Watched(NamedTuple):
    """The helpers of one run.

    Attributes:
        state: Its `state/`.
        reporter: Its text log, and the terminal.
        heartbeat: Its sign of life.
        interruption: Tells of signals.
    """

    state: RunState
    reporter: RunReporter
    heartbeat: Heartbeat
    interruption: Interruption
