"""Reads the elite genome and scores of each generation from a run's log."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType

from neurozoo.errors import NeurozooError, naming
from neurozoo.files import open_text, parse_json
from neurozoo.genomes.genome import Genome

ELITE = "TruncatedPopulationEliteSeeds"  # field of a report with the elite's genome
SCORES = {
    "validation_score": "TruncatedPopulationEliteValidationRewMean",
    "test_score": "TruncatedPopulationEliteTestRewMean",
    "test_episodes": "TruncatedPopulationEliteTestEpCount",
    "iteration": "Iteration",
    "frames": "frames",
}
_NUMBERS = ("frames", "TimeElapsedTotal", "score", "test_score")  # of a report, where it has them


@dataclass(frozen=True)
class GenerationElite:
    """The report of one generation.

    Attributes:
        generation: Number of the generation, from 1.
        genome: Genome of its elite.
        scores: The scores that `genome.json` has for a run's result, as far as the log has them.
    """

    generation: int
    genome: Genome
    scores: dict[str, float]

    @property
    def score(self) -> float | None:
        """The elite's mean score in validation, or else in the test; None without both."""
        return self.scores.get("validation_score", self.scores.get("test_score"))


def generation_folder(run_dir: str | os.PathLike, generation: int) -> Path:
    """Returns the folder for everything that is made from one generation's elite."""
    return Path(run_dir, "generations", str(generation))


def read_reports(run_dir: str | os.PathLike) -> dict[int, dict]:
    """Reads a run's reports by generation; a run in progress has those written so far.

    Raises:
        NeurozooError: The log is missing or damaged.
    """
    paths = [Path(run_dir, "log.jsonl"), Path(run_dir, "state", "log.jsonl")]
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        raise NeurozooError(
            f"{paths[0]} is missing, so the generations of this run are unknown. Only runs that were trained here have "
            "a log; an imported genome has no generations."
        )
    try:
        with open_text(path) as file:
            records = [parse_json(line) for line in file.read().splitlines()]
        for record in records:
            if wrong := [name for name in _NUMBERS if not isinstance(record.get(name), int | float | NoneType)]:
                raise ValueError(f"{', '.join(wrong)} should be a number")
        return {int(record["Iteration"]): record for record in records}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise NeurozooError(
            f"{path} is damaged ({type(error).__name__}: {error}). Delete it and train again."
        ) from error


def report_of(
    run_dir: str | os.PathLike, generation: int, *, reports: Mapping[int, dict] | None = None
) -> GenerationElite:
    """Returns the report of one generation.

    Args:
        run_dir: The run's folder.
        generation: Number of the generation, from 1.
        reports: What `read_reports` returned, if it has been read already.

    Raises:
        NeurozooError: There is no such generation, or its report has no genome.
    """
    reports = read_reports(run_dir) if reports is None else reports
    if generation not in reports:
        known = f"{min(reports)} to {max(reports)}" if reports else "none"
        raise NeurozooError(f"{run_dir} has no generation {generation}. Its generations: {known}.")
    record = reports[generation]
    if record.get(ELITE) is None:
        raise NeurozooError(
            f"The log of {run_dir} has no genome for generation {generation}: only the genetic algorithms and random "
            "search log one in every report. Leave out the generation to freeze the run's result."
        )
    scores = {ours: record[theirs] for ours, theirs in SCORES.items() if theirs in record}
    with naming(f"The log of {run_dir}"):
        return GenerationElite(generation, Genome.from_json(record[ELITE]), scores)
