"""PPO, PQN and V-trace as loops in PyTorch on a GPU, for comparison; run by a Python that has PyTorch.

Modelled on CleanRL's `ppo_atari_envpool.py` and `pqn_atari_envpool.py` (Huang et al. 2022, JMLR 23(274)) as a careful
user writes them today: ale-py's vector environment with all threads, observations as bytes that stay on the device,
`channels_last`, TF32, fused Adam, and `torch.compile` where `compiled` asks for it. Playing and learning alternate. It
is called as `torch_dqn.py` is.
"""

from types import SimpleNamespace

import numpy as np
from torch_dqn import STACK, serve


def make_network(model: str, num_actions: int):
    """Makes `impala_shallow` (logits and baseline) or `nature_layer_norm` (action values and the largest of them)."""
    import torch
    from torch import nn

    if model == "impala_shallow":
        torso = [nn.ZeroPad2d(2), nn.Conv2d(STACK, 16, 8, stride=4), nn.ReLU()]
        torso += [nn.ZeroPad2d((1, 2, 1, 2)), nn.Conv2d(16, 32, 4, stride=2), nn.ReLU()]
        torso += [nn.Flatten(), nn.Linear(11 * 11 * 32, 256), nn.ReLU()]
    else:
        torso = [nn.Conv2d(STACK, 32, 8, stride=4), nn.LayerNorm([32, 20, 20]), nn.ReLU()]
        torso += [nn.Conv2d(32, 64, 4, stride=2), nn.LayerNorm([64, 9, 9]), nn.ReLU()]
        torso += [nn.Conv2d(64, 64, 3), nn.LayerNorm([64, 7, 7]), nn.ReLU()]
        torso += [nn.Flatten(), nn.Linear(3136, 512), nn.LayerNorm(512), nn.ReLU()]

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.torso = nn.Sequential(*torso)
            has_baseline = model == "impala_shallow"
            self.head = nn.Linear(256 if has_baseline else 512, num_actions)
            self.baseline = nn.Linear(256, 1) if has_baseline else None

        def forward(self, observations):
            seen = self.torso(observations.float() / 255.0)
            values = self.head(seen)
            return values, values.amax(dim=1) if self.baseline is None else self.baseline(seen)[:, 0]

    return Network().to(memory_format=torch.channels_last)


