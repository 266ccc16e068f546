"""The sections of config.yaml about measuring and showing results."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from neurozoo.validation import Flag, Number, Unique, Whole

ABSENT: Any = None  # default of a key that is absent unless the user writes it; its type does not allow None


class Section(BaseModel):
    """A mapping in config.yaml, in which unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Formats = Annotated[Unique[Literal["pdf", "svg", "png"]], Field(min_length=1)]
Names = Unique[str]
Seed = Annotated[Whole, Field(ge=0)]
Share = Annotated[Number, Field(ge=0, le=1)]
Inches = Annotated[Number, Field(ge=1, le=100)]
StickyProbability = Annotated[Number, Field(ge=0, le=1)] | None


class Metrics(Section):
    """The columns of metrics.csv, from a run's log."""

    columns: Names | None = Field(
        default=None, description="Fields of the log by their published names; empty for all."
    )


class Statistics(Section):
    """Bootstrap intervals in tables and figures."""

    replications: Whole = Field(default=50_000, ge=1, le=10_000_000, description="Bootstrap resamples per interval.")
    confidence: Number = Field(default=0.95, gt=0, lt=1, description="Confidence level of the intervals.")
    seed: Seed = Field(default=0, description="Seed of the bootstrap.")


class References(Section):
    """Published curves, drawn in grey."""

    files: dict[str, dict[str, str]] = Field(
        default={}, description="CSV files of simple_dqn, by the name in the legend and then by game."
    )
    phase: Literal["train", "test"] = Field(
        default="train", description="train (scores of the policy that explores) or test."
    )
    frames: Number | None = Field(
        default=None,
        gt=0,
        description="Last emulator frame that is drawn; empty for the end of the runs in the same panel.",
    )


class LearningCurves(Section):
    """One panel per game; frames on the horizontal axis."""

    colour_by: Literal["model", "algo", "algo_model"] = Field(
        default="model", description="What the colours of the lines stand for."
    )
    columns: Whole = Field(default=4, ge=1, description="Most panels per row.")
    panel_width: Inches = Field(default=3, description="Width of a panel in inches.")
    panel_height: Inches = Field(default=3, description="Height of a panel in inches.")
    interval: Literal["mean", "median", "none"] = Field(
        default="median",
        description="Statistic of the runs whose bootstrap interval is the ribbon; the line is always the median.",
    )
    best: Flag = Field(default=True, description="Whether a dashed line shows the best run.")
    runs: Flag = Field(default=False, description="Whether thin lines show each run, where a curve has several.")
    frames_axis: Literal["linear", "log"] = Field(
        default="linear", description="linear, or log if runs and published curves have very different lengths."
    )
    references: References = References()
    formats: Formats = Field(
        default=["pdf", "svg", "png"], description="File formats, also of the other figures over all runs."
    )


PhaseField = Literal[
    "steps",
    "nr_games",
    "average_reward",
    "min_game_reward",
    "max_game_reward",
    "last_exploration_rate",
    "total_train_steps",
    "replay_memory_count",
    "meanq",
    "meancost",
    "weight_updates",
    "total_time",
    "epoch_time",
    "steps_per_second",
]


class Phases(Section):
    """The random, training and test phases of a run that learns in epochs, one panel per column."""

    fields_: Annotated[Unique[PhaseField], Field(min_length=1)] = Field(
        default=["average_reward", "meanq", "nr_games", "meancost"],
        alias="fields",
        description="Columns of phases.csv.",
    )
    cost_as_written: Flag = Field(
        default=False,
        description="Whether meancost is drawn as simple_dqn writes it, divided by the number of the epoch.",
    )
    width: Inches = Field(default=11, description="Width of the figure in inches.")
    height: Inches = Field(default=6.5, description="Height of the figure in inches.")


class TemporalLean(Section):
    """Weights of first layers on each frame, one panel per game."""

    columns: Whole = Field(default=4, ge=1, description="Most panels per row.")
    formats: Formats = Field(default=["pdf", "svg", "png"], description="File formats.")


class Figures(Section):
    """How figures look."""

    words: Literal["inside", "beside"] = Field(
        default="inside",
        description="Where figures over runs have title and explanations: inside the pictures, or beside, in "
        "FIGURE.txt, for the text of a paper.",
    )
    learning_curves: LearningCurves = LearningCurves()
    phases: Phases = Phases()
    temporal_lean: TemporalLean = TemporalLean()


class Zoo(Section):
    """Named moments of runs, docs/zoo.md."""

    keep_tags: Names = Field(
        default=["initial", "human", "1HR", "2HR", "4HR", "6HR", "10HR", "400M", "1B"],
        description="Moments at which training keeps the best so far in tags/, unless its genome is in the log: "
        "initial, human, frames such as 400M, hours such as 2HR. Changing it repeats nothing.",
    )


