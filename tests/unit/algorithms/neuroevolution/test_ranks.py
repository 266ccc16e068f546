import numpy as np
import pytest
from neurozoo.algorithms.neuroevolution.ranks import centered_ranks


def test_centered_ranks_are_those_of_the_specification():
    # Section 1.6: [[1, 2], [3, 0]] gives [[-1/6, 1/6], [1/2, -1/2]]
    ranks = centered_ranks(np.array([[1, 2], [3, 0]]).ravel())
    assert ranks.dtype == np.float32
    np.testing.assert_allclose(ranks, [-1 / 6, 1 / 6, 1 / 2, -1 / 2], rtol=0, atol=1e-7)  # thirds in float32


def test_centered_ranks_give_the_earlier_of_two_equals_the_lower_rank():
    assert centered_ranks(np.array([5.0, 5.0, 1.0, 5.0, 1.0])).tolist() == [0.0, 0.25, -0.5, 0.5, -0.25]


def test_centered_ranks_of_many_equals_stay_in_order():
    np.testing.assert_array_equal(np.diff(centered_ranks(np.zeros(1001))) > 0, True)


@pytest.mark.parametrize("fitness", [[1.0], [], [[1.0, 2.0]], [1.0, float("nan")]])
def test_what_has_no_ranks_is_refused(fitness):
    with pytest.raises(ValueError, match="Ranks need at least two numbers"):
        centered_ranks(np.array(fitness))
