"""How a learner plays: epsilon-greedy actions, and tests in environments of their own."""

import time
from collections.abc import Callable

import numpy as np

from neurozoo.algorithms.dqn.phases import PhaseStatistics
from neurozoo.algorithms.dqn.settings import DqnSettings
from neurozoo.environments.protocols import Protocol
from neurozoo.environments.vector import AtariVectorEnvironment
from neurozoo.randomness import MAX_SEED, Purpose, generator

TEST_ENVIRONMENTS = 8  # at once, at most

ValuesOf = Callable[[np.ndarray], np.ndarray]  # from states, uint8, to action values, (batch, actions)


def choose_actions(
    values_of: ValuesOf, stacks: np.ndarray, epsilon: float, random: np.random.Generator, num_actions: int
) -> np.ndarray:
    """Returns an epsilon-greedy action for each environment; of equally good actions, the first.

    Args:
        values_of: Returns action values.
        stacks: uint8, shape (num_envs, 4, height, width).
        epsilon: Probability of a random action.
        random: Generator of random numbers.
        num_actions: Number of actions.
    """
    is_random = random.random(len(stacks)) < epsilon
    actions = random.integers(num_actions, size=len(stacks))
    if not is_random.all():
        best = values_of(stacks).argmax(axis=-1)
        actions = np.where(is_random, actions, best)
    return actions


def play_test(
    values_of: ValuesOf,
    *,
    settings: DqnSettings,
    game: str,
    protocol: Protocol,
    threads: int,
    address: tuple[tuple[int, ...], int],
    num_actions: int,
    beat: Callable[[], None],
) -> PhaseStatistics:
    """Plays whole episodes, or a number of steps, in environments of their own.

    Args:
        values_of: Returns action values.
        settings: `test_steps`, or else `num_test_episodes`; `test_epsilon`, `test_cutoff` and `noop_steps`.
        game: Game id.
        protocol: How episodes are played.
        threads: Threads of the emulators.
        address: The run's seed and number, and the epoch; all random numbers depend on them.
        num_actions: Number of actions.
        beat: Called after every round; may raise to stop.
    """
    s, (entropy, epoch) = settings, address
    count = 1 if s.test_steps is not None else min(s.num_test_episodes, TEST_ENVIRONMENTS)

    def seed_of(environment: int, episode: int) -> int:
        number = episode * count + environment
        return int(generator(entropy, Purpose.TEST_EPISODE, epoch, number).integers(MAX_SEED))

    def wait(environments: np.ndarray) -> None:
        if s.noop_steps:
            least, most = s.noop_steps
            draws = generator(entropy, Purpose.WAIT, epoch, rounds, 0)
            waits[environments] = draws.integers(least, most + 1, len(environments))

    phase, started = PhaseStatistics(), time.perf_counter()
    environments = AtariVectorEnvironment(game, protocol, count=count, threads=threads, seed_of=seed_of)
    returns, is_open = np.zeros(count), np.ones(count, bool)
    waits, lengths = np.zeros(count, np.int64), np.zeros(count, np.int64)
    rounds = 0
    wait(np.arange(count))
    while is_open.any() if s.test_steps is None else phase.steps < s.test_steps:
        draws = generator(entropy, Purpose.TEST_EXPLORATION, epoch, rounds)
        actions = choose_actions(values_of, environments.stacks, s.test_epsilon, draws, num_actions)
        actions[waits > 0] = 0
        environments.send(actions)
        step = environments.receive()
        rounds += 1
        counts = is_open & (waits == 0)
        phase.steps += int(np.sum(counts))
        lengths += counts
        returns += np.where(counts, step.rewards, 0.0)
        waits = np.maximum(waits - 1, 0)
        ended = step.is_over | step.is_cut
        if s.test_cutoff is not None:
            ended |= lengths >= s.test_cutoff
        for environment in np.flatnonzero(ended & is_open):
            phase.add_game(float(returns[environment]))
        if ended.any():
            returns[ended], lengths[ended] = 0.0, 0
            environments.start_episodes(ended)
            if s.test_steps is None:
                is_open &= ~ended | (environments.episodes * count + np.arange(count) < s.num_test_episodes)
            wait(np.flatnonzero(ended))
        beat()
    environments.close()
    phase.unfinished = float(returns.max())
    phase.epsilon = s.test_epsilon
    phase.seconds = time.perf_counter() - started
    return phase
