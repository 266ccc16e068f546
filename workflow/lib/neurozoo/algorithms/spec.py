"""What other packages know about an algorithm before it runs: names, settings, needs and traits."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from neurozoo.algorithms.run_settings import PROTOCOL_CHOICES, Settings
from neurozoo.environments.games import check_game
from neurozoo.environments.protocols import check_engine, protocol_of
from neurozoo.networks.catalogue import get_keras_network, get_network

if TYPE_CHECKING:
    from neurozoo.algorithms.session import RunContext, Session

Unit = Literal["frames", "evaluations"]
ResultKind = Literal["network", "archive"]
Need = Literal["op", "noise"]


def check_network(model: str) -> str:
    """Returns our name for a chain of layers that may be given by its published name.

    Raises:
        NeurozooError: The network is unknown, and the message suggests the most similar name; or it is a Keras network.
    """
    return get_network(model).name


def check_keras_network(model: str) -> str:
    """Returns our name for a network with a policy head and a baseline head.

    Raises:
        NeurozooError: The network is unknown, and the message suggests the most similar name; or it is a chain.
    """
    return get_keras_network(model).name


def check_protocol(game: str, settings: Any) -> None:
    """Checks that a game can be played under the protocol and by the engine that the settings name.

    Raises:
        NeurozooError: Game, protocol and engine do not fit together.
    """
    check_engine(game, game_protocol(game, settings), settings.engine)


def game_protocol(game: str, settings: Any):
    """Returns the `Protocol` under which a game is played with some settings.

    Raises:
        NeurozooError: The protocol and the game do not fit together.
    """
    return protocol_of(game, **{name: getattr(settings, setting) for name, setting in PROTOCOL_CHOICES.items()})


def describe_game_protocol(game: str, settings: Any) -> dict[str, object]:
    """Returns the fields of the protocol under which a game is played, for the records of the run."""
    return asdict(game_protocol(game, settings))


@dataclass(frozen=True, kw_only=True)
class AlgorithmSpec:
    """One algorithm, as planning, rules, tables, figures, status and gallery see it.

    Importing a spec imports no TensorFlow: `open_session` imports what training needs.

    Attributes:
        name: The `{algo}` of paths and configurations, such as `nsra_es`.
        title: The name for people, such as "NSRA-ES".
        settings: The class of its settings, with `frames` or `evaluations` (the budget), `seed` and `WAYS_TO_RUN`.
        presets: Complete settings by name; `demo` is always among them.
        open_session: Makes the session of a run. This checks the input and starts nothing.
        budget_unit: What the budget counts: emulator `frames`, or `evaluations` of levels.
        result: What a run results in: a `network` or an `archive`.
        needs: What must be built before a run: the native `op`, the `noise` table.
        has_genome: Whether the result comes with a genome, so that runs write `genome.json`.
        has_lineage: Whether individuals descend from each other, so that a family tree can be drawn.
        has_phases: Whether a run learns in epochs of random play, training and tests.
        learns_by_steps: Whether playing, prediction and training can be measured apart (`python -m neurozoo profile`).
        score_is_selected: Whether `score` is the best of many, and therefore too optimistic; `test_score` never is.
        check_game: Returns a game's id, or raises an error that says what is wrong with it.
        check_variant: Returns the canonical name of a `{model}`, or raises an error that says what is wrong with it.
        check_fit: Raises an error if a game cannot be played with some settings.
        describe_protocol: Returns how episodes are played, as a record with at least `name`.
        memory: Returns the megabytes of memory that a run with some settings needs.
        gpus: Returns the number of GPUs that a run with some settings needs.
    """

    name: str
    title: str
    settings: type[Settings]
    presets: Mapping[str, Any]
    open_session: "Callable[[RunContext], Session]"
    budget_unit: Unit = "frames"
    result: ResultKind = "network"
    needs: tuple[Need, ...] = ()
    has_genome: bool = False
    has_lineage: bool = False
    has_phases: bool = False
    learns_by_steps: bool = False
    score_is_selected: bool = False
    check_game: Callable[[str], str] = check_game
    check_variant: Callable[[str], str] = check_network
    check_fit: Callable[[str, Any], None] = check_protocol
    describe_protocol: Callable[[str, Any], Mapping[str, object]] = describe_game_protocol
    memory: Callable[[Any], int] = lambda settings: 4000
    gpus: Callable[[Any], int] = lambda settings: 0

    def budget(self, settings: Any) -> int:
        """Returns the budget of a run in `budget_unit`."""
        return getattr(settings, self.budget_unit)

    def products(self) -> tuple[str, ...]:
        """Returns the files that every run gets from its result and log, by their names in the run's folder."""
        return (
            "result.json",
            "metrics.csv",
            *(("frozen/model.json", "rollout.npz") if self.result == "network" else ()),
            *(("lineage.png",) if self.has_lineage else ()),
            *(("phases.png", "phases.csv") if self.has_phases else ()),
        )
