"""The spec of IMPALA."""

from neurozoo.algorithms.impala.presets import PRESETS
from neurozoo.algorithms.impala.settings import PROTOCOLS_LEARNED, ImpalaSettings
from neurozoo.algorithms.spec import EPISODES, AlgorithmSpec, check_keras_network, session_of
from neurozoo.environments.games import check_played
from neurozoo.environments.protocols import get_protocol

WORLDS = {get_protocol(name).world for name in PROTOCOLS_LEARNED}

SPECS = (
    AlgorithmSpec(
        name="impala",
        title="IMPALA",
        settings=ImpalaSettings,
        presets=PRESETS,
        open_session=session_of("impala.session.ImpalaSession"),
        also_called={
            "decoupled PPO": {"objective": "ppo", "proximal_policy": "learning"},
            "PPO": {"objective": "ppo"},
            "PQN": {"objective": "pqn"},
        },
        report_name="epoch",
        extra_files=EPISODES,
        check_game=lambda game: check_played(game, "impala", WORLDS),
        check_variant=check_keras_network,
    ),
)
