"""Random play in environments that step together, and the comparison of two such plays."""

import numpy as np


def play(environment, steps, random):
    """Plays random actions; returns screens, lives and results of each step."""
    seen = []
    for _ in range(steps):
        environment.send(random.integers(environment.num_actions, size=environment.count))
        step = environment.receive()
        seen.append((environment.screens.copy(), environment.lives.copy(), *step))
        if (ended := step.is_over | step.is_cut).any():
            environment.start_episodes(ended)
    return seen


def assert_same(first, second):
    for one, other in zip(first, second, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
