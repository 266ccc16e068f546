"""The settings of each algorithm of the family."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, Tag
from pydantic.dataclasses import dataclass

from neurozoo.algorithms.neuroevolution.novelty import Behaviour, choose_behaviour
from neurozoo.algorithms.neuroevolution.schedules import Above0, EpisodeCutoff, MutationPower, Schedule
from neurozoo.algorithms.run_settings import Frames, NumTestEpisodes, RunSettings
from neurozoo.environments.game_networks import is_modular
from neurozoo.environments.protocols import has_continuous_outputs, output_names
from neurozoo.errors import NeurozooError
from neurozoo.validation import Count, Flag, Number, Share, Whole, either, setting


@dataclass(frozen=True, kw_only=True)
class EvolutionSettings(RunSettings):
    """The settings that all neuroevolution algorithms share."""

    WAYS_TO_RUN: ClassVar[tuple[str, ...]] = ("snapshot_frames", "record_population")
    # Settings that name what starts a run, and what that holds: a `population`, `weights` or `layers`.
    STARTS_FROM: ClassVar[Mapping[str, str]] = {}

    engine: Literal["native", "batched"] = setting(
        "native",
        "Where episodes are played: native (threads of the processor) or batched (networks on a GPU, docs/gpu.md). "
        "Results differ only by the rounding of sums.",
    )
    episode_cutoff_mode: Annotated[
        Annotated[Whole, Field(ge=1), Tag("<integer>")] | Annotated[str, Tag("<string>")],
        either("integer", "string"),
    ] = setting(
        5000,
        "Longest training episode: a number of steps, `env_default` (the protocol's limit), or "
        "`adaptive:start,fraction,factor,cap`.",
    )
    record_population: Flag = setting(
        False,
        "Whether the behaviour of every individual is kept in population/, for `compare population` "
        "(docs/comparing.md). This does not change a run.",
    )

    def changes_for(self, game: str, model: str) -> dict[str, object]:
        """Returns also what a modular agent sees."""
        seen: dict[str, object] = {"observation": "objects"} if game == "river_crossing" and is_modular(model) else {}
        return super().changes_for(game, model) | seen

    def check_model(self, model: str) -> None:
        """Checks that a modular agent sees objects."""
        if is_modular(model) and self.observation != "objects":
            raise NeurozooError(
                f"The network {model!r} is for the game river_crossing with observation: objects. Choose both, or "
                "another network."
            )

    @property
    def start_setting(self) -> str | None:
        """The setting that names what starts the run; None to start from random weights alone."""
        return next((name for name in self.STARTS_FROM if getattr(self, name) is not None), None)

    @property
    def start_sources(self) -> tuple[str, ...]:
        """What `start_setting` names."""
        return () if self.start_setting is None else (getattr(self, self.start_setting),)

    @property
    def gpus(self) -> int:
        """The batched engine computes on one."""
        return 1 if self.engine == "batched" else 0

    def __post_init__(self) -> None:
        super().__post_init__()
        EpisodeCutoff.from_setting(self.episode_cutoff_mode)

    def in_one_spelling(self) -> dict[str, object]:
        """Returns the settings by name; a constant schedule is a number, and all others have our keys."""
        settings = super().in_one_spelling()
        if "mutation_power" in settings:
            schedule = Schedule.from_setting(self.mutation_power)  # type: ignore[attr-defined]
            settings["mutation_power"] = schedule.initial if schedule.type == "constant" else vars(schedule)
        return settings


TOURNAMENT = 3  # individuals that meet in a tournament


@dataclass(frozen=True, kw_only=True)
class GaSettings(EvolutionSettings):
    """Settings of the genetic algorithm; the defaults are the published ones. Random search is T = 0.

    Source: Such et al. 2017, arXiv:1712.06567, and its published configuration.
    """

    WAYS_TO_RUN: ClassVar = (*EvolutionSettings.WAYS_TO_RUN, "repeat_arrivals")
    LATER: ClassVar = {
        "crossover": "none", "copied_parents": 0, "weight_limit": None, "fixed_layers_of": None, "target_score": None,
    }  # fmt: skip
    STARTS_FROM: ClassVar = {"load_population": "population", "fixed_layers_of": "layers"}

    # search
    population_size: Count = setting(1000, "Offspring per generation.")
    selection_threshold: Whole = setting(
        20, "T, the number of parents (truncation selection); 0 is random search.", ge=0
    )
    validation_threshold: Count = setting(10, "Candidates that are evaluated again to choose the elite.")
    num_validation_episodes: Count = setting(30, "Validation episodes of each candidate.")
    mutation_power: MutationPower = 0.002
    elite_rule: Literal["validated", "racing", "carried"] = setting(
        "validated",
        "How the elite is chosen (docs/ga.md): validated (published in 2018), racing (ours, with no more episodes) or "
        "carried (published in 2017: the best training score of all generations).",
    )
    first_generation: Literal["random", "mutations"] = setting(
        "random",
        "random (each a fresh genome) or mutations (all of them children of one fresh genome; in random search, so "
        "are those of later generations).",
    )
    load_population: str | None = setting(
        None,
        "Whose children the first generation are: a run's folder (its parents), a file with a population, or a genome "
        "(docs/ga.md); empty for none.",
        min_length=1,
    )
    stage_threshold: Number | None = setting(
        None,
        "Of river_crossing with fixed rules: share of the population's attempts that have to solve all rivers of a "
        "stage before the next, wider one counts (published: 0.8); empty to count all from the start.",
        gt=0,
        le=1,
    )
    crossover: Literal["none", "one_point", "reversed_one_point", "neurons"] = setting(
        "none",
        "none (a child is a mutation of one parent), one_point (for networks of few weights: a child has the first "
        "weights of one parent and the last ones of another, and one of its weights mutates), reversed_one_point (as "
        "published in 2018: its weights come back to front) or neurons (as published in 2007: it takes whole neurons; "
        "docs/ga.md).",
    )
    copied_parents: Whole = setting(
        0, "With crossover: the best parents that play again, unchanged, as offspring.", ge=0
    )
    weight_limit: Above0 | None = setting(None, "With crossover: the largest absolute weight; empty for no limit.")
    fixed_layers_of: str | None = setting(
        None,
        "With crossover: a run's folder or a checkpoint.npz with layers that this run takes and never changes; only "
        "layers that are not there evolve (published: decision_pre_evolve; docs/ga.md); empty to evolve all.",
        min_length=1,
    )
    target_score: Number | None = setting(
        None, "Score of the elite at which a run ends before its budget; empty to spend all of it."
    )
    selection: Literal["generations", "tournaments", "asynchronous"] = setting(
        "generations",
        "generations (all episodes of one end before the next begins), tournaments (generations in which groups of "
        "three meet, and a child replaces the worst of each; with crossover) or asynchronous (no worker ever waits, "
        "and a run depends on the order in which episodes end; docs/ga.md).",
    )
    episodes_in_flight: Whole | None = setting(
        None,
        "Of selection: asynchronous: episodes that are played or wait for a worker, at any time. Fewer than threads "
        "(engine: batched: than slots) leave some idle; empty for a quarter of population_size.",
        ge=1,
    )
    repeat_arrivals: str | None = setting(
        None,
        "Of selection: asynchronous: the folder of a run, or its log.jsonl, whose order of arrival this run repeats, "
        "with any number of threads (docs/ga.md); empty for none.",
        min_length=1,
    )

    def check_game(self, game: str) -> None:
        """Checks also that the game has stages, if these are asked for."""
        super().check_game(game)
        if self.stage_threshold is not None and (protocol := self.game_protocol(game)).rules != "fixed":
            raise NeurozooError(
                f"stage_threshold is for river_crossing with fixed rules, but {game!r} is played under "
                f"{protocol.name!r}. Leave stage_threshold empty."
            )

    @property
    def logs_genomes(self) -> bool:
        """Children of two parents have weights of their own instead of a genome that others can decode."""
        return self.crossover == "none"

    @property
    def num_in_flight(self) -> int:
        """Episodes in flight of the asynchronous form."""
        return self.episodes_in_flight or max(1, self.population_size // 4)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.load_population is not None and self.selection_threshold == 0:
            raise NeurozooError(
                "load_population gives the first generation its parents, but selection_threshold is 0, which means "
                "random search without parents. Leave out one of them."
            )
        if self.load_population is not None and self.first_generation != "random":
            raise NeurozooError(
                f"Both load_population and first_generation: {self.first_generation} say whose children the first "
                "generation are. Leave out one of them."
            )
        self._check_at_most(self.population_size, "population_size", "selection_threshold", "validation_threshold")
        if self.elite_rule == "racing" and self.validation_threshold * self.num_validation_episodes < 2:
            raise NeurozooError(
                "A race needs at least two episodes: make validation_threshold or num_validation_episodes larger."
            )
        Schedule.from_setting(self.mutation_power)
        self._check_crossover()
        self._check_selection()

    def _check_crossover(self) -> None:
        if self.crossover == "none":
            for name in ("copied_parents", "weight_limit", "fixed_layers_of"):
                if getattr(self, name):
                    raise NeurozooError(
                        f"{name} is for crossover, but crossover is none. Leave {name} out, or choose one."
                    )
            return
        self._check_at_most(self.selection_threshold, "selection_threshold", "copied_parents")
        for name, is_fitting in (
            ("load_population", self.load_population is None),
            ("first_generation", self.first_generation == "random"),
            ("selection", self.selection != "asynchronous"),
        ):
            if not is_fitting:
                raise NeurozooError(f"Crossover starts from random weights and has generations. Leave out {name}.")
        if self.selection_threshold < 2:
            raise NeurozooError("Crossover needs two parents. Make selection_threshold at least 2.")

    def _check_selection(self) -> None:
        if self.selection == "tournaments":
            self._check_tournaments()
        if self.selection != "asynchronous":
            for name in ("episodes_in_flight", "repeat_arrivals"):
                if getattr(self, name) is not None:
                    raise NeurozooError(
                        f"{name} is for selection: asynchronous, but selection is {self.selection}. Leave {name} "
                        "empty, or choose selection: asynchronous."
                    )
            return
        if self.selection_threshold == 0:
            raise NeurozooError(
                "selection: asynchronous chooses parents, but selection_threshold is 0, which means random search "
                "without parents. Leave out selection, or make selection_threshold larger."
            )
        for name, meaning in (
            ("stage_threshold", "is compared with what a whole generation has solved"),
            ("record_population", "keeps whole generations"),
        ):
            if getattr(self, name):
                raise NeurozooError(
                    f"{name} {meaning}, and selection: asynchronous has no generations. Leave out one of them."
                )

    def _check_tournaments(self) -> None:
        if self.crossover == "none":
            raise NeurozooError(
                "selection: tournaments makes children of two parents, but crossover is none. Choose a crossover."
            )
        if self.copied_parents:
            raise NeurozooError(
                f"copied_parents is {self.copied_parents:,}, but after tournaments all parents play again. Set "
                "copied_parents to 0."
            )
        if self.population_size < TOURNAMENT:
            raise NeurozooError(
                f"population_size is {self.population_size}, but {TOURNAMENT} individuals meet in a tournament. Make "
                "it larger."
            )
        parents = self.population_size - self.population_size // TOURNAMENT
        if self.selection_threshold != parents:
            raise NeurozooError(
                f"selection_threshold is {self.selection_threshold:,}, but tournaments of {self.population_size:,} "
                f"individuals leave {parents:,} parents. Set it to {parents}."
            )


PerturbedPopulation = Annotated[
    Whole,
    Field(ge=2, multiple_of=2, description="Perturbed weights per generation, two (mirrored) for each slice of noise."),
]


@dataclass(frozen=True, kw_only=True)
class GradientSettings(EvolutionSettings):
    """The settings that all evolution strategies share."""

    # search
    population_size: PerturbedPopulation = 5000
    mutation_power: MutationPower = 0.02
    tied_ranks: Literal["order", "average"] = setting(
        "order",
        "Ranks of equal scores: order (the earlier one gets the lower rank, as published) or average (all get the "
        "mean of their ranks, so equal scores say nothing).",
    )
    # step
    l2coeff: Number = setting(0.005, "Weight decay: this multiple of the weights is added to the gradient.", ge=0)
    optimizer: Literal["adam", "sgd", "sgd_2017"] = setting(
        "adam", "adam, sgd (momentum as in the GPU code) or sgd_2017 (as in the distributed code)."
    )
    stepsize: Number = setting(0.01, "Step size of the optimizer.", ge=0)
    # budget
    frames: Frames = 1_000_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        Schedule.from_setting(self.mutation_power)


@dataclass(frozen=True, kw_only=True)
class EsSettings(GradientSettings):
    """Settings of evolution strategies; the defaults are the published ones.

    Source: Salimans et al. 2017, arXiv:1703.03864; published configuration of Such et al. 2017, arXiv:1712.06567.
    """

    STARTS_FROM: ClassVar = {"load_from": "weights"}

    return_proc_mode: Literal["centered_rank", "sign", "centered_sign_rank"] = setting(
        "centered_rank",
        "What weights the gradient: centered_rank (ranks of the scores), sign (sums of the signs of the rewards) or "
        "centered_sign_rank (ranks of these sums).",
    )
    load_from: str | None = setting(
        None,
        "Initial weights: a run's folder, a checkpoint.npz or a genome (docs/es.md); empty for random ones.",
        min_length=1,
    )
    observation_statistics: Number = setting(
        0.01,
        "Of the network `mujoco`: share of the population's episodes whose observations enter the statistics "
        "(published: calc_obstat_prob).",
        gt=0,
        le=1,
    )
    action_noise: Number = setting(
        0.0,
        "Of gym. worlds with continuous actions: standard deviation of Gaussian noise on the actions of the "
        "population (published: ac_noise_std).",
        ge=0,
    )

    def check_game(self, game: str) -> None:
        """Checks also that noise can be added to the game's actions, if it is asked for."""
        super().check_game(game)
        if not self.action_noise:
            return
        protocol = self.game_protocol(game)
        if protocol.world != "gymnasium" or not has_continuous_outputs(protocol, output_names(game, protocol)):
            raise NeurozooError(
                f"action_noise is for gym. worlds with continuous actions, not for {game!r}. Set action_noise to 0."
            )


