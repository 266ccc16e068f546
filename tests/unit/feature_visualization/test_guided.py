import numpy as np
from neurozoo.environments.observations import ObservationShape
from neurozoo.feature_visualization.guided import draw_in_colours, guided_signals
from neurozoo.feature_visualization.layers import find_layer


def taps(size, kernel, stride):
    """(output, input, weight) indices of TensorFlow's SAME padding along one axis."""
    outputs = -(-size // stride)
    before = max((outputs - 1) * stride + kernel - size, 0) // 2
    return [
        (i, i * stride - before + k, k)
        for i in range(outputs)
        for k in range(kernel)
        if 0 <= i * stride - before + k < size
    ]


def convolve(values, weights, bias, stride):
    rows, columns = (taps(values.shape[axis], weights.shape[axis], stride) for axis in (0, 1))
    result = np.zeros((rows[-1][0] + 1, columns[-1][0] + 1, weights.shape[3])) + bias
    for i, y, k in rows:
        for j, x, m in columns:
            result[i, j] += values[y, x] @ weights[k, m]
    return result


def send_back(signal, weights, stride, shape):
    result = np.zeros(shape)
    for i, y, k in taps(shape[0], weights.shape[0], stride):
        for j, x, m in taps(shape[1], weights.shape[1], stride):
            result[y, x] += weights[k, m] @ signal[i, j]
    return result


def by_hand(observation, weights, channel):
    """The original's procedure, step by step."""
    hidden = np.maximum(convolve(observation, weights["conv1/w"], weights["conv1/b"], 2), 0)
    values = convolve(hidden, weights["conv2/w"], weights["conv2/b"], 1)
    position = np.unravel_index(values[..., channel].argmax(), values.shape[:2])
    signal = np.zeros_like(values)
    signal[(*position, channel)] = values[(*position, channel)]
    signal = send_back(np.maximum(signal, 0), weights["conv2/w"], 1, hidden.shape) * (hidden > 0)
    signal = send_back(np.maximum(signal, 0), weights["conv1/w"], 2, observation.shape) * (observation > 0)
    return position, signal


def test_signals_are_those_of_the_original_s_procedure(make_frozen, tiny, tiny_shape):
    frozen = make_frozen(tiny, tiny_shape)
    layer = find_layer(frozen, "conv2")
    random = np.random.default_rng(2)
    seen = random.random((4, *tiny_shape.observation), np.float32) * random.integers(0, 2, (4, *tiny_shape.observation))
    seen = seen.astype(np.float32)
    weights = {name: array.astype(np.float64) for name, array in frozen.weights.items()}
    places, expected = zip(*(by_hand(one, weights, i % 3) for i, one in enumerate(seen)), strict=True)
    signals = guided_signals(frozen, layer, seen, channels=[0, 1, 2, 0], positions=places)
    assert all(np.any(signal) for signal in expected)
    np.testing.assert_allclose(signals, np.stack(expected), rtol=1e-4, atol=1e-6)
    assert not signals[seen == 0].any()


def test_a_silent_filter_sends_nothing_back(make_frozen, tiny, tiny_shape):
    frozen = make_frozen(tiny, tiny_shape, change=lambda arrays: arrays["conv2/b"].fill(-100))
    seen = np.ones((1, *tiny_shape.observation), np.float32)
    assert not guided_signals(frozen, find_layer(frozen, "conv2"), seen, channels=[0], positions=[(1, 1)]).any()


def test_units_of_a_dense_layer_need_no_position(make_frozen, tiny, tiny_shape):
    frozen = make_frozen(tiny, tiny_shape, change=lambda arrays: arrays["out/b"].fill(100))
    seen = np.ones((20, *tiny_shape.observation), np.float32)
    signals = guided_signals(frozen, find_layer(frozen, "out"), seen, channels=[1] * 20, positions=[(0, 0)] * 20)
    assert signals.any()
    assert np.array_equal(signals[0], signals[19])


def test_still_objects_are_grey_and_the_newest_frame_is_blue():
    values = np.zeros((2, 2, 4), np.float32)
    values[0, 0] = 1
    values[0, 1, 3] = 1
    values[1, 0, 0] = 1  # the oldest frame is not shown
    picture = draw_in_colours(values, ObservationShape(2, 2, 1, 4))
    assert picture.tolist() == [[[255, 255, 255], [0, 0, 255]], [[0, 0, 0], [0, 0, 0]]]
