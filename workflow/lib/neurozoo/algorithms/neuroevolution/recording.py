"""Keeps what every individual of a population did, for views of populations in behaviour space.

The files are written again, with the same bytes, when a killed run repeats a generation from its journal.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from neurozoo.algorithms.neuroevolution.base import Batch
from neurozoo.environments.games import BEHAVIOURS
from neurozoo.environments.protocols import Protocol
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes.genome import Genome
from neurozoo.records.population_files import EvaluatedAgent, Population, write_population


def recorded_behaviour(behaviour: str, *, game: str, protocol: Protocol) -> str:
    """Returns the behaviour that episodes have to record: the algorithm's own, or else the final position.

    Raises `NeurozooError` if neither the algorithm nor the game gives one.
    """
    if behaviour in ("ram", "final_position"):
        return behaviour
    if behaviour != "none" or "final_position" not in BEHAVIOURS[protocol.world]:
        raise NeurozooError(
            "record_population needs a game with final positions (river_crossing, hard_maze) or novelty search, but "
            f"{game!r} gives no behaviour here. Set record_population to false."
        )
    return "final_position"


class PopulationRecorder:
    """Collects the episodes of one generation, and writes them."""

    def __init__(self, run_dir: Path, *, behaviour: str, game: str, algo: str) -> None:
        self._run_dir = run_dir
        self._names = {"behaviour": behaviour, "game": game, "algo": algo}
        self._seen: dict[str, tuple[Batch, Sequence[EpisodeResult]]] = {}  # by phase

    def see(self, batch: Batch, results: Sequence[EpisodeResult]) -> None:
        """Remembers the episodes of a phase."""
        if all(result.behaviour is not None for result in results):  # else the setting was changed after a kill
            self._seen[batch.phase] = batch, results

    def _points(self, results: Sequence[EpisodeResult]) -> np.ndarray:
        """Describes each episode by one row: the last bytes of RAM, or the mean of its final positions."""
        rows = [np.asarray(result.behaviour, np.float32) for result in results]
        return np.stack([row[-1] if self._names["behaviour"] == "ram" else row.mean(0) for row in rows])

    def _agent(self, phase: str) -> EvaluatedAgent | None:
        """Returns the mean of tests, which stands for the tested agent."""
        if phase not in self._seen:
            return None
        results = self._seen[phase][1]
        return EvaluatedAgent(self._points(results).mean(0), float(np.mean([result.score for result in results])))

    def write(self, generation: int) -> None:
        """Writes the file of a generation, from 1, if its episodes are known."""
        if "population" in self._seen:
            batch, results = self._seen["population"]
            places: dict[Genome | None, int] = {genome: place for place, genome in enumerate(batch.parents)}
            genomes = [episode.genome for episode in batch.episodes]
            genes = [_gene(genome) for genome in genomes]
            population = Population(
                generation=generation,
                **self._names,
                points=self._points(results),
                score=np.array([result.score for result in results], np.float64),
                steps=np.array([result.steps for result in results], np.int64),
                index=np.array([index for index, _ in genes], np.int64),
                power=np.array([power for _, power in genes], np.float64),
                parent=np.array([places.get(genome.parent, -1) for genome in genomes], np.int32),
                begins_with=self._agent("initial"),
                tested=self._agent("test"),
            )
            write_population(self._run_dir, population)
        self._seen = {}


def _gene(genome: Genome) -> tuple[int, float]:
    """Returns the noise index and the power of the last mutation; the power is 0 for fresh weights."""
    if genome.mutations:
        return genome.mutations[-1].index, genome.mutations[-1].power
    return genome.initial if isinstance(genome.initial, int) else -1, 0.0