@dataclass(frozen=True, kw_only=True)
class NoveltySettings(GradientSettings):
    """Settings of NS-ES and NSR-ES; the defaults are the published ones of NS-ES.

    Source: Conti et al. 2018, arXiv:1712.06560, and its published configuration.
    """

    population_size: PerturbedPopulation = 100
    num_test_episodes: NumTestEpisodes = 30
    num_agents: Count = setting(
        3, "Sets of weights, of which one moves per generation (published: the novelty block's population_size)."
    )
    num_neighbours: Count = setting(10, "k, the number of nearest behaviours in the archive that define novelty.")
    num_rollouts: Count = setting(1, "Episodes whose mean is an agent's behaviour.")
    num_validation_episodes: Count = setting(
        3,
        "Episodes of the moved agent, including those of `num_rollouts`; the result is the agent with the best mean "
        "score.",
    )
    selection: Literal["novelty_prob", "round_robin"] = setting(
        "novelty_prob", "Which agent moves: novelty_prob (by chance, in proportion to novelty) or round_robin."
    )
    behaviour: Behaviour = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_at_most(self.num_validation_episodes, "num_validation_episodes", "num_rollouts")

    def check_game(self, game: str) -> None:
        """Checks also that the game has the behaviour."""
        super().check_game(game)
        choose_behaviour(self.behaviour, protocol=self.game_protocol(game))


