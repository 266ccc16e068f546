"""From a run's log to `metrics.csv`, one row per report.

Reads our `log.jsonl` and the text logs of the published codes (GPU code and distributed code), told apart by what is
in them, so that old runs appear in the same tables and figures as new ones.
"""

import csv as csv_format
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml

from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.files import written_whole
from neurozoo.games import FRAME_SKIP
from neurozoo.genomes import Genome
from neurozoo.tabular import PUBLISHED_FIELDS, read_tables

IDENTITY = ("algo", "game", "model", "run", "protocol")  # the columns that say which run a row belongs to
STANDARD = ("frames", "score", "test_score")  # the columns that every algorithm has
EPISODES = ("score_episodes", "test_episodes")  # how many episodes the two scores are the mean of, where that is known

_SEEDS = "TruncatedPopulationEliteSeeds"
_LONG = (_SEEDS, "Lineage")  # too long for a table of all reports
# The published field that estimates the solution at hand, the one that holds its independent test, and those that
# count the episodes of the two, in the order of preference: genetic algorithm, evolution strategies, and everything of
# the distributed code. The latter's genetic algorithm and random search validate nothing; of what they print, only the
# few noiseless evaluations are no maximum over lucky episodes, so these stand for both.
_SCORES = (
    (
        "TruncatedPopulationEliteValidationRewMean", "TruncatedPopulationEliteTestRewMean",
        None, "TruncatedPopulationEliteTestEpCount",
    ),
    ("TestRewMean", "TestRewMean", "TestEpCount", "TestEpCount"),
    ("EvalEpRewMean", "EvalEpRewMean", "EvalEpCount", "EvalEpCount"),
)  # fmt: skip

Record = dict[str, object]


def parse_log(
    log: str | os.PathLike,
    csv: str | os.PathLike,
    *,
    identity: Mapping[str, object],
    columns: Sequence[str] | None = None,
) -> None:
    """Makes a run's log a table that every tool reads.

    Args:
        log: Our `log.jsonl`, or a text log of the published codes.
        csv: The table to write: the columns of `identity`, then `frames` (emulator frames), `score`, `test_score`,
            `score_episodes` and `test_episodes` (of how many episodes these are means), then the fields. A field that
            a report lacks is an empty cell.
        identity: The values of `IDENTITY` for this run.
        columns: The fields wanted, by their published names; None for all in the log but the elite's genome, which
            would make the tables of long runs grow with the square of their length, and the lineage.

    Raises:
        NeurozooError: The log is missing, empty or damaged, or a field is unknown (proposes the nearest name).
    """
    records = read_log(log)
    always = (*STANDARD, *EPISODES)
    found = [name for name in dict.fromkeys(name for record in records for name in record) if name not in always]
    for name in columns or ():
        if name not in PUBLISHED_FIELDS and name not in found:
            raise unknown_name("log field", name, {*PUBLISHED_FIELDS, *found})
    fields = [name for name in found if name not in _LONG] if columns is None else list(dict.fromkeys(columns))
    first = [identity[name] for name in IDENTITY]
    with written_whole(csv) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        writer = csv_format.writer(file, lineterminator="\n")
        writer.writerow([*IDENTITY, *always, *fields])
        writer.writerows([*first, *(_cell(record.get(name)) for name in (*always, *fields))] for record in records)


