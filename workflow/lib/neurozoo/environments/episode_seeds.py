"""Seeds of episodes. Training, validation and tests can have ranges of their own, where a seed makes the worlds."""

import numpy as np

from neurozoo.environments.protocols import Protocol
from neurozoo.randomness import MAX_SEED, Purpose

# Seeds from the first to below the second number, under protocols whose seeds are split.
RANGES = {
    "training": (0, 2**30),
    "validation": (2**30, 2**30 + 2**29),
    "test": (2**30 + 2**29, MAX_SEED),
}
_PARTS = {
    Purpose.VALIDATION_EPISODE: "validation",
    Purpose.AGENT_EPISODE: "validation",  # novelty search chooses the result by these
    Purpose.TEST_EPISODE: "test",
    Purpose.INITIAL_EPISODE: "test",
    Purpose.EVALUATION: "test",
    Purpose.ROLLOUT: "test",
}


def is_for_test(seed: int) -> bool:
    """Returns whether a seed is one of tests, under protocols whose seeds are split."""
    return seed >= RANGES["test"][0]


def draw_seed(random: np.random.Generator, purpose: Purpose, protocol: Protocol) -> int:
    """Draws the seed of an episode, with one random number: any, or of its purpose's own range if these are split."""
    if protocol.seeds == "split":
        return int(random.integers(*RANGES[_PARTS.get(purpose, "training")]))
    return int(random.integers(MAX_SEED))
