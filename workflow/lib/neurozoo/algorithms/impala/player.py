"""A player: environments, the policy that acts in them, and the rollout that they fill."""

from collections.abc import Mapping

import numpy as np

from neurozoo.agents.policies import ACTION_RULES, EpsilonGreedy, Forward, Greedy, Policy
from neurozoo.algorithms.impala.actor import Actor, Game
from neurozoo.algorithms.impala.rollouts import Rollout, RolloutBuffer, prefixed, unprefixed
from neurozoo.algorithms.impala.settings import ImpalaSettings
from neurozoo.algorithms.learner import LearnerTask
from neurozoo.networks.keras_networks import KerasLayout
from neurozoo.randomness import Purpose, generator


def make_policy(settings: ImpalaSettings, layout: KerasLayout, forward: Forward, *, in_test: bool = False) -> Policy:
    """Returns how a network acts: in training, or in tests, for which `test_actions` or `test_epsilon` say it.

    At the start of training, action values have `epsilon_start`, and policies draw every action.
    """
    if settings.action_rule == "sampled":
        return ACTION_RULES[settings.test_actions if in_test else "sampled"](forward, state_shapes=layout.state_shapes)
    greedy = Greedy(forward, state_shapes=layout.state_shapes)
    epsilon = settings.test_epsilon if in_test else settings.epsilon_start
    return EpsilonGreedy(greedy, epsilon=epsilon, num_actions=layout.num_actions)


class Player(RolloutBuffer):
    """Plays some of a run's environments, by their numbers in the run, rollout after rollout.

    Every draw has an address: the episodes' seeds depend on the number of the environment in the run, the actions on
    rollout, step and the number of the player's first environment.
    """

    def __init__(
        self, task: LearnerTask, forward: Forward, environments: range, *, kind: type[Rollout] = Rollout
    ) -> None:
        settings = task.settings
        super().__init__(task.layout, length=settings.unroll_length, num_envs=len(environments), kind=kind)
        self._settings: ImpalaSettings = settings
        self._entropy, self._first = task.entropy, environments.start
        self._environments = task.make_environments(
            len(environments), lambda environment, episode: task.seed_of(self._first + environment, episode)
        )
        self._policy = make_policy(settings, task.layout, forward)
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
