"""The settings of IMPALA."""

from dataclasses import replace
from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from neurozoo.algorithms.run_settings import LearnerSettings
from neurozoo.environments.mazes.curriculum import PHASES, Curriculum, Phase
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import get_keras_network
from neurozoo.networks.keras_networks import Q_VALUES, InitialWeights
from neurozoo.validation import Count, Flag, Number, Share, Whole, setting

STACK_BYTES = 84 * 84 * 4  # of an observation of Atari
PLAYERS = 2  # that share the environments with `engine: batched`
MAZE_STEP_BYTES = 50_000  # of a step in a maze: activations of `maze_recurrent` and their gradients


@dataclass(frozen=True, kw_only=True)
class ImpalaSettings(LearnerSettings):
    """Settings of IMPALA. A step is a decision in one environment; `frames` counts all of training, not tests.

    The defaults are those of the paper for Atari.

    Source: Espeholt et al. 2018, arXiv:1802.01561.
    """

    ALGO: ClassVar = "impala"
    # Of what vector environments play. `simple_dqn` has steps without action at the start, for dqn alone.
    PROTOCOLS: ClassVar = ("machado2018", "nature2015", "maze", "river_fixed", "river_split", "gymnasium")
    OUTSIDE_HASH: ClassVar[tuple[str, ...]] = (*LearnerSettings.OUTSIDE_HASH, "test_actions", "test_epsilon")

    # budget
    epoch_steps: Count = setting(
        250_000, "Steps between two reports; the last epoch is finished even if the budget ends within it."
    )
    test_period: Whole = setting(0, "Epochs between two tests; 0 for a test only after the last epoch.", ge=0)
    test_epsilon: Share = setting(0.05, "Probability of a random action in tests of pqn.")
    test_actions: Literal["sampled", "greedy"] = setting(
        "sampled",
        "How tests of the other objectives choose actions: `sampled` draws them from the policy, `greedy` takes the "
        "most probable ones.",
    )
    # acting
    num_envs: Count = setting(32, "Environments that are played side by side; a multiple of batch_size.")
    unroll_length: Count = setting(20, "Steps of an unroll.")
    # processes (MPI)
    learners: Count = setting(1, "Processes that learn together; each has num_envs environments of its own.")
    actors: Whole = setting(
        0, "Processes that only act. They share the environments of their learners, which then play none.", ge=0
    )
    gradients: Literal["average", "sum"] = setting(
        "average", "How the gradients of several learners are put together: average or sum."
    )
    # learning
    objective: Literal["vtrace", "ppo", "pqn"] = setting(
        "vtrace",
        "What is learned: vtrace (IMPALA; losses are sums over the steps of an update), ppo (losses are means) or pqn "
        "(action values instead of a policy; the loss is a mean).",
    )
    initial_weights: InitialWeights = setting(
        "fan_in", "fan_in (truncated normal, as in the paper's code) or orthogonal (as in CleanRL)."
    )
    batch_size: Count = setting(32, "Unrolls of an update.")
    baseline_cost: Number = setting(0.5, "Factor on the loss of the baseline.", ge=0)
    entropy_cost: Number = setting(0.01, "Factor on the entropy of the policy.", ge=0)
    reward_scale: Number = setting(
        1.0,
        "Factor on rewards before they are clipped, for learning only. Where scores are in the hundreds, the loss of "
        "the baseline else takes up the whole bounded gradient.",
        gt=0,
    )
    reward_clipping: Literal["abs_one", "soft_asymmetric", "none"] = setting(
        "abs_one",
        "For learning: abs_one (rewards clipped to [-1, 1]), soft_asymmetric (5 tanh(r / 5), and 1.5 tanh(r / 5) of "
        "losses) or none.",
    )
    optimizer: Literal["rmsprop", "adam", "radam"] = setting(
        "rmsprop", "rmsprop, adam or radam (rectified Adam, which begins with small steps)."
    )
    learning_rate: Number = setting(0.0006, "Learning rate at the start; linear to 0.", ge=0)
    learning_rate_frames: Whole | None = setting(
        None, "Frames until the learning rate is 0; empty for the budget.", ge=1
    )
    counter: Literal["frames", "original"] = setting(
        "frames",
        "What the learning rate follows: frames, or original (steps and one more per update, as in "
        "impala_horovod_gym).",
    )
    decay_rate: Share = setting(0.99, "Decay rate of the moving average of rmsprop.")
    momentum: Number = setting(0.0, "Momentum of rmsprop.", ge=0, lt=1)
    optimizer_epsilon: Number = setting(0.01, "The small number in the optimizer's denominator.", gt=0)
    epsilon_inside: Flag = setting(
        True, "Whether this number is inside of the root of rmsprop (TensorFlow) or outside (PyTorch, Optax)."
    )
    initial_accumulator: Number = setting(
        1.0, "First value of the moving average of rmsprop: 1 in TensorFlow 1, 0 in PyTorch and Optax.", ge=0
    )
    max_gradient_norm: Number | None = setting(
        40.0, "Largest norm of the gradient, to which it is scaled down; empty for none.", gt=0
    )
    # V-trace
    rho_bar: Number | None = setting(
        1.0, "Bound of the importance weights of the baseline's errors; empty for none.", ge=0
    )
    pg_rho_bar: Number | None = setting(1.0, "Bound of the importance weights of the advantages; empty for none.", ge=0)
    c_bar: Number | None = setting(1.0, "Bound of the importance weights that carry errors back; empty for none.", ge=0)
    vtrace_lambda: Share = setting(1.0, "Factor on the latter weights.")
    # PPO and PQN
    epochs: Count = setting(1, "How often ppo and pqn learn from each rollout; vtrace learns from it once.")
    minibatches: Literal["unrolls", "steps"] = setting(
        "unrolls",
        "What ppo and pqn draw for an update: unrolls, or as many single steps; networks with memory always get "
        "unrolls.",
    )
    gae_lambda: Share = setting(
        0.95,
        "Lambda of ppo's generalized advantage estimation, and of pqn's Q(lambda) returns: from 0 (values of the next "
        "step) to 1 (all rewards of the rollout).",
    )
    # PPO
    clip_ratio: Number = setting(0.1, "How far from 1 the ratio of new and old probability counts in ppo.", gt=0)
    clip_values: Flag = setting(True, "Whether ppo bounds changes of the baseline by clip_ratio, too.")
    normalize_advantages: Flag = setting(True, "Whether ppo's advantages get mean 0 and deviation 1 in each update.")
    proximal_policy: Literal["acting", "learning"] = setting(
        "acting",
        "The policy that ppo stays close to: acting (the one that played the rollout; its weights are one rollout "
        "older) or learning (the one that begins to learn from it: decoupled PPO, which asks the network once more "
        "about every step, and weights steps by how much more probable their actions have become).",
    )
    # mazes to learn in; other games ignore it
    easy_mazes: Number = setting(
        0.1, "Share of the budget in which mazes are easy: few walls, and a near goal.", ge=0, lt=1
    )
    most_walls: Number = setting(
        0.6, "After that, the probability of a wall is drawn for each maze, from 0 to this.", gt=0, le=0.9
    )
    farthest_mazes: Share = setting(
        0.5, "After that, share of mazes whose goal is as far from the start as possible, as in tests."
    )
    # PQN
    epsilon_start: Share = setting(1.0, "Probability of a random action at pqn's first step of training.")
    epsilon_end: Share = setting(
        0.01, "Probability of a random action of pqn from `epsilon_steps` on; linear in between."
    )
    epsilon_steps: Count = setting(1_000_000, "Steps of all environments until pqn's epsilon is `epsilon_end`.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.engine == "batched" and (self.ranks > 1 or self.num_envs % PLAYERS):
            raise NeurozooError(
                "With engine batched, one process plays an even number of environments, but learners is "
                f"{self.learners}, actors {self.actors} and num_envs {self.num_envs}. Set learners to 1, actors to 0, "
                "and num_envs to an even number, or engine to native."
            )
        if self.num_envs % self.batch_size:
            raise NeurozooError(
                f"num_envs should be a multiple of batch_size, so that every unroll is learned from once, but num_envs "
                f"is {self.num_envs} and batch_size {self.batch_size}. Change one of them."
            )
        if self.epoch_steps < (least := self.num_envs * self.unroll_length * self.learners):
            raise NeurozooError(
                f"epoch_steps is {self.epoch_steps:,}, but the environments play {least:,} steps at once (num_envs x "
                "unroll_length x learners), so some reports would tell nothing new. Set epoch_steps to that or more."
            )
        if self.objective == "vtrace" and (self.epochs != 1 or self.minibatches != "unrolls"):
            raise NeurozooError(
                "With objective vtrace, each unroll is learned from once: set epochs to 1 and minibatches to unrolls, "
                "or objective to ppo or pqn."
            )
        if self.objective != "ppo" and self.proximal_policy != "acting":
            raise NeurozooError(
                f"proximal_policy is a setting of ppo, but objective is {self.objective}. Leave proximal_policy out, "
                "or set objective to ppo."
            )
        if self.objective == "pqn" and self.test_actions != "sampled":
            raise NeurozooError(
                "Tests of pqn are greedy besides random actions (test_epsilon). Leave test_actions out."
            )
        most = -(-self.actors // self.learners)  # of one learner
        if 0 < self.actors < self.learners:
            raise NeurozooError(
                f"Each learner needs an actor if there are any, but learners is {self.learners} and actors "
                f"{self.actors}. Ask for more actors, or for none."
            )
        if most > self.num_envs:
            raise NeurozooError(
                f"The actors of a learner share its environments, but num_envs is {self.num_envs} and a learner has "
                f"{most} actors. Ask for fewer actors or more environments."
            )

    def compat_counter(self, updates: int) -> int:
        """Returns the counter of impala_horovod_gym, which calls steps frames and counts one more at each update."""
        return self.batch_steps * updates // self.epochs + updates

    def learning_rate_after(self, updates: int, frame_skip: int) -> float:
        """Returns the learning rate of the update that follows: linear to 0 at `learning_rate_frames`."""
        frames = self.frames if self.learning_rate_frames is None else self.learning_rate_frames
        if self.counter == "original":
            # The counter is that of one learner; the budget is that of all.
            share = self.compat_counter(updates) * self.learners / (frames / frame_skip)
        else:
            share = frame_skip * self.batch_steps * self.learners * updates // self.epochs / frames
        return self.learning_rate * max(0.0, 1.0 - share)

    def curriculum(self, frame_skip: int) -> Curriculum:
        """Returns what mazes to learn in are like; the description of DSAGE has it in section 13.1."""
        hard = Phase(1.0, 0.0, self.most_walls, self.farthest_mazes)
        steps = self.frames // (frame_skip * self.num_envs * self.learners)
        return Curriculum(max(1, steps), (replace(PHASES[0], end=self.easy_mazes), hard))

    def changes_for(self, game: str, model: str) -> dict[str, object]:
        """Returns also an objective for the heads of the network."""
        changes, learns_values = super().changes_for(game, model), get_keras_network(model).head == Q_VALUES
        if learns_values and self.objective != "pqn":
            return changes | {"objective": "pqn", "proximal_policy": "acting", "test_actions": "sampled"}
        return changes if learns_values or self.objective != "pqn" else changes | {"objective": "ppo"}

    def check_model(self, model: str) -> None:
        """Checks that the network has the heads that the objective learns, and computes in `dtype`."""
        network = get_keras_network(model)
        if self.dtype not in network.precisions:
            raise NeurozooError(
                f"The network {network.name!r} computes in {' or '.join(network.precisions)}, but dtype is "
                f"{self.dtype}. Leave dtype at float32, or choose another network."
            )
        learns_values = self.objective == "pqn"
        if learns_values != (network.head == Q_VALUES):
            kinds = ("action values", "a policy head and a baseline head")
            wanted, found = kinds if learns_values else reversed(kinds)
            example = "nature_layer_norm" if learns_values else "impala_shallow"
            raise NeurozooError(
                f"With objective {self.objective}, the network should have {wanted}, but {network.name!r} has {found}. "
                f"Choose another network, such as {example!r}, or another objective."
            )

    def computes_natively(self, model: str) -> bool:
        """Says also whether the run is one process."""
        return super().computes_natively(model) and self.ranks == 1

    def epsilon(self, steps: int) -> float:
        """Returns the probability of a random action of pqn after a number of steps of all environments."""
        share = min(steps / self.epsilon_steps, 1.0)
        return self.epsilon_start - share * (self.epsilon_start - self.epsilon_end)

    @property
    def action_rule(self) -> Literal["sampled", "greedy"]:
        """How the outputs of a trained network become actions."""
        return "greedy" if self.objective == "pqn" else "sampled"

    def describe_tests(self, game: str) -> dict[str, object]:
        """Returns how test episodes are played: with sampled actions, or with few random ones."""
        facts = super().describe_tests(game)
        if self.action_rule == "sampled":
            return facts | {"action_rule": self.test_actions}
        rule = "epsilon-greedy" if self.test_epsilon else "greedy"
        return facts | {"action_rule": rule, "epsilon": self.test_epsilon}

    @property
    def memory(self) -> int:
        """Includes two rollouts, one that is played and one that is learned from, and the activations of an update.

        A step of `impala_gym_simple` has 9 times the bytes of its observation in activations and their gradients, one
        of `impala_deep` 60 times.
        """
        if self.protocol == "maze":
            return self.ranks * (2000 + self.batch_steps * MAZE_STEP_BYTES // 1_000_000)
        played = 2 * self.num_envs * (self.unroll_length + 1)
        learned = 60 * self.batch_steps
        return self.ranks * (2000 + (played + learned) * STACK_BYTES // 1_000_000)

    @property
    def gpus(self) -> int:
        """The batched engine plays and learns on one."""
        return 1 if self.engine == "batched" else 0

    @property
    def has_minibatches(self) -> bool:
        """Whether updates take minibatches of a rollout, with targets from the network that acted."""
        return self.objective != "vtrace"

    @property
    def ranks(self) -> int:
        """Processes of a run."""
        return self.learners + self.actors

    @property
    def batch_steps(self) -> int:
        """Steps of an update."""
        return self.batch_size * self.unroll_length
