"""Reads the reports of the published codes' text logs as records like those of ours."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from neurozoo.errors import NeurozooError
from neurozoo.genomes.genome import Genome
from neurozoo.records.published_log import ELITE_GENOME, read_tables

EPISODES = ("score_episodes", "test_episodes")  # numbers of episodes of which the two scores are means, where known
# For each kind of published log: the field with the score, the field with the independent test score, and the fields
# with their numbers of episodes. In order of preference: genetic algorithm, evolution strategies, and all algorithms of
# the distributed code. Its genetic algorithm and random search have no validation; of the values that they print, only
# the mean of a few noiseless evaluations is not a maximum over lucky episodes, so it stands for both scores.
_SCORES = (
    (
        "TruncatedPopulationEliteValidationRewMean", "TruncatedPopulationEliteTestRewMean",
        None, "TruncatedPopulationEliteTestEpCount",
    ),
    ("TestRewMean", "TestRewMean", "TestEpCount", "TestEpCount"),
    ("EvalEpRewMean", "EvalEpRewMean", "EvalEpCount", "EvalEpCount"),
)  # fmt: skip

Record = dict[str, Any]


def read_reports(lines: Iterable[str], frame_skip: int, *, with_genomes: bool) -> list[Record]:
    """Reads the reports of a log, complete and in order.

    Frames are steps times `frame_skip`; both have the three significant digits of the table. For the genetic algorithm,
    `test_score` is that of the best solution so far, by the mean over all validated individuals. A job that went back
    to a snapshot repeats iterations: the later ones count.
    """
    records: list[Record] = []
    best_validation, best_test = -math.inf, None
    for table in read_tables(lines):
        record: Record = {
            name: _value(text) for name, text in table.items() if name not in ("Current elite", ELITE_GENOME)
        }
        score, test, *counts = next((names for names in _SCORES if names[0] in table), _SCORES[0])
        steps = _number(record.get("TimestepsSoFar"))
        record["frames"] = None if steps is None else round(frame_skip * steps)
        record["score"] = _number(record.get(score))
        record["test_score"] = _number(record.get(test))
        for name, count in zip(EPISODES, counts, strict=True):
            record[name] = _number(record.get(count)) if count else None
        if "Iteration" in table:
            record["Iteration"] = iteration = _iteration(table["Iteration"], records)
            if iteration is not None:
                repeated = iteration if table["Iteration"].isdigit() else iteration + 1  # 1e+03 is rounded
                while _last_iteration(records) >= repeated:
                    records.pop()
        if ELITE_GENOME in table and with_genomes:
            record[ELITE_GENOME] = _genome(table.get("Current elite", table[ELITE_GENOME]))
        records.append(record)
    for record in records:
        validation = _number(record.get("TruncatedPopulationValidationRewMean"))
        if validation is not None:
            if validation > best_validation:
                best_validation, best_test = validation, record["test_score"]
            record["test_score"] = best_test
    return records


def _iteration(text: str, records: Sequence[Record]) -> int | None:
    """Restores an iteration number that was rounded to three digits (from 1000 on), if it follows the one before."""
    follower = _last_iteration(records) + 1
    if f"{follower:.3g}" == text:
        return follower
    value = _number(_value(text))
    return None if value is None else round(value)


def _last_iteration(records: Sequence[Record]) -> int:
    iteration = records[-1].get("Iteration") if records else None
    return -1 if iteration is None else iteration


def _genome(text: str) -> list | None:
    """Returns the JSON form of a genome; None if it is cut off."""
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
