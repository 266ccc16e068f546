"""What other packages know about an algorithm before it runs: names, settings, needs and traits."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from neurozoo.algorithms.run_settings import Settings
from neurozoo.environments.games import check_game
from neurozoo.environments.observations import check_screens
from neurozoo.environments.protocols import Protocol, check_engine, protocol_of
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
    """Returns our name for a Keras network.

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


def check_learner(game: str, settings: Any) -> None:
    """Checks that a learner, which keeps observations as bytes, can play a game with some settings.

    Raises:
        NeurozooError: Game, protocol and engine do not fit together, or the game shows no grey pictures.
    """
    check_protocol(game, settings)
    protocol = game_protocol(game, settings)
    if protocol.world in ("river_crossing", "gymnasium"):
        check_screens(game, protocol)


def game_protocol(game: str, settings: Any) -> Protocol:
    """Returns the `Protocol` under which a game is played with some settings.

    Raises:
        NeurozooError: The protocol and the game do not fit together.
    """
    return protocol_of(game, **settings.protocol_choices)


def describe_game_protocol(game: str, settings: Any) -> dict[str, object]:
    """Returns the fields of the protocol under which a game is played, for the records of the run."""
    return asdict(game_protocol(game, settings))


def describe_evaluation(game: str, settings: Any) -> dict[str, object]:
    """Returns how a greedy agent's test episodes are played, as far as the protocol does not say it.

    Returns:
        `action_rule`, `epsilon` (probability of a random action), `cutoff` (longest episode in steps; None for the
        protocol's limit) and `episode_end`: a lost life ends no test episode.
    """
    cutoff = getattr(settings, "test_cutoff", None)
    return {"action_rule": "greedy", "epsilon": 0.0, "cutoff": cutoff, "episode_end": "game over"}


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
        also_called: Names of some settings in the literature, such as "PPO"; figures show them instead of `title`.
        called_by: Names settings, given by their names, as the literature does; empty where `title` is their name. The
            values may be texts, as in a record.
        report_name: What a report comes after: a `generation`, an `epoch`, an `iteration`.
        extras: Groups of packages that its runs and their files need besides the default ones (`make setup EXTRAS=`).
        has_genome: Whether the result comes with a genome, so that runs write `genome.json`.
        has_lineage: Whether individuals descend from each other, so that a family tree can be drawn.
        has_phases: Whether a run learns in epochs of random play, training and tests.
        has_episodes: Whether reports have the single games of training.
        has_levels: Whether an archive of two measures holds levels, so that heat map, movie and page can be made.
        predicts_levels: Whether `levels.parquet` says what was predicted of levels before they were evaluated.
        learns_by_steps: Whether playing, prediction and training can be measured apart (`python -m neurozoo profile`).
        outputs_are_returns: Whether a network's outputs estimate returns (Q-values).
        score_is_selected: Whether `score` is the best of many, and therefore too optimistic; `test_score` never is.
        keeps_best: Whether the result is the agent of the report with the best `score`, which is then selected, too.
        check_game: Returns a game's id, or raises an error that says what is wrong with it.
        check_variant: Returns the canonical name of a `{model}`, or raises an error that says what is wrong with it.
        check_model: Raises an error if a `{model}` cannot be trained with some settings.
        check_fit: Raises an error if a game cannot be played with some settings.
        describe_protocol: Returns how episodes are played, as a record with at least `name`.
        describe_evaluation: Returns how test episodes are played, as far as the protocol does not say it. Only scores
            with equal records are compared. Results that are no networks have no such record.
        start_sources: Returns the files and folders of runs that a run with some settings starts from; none for most.
        needs_besides: Returns what must be built besides `needs` before a run of a game with some settings.
        memory: Returns the megabytes of memory that a run with some settings needs.
        gpus: Returns the number of GPUs that a run with some settings needs.
        ranks: Returns the number of processes (MPI) that a run with some settings consists of. If there can be several,
            the session has a method `follow` for all but the first.
    """

    name: str
    title: str
    settings: type[Settings]
    presets: Mapping[str, Any]
    open_session: "Callable[[RunContext], Session]"
    budget_unit: Unit = "frames"
    result: ResultKind = "network"
    needs: tuple[Need, ...] = ()
    also_called: tuple[str, ...] = ()
    called_by: Callable[[Mapping[str, object]], str] = lambda settings: ""
    report_name: str = "generation"
    extras: tuple[str, ...] = ()
    has_genome: bool = False
    has_lineage: bool = False
    has_phases: bool = False
    has_episodes: bool = False
    has_levels: bool = False
    predicts_levels: bool = False
    learns_by_steps: bool = False
    outputs_are_returns: bool = False
    score_is_selected: bool = False
    keeps_best: bool = False
    check_game: Callable[[str], str] = check_game
    check_variant: Callable[[str], str] = check_network
    check_model: Callable[[str, Any], None] = lambda model, settings: None
    check_fit: Callable[[str, Any], None] = check_protocol
    describe_protocol: Callable[[str, Any], Mapping[str, object]] = describe_game_protocol
    describe_evaluation: Callable[[str, Any], Mapping[str, object]] = describe_evaluation
    start_sources: Callable[[Any], tuple[str, ...]] = lambda settings: ()
    needs_besides: Callable[[str, Any], tuple[Need, ...]] = lambda game, settings: ()
    memory: Callable[[Any], int] = lambda settings: 4000
    gpus: Callable[[Any], int] = lambda settings: 0
    ranks: Callable[[Any], int] = lambda settings: 1

    def budget(self, settings: Any) -> int:
        """Returns the budget of a run in `budget_unit`."""
        return getattr(settings, self.budget_unit)

    def settings_record(self, settings: Any) -> dict[str, object]:
        """Returns the settings that make runs repetitions of each other if they are equal, by name.

        Without the budget, the seed and `WAYS_TO_RUN`, and without what the records of protocol and evaluation say.
        """
        left_out = {self.budget_unit, *settings.WAYS_TO_RUN, *settings.OUTSIDE_HASH}
        return {name: value for name, value in settings.in_one_spelling().items() if name not in left_out}

    def evaluation_record(self, game: str, settings: Any) -> dict[str, object]:
        """Returns what `describe_evaluation` says of a network's tests; empty for other results."""
        return dict(self.describe_evaluation(game, settings)) if self.result == "network" else {}

    @property
    def logs_genomes(self) -> bool:
        """Whether reports have the genome of each generation's elite, so that it can be frozen and filmed."""
        return self.has_genome and self.score_is_selected

    def products(self) -> tuple[str, ...]:
        """Returns the files that every run gets from its result and log, by their names in the run's folder."""
        return (
            "result.json",
            "metrics.csv",
            *(("frozen/model.json", "rollout.npz") if self.result == "network" else ()),
            *(("lineage.png",) if self.has_lineage else ()),
            *(("phases.png", "phases.csv") if self.has_phases else ()),
            *(("episodes.csv",) if self.has_episodes else ()),
            *(("corrected.json", "heatmap.png", "archive.mp4", "archive.html") if self.has_levels else ()),
        )
