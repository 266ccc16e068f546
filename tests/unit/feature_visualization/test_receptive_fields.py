import numpy as np
import pytest
from neurozoo.environments.observations import ObservationShape
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.layers import find_layer, model_to
from neurozoo.feature_visualization.receptive_fields import _window, receptive_field
from neurozoo.networks.catalogue import get_network

ATARI, COLOURS, RIVER = ObservationShape(84, 84, 1, 4), ObservationShape(210, 160, 3), ObservationShape(20, 20, 3)


def let_all_through(arrays):
    """Positive weights without biases: every pixel in a unit's field changes it, and a black picture gives 0."""
    for name, array in arrays.items():
        array[:] = 1 / np.prod(array.shape[:-1]) if name.endswith("/w") else name.endswith(("iotas", "gates"))


def pixels_seen(frozen, layer, axis):
    """For each pixel along an axis: which units along the axis change if it lights up. bool, shape (pixels, units)."""
    height, width, channels = frozen.shape.observation
    pictures = np.zeros(((height, width)[axis], height, width, channels), np.float32)
    for i, picture in enumerate(pictures):
        picture[(i, slice(None)) if axis == 0 else (slice(None), i)] = 1
    model = model_to(frozen, layer)
    values = np.concatenate([np.asarray(model(pictures[i : i + 32])) for i in range(0, len(pictures), 32)])
    return (values != 0).any(axis=(2 - axis, 3))


@pytest.mark.parametrize(
    ("network", "shape", "layers"),
    [
        ("nature", ATARI, ("conv1", "conv2", "conv3")),
        ("small", COLOURS, ("conv1", "conv2")),
        ("river_test", RIVER, ("recu1",)),
        ("recurrent_large_iotas", ATARI, ("recu1", "conv2")),
    ],
)
def test_a_unit_changes_with_just_the_pixels_of_its_field(make_frozen, network, shape, layers):
    frozen = make_frozen(get_network(network), shape, change=let_all_through)
    for name in layers:
        layer = find_layer(frozen, name)
        field = receptive_field(frozen, layer)
        for axis in (0, 1):
            seen = pixels_seen(frozen, layer, axis)
            for unit in range(seen.shape[1]):
                first = field.start[axis] + unit * field.stride[axis]
                pixels = np.arange(len(seen))
                assert np.array_equal(seen[:, unit], (pixels >= first) & (pixels < first + field.size[axis]))


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("size", [20, 21])
def test_a_pooled_unit_changes_with_just_the_pixels_of_its_field(size, padding):
    keras = pytest.importorskip("keras")
    seen = keras.Input((size, size, 1))
    filtered = keras.layers.Conv2D(1, 3, padding=padding, kernel_initializer="ones")(seen)
    pooled = keras.layers.MaxPooling2D(3, strides=2, padding=padding)(filtered)
    first, last, stride = _window(pooled, 1, {})
    pictures = np.zeros((size, size, size, 1), np.float32)
    pictures[np.arange(size), np.arange(size)] = 1
    changes = (np.asarray(keras.Model(seen, pooled)(pictures))[..., 0] != 0).any(axis=2)  # pixels, units
    for unit in range(changes.shape[1]):
        pixels = np.arange(size)
        field = (pixels >= first + unit * stride) & (pixels <= last + unit * stride)
        assert np.array_equal(changes[:, unit], field)


def test_sizes_and_strides_are_the_published_ones(make_frozen):
    frozen = make_frozen(get_network("large"), ATARI)
    fields = [receptive_field(frozen, find_layer(frozen, name)) for name in ("conv1", "conv2", "conv3")]
    assert [(field.size[0], field.stride[0]) for field in fields] == [(8, 4), (20, 8), (36, 8)]


def test_without_padding_fields_begin_at_the_edge_and_end_in_the_picture(make_frozen):
    frozen = make_frozen(get_network("simple_dqn"), ATARI)
    fields = [receptive_field(frozen, find_layer(frozen, name)) for name in ("conv1", "conv2", "conv3")]
    assert [(field.size[0], field.stride[0], field.start[0]) for field in fields] == [(8, 4, 0), (20, 8, 0), (36, 8, 0)]
    assert fields[2].corner(6, 6) == (48, 48)  # 48 + 36 = 84


def test_a_dense_layer_and_twenty_cycles_see_everything(make_frozen):
    frozen = make_frozen(get_network("recurrent_large"), ATARI)
    assert receptive_field(frozen, find_layer(frozen, "fc")).size == (84, 84)
    recurrent = receptive_field(frozen, find_layer(frozen, "recu1"))
    assert recurrent.size == (168, 168)
    assert recurrent.covers((84, 84), (21, 21))
    assert not receptive_field(frozen, find_layer(frozen, "conv1")).covers((84, 84), (21, 21))


def test_an_unknown_layer_is_refused_with_the_known_names(make_frozen):
    frozen = make_frozen(get_network("large"), ATARI)
    with pytest.raises(NeurozooError, match=r"did you mean 'conv.'.*conv1, conv2, conv3, fc, out"):
        find_layer(frozen, "conv0")
