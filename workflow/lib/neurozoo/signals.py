"""The signals that ask a program to stop, and how the programs of this project then end: quietly.

Python raises KeyboardInterrupt wherever a program is just then, also while it starts and ends, and shows a traceback. A
program of the project ends with a sentence (`neurozoo.errors.plain_errors`) while it works, and without a word before
and after. A training saves its state first, see `neurozoo.compute.interruption`.
"""

import atexit
import functools
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

OF_TERMINALS = (signal.SIGINT, signal.SIGHUP)  # shells ignore them for background jobs, and `nohup` the second
TIME_IS_UP = (signal.SIGUSR1, signal.SIGUSR2)  # Grid Engine and Slurm send these before a job's time limit
# Sent to all processes of a job, of which only a training may listen. Grid Engine sends SIGXCPU if a job has used too
# much processor time or memory, and systems (`ulimit -t`) if a process has.
OF_SCHEDULERS = (*TIME_IS_UP, signal.SIGXCPU)
FOR_GOOD = (signal.SIGTERM, *OF_TERMINALS, signal.SIGXCPU)
SIGNALS = (*FOR_GOOD, *TIME_IS_UP)

_SOON = 0.01  # seconds


class Stopped(SystemExit, KeyboardInterrupt):
    """A signal has stopped the program. Whoever does not catch it ends with status 128 + its number."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number

    def __str__(self) -> str:
        return f"stopped by {signal.Signals(self.number).name}"


def open_streams() -> None:
    """Opens the standard streams that whoever started this program has closed, so that it runs as without readers.

    Otherwise the next files that it opens would get their numbers, and with them what C libraries print.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # in the order of their numbers
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, open as long as the program


def end_quietly() -> None:
    """Makes this process a program that a signal ends without a traceback, from now on to its very end.

    Signals that it ignores already stay ignored. The second signal of a kind ends it at once.
    """
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    sys.unraisablehook = _raise_again
    atexit.register(_end)


def _stop(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)
    main = vars(sys.modules["__main__"])
    importer, is_working = None, False
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            importer = frame.f_back
        is_working |= frame.f_globals is main
        frame = frame.f_back
    if "__file__" not in main or (importer and importer.f_globals is main and importer.f_code.co_name == "<module>"):
        signal.raise_signal(number)  # it still starts: there is nothing to tidy up
    elif importer:  # an exception would end as another one, or in a sentence about a broken package
        _stop_later(number)
    elif is_working:
        raise Stopped(number)


def _stop_later(number: int) -> None:
    signal.signal(signal.SIGALRM, lambda _, frame: _stop(number, frame))
    signal.setitimer(signal.ITIMER_REAL, _SOON)


def _raise_again(unraisable: "sys.UnraisableHookArgs") -> None:
    """Stops a little later where Python ignores exceptions, as in a destructor."""
    if isinstance(unraisable.exc_value, Stopped):
        _stop_later(unraisable.exc_value.number)
    else:
        sys.__unraisablehook__(unraisable)


def hide_interrupts() -> None:
    """Lets a program of others end without a traceback after Ctrl-C, which it handles in its own way: Snakemake."""
    for name in ("excepthook", "unraisablehook"):
        setattr(sys, name, functools.partial(_show_others, getattr(sys, name)))


def _show_others(hook: Callable[..., object], raised: Any, *others: Any) -> None:
    kind = raised if isinstance(raised, type) else raised.exc_type
    if not issubclass(kind, KeyboardInterrupt):
        hook(raised, *others)


def hang_up(number: int, _frame: FrameType | None) -> None:
    """Handles a signal as Ctrl-C, which reaches all processes of a command. Snakemake then tidies up."""
    if leads():
        signal.signal(number, signal.SIG_IGN)
        os.killpg(0, number)
    raise KeyboardInterrupt


def leads() -> bool:
    """Returns whether this is the first process of a terminal (`ssh -t`) or a container, which alone is told to end."""
    return os.getsid(0) == os.getpid()


def _end() -> None:
    """All is done, so that a signal changes nothing any more. Whoever read the output may have ended earlier."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ValueError:
        pass  # somebody has closed it, such as an environment
