"""Deep Q-learning as a simple loop in PyTorch, for comparison; run by a Python that has PyTorch.

Modelled on CleanRL's `dqn_atari.py` (Huang et al. 2022, JMLR 23(274); github.com/vwxyzjn/cleanrl): one environment with
Gymnasium's wrappers, a replay memory of stacked observations, two networks, Adam. What makes PyTorch fast is used:
channels last, fused Adam and, with `compiled` and `bfloat16`, torch.compile and autocast. It imports nothing from this
project. Like `learning_loop.py` it reads numbers of steps from standard input and answers each with a line of JSON:

    python torch_dqn.py '{"game": "pong", "threads": 2, ...}'
"""

import functools
import json
import random
import sys
import time
from types import SimpleNamespace

import numpy as np

STACK = 4


def make_environment(game: str):
    """Makes an Atari game with the wrappers of Mnih et al. 2015; observations are (4, 84, 84), uint8."""
    import ale_py
    import gymnasium
    from gymnasium.wrappers import AtariPreprocessing, ClipReward, FrameStackObservation

    gymnasium.register_envs(ale_py)
    name = "".join(word.capitalize() for word in game.split("_"))
    environment = gymnasium.make(f"ALE/{name}-v5", frameskip=1, repeat_action_probability=0.0)
    environment = AtariPreprocessing(environment, noop_max=30, frame_skip=4, terminal_on_life_loss=True)
    return FrameStackObservation(ClipReward(environment, -1, 1), STACK)


def make_network(num_actions: int):
    """Makes the network of Mnih et al. 2015, from bytes to action values."""
    import torch
    from torch import nn

    class Scale(nn.Module):
        def forward(self, observations):
            return observations.contiguous(memory_format=torch.channels_last).float() / 255.0

    convolutions = [(STACK, 32, 8, 4), (32, 64, 4, 2), (64, 64, 3, 1)]  # channels before and after, kernel, stride
    layers = [layer for shape in convolutions for layer in (nn.Conv2d(*shape), nn.ReLU())]
    dense = [nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, num_actions)]
    return nn.Sequential(Scale(), *layers, *dense).to(memory_format=torch.channels_last)


class StackedReplay:
    """Replay memory that stores each stacked observation in full; the next observation is in the next row."""

    def __init__(self, size: int) -> None:
        self.observations = np.zeros((size, STACK, 84, 84), np.uint8)
        self.actions = np.zeros(size, np.int64)
        self.rewards = np.zeros(size, np.float32)
        self.dones = np.zeros(size, np.float32)
        self.size, self.position, self.count = size, 0, 0

    def add(self, observation, next_observation, action, reward, done) -> None:
        """Stores a transition."""
        row, self.position = self.position, (self.position + 1) % self.size
        self.observations[row], self.observations[self.position] = observation, next_observation
        self.actions[row], self.rewards[row], self.dones[row] = action, reward, done
        self.count = min(self.count + 1, self.size - 1)

    def sample(self, batch: int):
        """Draws random transitions, as tensors."""
        import torch

        rows = np.random.randint(0, self.count, size=batch)
        following = self.observations[(rows + 1) % self.size]
        arrays = (self.observations[rows], self.actions[rows], self.rewards[rows], following, self.dones[rows])
        return [torch.from_numpy(array) for array in arrays]


class Loop:
    """A training run with settings of the learner that it is compared with; `epsilon` is that of the whole training."""

    def __init__(self, **settings) -> None:
        import torch

        self.settings = s = SimpleNamespace(**settings)
        torch.set_num_threads(s.threads)
        torch.manual_seed(1)
        self.environment = make_environment(s.game)
        self.num_actions = int(self.environment.action_space.n)
        self.network, self.target = make_network(self.num_actions), make_network(self.num_actions)
        self.target.load_state_dict(self.network.state_dict())
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=s.learning_rate, fused=True)
        self.values, self.loss = self.network, self._loss
        if s.compiled:
            self.values, self.loss = torch.compile(self.network), torch.compile(self._loss)
        self.precision = functools.partial(torch.autocast, "cpu", torch.bfloat16, enabled=s.bfloat16)
        self.replay = StackedReplay(s.replay_size)
        self.observation, _ = self.environment.reset(seed=1)
        self.step = 0

    def run(self, steps: int) -> None:
        """Makes a number of steps."""
        import torch

        s = self.settings
        for _ in range(steps):
            if self.step < s.learning_starts or random.random() < s.epsilon:
                action = int(self.environment.action_space.sample())
            else:
                with torch.no_grad(), self.precision():
                    values = self.values(torch.from_numpy(self.observation)[None])
                action = int(values.argmax(dim=1))
            next_observation, reward, is_over, is_cut, _ = self.environment.step(action)
            self.replay.add(self.observation, next_observation, action, reward, is_over)
            self.observation = next_observation
            if is_over or is_cut:
                self.observation, _ = self.environment.reset()
            self.step += 1
            if self.step > s.learning_starts and self.step % s.train_frequency == 0:
                self._learn()
            if self.step % s.target_update_period == 0:
                self.target.load_state_dict(self.network.state_dict())

    def _learn(self) -> None:
        with self.precision():
            loss = self.loss(*self.replay.sample(self.settings.batch_size))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def _loss(self, observations, actions, rewards, next_observations, dones):
        import torch
        from torch.nn import functional

        with torch.no_grad():
            best = self.target(next_observations).max(dim=1).values
            wanted = rewards + self.settings.discount * best * (1 - dones)
        values = self.network(observations).gather(1, actions[:, None]).squeeze(1)
        return functional.smooth_l1_loss(values.float(), wanted)


def serve(make_loop) -> None:
    """Reads numbers of steps from standard input, and prints an answer to each, until the input ends.

    `make_loop` makes a loop with a method `run(steps)` from the arguments on the command line.
    """
    given = json.loads(sys.argv[1])
    warm_up = given.pop("warm_up")
    loop = make_loop(**given)
    loop.run(warm_up)
    print(json.dumps({}), flush=True)
    for line in sys.stdin:
        steps = int(line)
        wall, processor = time.perf_counter(), time.process_time()
        loop.run(steps)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        figures = {"steps_per_second": steps / wall, "processor_milliseconds": 1e3 * processor / steps}
        print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    serve(Loop)
