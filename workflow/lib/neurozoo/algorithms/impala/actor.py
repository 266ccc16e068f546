"""The actor: plays all environments step by step with one batched policy, and fills rollouts."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from neurozoo.agents.policies import Policy, State
from neurozoo.algorithms.impala.rollouts import RewardClipping, Rollout, clipped_rewards
from neurozoo.environments.vector import VectorEnvironment
from neurozoo.networks.keras_networks import MEMORY


class Game(NamedTuple):
    """A whole game that has ended."""

    environment: int  # which played it
    score: float  # points, unclipped
    clipped_return: float  # sum of its rewards as the learner clips them
    steps: int  # decisions
    last_step: int  # number of its last step in the rollout


class Actor:
    """Plays all environments. A step is one decision in each of them.

    With `ends_with_lives`, a lost life ends an episode for learning. `state` is what the network remembers.
    """

    def __init__(
        self,
        environments: VectorEnvironment,
        policy: Policy,
        *,
        ends_with_lives: bool,
        reward_clipping: RewardClipping = "none",
        reward_scale: float = 1.0,
    ) -> None:
        self._environments = environments
        self._policy = policy
        self._ends_with_lives = ends_with_lives
        self._reward_clipping, self._reward_scale = reward_clipping, reward_scale
        self.state: State = policy.initial_state(environments.count)
        self._scores = np.zeros(environments.count, np.float64)
        self._clipped_returns = np.zeros(environments.count, np.float64)
        self._lengths = np.zeros(environments.count, np.int64)

    def begin(self, rollout: Rollout) -> None:
        """Writes the first entry of the first rollout."""
        rollout.see(0, self._environments.stacks)
        rollout.is_first[0] = True

    def play(self, rollout: Rollout, step: int, rng: np.random.Generator) -> list[Game]:
        """Makes a decision in each environment, writes it and the next inputs; returns the games that have ended."""
        if step == 0:
            rollout.state = self.state
        actions, outputs, self.state = self._policy.step(rollout.inputs(step), self.state, rng)
        assert outputs is not None  # the network is always asked
        assert outputs.baseline is not None  # networks for IMPALA have one
        self._environments.send(actions)
        result = self._environments.receive()
        is_over = result.is_over | result.is_cut
        is_last = is_over | result.is_life_lost if self._ends_with_lives else is_over
        rollout.actions[step], rollout.logits[step] = actions, outputs.preferences
        rollout.values[step] = outputs.baseline
        rollout.rewards[step], rollout.is_last[step] = result.rewards, is_last
        rollout.after_limit[step] = 0.0
        is_stopped = result.is_cut & ~result.is_life_lost if self._ends_with_lives else result.is_cut
        if self._environments.limits_only_stop and is_stopped.any():
            # As if the episode went on; below, the next one takes this place.
            rollout.see(step + 1, self._environments.stacks)
            rollout.previous_actions[step + 1], rollout.previous_rewards[step + 1] = actions, result.rewards
            rollout.is_first[step + 1] = False
            values = self._policy.ask(rollout.inputs(step + 1), self.state)[0].baseline
            assert values is not None
            rollout.after_limit[step] = np.where(is_stopped, values, 0.0)
        rollout.previous_actions[step + 1] = np.where(is_last, 0, actions)
        rollout.previous_rewards[step + 1] = np.where(is_last, 0, result.rewards)
        rollout.is_first[step + 1] = is_last
        games = self._count(result.rewards, is_over, step)
        if games:
            self._environments.start_episodes(is_over)
        rollout.see(step + 1, self._environments.stacks)
        return games

    def look_ahead(self, rollout: Rollout) -> None:
        """Writes the baseline after the last step of a rollout. The memory stays as it is."""
        rollout.bootstrap[:] = self._policy.ask(rollout.inputs(len(rollout.actions)), self.state)[0].baseline

    def _count(self, rewards: np.ndarray, is_over: np.ndarray, step: int) -> list[Game]:
        self._scores += rewards
        self._clipped_returns += clipped_rewards(rewards, self._reward_clipping, np, scale=self._reward_scale)
        self._lengths += 1
        ended = np.flatnonzero(is_over)
        columns = (self._scores[ended].tolist(), self._clipped_returns[ended].tolist(), self._lengths[ended].tolist())
        games = [Game(*game, step) for game in zip(ended.tolist(), *columns, strict=True)]
        self._scores[ended] = self._clipped_returns[ended] = self._lengths[ended] = 0
        return games

    def get_state(self) -> dict:
        """Returns what `get_arrays` does not, as plain JSON."""
        return {
            "scores": self._scores.tolist(),
            "clipped_returns": self._clipped_returns.tolist(),
            "lengths": self._lengths.tolist(),
        }

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns what the network remembers."""
        return {name: part for name, part in zip(MEMORY, self.state, strict=False)}

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned."""
        self._scores[:], self._lengths[:] = state["scores"], state["lengths"]
        self._clipped_returns[:] = state["clipped_returns"]
        self.state = tuple(arrays[name] for name, _ in zip(MEMORY, self.state, strict=False))
