"""The tree against plain sums over all leaves."""

import numpy as np
import pytest
from neurozoo.algorithms.dqn.sum_tree import SumTree


@pytest.mark.parametrize("num_leaves", [1, 2, 31, 32, 33, 1_024, 1_025, 40_000])
def test_the_total_is_the_sum_after_changes_in_any_order(num_leaves):
    random = np.random.default_rng(num_leaves)
    tree, twin = SumTree(num_leaves), np.zeros(num_leaves)
    assert tree.total == 0
    for _ in range(20):
        for _ in range(random.integers(1, 4)):
            leaves = random.integers(num_leaves, size=random.integers(1, 50))
            priorities = random.random(len(leaves))
            tree.set(leaves, priorities)
            for leaf, priority in zip(leaves, priorities, strict=True):
                twin[leaf] = priority
        assert tree.total == pytest.approx(twin.sum(), rel=1e-12)
        np.testing.assert_array_equal(tree.leaves, twin)


@pytest.mark.parametrize("num_leaves", [1, 32, 33, 1_025])
def test_leaves_are_drawn_in_proportion_to_their_priorities(num_leaves):
    random = np.random.default_rng(0)
    priorities = (0.05 + random.random(num_leaves)) * (random.random(num_leaves) < 0.7)
    priorities[-1] = 0.5
    tree = SumTree(num_leaves)
    tree.fill(priorities)
    count = 200 * num_leaves
    counts = np.bincount(tree.draw(count, random), minlength=num_leaves)
    assert not counts[priorities == 0].any()
    expected = (priorities / priorities.sum() * count)[priorities > 0]
    chi_square = ((counts[priorities > 0] - expected) ** 2 / expected).sum()
    assert abs(chi_square - len(expected)) < 5 * np.sqrt(2 * len(expected))


def test_a_draw_depends_only_on_the_leaves_and_not_on_their_history():
    random = np.random.default_rng(0)
    tree = SumTree(5_000)
    for _ in range(2_500):  # so often that sums are brought up to date in between
        tree.set(random.integers(5_000, size=7), random.random(7) * 10.0 ** random.integers(-6, 6))
    other = SumTree(5_000)
    other.fill(tree.leaves)
    assert tree.total == other.total
    draws = (each.draw(1_000, np.random.default_rng(1)) for each in (tree, other))
    np.testing.assert_array_equal(*draws)


def test_an_empty_tree_still_draws_leaves_that_are_there():
    for num_leaves in (1, 33, 1_025):
        leaves = SumTree(num_leaves).draw(10, np.random.default_rng(0))
        assert ((leaves >= 0) & (leaves < num_leaves)).all()
