"""Toy environments with the interface of `AtariVectorEnvironment`, in which every number can be worked out."""

import numpy as np
from neurozoo.algorithms.impala.rollouts import Rollout
from neurozoo.algorithms.learner import LearnerTask
from neurozoo.compute.mpi import ALONE
from neurozoo.environments.protocols import get_protocol
from neurozoo.environments.vector import Step
from neurozoo.networks.keras_networks import KerasNetwork
from neurozoo.networks.layers import Layer

# Networks that are small enough for toys: with a memory, and with action values and layer normalisation.
SMALL = KerasNetwork("small", (), (Layer("conv1", "conv", 8, kernel=2),), units=32, lstm_units=32)
SMALL_Q = KerasNetwork(
    "small_q", (), (Layer("conv1", "conv", 8, kernel=2, normalisation="layer"),), units=64, head="q_values"
)


def batch_of(rollout):
    """Returns what V-trace learns from all environments of a rollout at once."""
    columns, memory = rollout.unrolls()
    return columns | memory


class Toy:
    """The base of toys: sequential environments. Subclasses play one step of one environment."""

    shape = (2, 2, 1)  # height, width, stack
    num_actions = 4
    limits_only_stop = False

    def __init__(self, count, seed_of):
        self.count = count
        self._seed_of = seed_of
        self.episodes = np.zeros(count, np.int64)
        self.closed = False
        height, width, stack = self.shape
        self.stacks = np.zeros((count, stack, height, width), np.uint8)
        self.start_episodes(np.ones(count, bool), is_first=True)

    def start_episodes(self, mask, *, is_first=False):
        for index in np.flatnonzero(mask):
            self.episodes[index] += not is_first
            self.reset(index, np.random.default_rng(self._seed_of(int(index), int(self.episodes[index]))))
            self.show(index)

    def send(self, actions):
        self._actions = actions

    def receive(self):
        results = [self.step(index, int(action)) for index, action in enumerate(self._actions)]
        for index in range(self.count):
            self.show(index)
        columns = [np.array(column) for column in zip(*results, strict=True)]
        return Step(columns[0].astype(np.float32), *(column.astype(bool) for column in columns[1:]))

    def close(self):
        self.closed = True


class Counting(Toy):
    """Shows the number of the step as its observation and gives it as its reward.

    Environment i is over every `LENGTHS[i]` steps. It loses a life at step 2 of every episode.
    """

    LENGTHS = (3, 5, 1000)

    def reset(self, index, rng):
        if not hasattr(self, "counts"):
            self.counts, self.begins = np.zeros(self.count, int), np.zeros(self.count, int)
        self.begins[index] = self.counts[index]

    def step(self, index, action):
        self.counts[index] += 1
        age = self.counts[index] - self.begins[index]
        return self.counts[index], age == self.LENGTHS[index], False, age == 2

    def show(self, index):
        self.stacks[index] = self.counts[index] + 100 * index

    def get_state(self):
        return {"counts": self.counts.tolist(), "begins": self.begins.tolist(), "episodes": self.episodes.tolist()}

    def get_arrays(self):
        return {"actions": self.counts.astype(np.uint8)}  # a name that others use, too

    def set_state(self, state, arrays):
        self.counts, self.begins = np.array(state["counts"]), np.array(state["begins"])
        self.episodes = np.array(state["episodes"])
        assert arrays["actions"].tolist() == self.counts.tolist()
        for index in range(self.count):
            self.show(index)


class Catch(Toy):
    """A ball falls through a field of 5 by 5; a paddle at the bottom stays, or moves left or right.

    A caught ball gives 1, a missed one -1. Two balls make a game; the second begins where the first has ended.
    """

    shape = (5, 5, 2)  # ball, paddle
    num_actions = 3

    def reset(self, index, rng):
        if not hasattr(self, "fields"):
            self.fields, self.rngs = np.zeros((self.count, 4), int), [None] * self.count
        self.rngs[index] = rng
        self.fields[index] = [0, rng.integers(5), 2, 0]  # row and column of the ball, column of the paddle, ball

    def step(self, index, action):
        row, column, paddle, ball = self.fields[index]
        paddle = min(max(paddle + (0, -1, 1)[action], 0), 4)
        row += 1
        if row < 4:
            self.fields[index] = [row, column, paddle, ball]
            return 0.0, False, False, False
        self.fields[index] = [0, self.rngs[index].integers(5), paddle, ball + 1]
        return (1.0 if column == paddle else -1.0), ball == 1, False, False

    def show(self, index):
        row, column, paddle, _ = self.fields[index]
        self.stacks[index] = 0
        self.stacks[index, 0, row, column] = 255
        self.stacks[index, 1, 4, paddle] = 255


def task(settings, layout, environments, *, run=1, ranks=ALONE):
    """What a learner of toys learns; four frames per step, and the toys ignore the rest of the protocol."""
    protocol = get_protocol("machado2018")
    return LearnerTask(
        settings=settings,
        entropy=(0, run),
        layout=layout,
        protocol=protocol,
        make_environments=environments,
        ranks=ranks,
    )


def said(model, seen, state):
    """Outputs of all steps that `seen` has, one call per step: preferences and baseline, in double precision.

    `seen` are observations as bytes, actions and rewards before, and where episodes begin: (time, batch, ...) each.
    """
    outputs, values = [], []
    for observation, action, reward, is_first in zip(*seen, strict=True):
        keeps = ~is_first[:, None]
        inputs = [np.float32(observation) / np.float32(255), action, reward, *(part * keeps for part in state)]
        out, value, *state = (np.asarray(each) for each in model(inputs))
        outputs.append(out.astype(np.float64))
        values.append(value[:, 0].astype(np.float64))
    return np.array(outputs), np.array(values)


def drawn_rollout(layout, *, length, num_envs, seed=2):
    """A rollout of random content, in which two episodes end: after step 2, and with the last step."""
    random = np.random.default_rng(seed)
    rollout = Rollout(
        length=length,
        num_envs=num_envs,
        observation_shape=layout.observation_shape,
        num_actions=layout.num_actions,
        state_shapes=layout.state_shapes,
    )
    during, after = (length, num_envs), (length + 1, num_envs)
    rollout.observations[:] = random.integers(256, size=rollout.observations.shape)
    rollout.previous_actions[:] = random.integers(layout.num_actions, size=after)
    rollout.previous_rewards[:] = random.normal(size=after)
    rollout.is_first[3, 1] = rollout.is_last[2, 1] = True
    rollout.is_first[length, 0] = rollout.is_last[length - 1, 0] = True
    rollout.actions[:] = random.integers(layout.num_actions, size=during)
    rollout.logits[:] = random.normal(size=(*during, layout.num_actions))
    rollout.rewards[:] = random.normal(0, 4, during)
    rollout.values[:] = random.normal(size=during)
    rollout.bootstrap[:] = random.normal(size=num_envs)
    rollout.state = tuple(random.normal(size=(num_envs, *each)).astype(np.float32) for each in layout.state_shapes)
    return rollout
