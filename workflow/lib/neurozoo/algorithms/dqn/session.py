"""The session of a deep Q-learning run: a learner plays and learns, and stops often enough to be saved."""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

import numpy as np

from neurozoo.algorithms.dqn.learner import DeepQLearner
from neurozoo.algorithms.results import NetworkResult
from neurozoo.algorithms.session import Report, RunContext, Watch
from neurozoo.algorithms.spec import protocol_of_run
from neurozoo.environments.protocols import check_engine, layout_of

REPLAY = "replay"  # folder in a run's state

TABLE = (
    "Iteration", "frames", "score", "score_episodes", "test_score", "test_episodes", "train_last_exploration_rate",
    "train_replay_memory_count", "train_meanq", "train_meancost", "train_weight_updates", "TimestepsSoFar",
    "TimestepsThisIter", "TimestepsPerSecondThisIter", "TimeElapsedTotal",
)  # fmt: skip


class DqnSession:
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
        self._layout = layout_of(context.game, context.model, self._protocol)
        self._learner = DeepQLearner(
            context.settings,
            entropy=context.entropy,
            layout=self._layout,
            protocol=self._protocol,
            threads=context.threads,
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
        context = self._context
        folder = context.state_dir / REPLAY
        self.announcements += self._learner.open(context.game, folder=folder, remedy=context.remedy)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._learner.close()

    def advance(self, watch: Watch) -> Report | None:
        """Learns until the state should be saved, or plays the test of an epoch and returns its report."""
        begin = time.monotonic()
        try:
            report = self._learner.learn(lambda frames, steps: self._tell(watch, frames, steps))
        finally:
            watch.spent(playing=time.monotonic() - begin)
        if report is not None:
            watch.spent(untimed=time.monotonic() - begin)
        return report

    def state(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Returns the learner's state, which is complete after every round."""
        return self._learner.get_state(), self._learner.get_arrays()

    def restore(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues after the round in which the state was saved."""
        self._learner.set_state(state, arrays)
        self.announcements = []

    def result(self) -> NetworkResult:
        """Returns the network after the last finished epoch."""
        tested = self._learner.tested
        assert tested is not None  # there has been a report
        return NetworkResult(
            weights=tested.weights,
            protocol=self._protocol,
            num_actions=self._layout.num_actions,
            test_score=tested.score,
            test_episodes=tested.episodes,
            iteration=tested.iteration,
            frames=tested.frames,
        )

    def _tell(self, watch: Watch, frames: int, steps: int) -> None:
        phase, done, total = self._learner.progress
        watch.advanced(
            frames, steps=steps, phase=phase, done=done, total=total, unit=f"steps of {phase}", is_news=steps > 0
        )