class Loop:
    """A training run with settings of the learner that it is compared with. A step is a decision of one environment."""

    def __init__(self, **settings) -> None:
        import torch
        from ale_py.vector_env import AtariVectorEnv

        self.settings = s = SimpleNamespace(**settings)
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.allow_tf32 = True
        torch.manual_seed(1)
        self.environments = AtariVectorEnv(s.game, s.num_envs, num_threads=s.threads, repeat_action_probability=0.25)
        actions = int(self.environments.single_action_space.n)  # type: ignore[attr-defined]
        self.network = make_network(s.model, actions).to(s.device)
        self.forward = torch.compile(self.network) if s.compiled else self.network
        self.loss = torch.compile(self._loss) if s.compiled else self._loss
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=s.learning_rate, fused=True)
        time = s.unroll_length
        self.seen = torch.zeros((time + 1, s.num_envs, STACK, 84, 84), dtype=torch.uint8, device=s.device)
        self.columns = {name: torch.zeros((time, s.num_envs), device=s.device) for name in ("rewards", "last", "old")}
        self.columns["values"] = torch.zeros((time + 1, s.num_envs), device=s.device)
        self.columns["actions"] = torch.zeros((time, s.num_envs), dtype=torch.int64, device=s.device)
        observation, _ = self.environments.reset(seed=1)
        self.seen[0] = torch.from_numpy(observation).to(s.device)

    def run(self, steps: int) -> None:
        """Plays and learns from whole rollouts, at least as many steps."""
        for _ in range(-(-steps // (self.settings.num_envs * self.settings.unroll_length))):
            self._play()
            self._learn()

    def _play(self) -> None:
        import torch

        s, columns = self.settings, self.columns
        with torch.no_grad():
            for step in range(s.unroll_length):
                outputs, columns["values"][step] = self.forward(self.seen[step])
                if s.objective == "pqn":
                    actions = outputs.argmax(dim=1)
                    drawn = torch.randint_like(actions, outputs.shape[1])
                    actions = torch.where(torch.rand(len(actions), device=s.device) < 0.1, drawn, actions)
                    columns["old"][step] = 0.0
                else:
                    policy = torch.log_softmax(outputs, dim=1)
                    actions = torch.multinomial(policy.exp(), 1)[:, 0]
                    columns["old"][step] = policy.gather(1, actions[:, None])[:, 0]
                columns["actions"][step] = actions
                observation, rewards, over, cut, _ = self.environments.step(actions.cpu().numpy().astype(np.int32))
                self.seen[step + 1] = torch.from_numpy(observation).to(s.device, non_blocking=True)
                columns["rewards"][step] = torch.from_numpy(np.clip(rewards, -1, 1).astype(np.float32)).to(s.device)
                columns["last"][step] = torch.from_numpy((over | cut).astype(np.float32)).to(s.device)
            columns["values"][s.unroll_length] = self.forward(self.seen[s.unroll_length])[1]

    def _learn(self) -> None:
        import torch

        s, columns = self.settings, self.columns
        discounts = s.discount * (1 - columns["last"])
        if s.objective == "vtrace":
            for first in range(0, s.num_envs, s.batch_size):
                here = slice(first, first + s.batch_size)
                batch = {name: each[:, here] for name, each in columns.items()} | {"discounts": discounts[:, here]}
                self._update(self.seen[:, here], batch)
        else:
            values, following = columns["values"], torch.zeros_like(columns["old"][0])
            advantages = torch.zeros_like(columns["old"])
            for step in reversed(range(s.unroll_length)):
                error = columns["rewards"][step] + discounts[step] * values[step + 1] - values[step]
                following = advantages[step] = error + discounts[step] * s.gae_lambda * following
            flat = {name: columns[name].flatten(0, 1) for name in ("actions", "old")}
            flat |= {"advantages": advantages.flatten(0, 1), "targets": (advantages + values[:-1]).flatten(0, 1)}
            seen, size = self.seen[:-1].flatten(0, 1), s.batch_size * s.unroll_length
            for _ in range(s.epochs):
                order = torch.randperm(len(seen), device=s.device)
                for chosen in order.split(size):
                    self._update(seen[chosen], {name: each[chosen] for name, each in flat.items()})
        self.seen[0] = self.seen[-1]

    def _update(self, seen, batch) -> None:
        import torch

        self.optimizer.zero_grad()
        self.loss(seen, batch).backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.max_gradient_norm)
        self.optimizer.step()

    def _loss(self, seen, batch):
        import torch

        s = self.settings
        if s.objective == "vtrace":
            return self._vtrace_loss(seen, batch)
        outputs, values = self.network(seen)
        if s.objective == "pqn":
            return (outputs.gather(1, batch["actions"][:, None])[:, 0] - batch["targets"]).square().mean()
        policy = torch.log_softmax(outputs, dim=1)
        ratios = torch.exp(policy.gather(1, batch["actions"][:, None])[:, 0] - batch["old"])
        advantages = batch["advantages"]
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        clipped = ratios.clamp(1 - s.clip_ratio, 1 + s.clip_ratio)
        entropy = -(policy.exp() * policy).sum(dim=1).mean()
        baseline = 0.5 * (values - batch["targets"]).square().mean()
        losses = torch.maximum(-advantages * ratios, -advantages * clipped)
        return losses.mean() - s.entropy_cost * entropy + s.baseline_cost * baseline

    def _vtrace_loss(self, seen, batch):
        import torch

        s, time = self.settings, self.settings.unroll_length
        outputs, values = self.network(seen.flatten(0, 1))
        policy = torch.log_softmax(outputs, dim=1).view(time + 1, -1, outputs.shape[1])[:-1]
        values, discounts, rewards = values.view(time + 1, -1), batch["discounts"], batch["rewards"]
        taken = policy.gather(-1, batch["actions"][..., None])[..., 0]
        with torch.no_grad():
            ratios = torch.exp(taken - batch["old"]).clamp(max=1.0)
            errors = ratios * (rewards + discounts * values[1:] - values[:-1])
            error, sums = torch.zeros_like(errors[0]), []
            for step in reversed(range(time)):
                error = errors[step] + discounts[step] * ratios[step] * error
                sums.append(error)
            targets = values[:-1] + torch.stack(sums[::-1])
            after = torch.cat([targets[1:], values[-1:]])
            advantages = ratios * (rewards + discounts * after - values[:-1])
        baseline = 0.5 * (targets - values[:-1]).square().sum()
        entropy = -(policy.exp() * policy).sum()
        return -(taken * advantages).sum() + s.baseline_cost * baseline - s.entropy_cost * entropy


if __name__ == "__main__":
    serve(Loop)
