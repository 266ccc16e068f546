"""Players: environments, the policy that acts in them, and the rollout that they fill, here, elsewhere or on a GPU."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from neurozoo.agents.policies import ACTION_RULES, EpsilonGreedy, Forward, Greedy, Policy, State
from neurozoo.algorithms.impala.rollouts import Rollout, RolloutBuffer, clipped_rewards, prefixed, unprefixed
from neurozoo.algorithms.impala.settings import ImpalaSettings
from neurozoo.algorithms.learner import LearnerTask
from neurozoo.compute.mpi import Alone, Ranks
from neurozoo.networks.keras_networks import MEMORY, KerasLayout
from neurozoo.randomness import Purpose, generator


class Game(NamedTuple):
    """A whole game that has ended."""

    environment: int  # which played it
    score: float  # points, unclipped
    clipped_return: float  # sum of its rewards as the learner clips them
    steps: int  # decisions
    last_step: int  # number of its last step in the rollout


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
        self._memory: State = self._policy.initial_state(self.count)  # what the network remembers
        self._scores, self._clipped_returns = np.zeros(self.count), np.zeros(self.count)
        self._lengths = np.zeros(self.count, np.int64)
        self.rollout.see(0, self._environments.stacks)
        self.rollout.is_first[0] = True

    def play_step(self) -> list[Game]:
        """Makes a decision in each environment, writes it and the next inputs; returns the games that have ended."""
        s, rollout, step = self._settings, self.rollout, self.step
        address = (self.rollouts, step, *([self._first] if self._first else []))
        if isinstance(self._policy, EpsilonGreedy):
            steps = (self.rollouts * s.unroll_length + step) * s.num_envs * s.learners  # of the whole run
            self._policy.epsilon = s.epsilon(steps)
        if step == 0:
            rollout.state = self._memory
        rng = generator(self._entropy, Purpose.EXPLORATION, *address)
        actions, outputs, self._memory = self._policy.step(rollout.inputs(step), self._memory, rng)
        assert outputs is not None  # the network is always asked
        assert outputs.baseline is not None  # networks for IMPALA have one
        self._environments.send(actions)
        result = self._environments.receive()
        is_over = is_last = result.is_over | result.is_cut
        is_stopped = result.is_cut
        if s.life_loss == "terminal":
            is_last, is_stopped = is_over | result.is_life_lost, result.is_cut & ~result.is_life_lost
        rollout.actions[step], rollout.logits[step] = actions, outputs.preferences
        rollout.values[step] = outputs.baseline
        rollout.rewards[step], rollout.is_last[step] = result.rewards, is_last
        rollout.after_limit[step] = 0.0
        if self._environments.limits_only_stop and is_stopped.any():
            # As if the episode went on; below, the next one takes this place.
            rollout.see(step + 1, self._environments.stacks)
            rollout.previous_actions[step + 1], rollout.previous_rewards[step + 1] = actions, result.rewards
            rollout.is_first[step + 1] = False
            rollout.after_limit[step] = np.where(is_stopped, self._baseline_at(step + 1), 0.0)
        rollout.previous_actions[step + 1] = np.where(is_last, 0, actions)
        rollout.previous_rewards[step + 1] = np.where(is_last, 0, result.rewards)
        rollout.is_first[step + 1] = is_last
        games = self._count(result.rewards, is_over)
        if games:
            self._environments.start_episodes(is_over)
        rollout.see(step + 1, self._environments.stacks)
        self.step += 1
        if self.is_rollout_over and s.has_minibatches:
            rollout.bootstrap[:] = self._baseline_at(self.step)
        return games

    def _baseline_at(self, step: int) -> np.ndarray:
        """Asks about a step that will be played, or not; the memory stays as it is."""
        baseline = self._policy.ask(self.rollout.inputs(step), self._memory)[0].baseline
        assert baseline is not None  # networks for IMPALA have one
        return baseline

    def _count(self, rewards: np.ndarray, is_over: np.ndarray) -> list[Game]:
        s = self._settings
        self._scores += rewards
        self._clipped_returns += clipped_rewards(rewards, s.reward_clipping, np, scale=s.reward_scale)
        self._lengths += 1
        ended = np.flatnonzero(is_over)
        columns = (self._scores[ended].tolist(), self._clipped_returns[ended].tolist(), self._lengths[ended].tolist())
        games = [Game(*game, self.step) for game in zip(ended.tolist(), *columns, strict=True)]
        self._scores[ended] = self._clipped_returns[ended] = self._lengths[ended] = 0
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
        games = {"scores": self._scores, "clipped_returns": self._clipped_returns, "lengths": self._lengths}
        own = {name: array.tolist() for name, array in games.items()}
        return super().get_state() | {"actor": own, "environments": self._environments.get_state()}

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state."""
        own = prefixed("actor", dict(zip(MEMORY, self._memory, strict=False)))
        return super().get_arrays() | own | prefixed("environments", self._environments.get_arrays())

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned."""
        super().set_state(state, arrays)
        self._environments.set_state(state["environments"], unprefixed("environments", arrays))
        own = state["actor"]
        self._scores[:], self._clipped_returns[:] = own["scores"], own["clipped_returns"]
        self._lengths[:] = own["lengths"]
        self._memory = tuple(arrays[f"actor-{name}"] for name, _ in zip(MEMORY, self._memory, strict=False))


class Collector(RolloutBuffer):
    """Puts the unrolls of several ranks together. It has the interface of a `Player`; a step is a whole rollout.

    Args:
        actors: The ranks that act for this learner, in the order of their environments.
    """

    def __init__(
        self, settings: ImpalaSettings, *, layout: KerasLayout, ranks: Ranks | Alone, actors: Sequence[int]
    ) -> None:
        super().__init__(layout, length=settings.unroll_length, num_envs=settings.num_envs)
        self._ranks = ranks
        self._actors = list(actors)

    def play_step(self) -> list[Game]:
        """Waits for the unrolls of all actors; returns the games that have ended."""
        games: list[Game] = []
        first = 0
        for rank in self._actors:
            facts, arrays = self._ranks.receive(rank)
            count = arrays["actions"].shape[1]
            here = slice(first, first + count)
            for name in self.rollout.ARRAYS:
                getattr(self.rollout, name)[:, here] = arrays[name]
            self.rollout.bootstrap[here] = arrays["bootstrap"]
            for name, part in zip(MEMORY, self.rollout.state, strict=False):
                part[here] = arrays[f"begin_{name}"]
            games += [Game(first + environment, *others) for environment, *others in facts["games"]]
            first += count
        self.step = self._length
        return games

    def play_rollout(self) -> list[Game]:
        """The same, unless the rollout is already here."""
        return [] if self.is_rollout_over else self.play_step()

    def close(self) -> None:
        """Nothing has to end."""


@cache
def _channels_last() -> Callable[[np.ndarray], Any]:
    """Returns what sends planes, (num_envs, channels, height, width), to the device and turns them there."""
    import jax

    return jax.jit(lambda stacks: jax.numpy.moveaxis(stacks, 1, -1))


class DeviceRollout(Rollout):
    """A rollout on a GPU, for `engine: batched`: bytes go there once, and are learned from where they lie.

    Observations are arrays of JAX, one per step: uint8, (num_envs, height, width, channels).
    """

    def __init__(self, **shapes: Any) -> None:
        super().__init__(**shapes)
        self.observations = list(self.observations)

    def see(self, step: int, stacks: np.ndarray) -> None:
        """Sends what all environments show before a step to the device, in one copy."""
        self.observations[step] = _channels_last()(stacks)

    def get_arrays(self, step: int) -> dict[str, np.ndarray]:
        """Returns what is known before a step."""
        return super().get_arrays(step) | {"observations": np.stack(self.observations[: step + 1])}

    def set_arrays(self, step: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_arrays` returned."""
        import jax

        super().set_arrays(step, arrays)
        self.observations[: step + 1] = map(jax.device_put, arrays["observations"])


