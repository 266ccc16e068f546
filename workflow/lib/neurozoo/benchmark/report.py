"""A benchmark's report as tables: for the terminal and for the documentation."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from neurozoo.errors import NeurozooError
from neurozoo.files import write_text
from neurozoo.text import aligned

BEGIN = "<!-- measured: written by `python -m neurozoo bench --write`, not by hand -->"
END = "<!-- end of what is measured -->"


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    head: str
    unit: str  # may be empty
    value: str | Callable[[Mapping], object]  # a record's key, or what returns the cell's content, a text or a number
    format: str = ""  # of numbers, as in `format()`; empty for texts, which are aligned left

    def cell(self, record: Mapping) -> str:
        """Returns a record's cell as text."""
        return format(record[self.value] if isinstance(self.value, str) else self.value(record), self.format)


@dataclass(frozen=True)
class Table:
    """Records in rows."""

    title: str
    note: str  # a sentence or two that explain the columns
    columns: tuple[Column, ...]
    records: tuple[Mapping, ...]

    def as_text(self) -> str:
        """Returns aligned lines of at most about 120 characters."""
        rows = [[column.cell(record) for column in self.columns] for record in self.records]
        heads = [column.head for column in self.columns]
        right = {column.head for column in self.columns if column.format}
        lines = aligned([heads, [column.unit for column in self.columns], *rows], right=right)
        return "\n".join([self.title, "", *lines])

    def as_markdown(self) -> str:
        """Returns a heading, the note and a table."""
        heads = [f"{column.head} ({column.unit})" if column.unit else column.head for column in self.columns]
        rules = ["---:" if column.format else "---" for column in self.columns]
        rows = [[column.cell(record) for column in self.columns] for record in self.records]
        lines = ["| " + " | ".join(row) + " |" for row in [heads, rules, *rows]]
        return "\n".join([f"## {self.title}", "", *([self.note, ""] if self.note else []), *lines])


def _steps(report: Mapping) -> Table:
    return Table(
        "One step on one core",
        "Processor time of each part over the same episodes, the fastest of three repetitions. The emulator's time "
        "includes the starts of episodes. `rest` is everything else: weights, stacking of frames, queues.",
        (
            Column("network", "", "network"),
            Column("game", "", "game"),
            Column("emulator", "us/frame", "emulator_microseconds_per_frame", ",.1f"),
            Column("emulator", "frames/s", "emulator_frames_per_second", ",.0f"),
            Column("preprocess", "us/step", "preprocessing_microseconds_per_step", ",.1f"),
            Column("forward", "us/step", "forward_microseconds_per_step", ",.1f"),
            Column("forward", "GFLOP/s", "forward_gigaflops", ",.0f"),
            Column("rest", "us/step", "rest_microseconds", ",.1f"),
            Column("step", "us", "step_microseconds", ",.0f"),
            Column("step", "frames/s", "frames_per_processor_second", ",.0f"),
        ),
        tuple(report["parts"]),
    )


def _floors(report: Mapping) -> Table:
    return Table(
        "How far from the floor",
        "The floor is the time of the emulator alone plus that of the multiply-adds at the core's peak rate. `all` "
        "counts the multiply-adds of a step that reuses nothing: convolutions in full, dense layers without zero "
        "inputs. An engine that computes only what has changed can beat this floor. `done` counts the multiply-adds "
        "that the engine really did.",
        (
            Column("network", "", "network"),
            Column("game", "", "game"),
            Column("step", "frames/s", "frames_per_processor_second", ",.0f"),
            Column("all", "million/step", lambda parts: 1e-6 * parts["multiply_adds_per_step"], ",.2f"),
            Column("floor", "frames/s", "floor_frames_per_second", ",.0f"),
            Column("reached", "of it", "share_of_floor", ".0%"),
            Column("done", "million/step", lambda parts: 1e-6 * parts["done_multiply_adds_per_step"], ",.2f"),
            Column("floor", "frames/s", "done_floor_frames_per_second", ",.0f"),
            Column("reached", "of it", "share_of_done_floor", ".0%"),
        ),
        tuple(report["parts"]),
    )


def _scaling(report: Mapping) -> Table:
    first: dict[tuple, Mapping] = {}
    for result in report["results"]:
        first.setdefault((result["network"], result["game"], result["engine"]), result)

    def speedup(result: Mapping) -> float:
        base = first[result["network"], result["game"], result["engine"]]
        return base["threads"] * result["frames_per_second"] / base["frames_per_second"]

    return Table(
        "Threads",
        "Emulator frames per second of wall time.",
        (
            Column("network", "", "network"),
            Column("game", "", "game"),
            Column("engine", "", "engine"),
            Column("threads", "", "threads", "d"),
            Column("all threads", "frames/s", "frames_per_second", ",.0f"),
            Column("per core", "frames/s", "frames_per_second_per_core", ",.0f"),
            Column("speed-up", "", speedup, ".2f"),
        ),
        tuple(report["results"]),
    )


