"""The spec of deep Q-learning."""

from neurozoo.algorithms.dqn.presets import PRESETS
from neurozoo.algorithms.dqn.settings import PROTOCOLS_LEARNED, DqnSettings
from neurozoo.algorithms.session import RunContext, Session
from neurozoo.algorithms.spec import PHASES, AlgorithmSpec
from neurozoo.environments.games import check_played
from neurozoo.environments.protocols import get_protocol


def _open_session(context: RunContext) -> Session:
    from neurozoo.algorithms.dqn.session import DqnSession

    return DqnSession(context)


def _check_game(game: str) -> str:
    return check_played(game, "dqn", {get_protocol(name).world for name in PROTOCOLS_LEARNED})


SPECS = (
    AlgorithmSpec(
        name="dqn",
        title="Deep Q-learning",
        settings=DqnSettings,
        presets=PRESETS,
        open_session=_open_session,
        report_name="epoch",
        check_game=_check_game,
        extra_files=PHASES,
        outputs_are_returns=True,
    ),
)
