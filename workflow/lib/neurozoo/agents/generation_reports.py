"""Reads the elite genome and scores of each generation from a run's log."""

import os
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType

from neurozoo.errors import NeurozooError, naming
from neurozoo.files import open_text, parse_json
from neurozoo.genomes.genome import Genome
from neurozoo.records.genome_changes import Restorer
from neurozoo.records.published_log import ELITE_GENOME
from neurozoo.records.run_log import START_AGAIN, current_log, finished_lines

HAS_GENOME = "has_genome"  # key that `read_reports` adds
SCORES = {
    "validation_score": "TruncatedPopulationEliteValidationRewMean",
    "test_score": "TruncatedPopulationEliteTestRewMean",
    "test_episodes": "TruncatedPopulationEliteTestEpCount",
    "iteration": "Iteration",
    "frames": "frames",
}
_NUMBERS = ("frames", "TimeElapsedTotal", "score", "test_score")  # of a report, where it has them
# What `read_reports` keeps of a report.
_KEPT = {*SCORES.values(), "TimeElapsedTotal", "score", "test_score", ELITE_GENOME}

GENERATIONS = "generations"  # folder in a run's folder, for what is made from the elites of its generations


@dataclass(frozen=True)
class GenerationElite:
    """The report of one generation."""

    generation: int  # number of the generation, from 1
    genome: Genome  # genome of its elite
    scores: dict[str, float]  # the scores that `genome.json` has for a run's result, as far as the log has them

    @property
    def score(self) -> float | None:
        """The elite's mean score in validation, or else in the test; None without both."""
        return self.scores.get("validation_score", self.scores.get("test_score"))


def generation_folder(run_dir: str | os.PathLike, generation: int) -> Path:
    """Returns the folder for everything that is made from one generation's elite."""
    return Path(run_dir, GENERATIONS, str(generation))


def read_reports(run_dir: str | os.PathLike, *, genomes_of: Container[int] = ()) -> dict[int, dict]:
    """Reads how good a run was after each generation; a run in progress has those written so far.

    Returns:
        By generation: frames, seconds and scores of its report, `HAS_GENOME`, and for those of `genomes_of` also
        `ELITE_GENOME`; the genomes of all would fill the memory.

    Raises:
        NeurozooError: The log is missing, holds no finished report, or is damaged before its last line.
    """
    path = current_log(run_dir)
    if path is None:
        raise NeurozooError(
            f"{Path(run_dir, 'log.jsonl')} is missing, so the generations of this run are unknown. Only runs that were "
            "trained here have a log; an imported genome has no generations."
        )
    restorer, reports = Restorer(), {}

    def parse(line: str) -> dict:
        record = parse_json(line)
        if not isinstance(record, dict):
            raise ValueError("it is no JSON object")
        if wrong := [name for name in _NUMBERS if not isinstance(record.get(name), int | float | NoneType)]:
            raise ValueError(f"{', '.join(wrong)} should be a number")
        generation, has_genome = int(record["Iteration"]), record.get(ELITE_GENOME) is not None
        record = restorer.restore(record, is_wanted=generation in genomes_of)
        return {HAS_GENOME: has_genome, **{name: value for name, value in record.items() if name in _KEPT}}

    with open_text(path, errors="replace") as file:
        for report in finished_lines(file, path, parse):
            reports[int(report["Iteration"])] = report
    if not reports:
        raise NeurozooError(f"{path} holds no finished report. {START_AGAIN}")
    return reports


def reports_of(run_dir: str | os.PathLike, generations: Sequence[int]) -> list[GenerationElite]:
    """Returns the reports of some generations, by their numbers from 1, in one pass through the log.

    Raises:
        NeurozooError: There is no such generation, or its report has no genome.
    """
    reports, elites = read_reports(run_dir, genomes_of=frozenset(generations)), []
    for generation in generations:
        if generation not in reports:
            known = f"{min(reports)} to {max(reports)}"
            raise NeurozooError(f"{run_dir} has no generation {generation}. Its generations: {known}.")
        record = reports[generation]
        if not record[HAS_GENOME]:
            raise NeurozooError(
                f"The log of {run_dir} has no genome for generation {generation}: only random search and genetic "
                "algorithms without crossover log one in every report. The run's result can be frozen."
            )
        scores = {ours: record[theirs] for ours, theirs in SCORES.items() if theirs in record}
        with naming(f"The log of {run_dir}"):
            elites.append(GenerationElite(generation, Genome.from_json(record[ELITE_GENOME]), scores))
    return elites
