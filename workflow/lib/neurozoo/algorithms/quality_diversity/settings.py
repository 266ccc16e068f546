"""The settings of quality-diversity searches through levels."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from neurozoo.algorithms.run_settings import Need, Settings
from neurozoo.environments.level_domains import (
    GRAMMAR,
    LevelDomain,
    Measure,
    Play,
    check_agent,
    check_decoder,
    get_level_domain,
)
from neurozoo.environments.levels import Agents
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.files import sha256_of
from neurozoo.native import BUILD
from neurozoo.validation import Count, Flag, Number, Whole, setting

_MOST_CELLS = 10_000_000  # of an archive; its tables and pictures could not hold more
EmitterBatch = setting(30, "Solutions that each emitter proposes at a time.")
NumEmitters = setting(5, "Number of emitters.")
InitialPopulation = setting(100, "Random solutions of each emitter before its first children.")
NumMutations = setting(10, "Entries of a child that are drawn anew; some of them keep their value.")


@dataclass(frozen=True, kw_only=True)
class LevelSearchSettings(Settings):
    """What all searches share: the budget, the archive, and how a level is evaluated.

    The defaults are those of the published runs in mazes.

    Source: Bhatt et al. 2022, arXiv:2206.04199.
    """

    # budget
    evaluations: Count = setting(100_000, "Budget: levels that an agent is sent into. The last batch is cut to it.")
    seed: Whole = setting(0, "Seed of the experiment; every run adds its number.", ge=0)
    # archive
    measures: tuple[str, str] | None = setting(
        None, "The two measures of the archive, by name; empty for the domain's own."
    )
    cells: tuple[Whole, Whole] | None = setting(
        None, "Cells of the archive along each measure; empty for the published number."
    )
    # levels
    decoder: str = setting(
        GRAMMAR,
        "What turns solutions into platform levels: grammar, which has not learned anything, or the path of a trained "
        "generator (.npz).",
    )
    # evaluation of a level
    agent: str = setting(
        "wall_follower", "Who is sent into the levels: a scripted agent, or the path of a trained one (.npz)."
    )
    num_episodes: Count = setting(50, "Episodes in each level.")
    num_envs: Count = setting(10, "Copies of a level that are played side by side.")
    episode_sampling: Literal["first_finished", "fixed"] = setting(
        "first_finished",
        "first_finished (as published: the first episodes to finish count, which favours short ones, and the "
        "occupancy contains what the others had begun) or fixed (every episode that begins counts).",
    )
    shares_first_direction: Flag = setting(
        True, "Whether the first episodes of all copies begin in one direction, as published."
    )
    unsolvable_occupancy: Literal["walls", "zeros"] = setting(
        "walls", "The occupancy of a level without a way: its walls, as published, or zeros."
    )

    def __post_init__(self) -> None:
        if self.decoder != GRAMMAR and not self.decoder.endswith(".npz"):
            raise NeurozooError(
                f"decoder should be {GRAMMAR} or the path of a generator (.npz), but is {self.decoder!r}."
            )
        if self.cells is not None and min(self.cells) < 1:
            raise NeurozooError(f"cells should be at least 1 along each measure, but are {list(self.cells)}.")
        if self.cells is not None and math.prod(self.cells) > _MOST_CELLS:
            raise NeurozooError(
                f"An archive should have at most {_MOST_CELLS:,} cells, but cells {list(self.cells)} are "
                f"{math.prod(self.cells):,}. Choose fewer along each measure."
            )
        if self.measures is not None and self.measures[0] == self.measures[1]:
            raise NeurozooError(f"measures should name two different ones, but both are {self.measures[0]!r}.")

    @property
    def files(self) -> dict[str, str]:
        """The files of the `agent` and of the `generator`, as far as they are trained ones."""
        files = {"agent": self.agent, "generator": self.decoder}
        return {kind: path for kind, path in files.items() if path.endswith(".npz")}

    def domain(self, game: str) -> LevelDomain:
        """Returns the domain of a game, with the decoder of these settings, or raises `NeurozooError`."""
        return get_level_domain(game, decoder=self.decoder)

    def file_hashes(self) -> dict[str, str]:
        """Returns what a run depends on besides: `agent_sha256` and `generator_sha256`, if it has these files.

        Raises `NeurozooError` if a file is missing.
        """
        hashes = {}
        for kind, path in self.files.items():
            try:
                hashes[f"{kind}_sha256"] = sha256_of(path)
            except OSError as error:
                raise NeurozooError(f"The {kind} {path} is missing. Train it, or name another one.") from error
        return hashes

    def play(self, domain: LevelDomain, *, core: Path | None, threads: int = 1) -> Play:
        """Returns how levels are evaluated: in the core, but scripted agents in mazes and all in rivers without it.

        Raises `NeurozooError` if the core is needed, but none is given.
        """
        needs_core = self._is_among(domain.need_core)
        if needs_core and core is None:
            what = f"The game {domain.name}" if domain.need_core == "all" else f"The agent {self.agent}"
            raise NeurozooError(f"{what} is played by the core, but none was given. {BUILD}")
        return Play(
            agent=self.agent,
            num_episodes=self.num_episodes,
            num_envs=self.num_envs,
            sampling=self.episode_sampling,
            shares_first_direction=self.shares_first_direction,
            unsolvable_occupancy=self.unsolvable_occupancy,
            core=core if needs_core else None,
            threads=threads,
        )

    def axes(self, domain: LevelDomain) -> dict[str, Measure]:
        """Returns the measures of the archive by name, or raises `NeurozooError` if the domain has them not."""
        names = self.measures or domain.default_measures
        for name in names:
            if name not in domain.measures:
                raise unknown_name("measure", name, domain.measures, owner=domain.name)
        return {name: domain.measures[name] for name in names}

    def dims(self, domain: LevelDomain) -> tuple[int, int]:
        """Returns the cells of the archive along each measure."""
        first, second = self.axes(domain).values()
        return self.cells or (first.cells, second.cells)

    @property
    def memory(self) -> int:
        """A level and its record take 2 kB (mazes) to 7 kB, and are held twice while they are saved."""
        return 2500 + self.evaluations // 75

    @property
    def start_sources(self) -> tuple[str, ...]:
        """The files of the agent and of the generator."""
        return tuple(self.files.values())

    def needs_besides(self, game: str) -> tuple[Need, ...]:
        """The core plays in some domains, and for trained agents in others."""
        return ("core",) if self._is_among(get_level_domain(game).need_core) else ()

    def _is_among(self, agents: Agents) -> bool:
        return agents == "all" or (agents == "trained" and "agent" in self.files)

    def check_game(self, game: str) -> None:
        """Checks that the domain has what the settings name, and files, as far as no rule has to make them first."""
        domain = get_level_domain(game)
        self.check(domain)
        if "generator" in self.files and Path(self.decoder).exists():
            self.domain(game)
        if "agent" in self.files and domain.read_agent and Path(self.agent).exists():
            domain.read_agent(self.agent)

    def describe_protocol(self, game: str) -> dict[str, object]:
        """Returns what an archive's scores depend on: its axes and cells, and how levels are evaluated."""
        domain = get_level_domain(game)
        plays_once = self._is_among(domain.play_once)
        learned = {"decoder": self.decoder} if "generator" in self.files else {}
        return {
            "name": f"{game}_{'_'.join(self.axes(domain))}",
            "measures": list(self.axes(domain)),
            "cells": list(self.dims(domain)),
            **learned,
            "agent": self.agent,
            "num_episodes": 1 if plays_once else self.num_episodes,
            "num_envs": self.num_envs,
            "episode_sampling": self.episode_sampling,
            "shares_first_direction": self.shares_first_direction,
        }

    def check(self, domain: LevelDomain) -> None:
        """Raises `NeurozooError` if a domain has not what the settings name."""
        check_agent(domain, self.agent)
        check_decoder(domain, self.decoder)
        self.axes(domain)


