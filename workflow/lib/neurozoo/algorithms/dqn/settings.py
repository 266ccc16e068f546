"""The settings of deep Q-learning."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from neurozoo.algorithms.run_settings import LearnerSettings
from neurozoo.environments.protocols import get_protocol, output_names
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import get_network
from neurozoo.networks.chains import Network
from neurozoo.validation import Count, Flag, Number, Pair, Share, Whole, setting

HISTORY = 4  # screens of a state
MOST_ACTIONS = 256  # of a game: the replay memory keeps each in a byte
REPLAY_BYTES = 7_100  # of the replay memory per screen, as measured (docs/studies.md)
LEAST_SCREENS = 100  # of the replay memory for each environment


@dataclass(frozen=True, kw_only=True)
class DqnSettings(LearnerSettings):
    """Settings of deep Q-learning. A step is a decision in one environment; `frames` counts all of training, not tests.

    Sources: Mnih et al. 2015 (doi 10.1038/nature14236); van Hasselt et al. 2015, arXiv:1509.06461 (`double`); Wang et
    al. 2015, arXiv:1511.06581 (`dueling`); Schaul et al. 2015, arXiv:1511.05952 (`prioritised`).
    """

    ALGO: ClassVar = "dqn"
    # Those of ale-py's vector environment, of the river crossing task, and of pictures of other environments.
    PROTOCOLS: ClassVar = ("machado2018", "nature2015", "simple_dqn", "river_fixed", "river_split", "gymnasium")
    WAYS_TO_RUN: ClassVar[tuple[str, ...]] = ("snapshot_frames", "keep_replay")
    OUTSIDE_HASH: ClassVar[tuple[str, ...]] = (*LearnerSettings.OUTSIDE_HASH, "test_epsilon")

    # budget
    test_epsilon: Share = setting(0.05, "Probability of a random action in tests.")
    test_steps: Whole | None = setting(
        None, "Steps of a test phase instead of a number of whole episodes. Empty for whole episodes.", ge=1
    )
    finishes_test: Flag = setting(
        False,
        "Whether the episode that runs when `test_steps` are over is played to its end, as in Dopamine, or dropped, "
        "as in DeepMind's code and simple_dqn.",
    )
    epoch_steps: Count = setting(
        250_000, "Training steps between two tests; the last epoch is finished even if the budget ends within it."
    )
    # acting
    learning_starts: Whole = setting(50_000, "Steps with random actions before learning starts.", ge=0)
    num_envs: Count = setting(1, "Number of environments that are played side by side; each round is one step in each.")
    train_frequency: Count = setting(4, "Steps between two training events.")
    train_repeat: Count = setting(1, "Minibatches of a training event.")
    target_update_period: Whole = setting(
        10_000, "Steps between two updates of the target network; 0 for no target network.", ge=0
    )
    epsilon_start: Share = setting(1.0, "Probability of a random action at the first step of training.")
    epsilon_end: Share = setting(0.1, "Probability of a random action from `epsilon_steps` on; linear in between.")
    epsilon_steps: Count = setting(1_000_000, "Training steps until epsilon is `epsilon_end`.")
    masks_lost_lives: Flag = setting(
        False,
        "Whether training sees black screens instead of those before a lost life, in playing and in replay, as "
        "DeepMind's code does. Only with life_loss: terminal and windows: padded. Tests see all screens.",
    )
    noop_steps: Pair[Annotated[Whole, Field(ge=0)]] | None = setting(
        None,
        "[least, most] decisions without action at the start of an episode, and in training after each terminal. They "
        "are not stored, and do not count as steps. Empty for the protocol's own, [0, 0] for none.",
    )
    # memory
    replay_size: Count = setting(1_000_000, "Screens of the replay memory; a million of them take 7.1 GB.")
    windows: Literal["padded", "whole"] = setting(
        "padded",
        "padded (screens before the start of a game are black, so its first states are learned from, too) or whole (a "
        "state needs four screens of one life, as in simple_dqn).",
    )
    keep_replay: Flag = setting(
        True,
        "Whether the replay memory is a file in state/, with which a run continues exactly; otherwise it is in "
        "memory, and starts empty when the run continues.",
    )
    # learning
    batch_size: Count = setting(32, "Transitions of a minibatch.")
    learning_rate: Number = setting(0.00025, "Learning rate of the optimizer; adadelta has none.", ge=0)
    optimizer: Literal["rmsprop", "rmsprop_centered", "adam", "adadelta"] = setting(
        "rmsprop_centered", "rmsprop, rmsprop_centered (Graves' form, as DeepMind's), adam or adadelta."
    )
    decay_rate: Share = setting(0.95, "Decay rate of the moving averages of rmsprop and adadelta.")
    optimizer_epsilon: Number = setting(0.01 / 32**2, "The small number in the optimizer's denominator.", gt=0)
    huber_delta: Number = setting(
        1.0, "Absolute error above which the loss is linear (Huber loss); 0 for a squared loss.", ge=0
    )
    reward_scale: Number = setting(
        1.0, "Factor on rewards before they are clipped, for learning only, where scores are in the hundreds.", gt=0
    )
    reward_bounds: Pair[Number] | None = setting(
        (-1.0, 1.0), "[least, most]: for learning, rewards are clipped to these; empty for no clipping."
    )
    initialisation: Literal["fan_in_uniform", "torch", "gaussian", "he_uniform", "glorot_uniform"] = setting(
        "torch",
        "Initial weights: fan_in_uniform, +-sqrt(3 / fan in); torch, +-1 / sqrt(fan in); gaussian, standard deviation "
        "0.01; he_uniform, +-sqrt(6 / fan in); glorot_uniform, +-sqrt(6 / (fan in + fan out)). Biases start at 0.",
    )
    # what came after 2015
    n_steps: Count = setting(1, "Number of rewards in a return, before the value of the next state.")
    double: Flag = setting(
        False, "Whether the online network chooses the action whose value the target network gives (double)."
    )
    dueling: Flag = setting(
        False, "Whether half of the last hidden layer gives the state's value, the other half the advantages."
    )
    prioritised: Flag = setting(False, "Whether transitions are drawn in proportion to a power of their last error.")
    priority_exponent: Share = setting(0.5, "Power of the last error (alpha) in prioritised replay.")
    importance_exponent: Share = setting(0.4, "Power of the importance weights at the start (beta); it grows to 1.")
    importance_steps: Count = setting(400_000, "Steps in which the power of the importance weights grows to 1.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.engine == "batched":
            raise NeurozooError("dqn does not learn with the batched engine: set engine to native or keras.")
        if self.dtype != "float32" and self.engine != "native":
            raise NeurozooError(f"dtype {self.dtype} needs engine native, but engine is {self.engine}. Change one.")
        if self.epoch_steps < self.num_envs:
            raise NeurozooError(
                f"epoch_steps is {self.epoch_steps}, but {self.num_envs} environments play that many steps at once, so "
                f"some tests would tell nothing new. Set epoch_steps to {self.num_envs} or more."
            )
        if (held := self.replay_size // self.num_envs * self.num_envs) <= self.batch_size:
            raise NeurozooError(
                f"batch_size should be below the {held:,} screens that the replay memory holds, but is "
                f"{self.batch_size:,}: nothing would ever be learned."
            )
        assert self.protocol is not None  # it is one of `PROTOCOLS`
        played = get_protocol(self.protocol)
        own = played.noop_steps
        if (self.noop_steps is None and own) or (self.noop_steps == (0, 0) and not own):
            object.__setattr__(self, "noop_steps", own)  # one form of each, by which states and records are compared
        if self.noop_steps not in (None, (0, 0)) and played.world == "gymnasium":
            raise NeurozooError(
                "noop_steps are for Atari games: the first action of a gym. game may do something. Leave it out."
            )
        if self.noop_steps not in (None, (0, 0)) and self.windows == "padded":
            raise NeurozooError(
                f"noop_steps ({list(self.noop_steps)}, of the protocol {self.protocol!r} if you set none) leave gaps "
                "in the replay memory: set windows to whole, or noop_steps to [0, 0]."
            )
        least = max(LEAST_SCREENS, HISTORY + self.n_steps + 1)
        if self.replay_size // self.num_envs < least:
            raise NeurozooError(
                f"replay_size should be at least {least:,} screens for each of {self.num_envs} environments, with "
                f"n_steps {self.n_steps}, but is {self.replay_size:,}. Set it to at least {least * self.num_envs:,}."
            )

    def changes_for(self, game: str, model: str) -> dict[str, object]:
        """Returns also no dueling head for a network without a layer to halve."""
        changes = super().changes_for(game, model)
        if changes:
            changes["noop_steps"] = None  # those of the protocol before
        return changes if can_duel(get_network(model)) else changes | {"dueling": False}

    def check_game(self, game: str) -> None:
        """Checks also that the replay memory can keep each action in a byte."""
        super().check_game(game)
        if (actions := len(output_names(game, self.game_protocol(game)))) > MOST_ACTIONS:
            raise NeurozooError(
                f"dqn keeps actions as bytes, so a game may have {MOST_ACTIONS} of them, but {game!r} has {actions:,}. "
                "Train it with impala, or give the environment fewer actions."
            )

    def check_model(self, model: str) -> None:
        """Checks that the network has layers that can be trained, and a dense one to halve for a dueling head."""
        network = get_network(model)
        other = [
            layer.name
            for layer in network.layers
            if layer.kind not in ("conv", "dense") or layer.normalisation or layer.gain != 1
        ]
        if other:
            raise NeurozooError(
                f"dqn trains networks of convolutions and dense layers, but {network.name!r} has the layer "
                f"{other[0]!r}, which is of another kind, normalised or has a gain. Choose a network such as nature, "
                "large or small."
            )
        if self.dtype != "float32" and not self.computes_natively(model):
            raise NeurozooError(
                f"Only the core learns in bfloat16, but it lacks layers of {model!r}. Set dtype: float32."
            )
        if self.dueling and not can_duel(network):
            raise NeurozooError(
                f"A dueling head needs a hidden layer that it can halve, but {network.name!r} has none: set dueling to "
                "false."
            )

    @property
    def memory(self) -> int:
        """Includes the replay memory, which should fit even if it is mapped from a file."""
        return 4000 + self.replay_size * REPLAY_BYTES // 1_000_000

    def describe_tests(self, game: str) -> dict[str, object]:
        """Returns how test episodes are played, with few random actions."""
        rule = "epsilon-greedy" if self.test_epsilon else "greedy"
        return super().describe_tests(game) | {"action_rule": rule, "epsilon": self.test_epsilon}

    @property
    def protocol_choices(self) -> dict[str, Any]:
        """The arguments of `protocol_of` that these settings choose."""
        return {**super().protocol_choices, "noop_steps": self.noop_steps}

    def epsilon(self, steps: int) -> float:
        """Returns the probability of a random action after a number of steps."""
        if steps < self.learning_starts:
            return 1.0
        share = min((steps - self.learning_starts) / self.epsilon_steps, 1.0)
        return self.epsilon_start - share * (self.epsilon_start - self.epsilon_end)

    def importance(self, steps: int) -> float:
        """Returns the power of the importance weights after a number of steps."""
        share = min(steps / self.importance_steps, 1.0)
        return self.importance_exponent + share * (1 - self.importance_exponent)

    @property
    def plays_on(self) -> bool:
        """Whether several rounds are played while the network learns from a minibatch.

        Not with priorities: these would change earlier if the state was saved between two of these rounds.
        """
        return self.num_envs < self.train_frequency and self.train_repeat == 1 and not self.prioritised


def can_duel(network: Network) -> bool:
    """Returns whether a network has a hidden dense layer that a dueling head can halve."""
    hidden = network.layers[-2] if len(network.layers) > 1 else None
    return hidden is not None and hidden.kind == "dense" and hidden.units is not None and hidden.units % 2 == 0
