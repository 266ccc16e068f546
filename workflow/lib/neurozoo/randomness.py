"""Random generators by address (purpose, generation, episode), the same for any number of threads or restarts."""

import hashlib
from enum import IntEnum

import numpy as np

MAX_SEED = 2**31  # seeds of the emulator are below this


class Purpose(IntEnum):
    """What random numbers are for. Every published result depends on these values: never change or reuse one."""

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
    ACTION_NOISE = 20
    OBSERVATION_STATISTICS = 21
    EMITTER = 22
    CANDIDATE = 23
    LEVEL_EPISODE = 24
    LEVEL_EPISODE_AGAIN = 25


Entropy = tuple[int, ...]


def run_entropy(*, seed: int, run: int, algo: str, game: str, model: str) -> Entropy:
    """Returns what the random numbers of a run depend on, besides their address.

    Runs of two algorithms, games or networks are independent, as statistics over runs assume.
    """
    digest = hashlib.sha256(f"{algo}/{game}/{model}".encode()).digest()
    return (seed, run, int.from_bytes(digest[:16], "little"))


def generator(entropy: Entropy, purpose: Purpose, *address: int) -> np.random.Generator:
    """Returns the random generator of one address. The same address always gives the same numbers.

    The address has generation, individual, episode, as far as they apply; the entropy is that of `run_entropy`.
    """
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(int(purpose), *address)))
