"""A player: environments, the policy that acts in them, and the rollout that they fill."""

from collections.abc import Mapping

import numpy as np

from neurozoo.agents.policies import EpsilonGreedy, Forward
from neurozoo.algorithms.impala.actor import Actor, Game
from neurozoo.algorithms.impala.playing import MakeEnvironments, make_policy
from neurozoo.algorithms.impala.rollouts import Rollout, RolloutBuffer, prefixed, unprefixed
from neurozoo.algorithms.impala.settings import ImpalaSettings
from neurozoo.environments.episode_seeds import draw_seed
from neurozoo.environments.protocols import Protocol
from neurozoo.networks.keras_networks import KerasLayout
from neurozoo.randomness import Entropy, Purpose, generator


class Player(RolloutBuffer):
    """Plays some of a run's environments, rollout after rollout.

    Every draw has an address: the episodes' seeds depend on the number of the environment in the run, the actions on
    rollout, step and the number of the player's first environment.

    Args:
        make_environments: Makes environments from their number and the seeds of their episodes.
        environments: Numbers of its environments in the whole run.
        kind: Where observations lie.
    """

    def __init__(
        self,
        settings: ImpalaSettings,
        *,
        entropy: Entropy,
        layout: KerasLayout,
        protocol: Protocol,
        forward: Forward,
        make_environments: MakeEnvironments,
        environments: range,
        kind: type[Rollout] = Rollout,
    ) -> None:
        super().__init__(layout, length=settings.unroll_length, num_envs=len(environments), kind=kind)
        self._settings = settings
        self._entropy = entropy
        self._protocol = protocol
        self._first = environments.start
        self._environments = make_environments(len(environments), self._seed_of)
        self._policy = make_policy(settings, layout, forward)
        self._actor = Actor(
            self._environments,
            self._policy,
            ends_with_lives=settings.life_loss == "terminal",
            reward_clipping=settings.reward_clipping,
            reward_scale=settings.reward_scale,
        )
        self._actor.begin(self.rollout)

    def play_step(self) -> list[Game]:
        """Makes a decision in each environment; returns the games that have ended."""
        s = self._settings
        address = (self.rollouts, self.step, *([self._first] if self._first else []))
        if isinstance(self._policy, EpsilonGreedy):
            steps = (self.rollouts * s.unroll_length + self.step) * s.num_envs * s.learners  # of the whole run
            self._policy.epsilon = s.epsilon(steps)
        games = self._actor.play(self.rollout, self.step, generator(self._entropy, Purpose.EXPLORATION, *address))
        self.step += 1
        if self.is_rollout_over and s.has_minibatches:
            self._actor.look_ahead(self.rollout)
        return games

    def play_rollout(self) -> list[Game]:
        """Plays the current rollout to its end; returns the games that have ended."""
        games = []
        while not self.is_rollout_over:
            games += self.play_step()
        return games

    def close(self) -> None:
        """Ends the threads of the environments."""
        self._environments.close()

    def _seed_of(self, environment: int, episode: int) -> int:
        draws = generator(self._entropy, Purpose.WORLD_EPISODE, self._first + environment, episode)
        return draw_seed(draws, Purpose.WORLD_EPISODE, self._protocol)

    def get_state(self) -> dict:
        """Returns what continuing depends on, except what `get_arrays` returns, as plain JSON."""
        own = {"actor": self._actor.get_state(), "environments": self._environments.get_state()}
        return super().get_state() | own

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state."""
        own = prefixed("actor", self._actor.get_arrays())
        return super().get_arrays() | own | prefixed("environments", self._environments.get_arrays())

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned."""
        super().set_state(state, arrays)
        self._environments.set_state(state["environments"], unprefixed("environments", arrays))
        self._actor.set_state(state["actor"], unprefixed("actor", arrays))
