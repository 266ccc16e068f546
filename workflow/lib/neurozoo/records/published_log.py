"""Writes and reads the progress tables in the text logs of the published codes.

There are two layouts. The GPU code writes the date before every line, doubles the spaces, adds an empty line after each
row and shortens long names to `...` and their last 30 characters. The distributed code of 2017 has neither dates nor
empty lines and keeps the first 30 characters. `format_table` writes the first layout, `read_tables` reads both.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from neurozoo.genomes.elite_lines import EliteLines

ELITE_GENOME = "TruncatedPopulationEliteSeeds"  # the field with the elite's genome
# Fields of the published genetic algorithm (GPU code), in its order.
GA_FIELDS = (
    "Iteration", "MutationPower", "PopulationEpRewMax", "PopulationEpRewMean", "PopulationEpCount",
    "PopulationTimesteps", "NumSelectedIndividuals", "TruncatedPopulationRewMean",
    "TruncatedPopulationValidationRewMean", "TruncatedPopulationEliteValidationRewMean",
    "TruncatedPopulationEliteIndex", ELITE_GENOME, "TruncatedPopulationEliteTestRewMean",
    "TruncatedPopulationEliteTestEpCount", "TruncatedPopulationEliteTestEpLenSum", "ValidationTimestepsThisIter",
    "ValidationTimestepsSoFar", "TimestepsThisIter", "TimestepsPerSecondThisIter", "TimestepsComputed",
    "TimestepsSoFar", "TimeElapsedThisIter", "TimeElapsedThisIterTotal", "TimeElapsed", "TimeElapsedTotal",
)  # fmt: skip
# Fields of the published evolution strategies (GPU code), in their order.
ES_FIELDS = (
    "Iteration", "MutationPower", "TimestepLimitPerEpisode", "PopulationEpRewMax", "PopulationEpRewMean",
    "PopulationEpRewMedian", "PopulationEpCount", "PopulationTimesteps", "TestRewMean", "TestRewMedian", "TestEpCount",
    "TestEpLenSum", "InitialRewMax", "InitialRewMean", "InitialRewMedian", "TimestepsThisIter",
    "TimestepsPerSecondThisIter", "TimestepsComputed", "TimestepsSoFar", "TimeElapsedThisIter",
    "TimeElapsedThisIterTotal", "TimeElapsed", "TimeElapsedTotal",
)  # fmt: skip
# Further fields of the distributed code of 2017.
DISTRIBUTED_FIELDS = (
    "ParentId", "EpRewMax", "EpRewMean", "EpRewStd", "EpLenMean", "EvalEpRewMean", "EvalEpRewMedian", "EvalEpRewStd",
    "EvalEpLenMean", "EvalPopRank", "EvalEpCount", "Norm", "GradNorm", "UpdateRatio", "EpisodesThisIter",
    "EpisodesSoFar", "UniqueWorkers", "UniqueWorkersFrac", "ResultsSkippedFrac", "ObCount",
)  # fmt: skip
# Fields of novelty search: those of the distributed code that apply here, and our own.
NOVELTY_FIELDS = (
    "Iteration", "ParentId", "AgentNovelty", "MutationPower", "RewardWeight", "TimestepLimitPerEpisode", "EpRewMax",
    "EpRewMean", "EpRewStd", "EpLenMean", "NoveltyMax", "NoveltyMean", "EvalEpRewMean", "EvalEpRewStd",
    "EvalEpLenMean", "EvalPopRank", "EvalEpCount", "TestRewMean", "TestEpCount", "TestEpLenSum", "Norm", "GradNorm",
    "UpdateRatio", "ArchiveSize", "EpisodesThisIter", "EpisodesSoFar", "TimestepsThisIter",
    "TimestepsPerSecondThisIter", "TimestepsSoFar", "TimeElapsedThisIter", "TimeElapsedThisIterTotal", "TimeElapsed",
    "TimeElapsedTotal",
)  # fmt: skip
PUBLISHED_FIELDS = tuple(dict.fromkeys(GA_FIELDS + ES_FIELDS + DISTRIBUTED_FIELDS + NOVELTY_FIELDS))

_WIDEST = 33  # a longer name or value is shortened
_KEPT = 30  # characters that a shortened name or value keeps
_DATE = re.compile(r"^\d\d/\d\d/\d{4} \d\d:\d\d:\d\d [AP]M ?")
_ROW = re.compile(r"^\|\s+(\S+)\s+\|(.*)\|$")
_RULE = re.compile(r"^-{8,}$")
_HEADING = re.compile(r"^\*{10} Iteration (\d+) \*{10}$")
_ELITE = re.compile(r"^Current elite: (.*)$")


def stamped(message: str, *, now: datetime) -> str:
    """Puts local time before a log message, as the published code: `MM/DD/YYYY HH:MM:SS AM|PM `, hours from 01."""
    half = "AM" if now.hour < 12 else "PM"  # not %p, which depends on the locale
    return f"{now:%m/%d/%Y %I:%M:%S} {half} {message}\n"


def format_table(fields: Mapping[str, object], *, now: datetime) -> str:
    """Formats one generation's values like the published GPU code, so that existing tools can read our logs.

    Numbers get three significant digits; local time stands before every line.

    Raises:
        ValueError: `fields` is empty, or two names are equal after they are shortened.
    """
    rows = {_shortened(name): _shortened(_formatted(value)) for name, value in fields.items()}
    if not rows or len(rows) != len(fields):
        raise ValueError(f"A table needs names that differ in their last {_KEPT} characters, but got: {[*fields]}")
    name_width, value_width = max(map(len, rows)), max(map(len, rows.values()))
    rule = "-" * (name_width + value_width + 13) + " \n"
    lines = [f"|  {name:<{name_width}}   |  {value:<{value_width}}   |\n" for name, value in rows.items()]
    return "".join(stamped(line, now=now) for line in (rule, *lines, rule))


def _formatted(value: object) -> str:
    return f"{float(value):<8.3g}" if hasattr(value, "__float__") else str(value)


def _shortened(text: str) -> str:
    return text if len(text) <= _WIDEST else "..." + text[-_KEPT:]


def read_tables(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Reads the tables of a text log in either layout.

    Yields:
        Value by name, both as printed. `Current elite` holds the whole genome that follows a table of the genetic
        algorithm. `Iteration` comes from the heading if the table has none. An incomplete table is left out: the job
        was killed or is still writing.
    """
    table: dict[str, str] | None = None
    open_rows: dict[str, str] | None = None
    heading: dict[str, str] = {}
    elites = EliteLines()
    for line in lines:
        line = _DATE.sub("", line).strip()
        if not line:
            continue
        if _RULE.match(line):
            if open_rows:
                if table:
                    yield table
                table, open_rows = {**heading, **open_rows}, None
            else:
                open_rows = {}
        elif open_rows is not None and (row := _ROW.match(line)):
            open_rows[restored(row[1])] = row[2].strip()
        else:
            open_rows = None  # something else stands where a row should: the table was cut off here
            if found := _HEADING.match(line):
                heading = {"Iteration": found[1]}
            elif (found := _ELITE.match(line)) and (elite := elites.read(found[1])) and table:
                table["Current elite"] = elite
    if table:
        yield table


def restored(name: str) -> str:
    """Finds the full name of a field that was printed as `...` and its last characters, or its first ones and `...`.

    It is `name` itself if none or several published fields fit.
    """
    long = [field for field in PUBLISHED_FIELDS if len(field) > _WIDEST]
    fitting = []
    if name.startswith("..."):
        fitting = [field for field in long if field.endswith(name[3:])]
    elif name.endswith("..."):
        fitting = [field for field in long if field.startswith(name[:-3])]
    return fitting[0] if len(fitting) == 1 else name
