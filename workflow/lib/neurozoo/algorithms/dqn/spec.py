"""The spec of deep Q-learning."""

from neurozoo.algorithms.dqn.presets import PRESETS
from neurozoo.algorithms.dqn.settings import DqnSettings
from neurozoo.algorithms.spec import PHASES, AlgorithmSpec, session_of

SPECS = (
    AlgorithmSpec(
        name="dqn",
        title="Deep Q-learning",
        settings=DqnSettings,
        presets=PRESETS,
        open_session=session_of("dqn.session.DqnSession"),
        report_name="epoch",
        check_game=DqnSettings.check_played,
        extra_files=PHASES,
        outputs_are_returns=True,
    ),
)
