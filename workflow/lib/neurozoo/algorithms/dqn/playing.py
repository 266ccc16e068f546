"""How a learner plays: mostly the best action, and whole tests in worlds of their own."""

import time
from collections.abc import Callable

import numpy as np

from neurozoo.algorithms.dqn.phases import PhaseStatistics
from neurozoo.algorithms.dqn.settings import DqnSettings
from neurozoo.algorithms.randomness import MAX_SEED, Purpose, generator
from neurozoo.environments.vector_worlds import VectorWorlds
from neurozoo.games import Protocol

TEST_WORLDS = 8  # that play at once, at most

ValuesOf = Callable[[np.ndarray], np.ndarray]  # of states, uint8: their action values, (batch, actions)


def choose_actions(
    values_of: ValuesOf, stacks: np.ndarray, epsilon: float, random: np.random.Generator, num_actions: int
) -> np.ndarray:
    """Returns each world's action: with chance epsilon a random one, else the best, the first of equals.

    Args:
        values_of: Gives action values.
        stacks: uint8, shape (worlds, 4, height, width).
        epsilon: Chance of a random action.
        random: Draws.
        num_actions: To choose from.
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
    """Plays whole episodes, or a number of steps, in worlds of their own.

    Args:
        values_of: Gives action values.
        settings: `test_steps` or else `num_test_episodes`, and how they are played.
        game: Game id.
        protocol: How episodes are played.
        threads: What the worlds may use.
        address: The run's seeds and the epoch, on which all draws depend.
        num_actions: To choose from.
        beat: Called after every round; may raise to stop.
    """
    s, (entropy, epoch) = settings, address
    count = 1 if s.test_steps is not None else min(s.num_test_episodes, TEST_WORLDS)

    def seed_of(world: int, episode: int) -> int:
        number = episode * count + world
        return int(generator(entropy, Purpose.TEST_EPISODE, epoch, number).integers(MAX_SEED))

    def wait(worlds: np.ndarray) -> None:
        if s.noop_steps:
            least, most = s.noop_steps
            draws = generator(entropy, Purpose.WAIT, epoch, rounds, 0)
            waits[worlds] = draws.integers(least, most + 1, len(worlds))

    phase, started = PhaseStatistics(), time.perf_counter()
    worlds = VectorWorlds(game, protocol, count=count, threads=threads, seed_of=seed_of)
    returns, is_open = np.zeros(count), np.ones(count, bool)
    waits, lengths = np.zeros(count, np.int64), np.zeros(count, np.int64)
    rounds = 0
    wait(np.arange(count))
    while is_open.any() if s.test_steps is None else phase.steps < s.test_steps:
        draws = generator(entropy, Purpose.TEST_EXPLORATION, epoch, rounds)
        actions = choose_actions(values_of, worlds.stacks, s.test_epsilon, draws, num_actions)
        actions[waits > 0] = 0
        worlds.send(actions)
        step = worlds.receive()
        rounds += 1
        counts = is_open & (waits == 0)
        phase.steps += int(np.sum(counts))
        lengths += counts
        returns += np.where(counts, step.rewards, 0.0)
        waits = np.maximum(waits - 1, 0)
        ended = step.is_over | step.is_cut
        if s.test_cutoff is not None:
            ended |= lengths >= s.test_cutoff
        for world in np.flatnonzero(ended & is_open):
            phase.add_game(float(returns[world]))
        if ended.any():
            returns[ended], lengths[ended] = 0.0, 0
            worlds.start_episodes(ended)
            if s.test_steps is None:
                is_open &= ~ended | (worlds.episodes * count + np.arange(count) < s.num_test_episodes)
            wait(np.flatnonzero(ended))
        beat()
    worlds.close()
    phase.unfinished = float(returns.max())
    phase.epsilon = s.test_epsilon
    phase.seconds = time.perf_counter() - started
    return phase
