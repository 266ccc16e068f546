"""The interface between training and an algorithm: the session of one run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from typing import Protocol as Interface

import numpy as np

from neurozoo.algorithms.results import Result
from neurozoo.compute.dask_settings import ClusterSettings
from neurozoo.compute.mpi import ALONE, Alone, Ranks
from neurozoo.evaluation import DEFAULT_SLOTS, EpisodeResult
from neurozoo.randomness import Entropy, run_entropy


@dataclass(frozen=True)
class RunContext:
    """Everything that the session of a run needs.

    Attributes:
        algo: Algorithm such as `ga`.
        game: Game id, or domain of levels.
        model: Variant of the algorithm, such as a network.
        run: Number of the run; part of its seed.
        settings: The algorithm's settings, complete and checked.
        run_dir: Folder of the run.
        threads: Number of threads; results do not depend on it.
        core: The native core; if the algorithm does not need it, it may be None, or a path where nothing is.
        noise: The noise table; may be None if the algorithm does not need it.
        slots: Episodes that the batched engine plays at once.
        cluster: The Dask cluster that plays the episodes; None to play them in this process.
        mpi: The command that starts several processes, if the settings ask for them.
        backup: Where the state is kept besides, so that another node can continue; "" for nowhere.
        ranks: This process and those that were started with it.
        continues: Whether the state of the run has these settings, so that it goes on.
    """

    algo: str
    game: str
    model: str
    run: int
    settings: Any
    run_dir: Path
    threads: int = 1
    core: Path | None = None
    noise: Path | None = None
    slots: int = DEFAULT_SLOTS
    cluster: ClusterSettings | None = None
    mpi: str = "mpirun"
    backup: str = ""
    ranks: Ranks | Alone = ALONE
    continues: bool = False

    @property
    def identity(self) -> dict[str, object]:
        """The four names of the run, which are also its folders below `results/runs/`."""
        return {"algo": self.algo, "game": self.game, "model": self.model, "run": self.run}

    @property
    def entropy(self) -> Entropy:
        """What all random numbers of the run depend on, besides their address; see `neurozoo.randomness`."""
        names = {"algo": self.algo, "game": self.game, "model": self.model}
        return run_entropy(seed=self.settings.seed, run=self.run, **names)

    @property
    def state_dir(self) -> Path:
        """The folder of the run's resumable state. A session may keep large files in it."""
        return self.run_dir / "state"

    @property
    def remedy(self) -> str:
        """What the user can do about a damaged state."""
        return f"Delete {self.state_dir} to train this run from the start."


@dataclass(frozen=True, kw_only=True)
class Report:
    """How good a run is after a generation or an epoch.

    Attributes:
        iteration: Finished generations or epochs.
        progress: How much of the budget is spent, in the algorithm's unit.
        score: The score by which the run judges itself; None if there is none yet.
        test_score: The mean score of test episodes, which select nothing; None if there were none.
        score_episodes: Number of episodes of which `score` is the mean; None if it is no such mean.
        test_episodes: The same for `test_score`.
        fields: All other values, by the names that log and metrics use; plain JSON.
        printed: Texts that the text log prints instead of values, by field.
        notes: Sentences that the text log prints after the table.
    """

    iteration: int
    progress: int
    score: float | None
    test_score: float | None
    score_episodes: int | None = None
    test_episodes: int | None = None
    fields: Mapping[str, object] = field(default_factory=dict)
    printed: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()


class Watch(Interface):
    """Through this, a session reports to the training loop while it works.

    Every method may raise `Interrupted` or an error that ends the training. `state` must still work afterwards, and
    must not contain half a step.
    """

    def advanced(
        self,
        amount: int,
        *,
        steps: int,
        phase: str,
        done: int,
        total: int,
        unit: str = "episodes",
        is_news: bool = True,
    ) -> None:
        """Reports progress. Call it several times a second.

        Args:
            amount: Budget spent since the last call.
            steps: Decisions since the last call; the log shows their rate.
            phase: The current phase, such as `population` or `test`.
            done: How much of the phase is finished.
            total: The size of the phase.
            unit: What `done` and `total` count.
            is_news: Whether something has finished since the last call.
        """

    def spent(self, *, untimed: float = 0.0, playing: float = 0.0) -> None:
        """Reports what the seconds of this call of `advance` were spent on; several reports add up.

        Args:
            untimed: Seconds of tests, which the published times leave out.
            playing: Seconds in which episodes were played.
        """

    def finished_episodes(self, generation: int, phase: str) -> dict[int, EpisodeResult]:
        """Returns the results in the journal by the numbers of their episodes, from before an interruption."""

    def journal(
        self, generation: int, phase: str, results: Mapping[int, EpisodeResult], *, is_counted: bool = True
    ) -> None:
        """Writes results to the journal, so that a kill loses only the episodes in flight; now and then also the time.

        Args:
            generation: The current generation.
            phase: The current phase.
            results: What has finished, by the numbers of the episodes.
            is_counted: Whether published times have the seconds since the last call of `spent`: not those of tests.
        """


class Session(Interface):
    """One run of an algorithm; a context manager.

    Use it in this order: make it, which checks the input and starts nothing; call `restore` if there is a state; enter
    it; call `advance` and `state` again and again, and `result` after any report.
    """

    @property
    def identity(self) -> Mapping[str, object]:
        """What a state depends on besides names and settings, such as the size of the noise table."""

    @property
    def announcements(self) -> Sequence[str]:
        """Sentences for the log, complete once the session has been entered."""

    @property
    def table(self) -> Sequence[str]:
        """The fields of a report that the text log prints, in order."""

    @property
    def iteration(self) -> int:
        """Finished generations or epochs."""

    @property
    def progress(self) -> int:
        """How much of the budget is spent, in the algorithm's unit."""

    @property
    def is_done(self) -> bool:
        """Whether the budget is spent; read only before the first report and after each."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None: ...

    def advance(self, watch: Watch) -> Report | None:
        """Works until a report is due, and returns it, or until the state should be saved, and returns None."""

    def state(self) -> tuple[dict, dict[str, np.ndarray]] | None:
        """Returns what continuing depends on, as plain JSON and arrays; None if it cannot be saved now.

        A name of an array must never be used for another content: `theta-12`, not `theta`.
        """

    def restore(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `state` returned, as if there had been no interruption.

        Raises LookupError, TypeError, ValueError or AttributeError if `state` is something else.
        """

    def result(self) -> Result:
        """Returns the result of the run so far; only after a report."""
