"""What all searches through levels share: propose, send an agent in, add to the archive, report, save.

A subclass proposes solutions. Every iteration is one array in the state: what was proposed, and what came of it. The
archive is made again from these arrays, so nothing else of it has to be saved.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from neurozoo.algorithms.quality_diversity.archives import make_archive, solution_type
from neurozoo.algorithms.quality_diversity.settings import LevelSearchSettings
from neurozoo.algorithms.results import ArchiveResult
from neurozoo.algorithms.session import Report, RunContext, Watch
from neurozoo.environments.level_domains import LevelDomain, Play
from neurozoo.errors import NeurozooError
from neurozoo.evaluation.levels import DistributedLevels, LevelEvaluator, LocalLevels
from neurozoo.files import sha256_of
from neurozoo.native import BUILD
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


def record_type(domain: LevelDomain, *, solution: type[np.generic], predicts_occupancy: bool = False) -> np.dtype:
    """Returns the type of one evaluated level in the state, in `levels.parquet` and in the archive's metadata."""
    return np.dtype(
        [
            ("solution", solution, (domain.solution_size,)),
            ("level", np.uint8, domain.shape),
            ("occupancy", np.float32, domain.shape),
            ("objective", np.float32),
            *((name, np.float32) for name in domain.recorded),
            ("status", np.uint8),  # 0 not added, 1 better than an elite, 2 in a new cell; within a batch, of the batch
            ("failed", np.bool_),
            ("predicted", np.float32, (3,)),
            *([("predicted_occupancy", np.float16, domain.shape)] if predicts_occupancy else []),
        ]
    )