class Freeze(Section):
    """The forms of frozen networks, docs/zoo.md."""

    forms: list[Literal["saved_model", "graph", "onnx"]] = Field(
        default=[],
        description="What frozen/ keeps besides model.keras, which rollouts and movies need: saved_model/ for programs "
        "with TensorFlow, graph (model.pb) for the Atari Zoo's, onnx (model.onnx) for others (EXTRAS=export). Each "
        "is as large as the checkpoint.",
    )


class Test(Section):
    """The episodes in test.json, docs/dqn.md."""

    epsilon: Share | None = Field(
        default=None,
        description="Probability of a random action, in every step; empty for 0.05, or 0 for agents that draw their "
        "actions.",
    )
    action_rules: list[Literal["greedy", "sampled"]] = Field(
        default=[],
        description="How outputs become actions: greedy, sampled or both; an empty list for the agent's own.",
    )
    protocols: Names = Field(default=[], description="Names of protocols; an empty list for the agent's own.")
    sticky_probability: StickyProbability = Field(
        default=None,
        description="Probability, per frame, that the previous action is repeated; empty for the protocols'.",
    )
    episodes: Whole = Field(default=30, ge=1, description="Number of episodes of each protocol.")
    steps: Whole | None = Field(
        default=None,
        ge=1,
        description="Instead of a number of episodes: whole episodes until there are this many steps.",
    )
    seed: Seed = Field(default=0, description="Seed of the episodes' starts and of the random actions.")


class Rollout(Section):
    """The episodes in rollout.npz, docs/zoo.md."""

    episodes: Whole = Field(default=1, ge=1, description="Number of episodes.")
    max_steps: Whole = Field(default=2500, ge=1, description="Steps after which recording ends.")
    min_steps: Whole = Field(
        default=0, ge=0, description="Further episodes are played until there are this many steps; at most max_steps."
    )
    seed: Seed = Field(
        default=0, description="Seed of the episodes' starts and of all noise; rollouts/seed_{n}.npz has n instead."
    )
    observation_noise: Number = Field(
        default=0,
        ge=0,
        description="Standard deviation of Gaussian noise on the observations, as a fraction of their range.",
    )
    parameter_noise: Number = Field(
        default=0, ge=0, description="Standard deviation of Gaussian noise on the kernels of the convolutions."
    )
    action_noise: Share = Field(default=0, description="Probability of a random action, in every step.")
    sticky_probability: StickyProbability = Field(
        default=None,
        description="Probability, per frame, that the previous action is repeated; empty for the protocol's.",
    )
    streamlined: Flag = Field(
        default=False, description="Whether only scores are recorded; activation movies cannot be made of these."
    )


class Movie(Section):
    """Movies of rollouts."""

    layout: Literal["wide", "classic"] = Field(
        default="wide",
        description="activation.mp4: wide (16:9, from the screen on the left to the action on the right) or classic "
        "(550 x 1000 pixels, a column of layers, as in the Atari Zoo).",
    )
    theme: Literal["dark", "light"] = Field(default="dark", description="Colours of the wide activation.mp4.")
    rows: Literal[720, 1080] = Field(
        default=720, description="Height in pixels of the wide activation.mp4: 1280 x 720 or 1920 x 1080."
    )
    fps: Whole = Field(default=60, ge=1, description="Pictures per second.")
    max_steps: Whole = Field(default=0, ge=0, description="Steps of the rollout that are shown; 0 for all.")
    overlay: Flag = Field(
        default=True,
        description="Whether score, step and action stand beneath the screen; activation.mp4 always has them.",
    )
    game: Flag = Field(default=False, description="Whether every run gets a movie of the game alone, with sound.")
    layers: Names = Field(
        default=[],
        description="Layers that get a movie of their own, in every run whose network has a layer of this name.",
    )
    grids: Names | None = Field(
        default=None,
        description="Games whose runs are all shown side by side in one movie; empty for all games with several runs.",
    )


class Site(Section):
    """The gallery, docs/site.md."""

    url: Annotated[str, Field(pattern=r"^(https?://[^\s/?#]+/[^\s?#]+)?$")] = Field(
        default="",
        examples=["https://example.org/results/site"],
        description="Address of the folder with the gallery's index.html on the web, such as "
        "https://example.org/results/site, for the pictures of link previews; empty if it is not on the web.",
    )


class Generations(Section):
    """The movie that shows generations of a run side by side."""

    experiments: Names = Field(
        default=[],
        description="Experiments whose runs get this movie; for other runs, request generations.mp4 by its path.",
    )
    count: Whole = Field(
        default=4, ge=1, description="Number of generations: the first, the last and some between them."
    )
    every: Whole | None = Field(
        default=None,
        ge=1,
        description="Instead of count: the first generation, every n-th one and the last; empty for count.",
    )
    max_steps: Whole = Field(default=2500, ge=1, description="Longest episode that is shown, in steps.")
    seed: Seed = Field(default=0, description="Seed of the start, which is the same for all.")
    fps: Whole = Field(default=60, ge=1, description="Pictures per second.")


