"""The spec of deep Q-learning."""

from neurozoo.algorithms.dqn.presets import PRESETS
from neurozoo.algorithms.dqn.settings import PROTOCOLS_LEARNED, DqnSettings
from neurozoo.algorithms.spec import PHASES, AlgorithmSpec, session_of
from neurozoo.environments.games import check_played
from neurozoo.environments.protocols import get_protocol

WORLDS = {get_protocol(name).world for name in PROTOCOLS_LEARNED}

SPECS = (
    AlgorithmSpec(
        name="dqn",
        title="Deep Q-learning",
        settings=DqnSettings,
        presets=PRESETS,
        open_session=session_of("dqn.session.DqnSession"),
        report_name="epoch",
        check_game=lambda game: check_played(game, "dqn", WORLDS),
        extra_files=PHASES,
        outputs_are_returns=True,
    ),
)
