"""IMPALA as a simple loop in PyTorch, for comparison; run by a Python that has PyTorch.

Modelled on what CleanRL and TorchBeast do (Huang et al. 2022, JMLR 23(274); Küttler et al. 2019, arXiv:1910.03552):
environments that step together, one batch through the network for each step, unrolls, V-trace, RMSProp. It imports
nothing from this project but `torch_dqn.py` beside it, and is called as that is.
"""

from types import SimpleNamespace

import numpy as np
from torch_dqn import STACK, serve

LARGEST_NORM = 40.0


def make_network(model: str, num_actions: int):
    """Makes `impala_shallow` or `impala_deep` (Espeholt et al. 2018): from bytes to logits and baseline."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Residual(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.first = nn.Conv2d(channels, channels, 3, padding=1)
            self.second = nn.Conv2d(channels, channels, 3, padding=1)

        def forward(self, inputs):
            return inputs + self.second(functional.relu(self.first(functional.relu(inputs))))

    def section(inputs, channels):
        first = nn.Conv2d(inputs, channels, 3, padding=1)
        return [first, nn.MaxPool2d(3, stride=2, padding=1), Residual(channels), Residual(channels)]

    if model == "impala_deep":
        torso = [*section(STACK, 16), *section(16, 32), *section(32, 32), nn.ReLU()]
    else:
        torso = [nn.ZeroPad2d(2), nn.Conv2d(STACK, 16, 8, stride=4), nn.ReLU()]
        torso += [nn.ZeroPad2d((1, 2, 1, 2)), nn.Conv2d(16, 32, 4, stride=2), nn.ReLU()]

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.torso = nn.Sequential(*torso, nn.Flatten(), nn.Linear(11 * 11 * 32, 256), nn.ReLU())
            self.policy = nn.Linear(256 + 1 + num_actions, num_actions)
            self.baseline = nn.Linear(256 + 1 + num_actions, 1)
            self.num_actions = num_actions

        def forward(self, observations, actions, rewards):
            seen = self.torso(observations.contiguous(memory_format=torch.channels_last).float() / 255.0)
            before = functional.one_hot(actions, self.num_actions).float()
            core = torch.cat([seen, rewards.clamp(-1, 1)[:, None], before], dim=1)
            return self.policy(core), self.baseline(core)[:, 0]

    return Network().to(memory_format=torch.channels_last)


class Loop:
    """A training run with settings of the learner that it is compared with. A step is a decision of one environment."""

    def __init__(self, **settings) -> None:
        import torch
        from ale_py.vector_env import AtariVectorEnv
        from gymnasium.spaces import Discrete

        self.settings = s = SimpleNamespace(**settings)
        torch.set_num_threads(s.threads)
        torch.manual_seed(1)
        self.environments = AtariVectorEnv(s.game, s.num_envs, num_threads=s.threads, repeat_action_probability=0.25)
        actions = self.environments.single_action_space
        assert isinstance(actions, Discrete)  # all Atari games have buttons
        self.num_actions = int(actions.n)
        self.network = make_network(s.model, self.num_actions)
        self.optimizer = torch.optim.RMSprop(
            self.network.parameters(), lr=s.learning_rate, alpha=0.99, eps=0.01, foreach=True
        )
        self.answer = torch.compile(self.network) if s.compiled else self.network
        observation, _ = self.environments.reset(seed=1)
        self.now = (observation.copy(), np.zeros(s.num_envs, np.int64), np.zeros(s.num_envs, np.float32))
        self.unroll: list[tuple] = []

    def run(self, steps: int) -> None:
        """Makes a number of steps."""
        import torch

        for _ in range(-(-steps // self.settings.num_envs)):
            with torch.no_grad():
                logits, _ = self._answer(*map(torch.from_numpy, self.now))
                actions = torch.distributions.Categorical(logits=logits).sample()
            observation, rewards, is_over, is_cut, _ = self.environments.step(actions.numpy().astype(np.int32))
            self.unroll.append(
                (*self.now, actions.numpy(), logits.numpy(), rewards.astype(np.float32), is_over | is_cut)
            )
            self.now = (observation.copy(), actions.numpy(), rewards.astype(np.float32))
            if len(self.unroll) == self.settings.unroll_length:
                self._learn()
                self.unroll = []

    def _answer(self, *inputs):
        import torch

        with torch.autocast("cpu", torch.bfloat16, enabled=self.settings.bfloat16):
            return [output.float() for output in self.answer(*inputs)]

    def _learn(self) -> None:
        import torch

        columns = [torch.from_numpy(np.stack(column)) for column in zip(*self.unroll, strict=True)]
        inputs = [
            torch.cat([column, torch.from_numpy(now)[None]]) for column, now in zip(columns[:3], self.now, strict=True)
        ]
        num_envs, batch_size = self.settings.num_envs, self.settings.batch_size
        for first in range(0, num_envs, batch_size):
            here = slice(first, first + batch_size)
            self._update([each[:, here] for each in inputs], [each[:, here] for each in columns[3:]])

    def _update(self, inputs, happened) -> None:
        import torch

        s = self.settings
        actions, old_logits, rewards, is_last = happened
        time, batch = actions.shape
        logits, values = self._answer(*(each.flatten(0, 1) for each in inputs))
        logits, values = logits.view(time + 1, batch, -1)[:-1], values.view(time + 1, batch)
        policy = torch.log_softmax(logits, dim=-1)
        taken = policy.gather(-1, actions[..., None])[..., 0]
        with torch.no_grad():
            old = torch.log_softmax(old_logits, dim=-1).gather(-1, actions[..., None])[..., 0]
            ratios = torch.exp(taken - old).clamp(max=1.0)
            discounts = s.discount * (~is_last).float()
            errors = ratios * (rewards.clamp(-1, 1) + discounts * values[1:] - values[:-1])
            error, sums = torch.zeros(batch), []
            for step in reversed(range(time)):
                error = errors[step] + discounts[step] * ratios[step] * error
                sums.append(error)
            targets = values[:-1] + torch.stack(sums[::-1])
            after = torch.cat([targets[1:], values[-1:]])
            advantages = ratios * (rewards.clamp(-1, 1) + discounts * after - values[:-1])
        entropy = -(policy.exp() * policy).sum()
        baseline = 0.5 * (targets - values[:-1]).square().sum()
        loss = -(taken * advantages).sum() + s.baseline_cost * baseline - s.entropy_cost * entropy
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), LARGEST_NORM)
        self.optimizer.step()


if __name__ == "__main__":
    serve(Loop)
