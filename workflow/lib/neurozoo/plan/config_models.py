"""The keys of config.yaml, with their types, bounds, defaults and descriptions.

`neurozoo.plan.config_sections` has the sections about measuring and showing results. Names of games, networks,
algorithms, presets and settings are not listed here: `neurozoo.plan.config_problems` compares them with the library.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, Tag

from neurozoo.plan.causal_sections import Causal, InterventionSection, Probes, WhatIfSection
from neurozoo.plan.config_sections import (
    ABSENT,
    Comparisons,
    Evaluation,
    Figures,
    Filters,
    Freeze,
    Generations,
    Metrics,
    Movie,
    Rollout,
    Section,
    Site,
    Statistics,
    Test,
    Zoo,
)
from neurozoo.validation import Unique, Whole, either

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]*$")]
Values = Annotated[Unique[Any], Field(min_length=1)]
Above0 = Annotated[Whole, Field(ge=1)]
RunNumber = Annotated[Whole, Field(ge=1, le=10**15)]
Preset = Annotated[str, Field(description="Named settings of the algorithm to start from (docs/reference/presets.md).")]


class Experiment(Section):
    """Runs of one algorithm: every game with every network, each several times."""

    algo: str = Field(description="Algorithm, such as `ga`.")
    preset: Preset = "demo"
    games: Unique[str] = Field(
        min_length=1,
        description="Games by their ALE rom id, such as `ms_pacman`, or lists of them: `all` (of ale-py), `atari57`, "
        "`atari5`, `published13` (of Such et al. 2017).",
    )
    models: Unique[str] = Field(min_length=1, description="Networks, such as `large` (docs/reference/networks.md).")
    runs: Annotated[
        Annotated[RunNumber, Tag("<integer>")] | Annotated[Unique[RunNumber], Field(min_length=1), Tag("<array>")],
        either("integer", "array"),
    ] = Field(default=1, description="A number n for the runs 1 to n, or a list of run numbers.")
    overrides: dict[str, Any] = Field(
        default={}, description="Settings that differ from the preset; every algorithm has its own."
    )
    sweep: dict[str, Values] = Field(
        default={},
        description="Lists of values for settings, such as `{mutation_power: [0.002, 0.005]}`. Each combination has "
        "runs of its own: `runs` for the first, 100 more for each next one (docs/running.md).",
    )
    label: str = Field(
        default="",
        description="Name of these settings in tables, figures and gallery; empty for what differs from other runs of "
        "the same algorithm and network, such as `mutation_power 0.5`.",
    )


class Choice(Section):
    """Settings of an algorithm's runs that belong to no experiment."""

    preset: Preset = "demo"
    overrides: dict[str, Any] = Field(default={}, description="Settings that differ from the preset.")


class Import(Section):
    """A genome from elsewhere."""

    file: str = Field(
        default=ABSENT,
        min_length=1,
        description="File with a genome in any published form, with seeds, with arrays of weights (.npz), or with a "
        "frozen graph (.pb, such as the Atari Zoo's); or else give genome.",
    )
    genome: Annotated[Annotated[str, Tag("<string>")] | Annotated[list, Tag("<array>")], either("string", "array")] = (
        Field(
            default=ABSENT,
            description="The genome itself, as a list or as text such as (1, (2, 0.002)); or else give file.",
        )
    )
    game: str = Field(description="Game that it was evolved for.")
    model: str = Field(description="Network that it was evolved for, such as `large`, or `cshenton` for seeds.")
    run: RunNumber = Field(default=1, description="Number of the run, the last part of its folder.")
    protocol: str | None = Field(
        default=None, description="How it is played; empty for what the file says, or the game's own."
    )
    action_set: str | None = Field(
        default=None, description="Actions to choose from, minimal or full; empty for the protocol's."
    )
    observation: str | None = Field(
        default=None, description="What is seen of the river crossing task; empty for the protocol's."
    )
    start_state: str | None = Field(default=None, description='RAM after a reset, today or "2018"; empty for today\'s.')
    format: Literal["auto", "genome", "seeds"] = Field(
        default="auto",
        description="What a flat list of numbers is; auto means seeds for the network cshenton, else a genome.",
    )


class Folders(Section):
    """Folders, by the names that stand for them in the paths of the rules."""

    results: str = Field(default="results", min_length=1, description="Folder of runs, tables and figures.")
    noise: str = Field(default="results/noise", min_length=1, description="Folder of the noise table.")


