"""The op's networks compute what the textbook says, within what float32 can hold."""

import numpy as np
import pytest
from neurozoo.evaluation import Episode
from neurozoo.genomes import Genome, Mutation, decode
from neurozoo.networks import NETWORKS, get_network

GENOME = Genome(148462608, (Mutation(219531121, 0.02), Mutation(172882699, 0.02)))
STEPS = 12
# The longest sum, into a dense unit, has 7,744 products. Rounding to 24 bits after each of them errs by about
# sqrt(7,744) * 2^-24 = 5e-6 of its terms, which are smaller than the largest output; the recurrent network's 20 cycles
# add to it.
TOLERANCE = {"small": 2e-6, "large": 2e-6, "recurrent_large": 3e-6}  # of the largest output


def observations(planes):
    padded = np.concatenate([np.zeros((3, 84, 84), np.float32), planes])
    return np.stack([padded[i : i + len(planes)] for i in range(4)], axis=-1)


def convolved(image, weights, stride):
    """TensorFlow's SAME, written out: pixel by pixel of the kernel, the odd zero row at the end."""
    height, width, _ = image.shape
    kernel = weights.shape[0]
    out_height, out_width = -(-height // stride), -(-width // stride)
    pad_y = max((out_height - 1) * stride + kernel - height, 0)
    pad_x = max((out_width - 1) * stride + kernel - width, 0)
    padded = np.pad(image, [(pad_y // 2, pad_y - pad_y // 2), (pad_x // 2, pad_x - pad_x // 2), (0, 0)])
    out = np.zeros((out_height, out_width, weights.shape[3]))
    for y in range(kernel):
        for x in range(kernel):
            patch = padded[
                y : y + (out_height - 1) * stride + 1 : stride, x : x + (out_width - 1) * stride + 1 : stride
            ]
            out += patch @ weights[y, x]
    return out


def outputs_of_the_textbook(theta, layout, observation):
    arrays = {name: array.astype(float) for name, array in layout.split(theta).items()}
    value = observation.astype(float)
    for placed in layout.layers:
        weights = arrays[f"{placed.layer.name}/w"]
        if placed.layer.kind == "conv":
            value = convolved(value, weights, placed.layer.stride) + arrays[f"{placed.layer.name}/b"]
        elif placed.layer.kind == "recurrent_conv":
            for _ in range(placed.layer.cycles):
                value = convolved(value, weights, 1) + value
        else:
            value = value.ravel() @ weights + arrays[f"{placed.layer.name}/b"]
        if placed.layer.activation == "relu":
            value = np.maximum(value, 0)
    return value


@pytest.fixture(scope="module", params=NETWORKS)
def played(request, evaluators, noise):
    """(model, layout, theta, trace) of a few steps of a game with 18 actions."""
    evaluator = evaluators(model=request.param)
    evaluator.hold([GENOME])
    trace = evaluator.trace(Episode(GENOME, 3, 0, 4 * STEPS))
    layout = get_network(request.param).layout(18)
    return request.param, layout, decode(GENOME, noise=noise, layout=layout), trace


def test_outputs_equal_those_of_the_textbook_in_double_precision(played):
    model, layout, theta, trace = played
    assert trace.logits.shape == (STEPS, 18)
    expected = np.array([outputs_of_the_textbook(theta, layout, image) for image in observations(trace.planes)])
    error = np.abs(trace.logits - expected).max() / np.abs(expected).max()
    assert error < TOLERANCE[model]


def test_outputs_equal_those_of_the_keras_model(played):
    model, layout, theta, trace = played
    expected = np.array(layout.keras_model(theta)(observations(trace.planes), training=False))
    error = np.abs(trace.logits - expected).max() / np.abs(expected).max()
    assert error < 2 * TOLERANCE[model]  # both err


def test_the_largest_output_decides_and_of_equals_the_first(played):
    trace = played[3]
    np.testing.assert_array_equal(trace.actions, trace.logits.argmax(axis=1))


def test_equal_outputs_choose_the_first_action(evaluators, noise):
    # Index of initial weights whose every output is the same is not to be found in the table; but a power of 0 keeps
    # the initial weights, and the game goes on alike.
    evaluator = evaluators()
    genomes = [Genome(5), Genome(5, (Mutation(99, 0.0),))]
    evaluator.hold(genomes)
    first, second = (evaluator.trace(Episode(genome, 3, 0, 200)) for genome in genomes)
    np.testing.assert_array_equal(first.logits, second.logits)
