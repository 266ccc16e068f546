import numpy as np
from neurozoo.algorithms.neuroevolution.search_distribution import centered_ranks


def test_centered_ranks_are_those_of_the_specification():
    # Section 1.6: [[1, 2], [3, 0]] gives [[-1/6, 1/6], [1/2, -1/2]]
    ranks = centered_ranks(np.array([[1, 2], [3, 0]]).ravel())
    assert ranks.dtype == np.float32
    np.testing.assert_allclose(ranks, [-1 / 6, 1 / 6, 1 / 2, -1 / 2], rtol=0, atol=1e-7)  # thirds in float32


def test_centered_ranks_give_the_earlier_of_two_equals_the_lower_rank():
    assert centered_ranks(np.array([5.0, 5.0, 1.0, 5.0, 1.0])).tolist() == [0.0, 0.25, -0.5, 0.5, -0.25]


def test_average_ranks_give_equals_the_mean_of_their_ranks():
    # Of 5 scores: two lowest have ranks 0 and 1, three highest 2, 3 and 4; divided by 4, minus a half.
    ranks = centered_ranks(np.array([5.0, 5.0, 1.0, 5.0, 1.0]), ties="average")
    assert ranks.tolist() == [0.25, 0.25, -0.375, 0.25, -0.375]
    assert ranks.dtype == np.float32


def test_average_ranks_of_all_equals_are_zero_and_of_different_scores_are_those_in_order():
    assert centered_ranks(np.full(1000, 7.0), ties="average").tolist() == [0.0] * 1000
    scores = np.random.default_rng(0).permutation(101).astype(float)
    np.testing.assert_array_equal(centered_ranks(scores, ties="average"), centered_ranks(scores))