def read_run_settings(config: str | os.PathLike) -> dict[str, object]:
    """Reads a run's `config.yaml`: all its settings, and at least which run it is.

    Raises:
        NeurozooError: The file is missing or damaged, or lacks one of the values of `IDENTITY`.
    """
    remedy = "It is written by the run; start the run again."
    try:
        found = yaml.safe_load(Path(config).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NeurozooError(f"{config} is missing. {remedy}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise NeurozooError(f"{config} is damaged. {remedy}") from error
    missing = [name for name in IDENTITY if not isinstance(found, dict) or name not in found]
    if missing:
        raise NeurozooError(f"{config} should name {', '.join(IDENTITY)}, but lacks {', '.join(missing)}. {remedy}")
    return found


def read_identity(config: str | os.PathLike) -> dict[str, object]:
    """Reads which run a folder belongs to from its `config.yaml`, where the protocol is on record too.

    Returns:
        The values of `IDENTITY`.

    Raises:
        NeurozooError: The file is missing or lacks one of them.
    """
    found = read_run_settings(config)
    return {name: found[name] for name in IDENTITY}


def read_log(log: str | os.PathLike) -> list[Record]:
    """Reads the reports of a log, whatever wrote it.

    Args:
        log: Our `log.jsonl`, or a text log of the published codes.

    Returns:
        One record per report, in order, with at least the keys of `STANDARD`. What a killed or running job left
        unfinished at the end is not among them.

    Raises:
        NeurozooError: The log is missing, holds no finished report, or is damaged before its last line.
    """
    try:
        with open(log, encoding="utf-8", errors="replace") as file:
            first = next((line for line in file if line.strip()), "")
            file.seek(0)
            records = _read_json_lines(file, log) if first.startswith("{") else _read_text(file)
    except FileNotFoundError as error:
        raise NeurozooError(
            f"{log} is missing; a run's log was expected there. Start the run, or mend the path."
        ) from error
    if not records:
        raise NeurozooError(
            f"{log} holds no finished report: neither JSON lines nor a table of the published codes. "
            "If the run stopped before its first report, start it again."
        )
    return records


def _read_json_lines(lines: Iterable[str], log: str | os.PathLike) -> list[Record]:
    records, damaged = [], None
    for number, line in enumerate(lines, start=1):
        if damaged:
            raise NeurozooError(
                f"{log} is damaged: line {damaged} should be one JSON object with {', '.join(STANDARD)}. "
                "Remove that line, or start the run again."
            )
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            damaged = number  # forgiven if nothing follows: the job was killed while it wrote, or still writes
            continue
        if not isinstance(record, dict) or not set(STANDARD) <= set(record):
            damaged = number
        else:
            records.append(record)
    return records


def _read_text(lines: Iterable[str]) -> list[Record]:
    """Reads a log of the published codes.

    Frames are steps times 4; both have the three significant digits of the table. `test_score` is the test of the
    best solution so far, where the genetic algorithm judges by the mean over all validated individuals. A job that
    went back to a snapshot repeats iterations: the later ones count.
    """
    records, best_validation, best_test = [], -math.inf, None
    for table in read_tables(lines):
        record: Record = {name: _value(text) for name, text in table.items() if name != "Current elite"}
        score, test, *counts = next((names for names in _SCORES if names[0] in table), _SCORES[0])
        steps = _number(record.get("TimestepsSoFar"))
        record["frames"] = None if steps is None else round(FRAME_SKIP * steps)
        record["score"] = _number(record.get(score))
        record["test_score"] = _number(record.get(test))
        record |= {name: _number(record.get(count)) for name, count in zip(EPISODES, counts, strict=True)}
        if "Iteration" in table:
            record["Iteration"] = iteration = _iteration(table["Iteration"], records)
            if iteration is not None:
                repeated = iteration if iteration < 1000 else iteration + 1  # from 1000 on it may be rounded
                while _last_iteration(records) >= repeated:
                    records.pop()
        if _SEEDS in table:
            record[_SEEDS] = _genome(table.get("Current elite", table[_SEEDS]))
        records.append(record)
    for record in records:
        validation = _number(record.get("TruncatedPopulationValidationRewMean"))
        if validation is not None:
            if validation > best_validation:
                best_validation, best_test = validation, record["test_score"]
            record["test_score"] = best_test
    return records


def _iteration(text: str, records: Sequence[Record]) -> int | None:
    """Undoes the rounding to three digits of an iteration from 1000 on, where it continues the one before."""
    follower = _last_iteration(records) + 1
    if f"{follower:.3g}" == text:
        return follower
    value = _number(_value(text))
    return None if value is None else round(value)


def _last_iteration(records: Sequence[Record]) -> int:
    iteration = records[-1].get("Iteration") if records else None
    return -1 if iteration is None else iteration


def _genome(text: str) -> list | None:
    """Returns the JSON form of a genome; None for one that was cut off."""
    try:
        return Genome.from_text(text).to_json()
    except NeurozooError:
        return None


def _value(text: str) -> int | float | str | None:
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        return value if math.isfinite(value) else None
    return None if text in ("", "None") else text


def _number(value: object) -> int | float | None:
    return value if isinstance(value, int | float) else None


def _cell(value: object) -> object:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return json.dumps(value) if isinstance(value, list | dict) else value
