"""The spec of deep Q-learning."""

from neurozoo.algorithms.dqn.presets import PRESETS
from neurozoo.algorithms.dqn.settings import PROTOCOLS_LEARNED, DqnSettings
from neurozoo.algorithms.session import RunContext, Session
from neurozoo.algorithms.spec import AlgorithmSpec, check_learner, describe_evaluation, game_protocol
from neurozoo.environments.games import PLATFORMER_GAMES, check_played
from neurozoo.environments.protocols import get_protocol, output_names
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import get_network

MOST_ACTIONS = 256  # of a game: the replay memory keeps each in a byte
REPLAY_BYTES = 7_100  # of the replay memory per screen, as measured (docs/studies.md)


def _open_session(context: RunContext) -> Session:
    from neurozoo.algorithms.dqn.session import DqnSession

    return DqnSession(context)


def _check_game(game: str) -> str:
    return check_played(game, "dqn", {get_protocol(name).world for name in PROTOCOLS_LEARNED})


def _check_fit(game: str, settings: DqnSettings) -> None:
    check_learner(game, settings)
    if (actions := len(output_names(game, game_protocol(game, settings)))) > MOST_ACTIONS:
        raise NeurozooError(
            f"dqn keeps actions as bytes, so a game may have {MOST_ACTIONS} of them, but {game!r} has {actions:,}. "
            "Train it with impala, or give the environment fewer actions."
        )


def _check_model(model: str, settings: DqnSettings) -> None:
    settings.check_network(get_network(model))


def _memory(settings: DqnSettings) -> int:
    """Includes the replay memory, which should fit even if it is mapped from a file."""
    return 4000 + settings.replay_size * REPLAY_BYTES // 1_000_000


def _describe_evaluation(game: str, settings: DqnSettings) -> dict[str, object]:
    rule = "epsilon-greedy" if settings.test_epsilon else "greedy"
    return describe_evaluation(game, settings) | {"action_rule": rule, "epsilon": settings.test_epsilon}


SPECS = (
    AlgorithmSpec(
        name="dqn",
        title="Deep Q-learning",
        settings=DqnSettings,
        presets=PRESETS,
        open_session=_open_session,
        report_name="epoch",
        check_game=_check_game,
        check_fit=_check_fit,
        check_model=_check_model,
        has_phases=True,
        learns_by_steps=True,
        outputs_are_returns=True,
        describe_evaluation=_describe_evaluation,
        needs_besides=lambda game, settings: ("op",) if game in PLATFORMER_GAMES else (),
        memory=_memory,
    ),
)
