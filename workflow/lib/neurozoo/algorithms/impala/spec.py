"""The spec of IMPALA."""

from neurozoo.algorithms.impala.presets import PRESETS
from neurozoo.algorithms.impala.settings import ImpalaSettings
from neurozoo.algorithms.spec import EPISODES, AlgorithmSpec, check_keras_network, session_of

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
        check_game=ImpalaSettings.check_played,
        check_variant=check_keras_network,
    ),
)
