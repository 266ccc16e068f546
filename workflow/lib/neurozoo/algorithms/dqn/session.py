"""The session of a deep Q-learning run: a learner plays and learns, and stops often enough to be saved."""

from pathlib import Path

from neurozoo.algorithms.dqn.learner import DeepQLearner
from neurozoo.algorithms.learner_session import LearnerSession
from neurozoo.algorithms.session import RunContext
from neurozoo.environments.game_networks import layout_of

REPLAY = "replay"  # folder in a run's state


class DqnSession(LearnerSession):
    """Runs a learner. See `LearnerSession`."""

    keras_computes_losses = False
    table = (
        "Iteration", "frames", "score", "score_episodes", "test_score", "test_episodes", "train_last_exploration_rate",
        "train_replay_memory_count", "train_meanq", "train_meancost", "train_weight_updates", "TimestepsSoFar",
        "TimestepsThisIter", "TimestepsPerSecondThisIter", "TimeElapsedTotal",
    )  # fmt: skip

    def __init__(self, context: RunContext) -> None:
        super().__init__(context, DeepQLearner, layout_of)

    def _open(self, network_core: Path | None) -> list[str]:
        context, folder = self._context, self._context.state_dir / REPLAY
        return self._learner.open(
            folder=folder, remedy=context.remedy, network_core=network_core, threads=context.threads
        )