@dataclass(frozen=True, kw_only=True)
class DomainRandomizationSettings(LevelSearchSettings):
    """Settings of domain randomization: independent random levels.

    The original evaluates all of them in one iteration.
    """

    batch_size: Count = setting(150, "Levels between two reports. Another number draws other levels.")


@dataclass(frozen=True, kw_only=True)
class MapElitesSettings(LevelSearchSettings):
    """Settings of MAP-Elites, whose children are changed copies of elites.

    Source: Mouret and Clune 2015, arXiv:1504.04909.
    """

    num_emitters: Count = NumEmitters
    batch_size: Count = EmitterBatch
    initial_population: Count = InitialPopulation
    num_mutations: Count = NumMutations
    mutation_sigma: Number = setting(
        0.2, "Standard deviation of a child's change where solutions are real numbers.", gt=0, le=1000
    )


@dataclass(frozen=True, kw_only=True)
class CmaMeSettings(LevelSearchSettings):
    """Settings of CMA-ME with improvement emitters, or of CMA-MAE, which has thresholds instead.

    Sources: Fontaine et al. 2020, arXiv:1912.02400; Fontaine and Nikolaidis 2023, arXiv:2205.10752.
    """

    num_emitters: Count = NumEmitters
    batch_size: Count = EmitterBatch
    sigma0: Number = setting(0.2, "First step size of the evolution strategies.", gt=0, le=1000)
    ranker: Literal["2imp", "imp", "2rd", "rd", "2obj", "obj"] = setting(
        "2imp", "How solutions are ranked, in the words of pyribs; CMA-MAE has imp."
    )
    selection_rule: Literal["filter", "mu"] = setting(
        "filter", "Parents: filter (solutions that entered the archive) or mu (the better half)."
    )
    restart_rule: Literal["no_improvement", "basic"] = setting(
        "no_improvement", "When an emitter starts again from a random elite."
    )
    archive_learning_rate: Number | None = setting(
        None, "Learning rate of the thresholds of CMA-MAE; empty for CMA-ME.", ge=0, le=1
    )
    threshold_min: Number | None = setting(None, "First threshold of CMA-MAE; empty for CMA-ME. Give both or neither.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.archive_learning_rate is None) != (self.threshold_min is None):
            raise NeurozooError("archive_learning_rate and threshold_min belong together: give both or neither.")

    def check(self, domain: LevelDomain) -> None:
        """Checks also that a level can be better than the first threshold."""
        super().check(domain)
        best = domain.objective_range[1]
        if self.threshold_min is not None and self.threshold_min >= best:
            raise NeurozooError(
                f"threshold_min should be below {best:g}, the best objective in {domain.name!r}, but is "
                f"{self.threshold_min:g}."
            )


@dataclass(frozen=True, kw_only=True)
class DsageSettings(LevelSearchSettings):
    """Settings of DSAGE. The variant, such as `full`, says which of its parts are used.

    The defaults are those of the paper for mazes.

    Source: Bhatt et al. 2022, arXiv:2206.04199.
    """

    OUTSIDE_HASH: ClassVar[tuple[str, ...]] = ("seed", "engine")
    LATER: ClassVar[Mapping[str, object]] = {"dtype": "float32"}

    initial_solutions: Count = setting(100, "Random levels that are evaluated first.")
    # inner loop: the search in the surrogate
    inner_iterations: Count = setting(
        10_000, "Iterations of the search that asks the surrogate, between two evaluations."
    )
    num_emitters: Count = NumEmitters
    batch_size: Count = EmitterBatch
    initial_population: Count = InitialPopulation
    num_mutations: Count = NumMutations
    sigma0: Number = setting(
        0.2, "First step size of the evolution strategies, where solutions are real numbers.", gt=0, le=1000
    )
    # candidates
    coarse_cells: tuple[Whole, Whole] | None = setting(
        None,
        "Regions of the archive along each measure, of which each gives one candidate; they divide cells. Empty for "
        "the published number.",
    )
    num_random: Count = setting(432, "Candidates of the variant random_sample: about half of the regions.")
    # surrogate
    channels: Count = setting(64, "Channels of the first layer that predicts the measures.")
    occupancy_channels: Count = setting(64, "Channels of the layers that predict the occupancy.")
    residual_blocks: Whole = setting(2, "Residual blocks that predict the occupancy.", ge=0)
    occupancy_weight: Number = setting(10.0, "Factor on the loss of the occupancy.", ge=0)
    endpoints: Literal["train_only", "both", "neither"] = setting(
        "train_only",
        "Where the surrogate sees start and goal: train_only (as published: levels to predict have none), both or "
        "neither.",
    )
    train_epochs: Count = setting(200, "Epochs of training per iteration; the long variants multiply it.")
    train_batch_size: Count = setting(64, "Levels of an update.")
    train_sample_size: Whole | None = setting(
        20_000, "Latest levels that the surrogate learns from; empty for all.", ge=1
    )
    learning_rate: Number = setting(0.001, "Learning rate of Adam.", gt=0)
    ensemble: Count = setting(1, "Surrogates that learn side by side; the mean of their predictions counts.")
    standardises_heads: Flag = setting(
        False,
        "Whether the loss takes each measure in units of its range. As published it takes raw units, in which the "
        "path length outweighs everything.",
    )
    engine: Literal["native", "keras"] = setting(
        "native",
        "What computes the surrogate: native (the core, several times as fast, with the same results on every "
        "processor) or keras. Results differ only by the rounding of sums.",
    )
    dtype: Literal["float32", "mixed_bfloat16"] = setting(
        "float32",
        "What the core computes the surrogate in: float32, or mixed_bfloat16 (all layers but the last in bfloat16, "
        "sums and weights in float32), which is faster and needs a processor with AVX512-BF16 or "
        "AMX.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dtype != "float32" and self.engine != "native":
            raise NeurozooError(f"dtype {self.dtype} needs engine native, but engine is {self.engine}. Change one.")

    def needs_besides(self, game: str) -> tuple[Need, ...]:
        """The core computes the surrogate, too."""
        return ("core",) if self.engine == "native" else super().needs_besides(game)

    def coarse_dims(self, domain: LevelDomain) -> tuple[int, int]:
        """Returns the regions of the archive along each measure."""
        first, second = self.axes(domain).values()
        return self.coarse_cells or (first.coarse_cells, second.coarse_cells)

    def check(self, domain: LevelDomain) -> None:
        """Checks also that regions divide the archive."""
        super().check(domain)
        dims, coarse = self.dims(domain), self.coarse_dims(domain)
        if min(coarse) < 1 or any(fine % region for fine, region in zip(dims, coarse, strict=True)):
            raise NeurozooError(
                f"coarse_cells should divide the cells of the archive, {list(dims)}, but are {list(coarse)}. "
                "Change coarse_cells or cells."
            )