class Patches(Section):
    """The parts of observations that filters respond to."""

    count: Whole = Field(default=5, ge=1, description="Number of patches of each kind: highest, lowest and random.")
    distance: Whole = Field(default=10, ge=1, description="Smallest number of steps between two patches of a kind.")
    seed: Seed = Field(default=0, description="Seed of the random choice.")


Parameterisation = Literal["pixel", "fourier", "cppn"]
AscentSteps = Annotated[Whole, Field(ge=1, description="Steps of the optimiser.")]
AscentLearningRate = Annotated[
    Annotated[Number, Field(gt=0)] | None,
    Field(description="Learning rate of the optimiser; empty for one that suits the parameterisation."),
]
Jitter = Annotated[
    Whole, Field(ge=0, description="Largest number of pixels by which the picture is moved in each step.")
]
TotalVariation = Annotated[
    Number, Field(ge=0, description="Weight of the mean difference between neighbouring pixels.")
]
AscentSeed = Annotated[Whole, Field(ge=0, description="Seed of start and jitter.")]


class Synthetic(Section):
    """Inputs that are optimised for a channel or unit."""

    objective: Literal["channel", "unit"] = Field(
        default="channel", description="channel (mean over the feature map) or unit (in the middle of the map)."
    )
    steps: AscentSteps = 256
    learning_rate: AscentLearningRate = None
    parameterisation: Parameterisation = Field(
        default="pixel", description="What the optimiser changes: pixel, fourier (waves) or cppn (a small network)."
    )
    frames: Literal["all", "newest"] = Field(default="all", description="all, or newest (those before it stay black).")
    jitter: Jitter = 3
    total_variation: TotalVariation = 0
    l1: Number = Field(default=0, ge=0, description="Weight of the mean absolute brightness.")
    l2: Number = Field(default=0, ge=0, description="Weight of the mean squared brightness.")
    seed: AscentSeed = 0


class Inversion(Section):
    """Inputs to which a layer responds as to a recorded observation."""

    observations: Whole = Field(default=4, ge=1, description="Number of steps of the rollout.")
    steps: AscentSteps = 256
    learning_rate: AscentLearningRate = None
    parameterisation: Parameterisation = Field(
        default="fourier", description="What the optimiser changes, as in synthetic."
    )
    jitter: Jitter = 3
    total_variation: TotalVariation = 0
    seed: AscentSeed = 0


class GuidedPage(Section):
    """One page with the parts of observations that excited the filters of all convolutions."""

    filters: Whole = Field(default=4, ge=1, description="Number of filters of each convolution.")


class Attribution(Section):
    """Integrated gradients."""

    observations: Whole = Field(default=6, ge=1, description="Number of steps of the rollout.")
    points: Whole = Field(
        default=64,
        ge=1,
        description="Number of points on the path from a black observation at which gradients are computed.",
    )


class Filters(Section):
    """Pictures that show what the filters of a network respond to."""

    experiments: Names = Field(
        default=[],
        description="Experiments whose runs get these pictures; for other runs, request them by their paths.",
    )
    products: Names = Field(
        default=[
            "weights",
            "patches",
            "synthetic",
            "inversion",
            "guided",
            "guided_page",
            "attribution",
            "saliency",
            "lean",
        ],
        description="Kinds of pictures; each is made where it has a meaning.",
    )
    layers: Names = Field(default=[], description="Layers that are shown; an empty list for all.")
    channels: Whole = Field(
        default=16,
        ge=1,
        description="Number of a layer's channels in patches, synthetic inputs and guided backpropagation.",
    )
    patches: Patches = Patches()
    synthetic: Synthetic = Synthetic()
    inversion: Inversion = Inversion()
    guided_page: GuidedPage = GuidedPage()
    attribution: Attribution = Attribution()


class Comparisons(Section):
    """Comparisons of the runs of a game, docs/comparing.md."""

    games: Names = Field(
        default=[], description="Games that are compared; for others, request the files by their paths."
    )
    keys: Annotated[Unique[Literal["ram", "ram_bits", "representation"]], Field(min_length=1)] = Field(
        default=["ram", "representation"], description="What represents a state in the comparison."
    )
    methods: Annotated[Unique[Literal["pca", "pca_tsne", "umap"]], Field(min_length=1)] = Field(
        default=["pca", "pca_tsne", "umap"], description="Methods that embed the states in a plane."
    )
    max_points: Whole = Field(
        default=6000, ge=10, description="Largest number of states; of longer rollouts, only every n-th state is used."
    )
    classify: Flag = Field(
        default=True, description="Whether a network also learns to tell which run a state comes from."
    )
    by: Literal["algo", "model", "run"] = Field(default="algo", description="What the network learns to tell.")
    source: Literal["observations", "frames"] = Field(
        default="observations", description="What the network sees: the agents' observations or the screens."
    )
    seed: Whole = Field(default=0, ge=0, le=2**32 - 1, description="Seed of embeddings, split and training.")


class Evaluation(Section):
    """The episodes in evaluation.json."""

    episodes: Whole = Field(default=30, ge=1, description="Number of episodes.")
    seed: Seed = Field(default=0, description="Seed of the episodes' starts.")
