import numpy as np
import pytest
from neurozoo.algorithms.neuroevolution.optimizers import make_optimizer


def steps(name, gradients, *, stepsize=0.1):
    optimizer = make_optimizer(name, stepsize=stepsize, size=len(gradients[0]))
    return [optimizer.step(np.array(gradient, np.float32)) for gradient in gradients]


def test_adams_first_steps_by_hand():
    first, second = steps("adam", [[1.0, -2.0], [0.0, 1.0]])
    assert first.dtype == np.float32
    # t = 1: m = 0.1 g, v = 0.001 g^2, factor 0.1 * sqrt(0.001) / 0.1: a step of stepsize against the sign.
    np.testing.assert_allclose(first, [-0.1, 0.1], rtol=1e-6)
    # t = 2: m = (0.09, -0.18 + 0.1), v = (0.000999, 0.003996 + 0.001),
    # factor 0.1 * sqrt(1 - 0.998001) / (1 - 0.81) = 0.023531; v's roots: 0.0316070, 0.0706824
    np.testing.assert_allclose(second, [-0.0670035, 0.0266332], rtol=1e-4)


def test_sgd_of_the_gpu_code_collects_whole_gradients():
    # v = 1, then 0.9 + 2 = 2.9, then 2.61
    np.testing.assert_allclose(np.ravel(steps("sgd", [[1.0], [2.0], [0.0]])), [-0.1, -0.29, -0.261], rtol=1e-6)


def test_sgd_of_the_distributed_code_averages_gradients():
    # v = 0.1, then 0.09 + 0.2 = 0.29, then 0.261
    np.testing.assert_allclose(np.ravel(steps("sgd_2017", [[1.0], [2.0], [0.0]])), [-0.01, -0.029, -0.0261], rtol=1e-6)


@pytest.mark.parametrize("name", ["adam", "sgd", "sgd_2017"])
def test_arrays_that_were_handed_out_stay_as_they_are(name):
    optimizer = make_optimizer(name, stepsize=0.1, size=2)
    optimizer.step(np.ones(2, np.float32))
    before = dict(optimizer.slots)
    copies = {slot: array.copy() for slot, array in before.items()}
    optimizer.step(np.ones(2, np.float32))
    assert optimizer.updates == 2
    for slot, array in before.items():
        np.testing.assert_array_equal(array, copies[slot])
        assert not np.array_equal(array, optimizer.slots[slot])