class SharedPlayer:
    """Players that share the environments of a run. It has the interface of a `Player`; a step is a whole rollout.

    They play side by side: while the environments of one step, the device computes the actions of another.
    """

    def __init__(self, players: Sequence[Player]) -> None:
        self._players = players
        self._threads = ThreadPoolExecutor(len(players))

    @property
    def rollouts(self) -> int:
        """Finished rollouts."""
        return self._players[0].rollouts

    @property
    def step(self) -> int:
        """Steps of the current rollout that are there."""
        return self._players[0].step

    @property
    def is_rollout_over(self) -> bool:
        """Whether the current rollout is complete."""
        return self._players[0].is_rollout_over

    def play_rollout(self) -> list[Game]:
        """Plays the current rollout to its end; returns the games that have ended."""
        return self.play_step()

    def play_step(self) -> list[Game]:
        """The same: a step is a whole rollout."""
        games: list[Game] = []
        first = 0
        for player, ended in zip(
            self._players, self._threads.map(lambda player: player.play_rollout(), self._players), strict=True
        ):
            games += [game._replace(environment=first + game.environment) for game in ended]
            first += player.count
        return games

    def next_rollout(self, version: int) -> Rollout:
        """Begins the next rollout, and returns the one before, with the environments of all players."""
        import jax

        parts = [player.next_rollout(version) for player in self._players]
        whole = copy(parts[0])
        for name in Rollout.ARRAYS[1:]:
            setattr(whole, name, np.concatenate([getattr(part, name) for part in parts], axis=1))
        stacked = [jax.numpy.stack(part.observations) for part in parts]
        whole.observations = jax.numpy.concatenate(stacked, axis=1)
        whole.bootstrap = np.concatenate([part.bootstrap for part in parts])
        whole.state = tuple(map(np.concatenate, zip(*(part.state for part in parts), strict=True)))
        return whole

    def close(self) -> None:
        """Ends the threads."""
        self._threads.shutdown()
        for player in self._players:
            player.close()

    def get_state(self) -> dict:
        """Returns what continuing depends on, except what `get_arrays` returns, as plain JSON."""
        shares = [player.get_state() for player in self._players]
        return {"rollouts": self.rollouts, "step": self.step, "shares": shares}

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state."""
        shares = [prefixed(f"share{number}", player.get_arrays()) for number, player in enumerate(self._players)]
        return {name: array for share in shares for name, array in share.items()}

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned."""
        for number, (player, own) in enumerate(zip(self._players, state["shares"], strict=True)):
            player.set_state(own, unprefixed(f"share{number}", arrays))
