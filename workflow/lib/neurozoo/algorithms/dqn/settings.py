"""What can be set for deep Q-learning, and the published values."""

from dataclasses import dataclass, replace
from typing import ClassVar

from neurozoo.algorithms.run_settings import RunSettings
from neurozoo.errors import NeurozooError

OPTIMIZERS = ("rmsprop", "rmsprop_centered", "adam", "adadelta")
LIFE_LOSSES = ("ignore", "terminal")
WINDOWS = ("padded", "whole")
PROTOCOLS_LEARNED = ("machado2018", "nature2015", "simple_dqn")  # those of ale-py's vector environment
INITIALISATIONS = ("fan_in_uniform", "torch", "gaussian", "he_uniform")


@dataclass(frozen=True)
class DqnSettings(RunSettings):
    """Settings of deep Q-learning. A step is a decision of one world; `frames` counts all of training, not tests.

    Attributes:
        num_test_episodes: Whole episodes of each test phase.
        test_epsilon: Chance of a random action in tests.
        test_steps: If set, a test phase has this many steps, as in the original, and an unfinished episode is dropped.
        epoch_steps: Training steps between two tests; the last epoch is finished even if the budget ends within it.
        random_steps: Steps with random actions before learning.
        worlds: Games played side by side, one decision of each at a time.
        train_frequency: Steps for each training event.
        train_repeat: Minibatches of a training event.
        target_steps: Steps after which the target network is set to the online network; 0 for no target network.
        epsilon_start: Chance of a random action at the first training step,
        epsilon_end: and from `epsilon_steps` on; linear in between.
        epsilon_steps: See `epsilon_end`.
        life_loss: Whether nothing is expected after a lost life (`terminal`); the game goes on.
        noop_steps: [least, most] decisions without action after each terminal, which are neither stored nor counted;
            None for what the protocol does at the start of a game.
        replay_size: Screens of the replay memory.
        windows: `padded`: frames before the start of a game are black, so that its first states are learned from.
            `whole`: states need four screens of one life, as in simple_dqn.
        keep_replay: Whether the replay memory is a file in `state/`, with which a run continues exactly. Otherwise it
            is in memory, and begins empty when the run continues.
        batch_size: Transitions of a minibatch.
        learning_rate: Of the optimizer; `adadelta` has none.
        discount: Discount per step.
        optimizer: `rmsprop`, `rmsprop_centered` (Graves' form, as DeepMind's), `adam` or `adadelta`.
        decay_rate: Of the moving averages of `rmsprop` and `adadelta`.
        optimizer_epsilon: The small number in the optimizer's denominator.
        clip_error: Bound of the error in the gradient (Huber loss); 0 for none.
        reward_bounds: [least, most] reward of a step that learning sees; None for all of it.
        initialisation: Of the weights. `fan_in_uniform`: +-sqrt(3 / fan in). `torch`: +-1 / sqrt(fan in). `gaussian`:
            standard deviation 0.01. `he_uniform`: +-sqrt(6 / fan in). Offsets begin at 0.
        n_steps: Rewards that are summed before the value of a state is asked for.
        double: Whether the online network chooses the action that the target network values.
        dueling: Whether half of the last hidden layer gives the value of the state, the other half the advantages.
        prioritised: Whether transitions are drawn in proportion to a power of their last error.
        priority_exponent: That power.
        priority_correction: Power of the importance weights at the start; it grows to 1
        priority_steps: in so many steps.

    Sources: Mnih et al. 2015 (doi 10.1038/nature14236); van Hasselt et al. 2015, arXiv:1509.06461 (`double`); Wang et
    al. 2015, arXiv:1511.06581 (`dueling`); Schaul et al. 2015, arXiv:1511.05952 (`prioritised`).
    """

    WAYS_TO_RUN: ClassVar[tuple[str, ...]] = ("snapshot_frames", "keep_replay")

    # budget
    num_test_episodes: int = 30
    frames: int = 200_000_000
    protocol: str | None = "nature2015"
    test_epsilon: float = 0.05
    test_steps: int | None = None
    epoch_steps: int = 250_000
    # acting
    random_steps: int = 50_000
    worlds: int = 1
    train_frequency: int = 4
    train_repeat: int = 1
    target_steps: int = 10_000
    epsilon_start: float = 1.0
    epsilon_end: float = 0.1
    epsilon_steps: int = 1_000_000
    life_loss: str = "terminal"
    noop_steps: tuple[int, int] | None = None
    # memory
    replay_size: int = 1_000_000
    windows: str = "padded"
    keep_replay: bool = True
    # learning
    batch_size: int = 32
    learning_rate: float = 0.00025
    discount: float = 0.99
    optimizer: str = "rmsprop_centered"
    decay_rate: float = 0.95
    optimizer_epsilon: float = 0.01 / 32**2
    clip_error: float = 1.0
    reward_bounds: tuple[float, float] | None = (-1.0, 1.0)
    initialisation: str = "torch"
    # what came after 2015
    n_steps: int = 1
    double: bool = False
    dueling: bool = False
    prioritised: bool = False
    priority_exponent: float = 0.5
    priority_correction: float = 0.4
    priority_steps: int = 400_000

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_counts(
            epoch_steps=1,
            random_steps=0,
            worlds=1,
            train_frequency=1,
            train_repeat=1,
            target_steps=0,
            epsilon_steps=1,
            replay_size=1,
            batch_size=1,
            n_steps=1,
            priority_steps=1,
        )
        if self.test_steps is not None:
            self._check_counts(test_steps=1)
        self._check_numbers("test_epsilon", "epsilon_start", "epsilon_end", "discount", "decay_rate", most=1)
        self._check_numbers("priority_exponent", "priority_correction", most=1)
        self._check_numbers("learning_rate", "optimizer_epsilon", "clip_error")
        for name, allowed in (
            ("optimizer", OPTIMIZERS),
            ("life_loss", LIFE_LOSSES),
            ("windows", WINDOWS),
            ("initialisation", INITIALISATIONS),
        ):
            self._check_choice(name, allowed)
        for name in ("keep_replay", "double", "dueling", "prioritised"):
            if not isinstance(getattr(self, name), bool):
                raise NeurozooError(f"{name} should be true or false, but is {getattr(self, name)!r}.")
        self._check_pair("noop_steps", least=0, kinds=(int,))
        self._check_pair("reward_bounds", kinds=(int, float))
        if self.engine != "native":
            raise NeurozooError("dqn plays in ale-py's vector environment: leave engine at native.")
        if self.protocol not in PROTOCOLS_LEARNED:
            raise NeurozooError(
                f"dqn plays Atari games under one of the protocols {', '.join(PROTOCOLS_LEARNED)}, but protocol is "
                f"{self.protocol!r}."
            )
        if self.noop_steps and self.windows == "padded":
            raise NeurozooError("noop_steps leave gaps in what is remembered: set windows to whole, or leave them out.")
        self._check_memory()

    @property
    def plays_on(self) -> bool:
        """Whether several rounds are played while the network learns from a minibatch.

        Not with priorities: those of a minibatch would change between two of these rounds if the state is saved there.
        """
        return self.worlds < self.train_frequency and self.train_repeat == 1 and not self.prioritised

    def _check_pair(self, name: str, *, kinds: tuple[type, ...], least: float | None = None) -> None:
        value = getattr(self, name)
        if value is None:
            return
        is_pair = isinstance(value, (list, tuple)) and len(value) == 2
        if not is_pair or any(isinstance(v, bool) or not isinstance(v, kinds) for v in value) or value[0] > value[1]:
            raise NeurozooError(f"{name} should be [least, most] or empty, but is {value!r}.")
        if least is not None and value[0] < least:
            raise NeurozooError(f"{name} should not begin below {least}, but is {value!r}.")
        object.__setattr__(self, name, tuple(value))

    def _check_memory(self) -> None:
        if self.replay_size // self.worlds < 100:
            raise NeurozooError(
                f"replay_size should be at least 100 screens for each of {self.worlds} worlds, "
                f"but is {self.replay_size}."
            )


