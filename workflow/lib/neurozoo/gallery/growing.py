"""A gallery that grows: written again and again while a command makes results, and opened with the first movie."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TypedDict

from neurozoo.errors import NeurozooError
from neurozoo.files import read_text, write_text
from neurozoo.folders import find
from neurozoo.gallery.file_titles import FOLDERS
from neurozoo.status import Overview, RunStatus
from neurozoo.status.run_state import STATES
from neurozoo.text import duration_text

SCRIPT = "growth.js"  # beside index.html, which asks for it as long as the gallery grows
_NAMED = 4  # most runs to come that are named
_PAUSE = 1.0  # seconds between two looks at the results
_NEWS = 10.0  # seconds between two words about what is to come
_SHARE = 4  # after a second of looking or writing, it rests so many seconds
_STALE = 60  # seconds without a word after which a page says that the command was killed


class Growth(TypedDict):
    """What a page of a gallery that grows says of it."""

    built: str  # which of the galleries it is
    words: str  # what is to come


def outlook(overview: Overview) -> str:
    """Says what is still to come of a configuration's trainings."""
    runs = {state: [run for run in overview.runs if run.state == state] for state in STATES}
    words = [f"This page grows: {len(runs['done'])} of {len(overview.runs)} runs are trained."]
    if runs["running"]:
        words += [f"In training: {', '.join(map(_progress, runs['running']))}."]
    if coming := [status.run.name for status in (*runs["queued"], *runs["waiting"])]:
        more = f" and {len(coming) - _NAMED} more" if len(coming) > _NAMED else ""
        words += [f"To come: {', '.join(coming[:_NAMED])}{more}."]
    if runs["failed"] or runs["stalled"]:
        words += ["Some have failed: python -m neurozoo status."]
    return " ".join([*words, "Movies and figures follow."])


def _progress(status: RunStatus) -> str:
    left = f", {duration_text(status.remaining)} left" if status.remaining is not None else ""
    return f"{status.run.name} ({status.progress / status.budget:.0%}{left})"


def grow(
    command: Sequence[str],
    results: str | os.PathLike,
    *,
    write: Callable[[Growth | None], object],
    foresee: Callable[[], str],
    show: Callable[[str], object],
) -> int:
    """Runs a command, lets the gallery of a results folder grow meanwhile, and returns the command's exit status.

    Nothing that happens to the gallery stops the command. However the command ends, the gallery that stays is an
    ordinary one.

    Args:
        command: The program and its arguments. It gets the terminal, and with it Ctrl-C.
        results: The folder that it fills.
        write: Writes the gallery, see `build_site`.
        foresee: Says in a sentence what is to come.
        show: Opens the address of a page; it is called once, with the first movie.
    """
    gallery = _Gallery(Path(results), write, foresee)
    is_shown, complaints = False, set[str]()
    # Terminals send Ctrl-C to both; the command ends in its own way. Others send a signal to this process alone.
    with (
        _handled(lambda *_: None, signal.SIGINT),
        subprocess.Popen(command) as process,  # its end waits for the command, whatever happens here
        _handled(lambda number, _: process.send_signal(number), signal.SIGTERM, signal.SIGHUP),
    ):
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = process.wait(timeout=_PAUSE)
                break
            with _never_stopping(complaints):
                if gallery.look() and not is_shown:
                    is_shown = True
                    address = gallery.page.resolve().as_uri()
                    clear = "\r\x1b[K" if sys.stdout.isatty() else ""  # Snakemake may have a bar there
                    print(f"{clear}The gallery grows from now on: {address}", flush=True)
                    show(address)
    with _never_stopping(complaints):
        gallery.finish()
        if not (is_shown or status) and gallery.page.exists():  # there was nothing to do
            show(gallery.page.resolve().as_uri())
    return 128 - status if status < 0 else status


@contextlib.contextmanager
def _handled(handler: Callable[[int, FrameType | None], object], *numbers: signal.Signals) -> Iterator[None]:
    """Handles signals for a while, but for those that are ignored, as in the background."""
    before = {number: signal.getsignal(number) for number in numbers}
    handled = [number for number in numbers if before[number] is not signal.SIG_IGN]
    try:
        for number in handled:
            signal.signal(number, handler)
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])


@contextlib.contextmanager
def _never_stopping(complaints: set[str]) -> Iterator[None]:
    """Says what went wrong with the gallery, once, and goes on, also after a mistake in this program."""
    try:
        yield
    except Exception as error:
        words = str(error) if isinstance(error, NeurozooError | OSError) else f"{type(error).__name__}: {error}"
        if words not in complaints:
            complaints.add(words)
            with contextlib.suppress(OSError):  # the terminal may be gone
                print(f"The gallery could not be written: {words}", file=sys.stderr, flush=True)


class _Gallery:
    """Writes the gallery whenever there is something new, but for a small part of the time only."""

    def __init__(self, results: Path, write: Callable[[Growth | None], object], foresee: Callable[[], str]):
        self.page, self._script = (results / "site" / name for name in ("index.html", SCRIPT))
        self._results, self._write, self._foresee = results, write, foresee
        self._seen: Mapping[Path, int] = {}
        self._rests_until = self._speaks_at = 0.0
        self._built = ""

    def look(self) -> bool:
        """Writes what is new, and returns whether there is a page to show."""
        now = time.monotonic()
        if now >= self._rests_until:
            try:
                self._grow()
            finally:
                self._rests_until = time.monotonic() + _SHARE * (time.monotonic() - now)
        if self._built and time.monotonic() >= self._speaks_at:
            self._speak()
        return bool(self._built)

    def _grow(self) -> None:
        if not find(self._results, "runs/*/*/*/*/activation.mp4") or self._is_anothers():
            return
        folders = find(self._results, *FOLDERS, "runs/*/*/*/*/state")  # a new file makes its folder newer
        seen = {folder: folder.stat().st_mtime_ns for folder in folders if folder.is_dir()}
        if seen == self._seen:
            return
        self._seen = seen  # also if it cannot be written: then again with the next file
        if self._built:
            self._speak()  # so that the page waits
        growth: Growth = {"built": str(time.time_ns()), "words": self._foresee()}
        self._write(growth)
        self._built, self._speaks_at = growth["built"], 0.0

    def _is_anothers(self) -> bool:
        """Returns whether another command lets this gallery grow, before this one has written it."""
        if self._built or not self._script.exists():
            return False
        until = re.search(r'"until": (\d+)', read_text(self._script, "Delete it."))
        return until is not None and time.time() < int(until[1])

    def finish(self) -> None:
        """Leaves a gallery that does not grow: that of the workflow itself, if it has come so far."""
        if not self._built:
            return
        if f'data-built="{self._built}"' in read_text(self.page, "The workflow makes it again."):
            self._write(None)
        self._tell({"built": "", "words": "", "until": 0})

    def _speak(self) -> None:
        """Tells the open page which gallery is there, what is to come, and until when it can trust that."""
        self._speaks_at = time.monotonic() + _NEWS
        self._tell({"built": self._built, "words": self._foresee(), "until": int(time.time()) + _STALE})

    def _tell(self, facts: Mapping[str, str | int]) -> None:
        write_text(self._script, f"grow({json.dumps(facts)});\n")
