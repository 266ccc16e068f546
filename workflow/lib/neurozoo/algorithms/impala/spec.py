"""The spec of IMPALA."""

from neurozoo.algorithms.impala.presets import PRESETS
from neurozoo.algorithms.impala.settings import PROTOCOLS_LEARNED, ImpalaSettings
from neurozoo.algorithms.session import RunContext, Session
from neurozoo.algorithms.spec import EPISODES, AlgorithmSpec, check_keras_network
from neurozoo.environments.games import check_played
from neurozoo.environments.protocols import get_protocol


def _open_session(context: RunContext) -> Session:
    from neurozoo.algorithms.impala.session import ImpalaSession

    return ImpalaSession(context)


def _check_game(game: str) -> str:
    return check_played(game, "impala", {get_protocol(name).world for name in PROTOCOLS_LEARNED})


SPECS = (
    AlgorithmSpec(
        name="impala",
        title="IMPALA",
        settings=ImpalaSettings,
        presets=PRESETS,
        open_session=_open_session,
        also_called={
            "decoupled PPO": {"objective": "ppo", "proximal_policy": "learning"},
            "PPO": {"objective": "ppo"},
            "PQN": {"objective": "pqn"},
        },
        report_name="epoch",
        extra_files=EPISODES,
        check_game=_check_game,
        check_variant=check_keras_network,
    ),
)
