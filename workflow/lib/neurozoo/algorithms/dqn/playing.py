"""How a learner plays: epsilon-greedy actions, and tests in environments of their own."""

import time
from collections.abc import Callable

import numpy as np

from neurozoo.agents.policies import EpsilonGreedy, Greedy, NetworkOutputs, PolicyInputs, State
from neurozoo.algorithms.dqn.phases import PhaseStatistics
from neurozoo.algorithms.dqn.settings import DqnSettings
from neurozoo.environments.episode_seeds import draw_seed
from neurozoo.environments.protocols import Protocol
from neurozoo.environments.vector import SeedOf, VectorEnvironment
from neurozoo.randomness import Entropy, Purpose, generator

TEST_ENVIRONMENTS = 8  # at once, at most

ValuesOf = Callable[[np.ndarray], np.ndarray]  # from states, uint8, to action values, (batch, actions)


def epsilon_greedy(values_of: ValuesOf, *, epsilon: float, num_actions: int) -> EpsilonGreedy:
    """Returns the policy of deep Q-learning. It asks for no values when all actions of a step are random."""

    def forward(inputs: PolicyInputs, state: State) -> tuple[NetworkOutputs, State]:
        return NetworkOutputs(values_of(inputs.observation)), state

    return EpsilonGreedy(Greedy(forward), epsilon=epsilon, num_actions=num_actions, is_lazy=True)


def play_test(
    values_of: ValuesOf,
    make_environments: Callable[[int, SeedOf], VectorEnvironment],
    *,
    settings: DqnSettings,
    protocol: Protocol,
    address: tuple[Entropy, int],
    num_actions: int,
    beat: Callable[[int, int], None],
) -> PhaseStatistics:
    """Plays whole episodes, or a number of steps, in environments of their own.

    Args:
        values_of: Returns action values.
        make_environments: Makes environments from their number and the seeds of their episodes.
        settings: `test_steps` and `finishes_test`, or else `num_test_episodes`; `test_epsilon`, `test_cutoff` and
            `noop_steps`.
        protocol: How episodes are played.
        address: The run's entropy, and the epoch; all random numbers depend on them.
        num_actions: Number of actions.
        beat: Called after every round with its steps and how much is done: steps of `test_steps`, else episodes; may
            raise to stop.
    """
    s, (entropy, epoch) = settings, address
    count = 1 if s.test_steps is not None else min(s.num_test_episodes, TEST_ENVIRONMENTS)

    def seed_of(environment: int, episode: int) -> int:
        number = episode * count + environment
        return draw_seed(generator(entropy, Purpose.TEST_EPISODE, epoch, number), Purpose.TEST_EPISODE, protocol)

    def wait(environments: np.ndarray) -> None:
        if s.noop_steps:
            least, most = s.noop_steps
            draws = generator(entropy, Purpose.WAIT, epoch, rounds, 0)
            waits[environments] = draws.integers(least, most + 1, len(environments))

    def goes_on() -> bool:
        if s.test_steps is None:
            return bool(is_open.any())
        return phase.steps < s.test_steps or (s.finishes_test and lengths[0] > 0)

    phase, started = PhaseStatistics(epsilon=s.test_epsilon), time.perf_counter()
    environments = make_environments(count, seed_of)
    returns, is_open = np.zeros(count), np.ones(count, bool)
    waits, lengths = np.zeros(count, np.int64), np.zeros(count, np.int64)
    policy = epsilon_greedy(values_of, epsilon=s.test_epsilon, num_actions=num_actions)
    rounds = 0
    wait(np.arange(count))
    try:
        while goes_on():
            draws = generator(entropy, Purpose.TEST_EXPLORATION, epoch, rounds)
            actions = policy.step(PolicyInputs.without_history(environments.stacks), (), draws).action
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
            phase.games += returns[ended & is_open].tolist()
            if ended.any():
                returns[ended], lengths[ended] = 0.0, 0
                environments.start_episodes(ended)
                if s.test_steps is None:
                    is_open &= ~ended | (environments.episodes * count + np.arange(count) < s.num_test_episodes)
                wait(np.flatnonzero(ended))
            beat(int(np.sum(counts)), len(phase.games) if s.test_steps is None else phase.steps)
    finally:
        environments.close()
    phase.unfinished = float(returns.max())
    phase.seconds = time.perf_counter() - started
    return phase
