"""What all searches through levels share: propose, send an agent in, add to the archive, report, save.

A subclass proposes solutions. Every iteration is one array in the state: what was proposed, and what came of it. The
archive is made again from these arrays, so nothing else of it has to be saved.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, Self

import numpy as np

from neurozoo.algorithms.quality_diversity.archives import make_archive
from neurozoo.algorithms.quality_diversity.settings import LevelSearchSettings
from neurozoo.algorithms.results import ArchiveResult
from neurozoo.algorithms.session import Report, RunContext, Watch
from neurozoo.errors import NeurozooError
from neurozoo.evaluation.levels import DistributedLevels, LevelEvaluator, LocalLevels
from neurozoo.randomness import Purpose, generator

TABLE = (
    "Iteration", "evaluations", "score", "coverage", "elites", "candidates", "mean_evaluation", "mean_objective",
    "failed_levels",
)  # fmt: skip


@dataclass(frozen=True)
class Proposal:
    """Solutions to evaluate.

    Attributes:
        solutions: Shape (solutions, dimensions).
        predicted: float32, shape (solutions, 3): objective and both measures; None without a surrogate.
        occupancy: float32, shape (solutions, height, width): the predicted occupancy; None if there is none.
        fields: What the report should say of the proposal.
    """

    solutions: np.ndarray
    predicted: np.ndarray | None = None
    occupancy: np.ndarray | None = None
    fields: Mapping[str, float] = field(default_factory=dict)

    def first(self, count: int) -> "Proposal":
        """Returns the first solutions."""
        predicted, occupancy = (None if each is None else each[:count] for each in (self.predicted, self.occupancy))
        return Proposal(self.solutions[:count], predicted, occupancy, self.fields)


class LevelSearchSession:
    """One run of a search. A subclass implements `propose`; if it learns, `tell`, too.

    See `neurozoo.algorithms.session.Session`.

    Attributes:
        archive: What the search adds to and draws from.
        record_type: The type of one evaluated level in the state, in `levels.parquet` and in the archive's metadata.
        batches: The evaluated levels of each iteration.

    Raises:
        NeurozooError: Domain, variant and settings do not fit together, or the agent's file is missing or damaged.
    """

    table: Sequence[str] = TABLE
    predicts_occupancy = False
    solution_type: type[np.generic] | None = None  # of a solution's entries; None for the domain's own

    def __init__(self, context: RunContext) -> None:
        self.settings: LevelSearchSettings = context.settings
        self.domain = self.settings.domain(context.game)
        self.context = context
        self.identity: Mapping[str, object] = self.settings.file_hashes()
        self._play = self.settings.play(self.domain, core=context.core, threads=context.threads)
        self._evaluator: LevelEvaluator = LocalLevels(self.domain, self._play)
        self.announcements: list[str] = []
        self.iteration = self.progress = 0
        self.archive = make_archive(self.domain, self.settings, dtype=self.solution_type)
        # What the run comes to: CMA-MAE searches with an archive in which worse levels replace better ones.
        self._best = make_archive(self.domain, self.settings, dtype=self.solution_type, keeps_best=True)
        self._axes = tuple(self.settings.axes(self.domain))
        self.batches: list[np.ndarray] = []
        self._failures: list[dict[str, Any]] = []
        shape = self.domain.shape
        self.record_type = np.dtype(
            [
                ("solution", self.archive.dtypes["solution"], (self.domain.solution_size,)),
                ("level", np.uint8, shape),
                ("occupancy", np.float32, shape),
                ("objective", np.float32),
                *((name, np.float32) for name in self.domain.recorded),
                # 0 not added, 1 better than an elite, 2 in a new cell; within a batch, of the batch
                ("status", np.uint8),
                ("failed", np.bool_),
                ("predicted", np.float32, (3,)),
                *([("predicted_occupancy", np.float16, shape)] if self.predicts_occupancy else []),
            ]
        )

    @property
    def is_done(self) -> bool:
        """Whether the budget is spent."""
        return self.progress >= self.settings.evaluations

    def __enter__(self) -> Self:
        if cluster := self.context.cluster:
            folder = self.context.run_dir / "dask"
            self._evaluator = DistributedLevels(self.domain.name, self._play, settings=cluster, folder=folder)
            self.announcements.append(self._evaluator.announcement)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._evaluator.close()

    # ---- of subclasses

    def propose(self, watch: Watch) -> Proposal:
        """Returns the solutions of this iteration; more than the budget allows are cut off."""
        raise NotImplementedError

    def tell(self, batch: np.ndarray, add_info: Mapping[str, np.ndarray]) -> None:
        """Learns from the evaluated solutions of this iteration, see `record_type`.

        `add_info` is what the archive says of those that did not fail, see pyribs.
        """

    def replay(self, batch: np.ndarray) -> None:
        """Prepares for the `tell` of the batch before the interruption."""

    # ---- of the training loop

    def advance(self, watch: Watch) -> Report:
        """Proposes and evaluates solutions once."""
        began = time.monotonic()
        proposal = self.propose(watch).first(self.settings.evaluations - self.progress)
        proposed = time.monotonic()
        batch, failures = self._evaluate(proposal, watch)
        evaluated = time.monotonic()
        watch.spent(playing=evaluated - proposed)
        self._check_files()
        if batch["failed"].all() and not self.batches:
            reason = failures[0]["reason"].rstrip(".")
            raise NeurozooError(
                f"All {len(batch)} levels failed, the first one because of: {reason}. Mend the agent or the domain, "
                "and start again."
            )
        batch["status"][~batch["failed"]] = self._finish(batch)["status"]
        self._failures += failures
        seconds = {"seconds_proposing": proposed - began, "seconds_evaluating": evaluated - proposed}
        return self._report(batch, {**proposal.fields, **seconds})

    def state(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Returns what continuing depends on: the evaluated levels; whole after every iteration."""
        levels = {f"levels-{number}": batch for number, batch in enumerate(self.batches)}
        return {"iteration": self.iteration, "failures": list(self._failures)}, levels

    def restore(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Fills the archive again."""
        for number in range(int(state["iteration"])):
            batch = arrays[f"levels-{number}"]
            self.replay(batch)
            self._finish(batch)
        self._failures = [dict(failure) for failure in state["failures"]]

    def result(self) -> ArchiveResult:
        """Returns the archive, its elites in the order of their cells, and all evaluated levels."""
        levels = np.concatenate(self.batches)
        found = self._best.data(["index", "evaluation"])
        order = np.argsort(found["index"], kind="stable")
        cells, evaluation = found["index"][order], found["evaluation"][order]
        elites = levels[evaluation]
        iteration = np.repeat(np.arange(len(self.batches)), [len(batch) for batch in self.batches])
        reasons = np.full(len(levels), "", object)
        for failure in self._failures:
            reasons[failure["evaluation"]] = failure["reason"]
        columns = self.record_type.names or ()
        elsewhere = ("solution", "objective", "status", "failed")
        return ArchiveResult(
            solutions=elites["solution"],
            objectives=elites["objective"],
            measures=self.measures_of(elites),
            ranges=np.stack([self._best.lower_bounds, self._best.upper_bounds], axis=1),
            iteration=self.iteration,
            evaluations=self.progress,
            num_cells=int(self._best.cells),
            qd_offset=float(self._best.qd_score_offset),
            metadata={
                "cell": cells,
                "dims": np.asarray(self._best.dims),
                "evaluation": evaluation,
                "iteration": iteration[evaluation],
                **{name: elites[name] for name in columns if name not in elsewhere},
            },
            protocol={"name": f"{self.domain.name}_{'_'.join(self._axes)}", "measures": list(self._axes)},
            levels={
                "evaluation": np.arange(len(levels)),
                "iteration": iteration,
                **{name: levels[name] for name in columns},
                "failure": reasons.astype(str),
            },
        )

    # ---- inside

    def _check_files(self) -> None:
        """Refuses levels that another agent has played, or another generator made, than those before.

        Raises:
            NeurozooError: A file of the run has changed or is missing. What was evaluated before is in the state.
        """
        for name, digest in self.settings.file_hashes().items():
            if self.identity[name] != digest:
                kind = name.removesuffix("_sha256")
                raise NeurozooError(
                    f"The {kind} {self.settings.files[kind]} has changed since this run began, and a run has one "
                    f"{kind}. Restore the file and give the same command, or copy the new one to another name "
                    "and begin another run with it."
                )

    def measures_of(self, batch: np.ndarray) -> np.ndarray:
        """Returns the measures of the archive: float32, shape (levels, 2)."""
        return np.stack([batch[name] for name in self._axes], axis=1).astype(np.float32)

    def _evaluate(self, proposal: Proposal, watch: Watch) -> tuple[np.ndarray, list[dict[str, Any]]]:
        count = len(proposal.solutions)
        batch = np.zeros(count, self.record_type)
        batch["solution"] = proposal.solutions
        batch["level"] = self.domain.decode(proposal.solutions)
        batch["predicted"] = np.nan if proposal.predicted is None else proposal.predicted
        if self.predicts_occupancy:
            batch["predicted_occupancy"] = np.nan if proposal.occupancy is None else proposal.occupancy
        failures, done = [], 0
        draw = partial(generator, self.context.entropy, Purpose.LEVEL_EPISODE, self.iteration)
        for outcomes in self._evaluator.play(batch["level"].copy(), draw):
            for number, outcome in outcomes.items():
                if isinstance(outcome, str):
                    batch["failed"][number] = True
                    for name in ("objective", *self.domain.recorded):
                        batch[name][number] = np.nan
                    failures.append({"evaluation": self.progress + number, "reason": outcome})
                    continue
                found, place = outcome
                batch["level"][number] = found.levels[place]
                batch["occupancy"][number] = found.occupancy[place]
                batch["objective"][number] = found.objectives[place]
                for name in self.domain.recorded:
                    batch[name][number] = found.values[name][place]
            new, done = len(outcomes), done + len(outcomes)
            watch.advanced(new, steps=new, phase="levels", done=done, total=count, unit="levels", is_news=new > 0)
        return batch, sorted(failures, key=lambda failure: failure["evaluation"])

    def _finish(self, batch: np.ndarray) -> Mapping[str, np.ndarray]:
        """Adds what did not fail to the archive, ends the iteration, and returns what the archive says; see `tell`."""
        good = np.flatnonzero(~batch["failed"])
        add_info: Mapping[str, np.ndarray] = {"status": np.zeros(0, np.int32), "value": np.zeros(0, np.float32)}
        if len(good):
            levels = batch["solution"][good], batch["objective"][good], self.measures_of(batch[good])
            add_info = self.archive.add(*levels, evaluation=self.progress + good)
            self._best.add(*levels, evaluation=self.progress + good)
        self.tell(batch, add_info)
        self.batches.append(batch)
        self.iteration += 1
        self.progress += len(batch)
        return add_info

    def _report(self, batch: np.ndarray, fields: Mapping[str, object]) -> Report:
        good = batch["objective"][~batch["failed"]]
        elites = np.asarray(self._best.data("objective"), np.float64)
        lowest = [np.nanmin(each["objective"]) for each in self.batches if not each["failed"].all()]
        qd_score = float(np.sum(elites - float(self._best.qd_score_offset)))
        return Report(
            iteration=self.iteration,
            progress=self.progress,
            score=qd_score,
            test_score=None,
            fields={
                "qd_score": qd_score,
                "coverage": len(elites) / int(self._best.cells),
                "elites": len(elites),
                "candidates": len(batch),
                "mean_evaluation": float(np.mean(good, dtype=np.float64)) if len(good) else None,
                "best_objective": float(elites.max()),
                "worst_objective": float(elites.min()),
                "mean_objective": float(elites.mean()),
                "lowest_objective": float(min(lowest)),
                "failed_levels": len(self._failures),
                **fields,
            },
        )
