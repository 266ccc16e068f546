"""Counted randomness: every draw has an address, so that threads, workers and restarts change nothing."""

from enum import IntEnum

import numpy as np

MAX_SEED = 2**31  # of the emulator's random numbers


class Purpose(IntEnum):
    """What a draw is for. Numbers are part of every published result: never reuse or change one."""

    OFFSPRING = 0
    POPULATION_EPISODE = 1
    VALIDATION_EPISODE = 2
    TEST_EPISODE = 3
    ROLLOUT = 4
    EVALUATION = 5
    INITIAL_WEIGHTS = 6
    INITIAL_EPISODE = 7
    AGENT_EPISODE = 8
    AGENT_CHOICE = 9
    ARCHIVE_CHOICE = 10
    REFERENCE = 11
    WORLD_EPISODE = 12
    EXPLORATION = 13
    MINIBATCH = 14
    TEST_EXPLORATION = 15
    WAIT = 16


def generator(entropy: tuple[int, ...], purpose: Purpose, *address: int) -> np.random.Generator:
    """Returns the random generator of one draw.

    Args:
        entropy: The run: its seed and its number.
        purpose: What is drawn.
        address: Generation, individual, episode, as far as they apply.
    """
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(int(purpose), *address)))
