"""What a run's log says of its generations, as far as inspection needs it."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from neurozoo.errors import NeurozooError
from neurozoo.genomes import Genome

ELITE = "TruncatedPopulationEliteSeeds"  # of a report: the elite's genome
SCORES = {
    "validation_score": "TruncatedPopulationEliteValidationRewMean",
    "test_score": "TruncatedPopulationEliteTestRewMean",
    "test_episodes": "TruncatedPopulationEliteTestEpCount",
    "iteration": "Iteration",
    "frames": "frames",
}


@dataclass(frozen=True)
class Report:
    """What a run's log says of a generation.

    Attributes:
        generation: Its number, from 1.
        genome: Its elite.
        scores: The facts that `genome.json` has of a run's result, as far as the log has them.
    """

    generation: int
    genome: Genome
    scores: dict[str, float]

    @property
    def score(self) -> float | None:
        """The elite's mean score: of its validation, or else of its test."""
        return self.scores.get("validation_score", self.scores.get("test_score"))


def generation_folder(run_dir: str | os.PathLike, generation: int) -> Path:
    """Returns the folder of what is made of one generation."""
    return Path(run_dir, "generations", str(generation))


def read_reports(run_dir: str | os.PathLike) -> dict[int, dict]:
    """Reads a run's reports by generation; of a run that still goes on, those that are there.

    Raises:
        NeurozooError: There is no log, or it is damaged.
    """
    paths = [Path(run_dir, "log.jsonl"), Path(run_dir, "state", "log.jsonl")]
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        raise NeurozooError(
            f"{paths[0]} is missing, so that nothing is known of single generations. Only runs that were trained here "
            "have a log; an imported genome has no generations."
        )
    try:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return {int(record["Iteration"]): record for record in records}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NeurozooError(
            f"{path} is damaged ({type(error).__name__}: {error}). Delete it and train again."
        ) from error


def report_of(run_dir: str | os.PathLike, generation: int, *, reports: dict[int, dict] | None = None) -> Report:
    """Returns the report of one generation.

    Args:
        run_dir: The run's folder.
        generation: Number of the generation, from 1.
        reports: What `read_reports` returned, if it has been read already.

    Raises:
        NeurozooError: There is no such generation, or the run keeps no genome of each.
    """
    reports = read_reports(run_dir) if reports is None else reports
    if generation not in reports:
        known = f"{min(reports)} to {max(reports)}" if reports else "none"
        raise NeurozooError(f"{run_dir} has the generations {known}, but {generation} was asked for.")
    record = reports[generation]
    if record.get(ELITE) is None:
        raise NeurozooError(
            f"{run_dir} keeps no genome of generation {generation}: only the genetic algorithms and random search "
            "write one in every report. Of other runs only the result can be frozen: leave the generation out."
        )
    scores = {ours: record[theirs] for ours, theirs in SCORES.items() if theirs in record}
    return Report(generation, Genome.from_json(record[ELITE]), scores)
