"""A toy algorithm, complete: random search that keeps the longest vector for each of ten directions.

It is the example of docs/adding_an_algorithm.md. Its result is an archive, its budget counts evaluations, and it needs
neither network, core nor noise table.
"""

import numpy as np
from neurozoo.algorithms.results import ArchiveResult
from neurozoo.algorithms.run_settings import Settings
from neurozoo.algorithms.session import Report
from neurozoo.algorithms.spec import AlgorithmSpec
from neurozoo.randomness import Purpose, generator
from neurozoo.validation import Whole
from pydantic import Field
from pydantic.dataclasses import dataclass

BATCH, CELLS = 20, 10


@dataclass(frozen=True, kw_only=True)
class ToySettings(Settings):
    evaluations: Whole = Field(200, ge=1, description="Budget: vectors that are evaluated.")
    seed: Whole = Field(0, ge=0, description="Seed of the experiment; every run adds its number.")

    def describe_protocol(self, game):
        return {"name": "toy"}


class ToySession:
    identity, announcements, table = {}, (), ("Iteration", "evaluations", "score", "elites")

    def __init__(self, context):
        self._context, self.iteration, self.progress = context, 0, 0
        self._best = np.zeros((CELLS, 2))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    @property
    def is_done(self):
        return self.progress >= self._context.settings.evaluations

    def advance(self, watch):
        for vector in generator(self._context.entropy, Purpose.OFFSPRING, self.iteration).normal(size=(BATCH, 2)):
            cell = int((np.arctan2(*vector) / np.pi + 1) / 2 * CELLS) % CELLS
            if np.linalg.norm(vector) > np.linalg.norm(self._best[cell]):
                self._best[cell] = vector
        self.iteration, self.progress = self.iteration + 1, self.progress + BATCH
        watch.advanced(BATCH, steps=BATCH, phase="search", done=BATCH, total=BATCH, unit="evaluations")
        elites = len(self.result().objectives)
        score = self.result().qd_score
        return Report(
            iteration=self.iteration, progress=self.progress, score=score, test_score=None, fields={"elites": elites}
        )

    def state(self):
        return {"iteration": self.iteration, "progress": self.progress}, {f"best-{self.iteration}": self._best}

    def restore(self, state, arrays):
        self.iteration, self.progress = state["iteration"], state["progress"]
        self._best = arrays[f"best-{self.iteration}"].copy()

    def result(self):
        found = self._best[np.any(self._best, axis=1)]
        return ArchiveResult(
            solutions=found,
            objectives=np.linalg.norm(found, axis=1),
            measures=np.arctan2(found[:, 0], found[:, 1])[:, None],
            ranges=np.array([[-np.pi, np.pi]]),
            iteration=self.iteration,
            evaluations=self.progress,
            num_cells=CELLS,
            protocol={"name": "toy"},
        )


SPECS = (
    AlgorithmSpec(
        name="toy_search",
        title="Toy search",
        settings=ToySettings,
        presets={"demo": ToySettings()},
        open_session=ToySession,
        result="archive",
        check_game=str,
        check_variant=str,
    ),
)