_NATURE = DqnSettings()
_SIMPLE_DQN = DqnSettings(
    protocol="simple_dqn",
    test_steps=125_000,
    noop_steps=(5, 31),
    windows="whole",
    optimizer="rmsprop",
    optimizer_epsilon=1e-6,
    initialisation="fan_in_uniform",
)
# Parallel worlds on two cores, a learning rate four times the published one, and three steps of reward: what learns
# most in an hour on a small machine (docs/dqn.md).
_OURS = DqnSettings(
    protocol="machado2018",
    action_set="minimal",
    frames=2_000_000,
    num_test_episodes=10,
    test_epsilon=0.001,
    epoch_steps=25_000,
    random_steps=10_000,
    worlds=8,
    train_frequency=2,
    target_steps=2_000,
    epsilon_end=0.01,
    epsilon_steps=50_000,
    life_loss="terminal",
    replay_size=200_000,
    optimizer="adam",
    learning_rate=0.00025,
    optimizer_epsilon=1.5e-4,
    initialisation="he_uniform",
    n_steps=3,
    dueling=True,
    prioritised=True,
)

DQN_PRESETS = {
    "simple_dqn": _SIMPLE_DQN,
    # What the published curves were made with, as far as it did not rest on a defect (docs/dqn.md).
    "simple_dqn_2015": replace(_SIMPLE_DQN, life_loss="ignore", target_steps=40_000, initialisation="gaussian"),
    "nature": _NATURE,
    "dopamine": replace(
        _NATURE,
        protocol="machado2018",
        action_set="minimal",
        life_loss="ignore",
        test_epsilon=0.001,
        test_steps=125_000,
        random_steps=20_000,
        target_steps=8_000,
        epsilon_end=0.01,
        epsilon_steps=250_000,
        optimizer="adam",
        learning_rate=0.0000625,
        optimizer_epsilon=1.5e-4,
    ),
    "neurozoo": _OURS,
    "demo": replace(
        _OURS,
        frames=12_000,
        epoch_steps=1_000,
        random_steps=500,
        num_test_episodes=1,
        replay_size=4_000,
        epsilon_steps=1_000,
        worlds=4,
        train_frequency=16,
    ),
}
