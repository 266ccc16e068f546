"""The session of a deep Q-learning run: a learner plays and learns, and stops often enough to be saved."""

from typing import Self

from neurozoo.algorithms.compiled import keep_to_threads
from neurozoo.algorithms.dqn.learner import DeepQLearner
from neurozoo.algorithms.learner_session import LearnerSession, find_core, find_network_core
from neurozoo.algorithms.session import RunContext
from neurozoo.environments.game_networks import layout_of

REPLAY = "replay"  # folder in a run's state

TABLE = (
    "Iteration", "frames", "score", "score_episodes", "test_score", "test_episodes", "train_last_exploration_rate",
    "train_replay_memory_count", "train_meanq", "train_meancost", "train_weight_updates", "TimestepsSoFar",
    "TimestepsThisIter", "TimestepsPerSecondThisIter", "TimeElapsedTotal",
)  # fmt: skip


class DqnSession(LearnerSession):
    """Runs a learner. See `neurozoo.algorithms.session.Session`.

    Raises:
        NeurozooError: Game, protocol, engine and network do not fit together.
    """

    table = TABLE
    _learner: DeepQLearner

    def __init__(self, context: RunContext) -> None:
        self._context = context
        protocol = context.settings.game_protocol(context.game)
        layout = layout_of(context.game, context.model, protocol)
        learner = DeepQLearner(
            context.settings, entropy=context.entropy, layout=layout, protocol=protocol, threads=context.threads
        )
        super().__init__(learner, layout, protocol)

    def __enter__(self) -> Self:
        context = self._context
        keep_to_threads(context.threads)
        core, said = find_core(context.core, self._protocol)
        network_core, more = find_network_core(context)
        self.announcements += said + more
        self.announcements += self._learner.open(
            context.game,
            folder=context.state_dir / REPLAY,
            remedy=context.remedy,
            core=core,
            network_core=network_core,
        )
        return self