@dataclass(frozen=True, kw_only=True)
class NsraSettings(NoveltySettings):
    """Settings of NSRA-ES.

    Source: Conti et al. 2018, arXiv:1712.06560.
    """

    reward_weight: Share = setting(1.0, "Weight of rewards at the start, from 0 (only novelty) to 1 (only rewards).")
    weight_step: Share = setting(
        0.05, "Added to the weight after a new best score; subtracted after `patience` generations without one."
    )
    patience: Count = setting(50, "Generations without a new best score.")


@dataclass(frozen=True, kw_only=True)
class GaNoveltySettings(GaSettings):
    """Settings of the genetic algorithm with novelty search.

    Source: Such et al. 2017, arXiv:1712.06567.
    """

    num_neighbours: Count = setting(
        25, "k, the number of nearest members of population and archive that define novelty."
    )
    archive_probability: Share = setting(0.01, "Probability with which an offspring enters the archive.")
    behaviour: Behaviour = None

    def check_game(self, game: str) -> None:
        """Checks also that the game has the behaviour."""
        super().check_game(game)
        choose_behaviour(self.behaviour, protocol=self.game_protocol(game))

    def _check_selection(self) -> None:
        super()._check_selection()
        if self.selection != "generations":
            raise NeurozooError(
                f"selection: {self.selection} chooses parents by score, and ga_ns by novelty. Leave out selection, or "
                "choose the algorithm ga."
            )
