"""What other packages know about an algorithm before it runs: names, settings, needs and traits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from neurozoo.algorithms.run_settings import Need, Settings, Unit
from neurozoo.environments.games import check_game
from neurozoo.networks.catalogue import get_keras_network, get_network

if TYPE_CHECKING:
    from neurozoo.algorithms.session import RunContext, Session

ResultKind = Literal["network", "archive"]
FAMILY_TREE, PHASES, EPISODES = ("lineage.png",), ("phases.png", "phases.csv"), ("episodes.csv",)
LEVEL_FILES = ("corrected.json", "heatmap.png", "archive.mp4", "archive.html")


def check_network(model: str) -> str:
    """Returns our name for a chain of layers that may be given by its published name, or raises `NeurozooError`."""
    return get_network(model).name


def check_keras_network(model: str) -> str:
    """Returns our name for a Keras network, or raises `NeurozooError`."""
    return get_keras_network(model).name


def session_of(place: str) -> "Callable[[RunContext], Session]":
    """Returns what imports a class, such as `dqn.session.DqnSession`, and makes a session, once it is called."""

    def open_session(context: "RunContext") -> "Session":
        module, _, kind = place.rpartition(".")
        return getattr(import_module(f"neurozoo.algorithms.{module}"), kind)(context)

    return open_session


@dataclass(frozen=True, kw_only=True)
class AlgorithmSpec:
    """One algorithm, as planning, rules, tables, figures, status and gallery see it.

    What depends on a run's settings, such as its memory, is asked of these: see `run_settings.Settings`. Importing a
    spec imports no TensorFlow: `open_session` imports what training needs.

    Attributes:
        name: The `{algo}` of paths and configurations, such as `nsra_es`.
        title: The name for people, such as "NSRA-ES".
        settings: The class of its settings.
        presets: Complete settings by name; `demo` is always among them.
        open_session: Makes the session of a run. This checks the input and starts nothing.
        result: What a run results in: a `network` or an `archive`.
        needs: What must be built before a run: the native `core`, the `noise` table.
        also_called: What the literature calls some settings, with these: `{"PPO": {"objective": "ppo"}}`. The first
            that fits counts; figures show it instead of `title`.
        report_name: What a report comes after: a `generation`, an `epoch`, an `iteration`.
        extras: Groups of packages that its runs and their files need besides the default ones (`make setup EXTRAS=`).
        extra_files: Files that every run gets besides those of its kind of result: `FAMILY_TREE` if individuals descend
            from each other, `PHASES` if it learns in epochs of random play, training and tests, `EPISODES` if reports
            have the single games of training, `LEVEL_FILES` if an archive of two measures holds levels.
        predicts_levels: Whether `levels.parquet` says what was predicted of levels before they were evaluated.
        outputs_are_returns: Whether a network's outputs estimate returns (Q-values).
        chooses: What the best `score` chooses: the `individual` of a report, which has it then, so that it is too
            optimistic; the `report` whose agent is the result; or nothing. `test_score` is never chosen by.
        check: Raises an error if the algorithm cannot have these settings, though others of their class can.
        check_game: Returns a game's id, or raises an error that says what is wrong with it.
        check_variant: Returns the canonical name of a `{model}`, or raises an error that says what is wrong with it.
    """

    name: str
    title: str
    settings: type[Settings]
    presets: Mapping[str, Any]
    open_session: "Callable[[RunContext], Session]"
    result: ResultKind = "network"
    needs: tuple[Need, ...] = ()
    also_called: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    report_name: str = "generation"
    extras: tuple[str, ...] = ()
    extra_files: tuple[str, ...] = ()
    predicts_levels: bool = False
    outputs_are_returns: bool = False
    chooses: Literal["individual", "report", ""] = ""
    check: Callable[[Any], None] = lambda settings: None
    check_game: Callable[[str], str] = check_game
    check_variant: Callable[[str], str] = check_network

    @property
    def budget_unit(self) -> Unit:
        """What the budget counts: emulator `frames`, or `evaluations` of levels."""
        return self.settings.unit()

    @property
    def has_levels(self) -> bool:
        """Whether an archive holds levels, so that heat map, movie and page can be made."""
        return set(LEVEL_FILES) <= set(self.extra_files)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that every run gets from its result and log, by their names in the run's folder."""
        of_network = ("frozen/model.json", "rollout.npz") if self.result == "network" else ()
        return ("result.json", "metrics.csv", *of_network, *self.extra_files)