class LevelSearchSession:
    """One run of a search. A subclass implements `propose`, and `tell`, `extra_state` and `extra_restore` if it learns.

    See `neurozoo.algorithms.session.Session`.

    Raises:
        NeurozooError: Domain, variant and settings do not fit together, or the agent's file is missing or damaged.
    """

    table: Sequence[str] = TABLE
    predicts_occupancy = False

    def __init__(self, context: RunContext) -> None:
        self.settings: LevelSearchSettings = context.settings
        self.domain = self.settings.domain(context.game)
        self.settings.check(self.domain)
        self.context = context
        self.identity: Mapping[str, object] = file_hashes(self.settings)
        if self.settings.agent_file is not None and self.domain.read_agent is not None:
            self.domain.read_agent(self.settings.agent_file)  # refuses what is no agent before any work
        self._how = play_of(self.settings, self.domain, ops=context.ops, threads=context.threads)
        self._evaluator: LevelEvaluator = LocalLevels(self.domain, self._how)
        self.announcements: list[str] = []
        self.iteration = self.progress = 0
        self.archive = make_archive(self.domain, self.settings, dtype=self.solution_type)
        # What the run comes to: CMA-MAE searches with an archive in which worse levels replace better ones.
        self._best = make_archive(self.domain, self.settings, dtype=self.solution_type, keeps_best=True)
        self._axes = tuple(self.settings.axes(self.domain))
        self._batches: list[np.ndarray] = []
        self._failures: list[dict[str, Any]] = []

    @property
    def solution_type(self) -> type[np.generic]:
        """Type of the solutions' entries."""
        return solution_type(self.domain)

    @property
    def is_done(self) -> bool:
        """Whether the budget is spent."""
        return self.progress >= self.settings.evaluations

    @property
    def batches(self) -> Sequence[np.ndarray]:
        """The evaluated levels of each iteration, see `record_type`."""
        return self._batches

    def __enter__(self) -> Self:
        if cluster := self.context.cluster:
            folder = self.context.run_dir / "dask"
            self._evaluator = DistributedLevels(self.domain.name, self._how, settings=cluster, folder=folder)
            self.announcements.append(self._evaluator.announcement)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._evaluator.close()

    # ---- of subclasses

    def propose(self, watch: Watch) -> Proposal:
        """Returns the solutions of this iteration; more than the budget allows are cut off."""
        raise NotImplementedError

    def tell(self, batch: np.ndarray, add_info: Mapping[str, np.ndarray]) -> None:
        """Learns from evaluated solutions.

        Args:
            batch: All of this iteration, see `record_type`.
            add_info: What the archive says of those that did not fail, see pyribs.
        """

    def extra_state(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Returns what continuing depends on besides the evaluated levels."""
        return {}, {}

    def extra_restore(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `extra_state` returned."""

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
        self._check_starts()
        if batch["failed"].all() and not self._batches:
            reason = failures[0]["reason"].rstrip(".")
            raise NeurozooError(
                f"All {len(batch)} levels failed, the first one because of: {reason}. Mend the agent or the domain, "
                "and start again."
            )
        self.tell(batch, self._add(batch))
        self._batches.append(batch)
        self._failures += failures
        self.iteration += 1
        self.progress += len(batch)
        seconds = {"seconds_proposing": proposed - began, "seconds_evaluating": evaluated - proposed}
        return self._report(batch, {**proposal.fields, **seconds})

    def state(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Returns the evaluated levels, and what else continuing depends on; whole after every iteration."""
        state, arrays = self.extra_state()
        levels = {f"levels-{number}": batch for number, batch in enumerate(self._batches)}
        return {**state, "iteration": self.iteration, "failures": list(self._failures)}, {**arrays, **levels}

    def restore(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Fills the archive again."""
        wanted = self._record_type
        for number in range(int(state["iteration"])):
            batch = arrays[f"levels-{number}"]
            if batch.dtype != wanted:
                raise ValueError(f"levels-{number} has the fields {batch.dtype.names}")
            self.replay(batch)
            self.tell(batch, self._add(batch, is_known=True))
            self._batches.append(batch)
            self.iteration += 1
            self.progress += len(batch)
        self._failures = [dict(failure) for failure in state["failures"]]
        self.extra_restore(state, arrays)

    def result(self) -> ArchiveResult:
        """Returns the archive, its elites in the order of their cells, and all evaluated levels."""
        levels = np.concatenate(self._batches)
        found = self._best.data(["index", "evaluation"])
        order = np.argsort(found["index"], kind="stable")
        cells, evaluation = found["index"][order], found["evaluation"][order]
        elites = levels[evaluation]
        iteration = np.repeat(np.arange(len(self._batches)), [len(batch) for batch in self._batches])
        reasons = np.full(len(levels), "", object)
        for failure in self._failures:
            reasons[failure["evaluation"]] = failure["reason"]
        columns = [name for name in self._record_type.names or () if name not in ("solution", "objective")]
        return ArchiveResult(
            solutions=elites["solution"],
            objectives=elites["objective"],
            measures=self._measures(elites),
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
                **{name: elites[name] for name in columns if name not in ("status", "failed")},
            },
            protocol={"name": f"{self.domain.name}_{'_'.join(self._axes)}", "measures": list(self._axes)},
            levels={
                "evaluation": np.arange(len(levels)),
                "iteration": iteration,
                **{name: levels[name] for name in self._record_type.names or ()},
                "failure": reasons.astype(str),
            },
        )

    # ---- inside

    def _check_starts(self) -> None:
        """Refuses levels that another agent has played, or another generator made, than those before.

        Raises:
            NeurozooError: A file of the run has changed or is missing. What was evaluated before is in the state.
        """
        for name, digest in file_hashes(self.settings).items():
            if self.identity[name] != digest:
                kind = name.removesuffix("_sha256")
                raise NeurozooError(
                    f"The {kind} {getattr(self.settings, f'{kind}_file')} has changed since this run began, and a run "
                    f"has one {kind}. Restore the file and give the same command, or copy the new one to another name "
                    "and begin another run with it."
                )

    @property
    def _record_type(self) -> np.dtype:
        return record_type(self.domain, solution=self.solution_type, predicts_occupancy=self.predicts_occupancy)

    def _measures(self, batch: np.ndarray) -> np.ndarray:
        return np.stack([batch[name] for name in self._axes], axis=1).astype(np.float32)

    def _evaluate(self, proposal: Proposal, watch: Watch) -> tuple[np.ndarray, list[dict[str, Any]]]:
        count = len(proposal.solutions)
        batch = np.zeros(count, self._record_type)
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
                    batch["objective"][number] = np.nan
                    for name in self.domain.recorded:
                        batch[name][number] = np.nan
                    failures.append({"evaluation": self.progress + number, "reason": outcome})
                    continue
                evaluations, place = outcome
                batch["level"][number] = evaluations.levels[place]
                batch["occupancy"][number] = evaluations.occupancy[place]
                batch["objective"][number] = evaluations.objectives[place]
                for name in self.domain.recorded:
                    batch[name][number] = evaluations.values[name][place]
            new, done = len(outcomes), done + len(outcomes)
            watch.advanced(new, steps=new, phase="levels", done=done, total=count, unit="levels", is_news=new > 0)
        return batch, sorted(failures, key=lambda failure: failure["evaluation"])

    def _add(self, batch: np.ndarray, *, is_known: bool = False) -> Mapping[str, np.ndarray]:
        """Adds what did not fail to the archive, and writes the status of each level into the batch."""
        good = np.flatnonzero(~batch["failed"])
        if not len(good):
            return {"status": np.zeros(0, np.int32), "value": np.zeros(0, np.float32)}
        levels = batch["solution"][good], batch["objective"][good], self._measures(batch[good])
        add_info = self.archive.add(*levels, evaluation=self.progress + good)
        self._best.add(*levels, evaluation=self.progress + good)
        if not is_known:
            batch["status"][good] = add_info["status"]
        return add_info

    def _report(self, batch: np.ndarray, fields: Mapping[str, object]) -> Report:
        stats, good = self._best.stats, batch["objective"][~batch["failed"]]
        elites = np.asarray(self._best.data("objective"), np.float64)
        lowest = [each["objective"][~each["failed"]] for each in self._batches]
        qd_score = float(np.sum(elites - float(self._best.qd_score_offset)))
        return Report(
            iteration=self.iteration,
            progress=self.progress,
            score=qd_score,
            test_score=None,
            fields={
                "qd_score": qd_score,
                "coverage": stats.num_elites / int(self._best.cells),
                "elites": int(stats.num_elites),
                "candidates": len(batch),
                "mean_evaluation": float(np.mean(good, dtype=np.float64)) if len(good) else None,
                "best_objective": float(elites.max()) if len(elites) else None,
                "worst_objective": float(elites.min()) if len(elites) else None,
                "mean_objective": float(elites.mean()) if len(elites) else None,
                "lowest_objective": min((float(each.min()) for each in lowest if len(each)), default=None),
                "failed_levels": len(self._failures),
                **fields,
            },
        )


def play_of(settings: LevelSearchSettings, domain: LevelDomain, *, ops: Path | None, threads: int = 1) -> Play:
    """Returns how levels are evaluated: trained agents and whole games in the op, scripted agents in mazes without it.

    Raises:
        NeurozooError: The op is needed, but none is given.
    """
    if settings.agent_file is None and not domain.needs_op:
        return settings.play
    if ops is None:
        what = f"The game {domain.name}" if domain.needs_op else f"The agent {settings.agent}"
        raise NeurozooError(f"{what} is played by the op, but none was given. {BUILD}")
    return replace(settings.play, ops=ops, threads=threads)


def file_hashes(settings: LevelSearchSettings) -> Mapping[str, str]:
    """Returns what a run depends on besides its settings: `agent_sha256` and `generator_sha256`, if it has these files.

    Raises:
        NeurozooError: A file is missing.
    """
    hashes = {}
    for kind, path in (("agent", settings.agent_file), ("generator", settings.generator_file)):
        if path is None:
            continue
        try:
            hashes[f"{kind}_sha256"] = sha256_of(path)
        except OSError as error:
            raise NeurozooError(f"The {kind} {path} is missing. Train it, or name another one.") from error
    return hashes
