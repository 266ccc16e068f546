"""Shows the runs' states as a table: plain or in colours, once or repeatedly."""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from neurozoo.errors import NeurozooError
from neurozoo.records.run_log import UNITS
from neurozoo.status.overview import TAIL, Overview
from neurozoo.status.run_files import last_lines
from neurozoo.status.run_state import STATES, RunStatus
from neurozoo.text import aligned, duration_text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

SCORE = "test score"  # heading; runs without a test show `own` and the score by which they judge themselves
HEADINGS = ("run", "state", "job", "progress", "", "per second", SCORE, "left", "note")
RIGHT = {"progress", "", "per second", SCORE, "left"}
COLOURS = {
    "failed": "bold red", "stalled": "bold yellow", "running": "green", "queued": "cyan", "waiting": "dim",
    "done": "blue",
}  # fmt: skip
LEAST_NEEDED = ("progress", "job", "per second", SCORE, "left")  # left out in a narrow terminal, in this order
GAP = 2  # spaces between columns
SHORTEST_NOTE = 24
SHORTEST_NAME = 12
MOST_TAILS = 5  # failed runs whose logs are shown


def short(number: float) -> str:
    """Formats a number in about four characters: 940, 12.3k, 6B."""
    for unit, size in (("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(number) >= 0.9995 * size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def row(status: RunStatus) -> tuple[str, ...]:
    """Returns a run's cells, one for each heading."""
    run = status.run
    note = status.note.replace("\n", " ")
    if status.state == "running" and status.host:
        note = ", ".join(filter(None, (status.host, note)))
    return (
        f"{run.algo}/{run.game}/{run.model}/{run.run}",
        status.state,
        status.job or "",
        f"{short(status.progress)} of {short(status.budget)}",
        f"{min(status.progress / status.budget, 1):.0%}",
        "" if status.progress_per_second is None else short(status.progress_per_second),
        _score(status),
        "" if status.remaining is None else duration_text(status.remaining),
        note,
    )


def _score(status: RunStatus) -> str:
    if status.test_score is not None:
        return f"{status.test_score:.4g}"
    return "" if status.score is None else f"own {status.score:.4g}"


def summary(overview: Overview) -> str:
    """Returns one line about all runs."""
    counts = ", ".join(f"{overview.count(state)} {state}" for state in reversed(STATES) if overview.count(state))
    line = f"{len(overview.runs)} {'run' if len(overview.runs) == 1 else 'runs'}: {counts or 'none'}"
    for unit in UNITS:
        if speed := overview.speed(unit):
            line += f"; {short(speed)} {unit}/s together"
    if overview.remaining is not None:
        line += f"; the running ones end within {duration_text(overview.remaining)}"
    return line + "."


def _failures(overview: Overview) -> list[tuple[RunStatus, list[str]]]:
    runs = overview.runs
    found = [(status, status.log) for status in runs if status.state == "failed" and status.log is not None]
    return [(status, last_lines(log, TAIL)) for status, log in found[:MOST_TAILS]]


def as_text(overview: Overview) -> str:
    """Formats an overview without colours and at full width, for files and e-mails."""
    lines = aligned([HEADINGS, *map(row, overview.runs)], right=RIGHT)
    lines += ["", summary(overview)]
    for status, tail in _failures(overview):
        lines += ["", f"{row(status)[0]} failed; the end of {status.log}:", *(f"    {line}" for line in tail)]
    return "\n".join(lines) + "\n"


def as_renderable(overview: Overview, *, width: int, height: int | None = None) -> "RenderableType":
    """Returns an overview that rich can print, in lines of `width` characters.

    If there are too few, columns are left out, and names and notes are cut off. If there are not lines enough for the
    `height`, only the most urgent runs are shown; None shows all.
    """
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    runs, left_out = list(overview.runs), 0
    failures = _failures(overview)
    if height is not None:
        failures = failures[: max(0, (height - 12) // (TAIL + 2))]
        room = max(3, height - 5 - sum(len(tail) + 2 for _, tail in failures))
        if len(runs) > room:
            left_out = len(runs) - room
            runs = sorted(runs, key=lambda status: STATES.index(status.state))[:room]
    parts: list = [_table(runs, width=width, folds_notes=height is None), Text()]
    if left_out:
        parts.append(Text(f"... and {left_out} more", "dim"))
    parts.append(Text(summary(overview), "bold", no_wrap=height is not None, overflow="ellipsis"))
    for status, tail in failures:
        title = Text(f"{row(status)[0]}: the end of {status.log}")
        text = Text("\n".join(tail), no_wrap=True, overflow="ellipsis")
        parts.append(Panel(text, title=title, title_align="left", border_style="red"))
    return Group(*parts)


def _table(runs: list[RunStatus], *, width: int, folds_notes: bool) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    rows = [row(status) for status in runs]
    widths = {
        heading: max(len(cells[column]) for cells in [HEADINGS, *rows]) for column, heading in enumerate(HEADINGS[:-1])
    }
    for heading in LEAST_NEEDED:
        if _left(widths, width) < SHORTEST_NOTE:
            del widths[heading]
    widths["run"] = max(SHORTEST_NAME, min(widths["run"], widths["run"] + _left(widths, width) - SHORTEST_NOTE))
    widths["note"] = max(1, _left(widths, width))
    shown = [heading for heading in HEADINGS if heading in widths]
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for heading in shown:  # with fixed widths, because rich would cut names before notes
        folds = heading == "note" and folds_notes
        table.add_column(
            heading,
            justify="right" if heading in RIGHT else "left",
            width=widths[heading],
            no_wrap=not folds,
            overflow="fold" if folds else "ellipsis",
        )
    for status, cells in zip(runs, rows, strict=True):
        styles = {"state": COLOURS[status.state], "note": "dim"}
        named = zip(HEADINGS, cells, strict=True)
        table.add_row(*(Text(cell, styles.get(heading, "")) for heading, cell in named if heading in shown))
    return table


def _left(widths: dict[str, int], width: int) -> int:
    """Returns the number of characters that are left for notes."""
    return width - sum(widths.values()) - GAP * len(widths)


def show(read: Callable[[], Overview], *, watch: float | None = None, output: TextIO | None = None) -> None:
    """Shows an overview, in colours if the output is a terminal.

    With `watch`, at least 0.1 seconds, it reads and shows another one after so long, until all runs are done.
    """
    if watch is not None and not watch >= 0.1:  # nor nan
        raise NeurozooError(f"--watch is {watch} seconds, but should be at least 0.1.")
    output = output or sys.stdout
    if not output.isatty():
        _show_text(read, watch, output)
        return
    from rich.console import Console

    console = Console(file=output)
    if watch is None:
        console.print(as_renderable(read(), width=console.width))
        return
    _show_live(read, watch, console)


def _show_text(read: Callable[[], Overview], watch: float | None, output: TextIO) -> None:
    """Writes a table. With `watch`, writes another one whenever a run changes its state."""
    before = None
    while True:
        overview = read()
        states = [status.state for status in overview.runs]
        if states != before:
            output.write(as_text(overview) if before is None else "\n" + as_text(overview))
            output.flush()
        if watch is None or _is_over(overview):
            return
        before = states
        time.sleep(watch)


def _show_live(read: Callable[[], Overview], watch: float, console: "Console") -> None:
    from rich.live import Live

    with Live(console=console, auto_refresh=False) as live:
        while True:
            overview = read()
            live.update(as_renderable(overview, width=console.width, height=console.height), refresh=True)
            if _is_over(overview):
                return
            time.sleep(watch)


def _is_over(overview: Overview) -> bool:
    return all(status.state == "done" for status in overview.runs)
