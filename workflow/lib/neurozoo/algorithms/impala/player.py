"""A player: environments, the policy that acts in them, and the rollout that they fill."""

from collections.abc import Mapping

import numpy as np

from neurozoo.agents.policies import EpsilonGreedy, Forward
from neurozoo.algorithms.impala.actor import Actor, Game
from neurozoo.algorithms.impala.playing import MakeEnvironments, make_policy
from neurozoo.algorithms.impala.rollouts import Rollout
from neurozoo.algorithms.impala.settings import ImpalaSettings
from neurozoo.algorithms.impala.team import Team
from neurozoo.environments.episode_seeds import draw_seed
from neurozoo.environments.protocols import Protocol
from neurozoo.networks.keras_networks import KerasLayout
from neurozoo.randomness import Entropy, Purpose, generator


def make_rollout(layout: KerasLayout, *, length: int, num_envs: int) -> Rollout:
    """Returns an empty rollout for a network."""
    return Rollout(
        length=length,
        num_envs=num_envs,
        observation_shape=layout.observation_shape,
        num_actions=layout.num_actions,
        state_shapes=layout.state_shapes,
    )


class Player:
    """Plays some of a run's environments, rollout after rollout.

    Every draw has an address: the episodes' seeds depend on the number of the environment in the run, the actions on
    rollout, step and the number of the player's first environment.

    Args:
        settings: The settings.
        entropy: What all random numbers depend on, see `run_entropy`.
        layout: The network.
        protocol: How episodes are played.
        forward: The network that acts.
        make_environments: Makes environments from their number and the seeds of their episodes.
        environments: Numbers of its environments in the whole run.

    Attributes:
        rollouts: Finished rollouts.
        step: Steps played of the current rollout.
        rollout: The current rollout.
        actor: What acts.
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
    ) -> None:
        self.rollouts = self.step = 0
        self._settings = settings
        self._entropy = entropy
        self._protocol = protocol
        self._first = environments.start
        self._environments = make_environments(len(environments), self._seed_of)
        self._policy = make_policy(settings, layout, forward)
        self.actor = Actor(
            self._environments,
            self._policy,
            ends_with_lives=settings.life_loss == "terminal",
            reward_clipping=settings.reward_clipping,
            reward_scale=settings.reward_scale,
        )
        self.rollout, self._other = (
            make_rollout(layout, length=settings.unroll_length, num_envs=len(environments)) for _ in range(2)
        )
        self.actor.begin(self.rollout)

    @property
    def is_rollout_over(self) -> bool:
        """Whether the current rollout has been played to its end."""
        return self.step == self._settings.unroll_length

    def play_step(self) -> list[Game]:
        """Makes a decision in each environment; returns the games that have ended."""
        address = (self.rollouts, self.step, *([self._first] if self._first else []))
        draws = generator(self._entropy, Purpose.EXPLORATION, *address)
        if isinstance(self._policy, EpsilonGreedy):
            self._policy.epsilon = self._settings.epsilon(self._steps_of_run())
        games = self.actor.play(self.rollout, self.step, draws)
        self.step += 1
        if self.is_rollout_over and self._settings.has_minibatches:
            self.actor.look_ahead(self.rollout)
        return games

    def _steps_of_run(self) -> int:
        """Returns the steps of all environments of the run so far."""
        s = self._settings
        return (self.rollouts * s.unroll_length + self.step) * Team(s.learners, s.actors, s.num_envs).all_environments

    def play_rollout(self) -> list[Game]:
        """Plays the current rollout to its end; returns the games that have ended."""
        games = []
        while not self.is_rollout_over:
            games += self.play_step()
        return games

    def next_rollout(self, version: int) -> Rollout:
        """Begins the next rollout, and returns the one before, which keeps its content until the next call.

        Args:
            version: Number of rollouts that the policy has learned from by now.
        """
        self.rollout, self._other = self._other, self.rollout
        self.rollout.begin_after(self._other)
        self.rollout.version = version
        self.rollouts += 1
        self.step = 0
        return self._other

    def close(self) -> None:
        """Ends the threads of the environments."""
        self._environments.close()

    def _seed_of(self, environment: int, episode: int) -> int:
        number = self._first + environment
        draws = generator(self._entropy, Purpose.WORLD_EPISODE, number, episode)
        return draw_seed(draws, Purpose.WORLD_EPISODE, self._protocol)

    # ---- state

    def get_state(self) -> dict:
        """Returns what continuing depends on, except what `get_arrays` returns, as plain JSON."""
        return {
            "rollouts": self.rollouts,
            "step": self.step,
            "version": self.rollout.version,
            "actor": self.actor.get_state(),
            "environments": self._environments.get_state(),
        }

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state."""
        parts = {
            "actor": self.actor.get_arrays(),
            "environments": self._environments.get_arrays(),
            "rollout": self.rollout.get_arrays(self.step),
        }
        return {f"{part}-{name}": array for part, own in parts.items() for name, array in own.items()}

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned.

        Raises:
            LookupError, TypeError, ValueError: They are those of other environments.
        """
        self.rollouts, self.step = int(state["rollouts"]), int(state["step"])
        self._environments.set_state(state["environments"], named("environments", arrays))
        self.actor.set_state(state["actor"], named("actor", arrays))
        self.rollout.set_arrays(self.step, named("rollout", arrays))
        self.rollout.version = int(state["version"])


def named(part: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the arrays of a part by their own names."""
    return {name.removeprefix(f"{part}-"): each for name, each in arrays.items() if name.startswith(f"{part}-")}