class Cluster(Section):
    """A Dask cluster; see docs/dask.md."""

    cluster: str = Field(
        default=ABSENT,
        description="local, sge, slurm, or the address of a scheduler that runs already, tls://HOST:PORT.",
    )
    workers: Whole = Field(default=ABSENT, description="Largest number of workers; with sge and slurm, each is a job.")
    least_workers: Whole = Field(default=ABSENT, description="Smallest number of workers, when there is little to do.")
    threads: Whole = Field(default=ABSENT, description="Episodes that each worker plays at once.")
    memory: str = Field(default=ABSENT, description="Memory of a job, such as 8GB.")
    walltime: str = Field(default=ABSENT, description="Longest time of a job, as the scheduler writes it.")
    queue: str = Field(default=ABSENT, description="Queue or partition.")
    account: str = Field(default=ABSENT, description="Account (Slurm) or project (Grid Engine).")
    directives: str = Field(default=ABSENT, description="More options of qsub or sbatch, with semicolons between them.")
    interface: str = Field(default=ABSENT, description="Network interface of scheduler and workers, such as ib0.")
    ca_file: str = Field(default=ABSENT, description="Certificate of the authority, for an address.")
    certificate: str = Field(default=ABSENT, description="Our certificate, for an address.")
    key: str = Field(default=ABSENT, description="Our private key, for an address.")


class Native(Section):
    """How the native core is compiled."""

    march: str = Field(
        default="portable",
        pattern=r"^[A-Za-z0-9._+-]+$",
        description="Processor for which the compiler may use all instructions (`-march`); portable is x86-64-v3, or "
        "armv8-a on ARM: the same bits on all nodes.",
    )


class Training(Section):
    """What training writes besides its results."""

    tensorboard: bool = Field(
        default=False,
        strict=True,
        description="Whether reports are written to `tensorboard/` in each run's folder, too (docs/running.md). It "
        "changes no result, and changing it repeats nothing.",
    )


class Noise(Section):
    """The table of random numbers from which all weights come."""

    size: Whole = Field(default=250_000_000, ge=1, description="Numbers in the table, 4 bytes each.")


class Config(Section):
    """All keys of config.yaml."""

    experiments: dict[Name, Experiment] = Field(
        default={}, description="Experiments by name; `snakemake` without a target makes the results of all of them."
    )
    imports: dict[Name, Import] = Field(
        default=ABSENT,
        min_length=1,
        description="Genomes from elsewhere by name; each becomes a run's folder, and is frozen, filmed and evaluated.",
    )
    algorithms: dict[str, Choice] = Field(
        default={}, description="Settings of runs that belong to no experiment and are requested by their path."
    )
    pathvars: Folders = Folders()
    distributed: (
        Annotated[Annotated[str, Tag("<string>")] | Annotated[Cluster, Tag("<object>")], either("string", "object")]
        | None
    ) = Field(
        default=None,
        description="Dask cluster whose workers play the episodes of each run, docs/dask.md: words such as `local "
        "workers=4` or `slurm workers=20 threads=8 walltime=04:00:00`, or the same as keys. Results do not depend on "
        "it, and changing it repeats nothing.",
    )
    container: str | None = Field(
        default=None,
        min_length=1,
        description="Image in which jobs run with `snakemake --sdm apptainer`, docs/containers.md: a file such as "
        "`neurozoo.sif`, or an address such as `docker://registry.example.org/neurozoo`. Without that option, it is "
        "ignored.",
    )
    native: Native = Native()
    noise: Noise = Noise()
    training: Training = Training()
    metrics: Metrics = Metrics()
    statistics: Statistics = Statistics()
    figures: Figures = Figures()
    zoo: Zoo = Zoo()
    freeze: Freeze = Freeze()
    test: Test = Test()
    rollout: Rollout = Rollout()
    movie: Movie = Movie()
    site: Site = Site()
    generations: Generations = Generations()
    filters: Filters = Filters()
    interventions: dict[Name, InterventionSection] = Field(
        default={},
        description="Interventions by name, such as `{no_ball: {layer: conv2, channels: [3, 7], with: mean}}`: they "
        "are in the causal report, and rollouts/with_{name}.npz is played with them.",
    )
    what_if: dict[Name, WhatIfSection] = Field(
        default={},
        description="Changes of recorded episodes by name, such as `{left: {step: 120, action: LEFT}}`: "
        "what_if/{name}.mp4 shows what would have happened.",
    )
    causal: Causal = Causal()
    probes: Probes = Probes()
    comparisons: Comparisons = Comparisons()
    evaluation: Evaluation = Evaluation()
