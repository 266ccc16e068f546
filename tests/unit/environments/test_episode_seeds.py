import itertools

import numpy as np
import pytest
from neurozoo.algorithms.neuroevolution.base import draw_episode
from neurozoo.environments.episode_seeds import RANGES, draw_seed
from neurozoo.environments.protocols import get_protocol
from neurozoo.genomes.genome import Genome
from neurozoo.randomness import MAX_SEED, Purpose
from neurozoo.rollouts.player import episode_starts

SPLIT, SHARED = get_protocol("river_split"), get_protocol("river_fixed")


def test_the_ranges_cover_all_seeds_and_share_none():
    ordered = sorted(RANGES.values())
    assert ordered[0][0] == 0
    assert ordered[-1][1] == MAX_SEED
    assert all(end == start for (_, end), (start, _) in itertools.pairwise(ordered))


@pytest.mark.parametrize(
    ("purpose", "part"),
    [
        (Purpose.POPULATION_EPISODE, "training"),
        (Purpose.WORLD_EPISODE, "training"),
        (Purpose.REFERENCE, "training"),
        (Purpose.VALIDATION_EPISODE, "validation"),
        (Purpose.AGENT_EPISODE, "validation"),
        (Purpose.TEST_EPISODE, "test"),
        (Purpose.INITIAL_EPISODE, "test"),
        (Purpose.EVALUATION, "test"),
        (Purpose.ROLLOUT, "test"),
    ],
)
def test_each_purpose_draws_from_its_own_range_only_if_the_protocol_splits_seeds(purpose, part):
    low, high = RANGES[part]
    # Of 100 seeds from all, at least a quarter lie outside of any range, but for a chance below (3/4)^100.
    split = [draw_seed(np.random.default_rng(n), purpose, SPLIT) for n in range(100)]
    shared = [draw_seed(np.random.default_rng(n), purpose, SHARED) for n in range(100)]
    assert all(low <= seed < high for seed in split)
    assert not all(low <= seed < high for seed in shared)
    assert shared == [int(np.random.default_rng(n).integers(MAX_SEED)) for n in range(100)]  # as ever


def test_runs_and_rollouts_take_their_seeds_from_there():
    for purpose, part in ((Purpose.POPULATION_EPISODE, "training"), (Purpose.TEST_EPISODE, "test")):
        low, high = RANGES[part]
        seeds = [draw_episode(Genome(0), purpose, 0, n, entropy=(0, 1), protocol=SPLIT).seed for n in range(60)]
        assert all(low <= seed < high for seed in seeds)
        assert len(set(seeds)) == 60
    found = episode_starts(SPLIT, seed=3)
    assert all(next(found)["seed"] >= RANGES["test"][0] for _ in range(60))
