"""The spec of IMPALA."""

from collections.abc import Mapping

from neurozoo.algorithms.impala.presets import PRESETS
from neurozoo.algorithms.impala.settings import PROTOCOLS_LEARNED, ImpalaSettings
from neurozoo.algorithms.session import RunContext, Session
from neurozoo.algorithms.spec import AlgorithmSpec, check_keras_network, check_learner, describe_evaluation
from neurozoo.environments.games import PLATFORMER_GAMES, check_played
from neurozoo.environments.protocols import get_protocol
from neurozoo.networks.catalogue import get_keras_network

STACK_BYTES = 84 * 84 * 4  # of an observation of Atari
MAZE_STEP_BYTES = 50_000  # of a step in a maze: activations of `maze_recurrent` and their gradients


def _open_session(context: RunContext) -> Session:
    from neurozoo.algorithms.impala.session import ImpalaSession

    return ImpalaSession(context)


def _check_game(game: str) -> str:
    return check_played(game, "impala", {get_protocol(name).world for name in PROTOCOLS_LEARNED})


def _memory(settings: ImpalaSettings) -> int:
    """Includes two rollouts, one that is played and one that is learned from, and the activations of an update.

    A step of `impala_gym_simple` has 9 times the bytes of its observation in activations and their gradients, one of
    `impala_deep` 60 times.
    """
    if settings.protocol == "maze":
        return settings.ranks * (2000 + settings.batch_steps * MAZE_STEP_BYTES // 1_000_000)
    played = 2 * settings.num_envs * (settings.unroll_length + 1)
    learned = 60 * settings.batch_steps
    return settings.ranks * (2000 + (played + learned) * STACK_BYTES // 1_000_000)


def _describe_evaluation(game: str, settings: ImpalaSettings) -> dict[str, object]:
    facts = describe_evaluation(game, settings)
    if settings.action_rule == "sampled":
        return facts | {"action_rule": settings.test_actions}
    rule = "epsilon-greedy" if settings.test_epsilon else "greedy"
    return facts | {"action_rule": rule, "epsilon": settings.test_epsilon}


def _called_by(settings: Mapping[str, object]) -> str:
    decoupled = "decoupled " if settings.get("proximal_policy") == "learning" else ""
    return {"ppo": f"{decoupled}PPO", "pqn": "PQN"}.get(str(settings.get("objective")), "")


def _check_model(model: str, settings: ImpalaSettings) -> None:
    settings.check_network(get_keras_network(model))


SPECS = (
    AlgorithmSpec(
        name="impala",
        title="IMPALA",
        settings=ImpalaSettings,
        presets=PRESETS,
        open_session=_open_session,
        also_called=("PPO", "decoupled PPO", "PQN"),
        called_by=_called_by,
        report_name="epoch",
        has_episodes=True,
        check_game=_check_game,
        check_fit=check_learner,
        check_variant=check_keras_network,
        check_model=_check_model,
        describe_evaluation=_describe_evaluation,
        needs_besides=lambda game, settings: ("op",) if game in PLATFORMER_GAMES else (),
        memory=_memory,
        ranks=lambda settings: settings.ranks,
    ),
)