def _rivals(report: Mapping) -> Table:
    ours = {(parts["network"], parts["game"]): parts["frames_per_processor_second"] for parts in report["parts"]}

    def times(record: Mapping) -> str:
        own = ours.get((record["network"], record["game"]))
        return "" if own is None else f"{own / record['frames_per_processor_second']:,.1f} x"

    return Table(
        "Speed without this project",
        "Vector environments of ale-py and EnvPool with random actions, and a population of policies as one network in "
        "PyTorch (grouped convolutions, batches of matrices) over ale-py's; the faster of 16 and 64 policies counts. "
        "Everything runs on one core; speeds are per second of processor time.",
        (
            Column("game", "", "game"),
            Column("network", "", "network"),
            Column("played by", "", "way"),
            Column("rival", "frames/s", "frames_per_processor_second", ",.0f"),
            Column("this project is faster", "", times, ">"),
        ),
        tuple(report["rivals"]),
    )


def _memory(report: Mapping) -> Table:
    return Table(
        "Memory of a process that plays",
        "`own` is the memory that a second run on the machine needs again. The rest are files that runs share, such as "
        "the noise table.",
        (
            Column("network", "", "network"),
            Column("threads", "", "threads", "d"),
            Column("peak", "MB", "peak_megabytes", ",.0f"),
            Column("own", "MB", "own_megabytes", ",.0f"),
        ),
        tuple(report["memory"]),
    )


def _between(report: Mapping) -> Table:
    rows = []
    for decoding in report["decoding"]:
        scratch = f"`{decoding['network']}`: weights of a genome of {decoding['mutations']:,} mutations"
        child = f"`{decoding['network']}`: weights of its child"
        rows.append({"what": scratch, "threads": decoding["threads"], "seconds": decoding["seconds"], "floor": ""})
        rows.append({"what": child, "threads": 1, "seconds": decoding["child_seconds"], "floor": ""})
    update = report["update"]
    what = f"an update of `es`, {update['parameters']:,} parameters, after {update['population_size']:,} episodes"
    floor = f"{update['floor_seconds']:.3f}"
    rows.append({"what": what, "threads": update["threads"], "seconds": update["seconds"], "floor": floor})
    return Table(
        "Between the episodes",
        f"The floor of the update is the time to read its {update['noise_gigabytes']:.1f} GB of noise from memory. "
        "Reading from caches can be faster.",
        (
            Column("what", "", "what"),
            Column("threads", "", "threads", "d"),
            Column("time", "s", "seconds", ".3f"),
            Column("floor", "s", "floor", ">"),
        ),
        tuple(rows),
    )


def describe(report: Mapping) -> Iterable[str]:
    """Returns lines about the machine and the software of the measurement."""
    machine, software, peak = report["machine"], report["software"], report["peak"]
    library = software["library"]
    read = ", ".join(f"{value:,.0f} GB/s by {count}" for count, value in peak["read_gigabytes_per_second"].items())
    yield (
        f"{machine['processor']}, {machine['physical_cores']} cores, {machine['memory_gigabytes']:g} GB of memory, "
        f"{machine['system']}, load {machine['load_average']:g} at the start, {report['date']}"
    )
    commits = [(each["commit"] or "no commit")[:12] for each in (software, library)]
    yield (
        f"neurozoo {software['neurozoo']} ({commits[0]}); native core of {commits[1]}, {library['compiler']}, "
        f"-march={library['march']}"
    )
    yield (
        f"TensorFlow {software['tensorflow']}, Keras {software['keras']}, ale-py {software['ale-py']}, "
        f"NumPy {software['numpy']}, Python {software['python']}"
    )
    yield (
        f"Peak of one core: {peak['gigaflops']:,.0f} GFLOP/s in vectors of {peak['vector_bits']} bits; memory is read "
        f"at {read} threads"
    )


def as_text(report: Mapping) -> str:
    """Returns the report as text for the terminal.

    Raises:
        NeurozooError: It is not a report, or comes from another version.
    """
    facts, tables = _read(report)
    return "\n\n".join(["\n".join(facts), *(table.as_text() for table in tables)])


def as_markdown(report: Mapping) -> str:
    """Returns the report as Markdown for the documentation; errors are those of `as_text`."""
    facts, tables = _read(report)
    return "\n\n".join(["\n".join(f"- {line}" for line in facts), *(table.as_markdown() for table in tables)])


def _read(report: Mapping) -> tuple[list[str], list[Table]]:
    try:
        compared = [_rivals] if "rivals" in report else []
        tables = [make(report) for make in (_steps, _floors, _scaling, *compared, _memory, _between)]
        for table in tables:
            table.as_text()
        return list(describe(report)), tables
    except (KeyError, TypeError, ValueError) as error:
        raise NeurozooError(
            f"The file is not a report of this version's benchmark: {error} is missing or has another type. Measure "
            "again with: python -m neurozoo bench --save FILE"
        ) from error


def write_page(path: str | os.PathLike, report: Mapping) -> None:
    """Replaces the measurements on a page, between the lines `BEGIN` and `END`, and keeps the rest.

    Raises:
        NeurozooError: The page is missing or lacks these lines, or the report is invalid.
    """
    text = Path(path).read_text() if Path(path).exists() else ""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise NeurozooError(
            f"The page {path} is missing or lacks a line. The measurements go between {BEGIN!r} and {END!r}; add both."
        )
    write_text(path, f"{before}{BEGIN}\n\n{as_markdown(report)}\n\n{END}{after}")
