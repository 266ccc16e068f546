"""The settings that all algorithms share, and how settings are checked."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, ModelWrapValidatorHandler, TypeAdapter, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from neurozoo.environments.games import PLATFORMER_GAMES, check_played, world_of
from neurozoo.environments.mazes.curriculum import Curriculum
from neurozoo.environments.observations import check_screens
from neurozoo.environments.protocols import DEFAULT_PROTOCOLS, Protocol, check_engine, get_protocol, protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import get_architecture
from neurozoo.networks.keras_networks import Precision
from neurozoo.networks.native_plan import learns_natively
from neurozoo.validation import FROM_YAML, Count, Share, Whole, explain, json_schema, setting

Unit = Literal["frames", "evaluations"]
Need = Literal["core", "noise"]
PROTOCOL_CHOICES = {  # settings that choose a protocol, by the arguments of `protocol_of`
    "name": "protocol",
    "action_set": "action_set",
    "observation": "observation",
    "start_state": "start_state",
}


class InvalidSettings(NeurozooError):
    """Settings of the wrong type or out of bounds; `reason` is what pydantic found."""

    reason: ValidationError


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Settings:
    """The base of all settings. Each setting is a field with its type, bounds, unit and description.

    A subclass is a pydantic dataclass, too: `@dataclass(frozen=True, kw_only=True)`. It has the budget, `frames` or
    `evaluations`, and `seed`. Its `__post_init__` checks what depends on several fields, and raises `NeurozooError`.
    What planning has to know of a run before it starts depends on its settings, so they answer for it.
    """

    WAYS_TO_RUN: ClassVar[tuple[str, ...]] = ()  # settings that do not change the result; a state may differ in them
    # Settings that do not describe the algorithm, or that a record of their own holds, such as the protocol's.
    OUTSIDE_HASH: ClassVar[tuple[str, ...]] = ("seed",)
    # Settings that came later, with the value that changes nothing: records leave them out there, as earlier ones do.
    LATER: ClassVar[Mapping[str, object]] = {}

    @property
    def snapshot_period(self) -> int:
        """Distance of snapshots in the budget's unit; 0 for none."""
        return 0

    @model_validator(mode="wrap")
    @classmethod
    def _in_sentences(cls, values: Any, check: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return check(values)
        except ValidationError as error:
            invalid = InvalidSettings(" ".join(explain(error, cls.schema())))
            invalid.reason = error
            raise invalid from error

    @classmethod
    @cache  # it takes 10 ms, and checks of a configuration ask for it again and again
    def schema(cls) -> dict[str, Any]:
        """Returns the JSON schema of these settings, in their order; nobody may change it."""
        schema = json_schema(cls)
        return schema | {"properties": {field.name: schema["properties"][field.name] for field in fields(cls)}}

    def changed(self, values: Mapping[str, object], *, from_yaml: bool = False) -> Self:
        """Returns a copy of these settings in which some values are changed, or raises `NeurozooError`.

        With `from_yaml`, a whole number may be written as a float, such as 6.0e+9.
        """
        everything = {field.name: getattr(self, field.name) for field in fields(self)} | dict(values)
        return TypeAdapter(type(self)).validate_python(everything, context=FROM_YAML if from_yaml else None)

    def in_one_spelling(self) -> dict[str, object]:
        """Returns the settings by name; what can be written in several ways is always written in the same way."""
        return asdict(self)

    @classmethod
    def unit(cls) -> Unit:
        """Returns what the budget counts."""
        return "frames" if "frames" in {field.name for field in fields(cls)} else "evaluations"

    @property
    def budget(self) -> int:
        """The budget of a run in `unit`."""
        return getattr(self, self.unit())

    @property
    def memory(self) -> int:
        """Megabytes of memory that a run needs."""
        return 4000

    @property
    def gpus(self) -> int:
        """Number of GPUs that a run needs."""
        return 0

    @property
    def ranks(self) -> int:
        """Number of processes (MPI) that a run consists of. Of several, all but the first run `Session.follow`."""
        return 1

    @property
    def logs_genomes(self) -> bool:
        """Whether reports have the genome of each generation's elite, so that it can be frozen and filmed."""
        return False

    @property
    def start_sources(self) -> tuple[str, ...]:
        """Files and folders of runs that a run starts from; none for most."""
        return ()

    def about_keras(self, model: str) -> str | None:
        """Returns a sentence if Keras computes a `{model}` although the core was chosen, else None."""
        return None

    def needs_besides(self, game: str) -> tuple[Need, ...]:
        """Returns what must be built for a game, besides what the algorithm always needs."""
        return ()

    def changes_for(self, game: str, model: str) -> dict[str, object]:
        """Returns which settings a game and a `{model}` need otherwise, with their values; see `fitting_settings`."""
        return {}

    def check_game(self, game: str) -> None:
        """Raises `NeurozooError` if a game cannot be played with these settings."""

    def check_model(self, model: str) -> None:
        """Raises `NeurozooError` if a `{model}` cannot be trained with these settings."""

    def describe_protocol(self, game: str) -> dict[str, object]:
        """Returns how episodes are played, as a record with at least `name`."""
        raise NotImplementedError

    def describe_tests(self, game: str) -> dict[str, object]:
        """Returns how a network's test episodes are played, as far as the protocol does not say it; else nothing."""
        return {}

    def records(self, game: str) -> dict[str, dict[str, object]]:
        """Returns what makes runs comparable, for their `config.yaml`; see `records.comparability`.

        Runs with equal `settings_record` are repetitions of each other. It is without the budget, the seed and
        `WAYS_TO_RUN`, and without what the other two say: scores are compared if those are equal.
        """
        left_out = {self.unit(), *self.WAYS_TO_RUN, *self.OUTSIDE_HASH}
        left_out |= {name for name, value in self.LATER.items() if getattr(self, name) == value}
        return {
            "settings_record": {n: value for n, value in self.in_one_spelling().items() if n not in left_out},
            "protocol_record": self.describe_protocol(game),
            "evaluation_record": self.describe_tests(game),
        }


NumTestEpisodes = Annotated[
    Whole, Field(ge=1, description="Test episodes of the result. They select nothing, and no budget counts them.")
]
Frames = Annotated[
    Whole, Field(ge=1, le=10**15, description="Budget: emulator frames of all counted episodes together.")
]
ProtocolName = Annotated[
    str | None, Field(description="How episodes are played, such as `uber2018`; empty for the game's own.")
]


@dataclass(frozen=True, kw_only=True)
class RunSettings(Settings):
    """The settings that all algorithms that play games share."""

    WAYS_TO_RUN: ClassVar[tuple[str, ...]] = ("snapshot_frames",)
    OUTSIDE_HASH: ClassVar[tuple[str, ...]] = ("seed", "engine", "test_cutoff", *PROTOCOL_CHOICES.values())

    # budget
    num_test_episodes: NumTestEpisodes = 200
    test_cutoff: Whole | None = setting(
        None,
        "Longest test episode, in steps; empty for the protocol's own limit, as published. An agent that stands still "
        "can fill 100,000 steps.",
        ge=1,
    )
    frames: Frames = 6_000_000_000
    snapshot_frames: Whole | None = setting(
        None,
        "Frames between two snapshots of the best so far (snapshots/); 0 or empty for none. Snapshots do not change a "
        "run.",
        ge=0,
    )
    # environment
    protocol: ProtocolName = None
    action_set: str | None = setting(None, "minimal, full, or empty for the protocol's own.")
    observation: str | None = setting(
        None, "Of river_crossing: pixels, rgb, greyscale or objects; empty for the protocol's own."
    )
    start_state: str | None = setting(None, "today, 2018, or empty for the protocol's own.")
    seed: Whole = setting(0, "Seed of the experiment; every run adds its number.", ge=0)
    engine: str = "native"  # a subclass says what there is

    @property
    def snapshot_period(self) -> int:
        """Distance of snapshots in frames; 0 for none."""
        return self.snapshot_frames or 0

    @property
    def protocol_choices(self) -> dict[str, Any]:
        """The arguments of `protocol_of` that these settings choose."""
        return {name: getattr(self, setting) for name, setting in PROTOCOL_CHOICES.items()}

    def game_protocol(self, game: str) -> Protocol:
        """Returns how a game is played, or raises `NeurozooError` if it does not fit the protocol."""
        return protocol_of(game, **self.protocol_choices)

    def changes_for(self, game: str, model: str) -> dict[str, object]:
        """Returns a protocol of the game's world, if that of these settings is of another."""
        world, default = world_of(game), type(self)().protocol
        if self.protocol is None or get_protocol(self.protocol).world == world:
            return {}
        is_default = default is not None and get_protocol(default).world == world
        return {"protocol": default if is_default else DEFAULT_PROTOCOLS[world]}

    def check_game(self, game: str) -> None:
        """Checks that a game can be played under the protocol and by the engine."""
        check_engine(game, self.game_protocol(game), self.engine)

    def describe_protocol(self, game: str) -> dict[str, object]:
        """Returns the fields of the protocol under which a game is played."""
        return asdict(self.game_protocol(game))

    def describe_tests(self, game: str) -> dict[str, object]:
        """Returns how the test episodes of a greedy agent are played; a lost life ends none.

        That is `action_rule`, `epsilon` (probability of a random action), `cutoff` (longest episode in steps; None for
        the protocol's limit) and `episode_end`.
        """
        return {"action_rule": "greedy", "epsilon": 0.0, "cutoff": self.test_cutoff, "episode_end": "game over"}

    def __post_init__(self) -> None:
        if self.protocol is not None:
            get_protocol(**self.protocol_choices)
        else:  # the game decides; only its world knows whether the choices fit
            get_protocol("uber2018", action_set=self.action_set, start_state=self.start_state)
            get_protocol("river_fixed", observation=self.observation)

    def _check_at_most(self, most: int, meaning: str, *names: str) -> None:
        for name in names:
            if getattr(self, name) > most:
                raise NeurozooError(f"{name} should be at most {meaning} ({most}), but is {getattr(self, name)}.")


@dataclass(frozen=True, kw_only=True)
class LearnerSettings(RunSettings):
    """What learners that keep observations as bytes share."""

    ALGO: ClassVar[str]
    PROTOCOLS: ClassVar[tuple[str, ...]]  # under which it plays

    num_test_episodes: NumTestEpisodes = 30
    frames: Frames = 200_000_000  # of the emulator; impala_horovod_gym counts steps, a quarter as many
    protocol: ProtocolName = "nature2015"
    life_loss: Literal["ignore", "terminal"] = setting(
        "terminal", "ignore, or terminal (for learning, a lost life ends the episode; the game goes on)."
    )
    batch_size: Count = 32
    shards: Count = setting(
        1,
        "Equal parts of each batch in Keras, which as many threads of an update compute side by side. Other numbers "
        "round in other ways, so this is a setting of the run; the number of threads is not.",
    )
    discount: Share = setting(0.99, "Discount per step.")
    engine: Literal["native", "keras", "batched"] = setting(
        "native",
        "What computes networks: native (the core, several times as fast, with the same results on every processor; "
        "Keras if it lacks a layer), keras, or, of impala, batched (Keras on a GPU, docs/gpu.md). Results of native "
        "and keras differ only by the rounding of sums.",
    )
    dtype: Precision = setting(
        "float32",
        "What updates compute in: float32, or mixed_bfloat16 (all layers but the last in bfloat16, sums and weights in "
        "float32), which is faster with AMX. The core then needs AMX or AVX512-BF16, whose last bits differ; "
        "Keras, which does it for impala only, should have one. Acting and tests are float32.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.protocol not in self.PROTOCOLS:
            raise NeurozooError(
                f"{self.ALGO} plays under one of the protocols {', '.join(self.PROTOCOLS)}, but protocol is "
                f"{self.protocol!r}."
            )
        if self.batch_size % self.shards:
            raise NeurozooError(
                f"batch_size should be a multiple of shards, so that all parts of a batch are equal, but batch_size is "
                f"{self.batch_size} and shards {self.shards}. Change one of them."
            )

    @classmethod
    def check_played(cls, game: str) -> str:
        """Returns the id of a game that can be learned; see `check_played`."""
        return check_played(game, cls.ALGO, {get_protocol(name).world for name in cls.PROTOCOLS})

    def check_game(self, game: str) -> None:
        """Checks also that the game shows grey pictures."""
        super().check_game(game)
        protocol = self.game_protocol(game)
        if protocol.world in ("river_crossing", "gymnasium"):
            check_screens(game, protocol)

    def needs_besides(self, game: str) -> tuple[Need, ...]:
        """The core computes networks, and plays levels that other environments do not."""
        return ("core",) if self.engine == "native" or game in PLATFORMER_GAMES else ()

    def computes_natively(self, model: str) -> bool:
        """Says whether the core computes a `{model}`; Keras does it otherwise."""
        return self.engine == "native" and learns_natively(get_architecture(model))

    def about_keras(self, model: str) -> str | None:
        """Says so for layers that the core cannot learn."""
        if self.engine != "native" or self.computes_natively(model):
            return None
        return (
            f"Keras computes the network {model!r}, which takes longer: the core learns convolutions, dense layers, "
            "layer normalisation and ReLU, in one process."
        )

    def curriculum(self, frame_skip: int) -> Curriculum | None:
        """Returns what mazes to learn in are like; None for those of tests, and for other games."""
        return None
