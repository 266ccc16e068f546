"""How the network of an objective acts, and tests of it: whole games, in environments of their own."""

from collections.abc import Callable

import numpy as np

from neurozoo.agents.policies import ACTION_RULES, EpsilonGreedy, Forward, Greedy, Policy
from neurozoo.algorithms.impala.actor import Actor
from neurozoo.algorithms.impala.rollouts import Rollout
from neurozoo.algorithms.impala.settings import ImpalaSettings
from neurozoo.environments.episode_seeds import draw_seed
from neurozoo.environments.protocols import Protocol
from neurozoo.environments.vector import SeedOf, VectorEnvironment
from neurozoo.networks.keras_networks import KerasLayout
from neurozoo.randomness import Entropy, Purpose, generator

TEST_ENVIRONMENTS = 8  # at once, at most

# From a number of environments and the seeds of their episodes.
MakeEnvironments = Callable[[int, SeedOf], VectorEnvironment]


def make_policy(settings: ImpalaSettings, layout: KerasLayout, forward: Forward, *, in_test: bool = False) -> Policy:
    """Returns how a network acts.

    Args:
        settings: The settings, which name the objective.
        layout: The network.
        forward: The same, with weights.
        in_test: Whether the network is tested: then `test_actions` or `test_epsilon` say how it acts. At the start of
            training, action values have `epsilon_start`, and policies draw every action.
    """
    if settings.action_rule == "sampled":
        return ACTION_RULES[settings.test_actions if in_test else "sampled"](forward, state_shapes=layout.state_shapes)
    greedy = Greedy(forward, state_shapes=layout.state_shapes)
    epsilon = settings.test_epsilon if in_test else settings.epsilon_start
    return EpsilonGreedy(greedy, epsilon=epsilon, num_actions=layout.num_actions)


def play_test(
    policy: Policy,
    make_environments: MakeEnvironments,
    *,
    protocol: Protocol,
    games: int,
    cutoff: int | None,
    address: tuple[Entropy, int],
    num_actions: int,
    beat: Callable[[int, int], None],
) -> list[float]:
    """Plays whole games, and returns their scores in the order of their numbers.

    Args:
        policy: Chooses the actions.
        make_environments: Makes the environments.
        protocol: How episodes are played.
        games: Number of games.
        cutoff: Longest game in steps; None for the protocol's limit.
        address: The run's seed and number, and the epoch; all random numbers depend on them.
        num_actions: Number of actions.
        beat: Called after every step with the steps of games that count and the number of those that have finished; may
            raise to stop.
    """
    entropy, epoch = address
    count = min(games, TEST_ENVIRONMENTS)

    def seed_of(environment: int, episode: int) -> int:
        number = episode * count + environment
        return draw_seed(generator(entropy, Purpose.TEST_EPISODE, epoch, number), Purpose.TEST_EPISODE, protocol)

    environments = make_environments(count, seed_of)
    try:
        actor = Actor(environments, policy, ends_with_lives=False)
        height, width = environments.stacks.shape[2:]
        shape = (height, width, environments.stacks.shape[1])
        moment = Rollout(length=1, num_envs=count, observation_shape=shape, num_actions=num_actions)
        actor.begin(moment)
        scores: dict[int, float] = {}
        number = np.arange(count)  # of the game in each environment
        step = 0
        while (number < games).any():
            ended = actor.play(moment, 0, generator(entropy, Purpose.TEST_EXPLORATION, epoch, step), cutoff=cutoff)
            moment.begin_after(moment)
            step += 1
            steps = int((number < games).sum())
            for game in ended:
                if number[game.environment] < games:  # those whose share is done play on, but do not count
                    scores[int(number[game.environment])] = game.score
                number[game.environment] += count
            beat(steps, len(scores))
        return [scores[each] for each in range(games)]
    finally:
        environments.close()
