"""The session of an IMPALA run: a learner plays and learns, and stops often enough to be saved."""

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

import numpy as np

from neurozoo.algorithms.compiled import keep_to_threads
from neurozoo.algorithms.impala.learner import ImpalaLearner
from neurozoo.algorithms.results import NetworkResult
from neurozoo.algorithms.session import Report, RunContext, Watch
from neurozoo.algorithms.spec import protocol_of_run
from neurozoo.environments.protocols import check_engine, keras_layout_of
from neurozoo.environments.vector import AtariVectorEnvironment

TABLE = (
    "Iteration", "frames", "score", "score_episodes", "test_score", "test_episodes", "update", "learning_rate",
    "loss_pg", "loss_baseline", "entropy_mean", "value_mean", "rho_mean", "rho_clipped_share", "grad_norm", "lag_max",
    "TimestepsSoFar", "TimestepsThisIter", "TimestepsPerSecondThisIter", "TimeElapsedTotal",
)  # fmt: skip


class ImpalaSession:
    """Runs a learner. See `neurozoo.algorithms.session.Session`.

    Args:
        context: The run.

    Raises:
        NeurozooError: Game, protocol, engine and network do not fit together.
    """

    table = TABLE
    identity: Mapping[str, object] = {}

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._protocol = protocol_of_run(context)
        check_engine(context.game, self._protocol, context.settings.engine)
        self._layout = keras_layout_of(context.game, context.model, self._protocol)
        self._learner = ImpalaLearner(
            context.settings,
            entropy=context.entropy,
            layout=self._layout,
            frame_skip=self._protocol.frame_skip,
            make_environments=self._make_environments,
        )
        self.announcements = [f"Number of parameters: {self._layout.parameter_count}"]

    @property
    def iteration(self) -> int:
        """Finished epochs."""
        return self._learner.iteration

    @property
    def progress(self) -> int:
        """Frames of training so far."""
        return self._learner.frames

    @property
    def is_done(self) -> bool:
        """Whether the budget of frames is spent; read only between epochs."""
        return self._learner.is_done

    def __enter__(self) -> Self:
        keep_to_threads(self._context.threads)
        self._learner.open()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._learner.close()

    def advance(self, watch: Watch) -> Report | None:
        """Learns until the state should be saved, or finishes an epoch and returns its report."""
        begin = time.monotonic()
        try:
            report = self._learner.learn(lambda frames, steps: self._tell(watch, frames, steps))
        finally:
            watch.spent(playing=time.monotonic() - begin)
        if report is not None:
            watch.spent(untimed=time.monotonic() - begin)
        return report

    def state(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Returns the learner's state, which is complete after every step of the environments."""
        return self._learner.get_state(), self._learner.get_arrays()

    def restore(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues after the step in which the state was saved."""
        self._learner.set_state(state, arrays)
        self.announcements = []

    def result(self) -> NetworkResult:
        """Returns the network after the last finished epoch. Its actions are drawn from its policy."""
        reported = self._learner.reported
        assert reported is not None  # there has been a report
        return NetworkResult(
            weights=reported.weights,
            protocol=self._protocol,
            num_actions=self._layout.num_actions,
            action_rule="sampled",
            test_score=reported.score,
            test_episodes=0 if reported.score is None else self._context.settings.num_test_episodes,
            iteration=reported.iteration,
            frames=reported.frames,
        )

    def _make_environments(self, count: int, seed_of: Callable[[int, int], int]) -> AtariVectorEnvironment:
        context = self._context
        return AtariVectorEnvironment(
            context.game, self._protocol, count=count, threads=context.threads, seed_of=seed_of
        )

    def _tell(self, watch: Watch, frames: int, steps: int) -> None:
        phase, done, total = self._learner.progress
        watch.advanced(
            frames, steps=steps, phase=phase, done=done, total=total, unit=f"steps of {phase}", is_news=steps > 0
        )
