import numpy as np
import pytest
from neurozoo.agents.frozen import LayerRecord, open_frozen
from neurozoo.movies.activations import WatchedStep
from neurozoo.movies.classic_frame import CHOSEN, Canvas, layer_panel, maps_panel

WHITE = (255, 255, 255)
SCREEN = np.full((210, 160, 3), 77, np.uint8)


def layer(name, kind, shape, cycles=1):
    return LayerRecord(name, kind, shape, "relu", cycles, name, f"ga/{name}/relu", f"ga/{name}/w")


def grey(frozen, *, value=128):
    """One grey picture per panel."""
    shapes = [(84, 84, 4), *(layer.shape for layer in frozen.layers)]
    return [np.full(shape, value, np.uint8) for shape in shapes]


def draw(canvas, frozen, *, action=0, value=128, screen=SCREEN, pictures=None, score=1230.0, step=4):
    pictures = grey(frozen, value=value) if pictures is None else pictures
    return canvas.compose(WatchedStep(step, tuple(pictures), np.zeros(1), screen, score, action))


def test_maps_lie_row_by_row_with_a_gap_of_one_pixel_around_each():
    # Three maps of 1 x 2 in two columns: values are numbered (y, x, channel).
    panel = maps_panel("maps", (1, 2, 3), columns=2)
    assert panel.source.tolist() == [
        [-1, -1, -1, -1, -1, -1, -1],
        [-1, 0, 3, -1, 1, 4, -1],
        [-1, -1, -1, -1, -1, -1, -1],
        [-1, 2, 5, -1, -1, -1, -1],
        [-1, -1, -1, -1, -1, -1, -1],
    ]


def test_a_scaled_map_repeats_its_values():
    panel = maps_panel("map", (1, 2, 1), scale=2.0)
    assert panel.source[1:3].tolist() == [[-1, 0, 0, 1, 1, -1]] * 2
    assert maps_panel("map", (2, 2, 1), scale=1.5).source[1, 1:-1].tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("shape", "kind", "size"),
    [
        ((21, 21, 32), "conv", (8 * 33 + 1, 4 * 33 + 1)),  # 177 x 89 values, times 1.5
        ((11, 11, 64), "conv", (8 * 23 + 1, 8 * 23 + 1)),  # 97 x 97 values, times 2, with thinner gaps
        ((512,), "dense", (32 * 5 + 1, 16 * 5 + 1)),
        ((20,), "dense", (20 * 5 + 1, 5 + 1)),
    ],
)
def test_panels_have_the_sizes_of_the_published_layout(shape, kind, size):
    panel = layer_panel(layer("x", kind, shape), is_output=False)
    assert (panel.width, panel.height) == size


def test_a_label_names_the_layer_that_the_panel_shows():
    assert layer_panel(layer("recu1", "recurrent_conv", (21, 21, 32), 20), is_output=False).label == (
        "recu1: 32 maps of 21 x 21, 20 cycles"
    )
    assert layer_panel(layer("fc", "dense", (512,)), is_output=False).label == "fc: 512 units"
    assert layer_panel(layer("out", "dense", (18,)), is_output=True).label == "out: 18 actions"


@pytest.mark.parametrize(
    ("model", "labels", "height"),
    [
        ("small", ["observation", "conv1", "conv2", "fc", "out"], 1000),
        ("large", ["observation", "conv1", "conv2", "conv3", "fc", "out"], 1000),
        ("recurrent_large", ["observation", "conv1", "recu1", "conv2", "conv3", "fc", "out"], 1168),
    ],
)
def test_every_layer_has_its_panel_and_the_canvas_grows_with_them(frozen_folder, model, labels, height):
    frozen = open_frozen(frozen_folder(model))
    canvas = Canvas(frozen, screen_shape=(210, 160, 3), steps=100)
    assert [panel.label.partition(":")[0] for panel in canvas.panels] == labels
    assert (canvas.width, canvas.height) == (550, height)
    image = draw(canvas, frozen, value=0)
    top = 25
    for panel in canvas.panels:
        left = 350 - panel.width // 2
        drawn = image[top : top + panel.height, left : left + panel.width]
        if panel is not canvas.panels[-1]:  # the chosen action's frame covers gaps
            assert (drawn[panel.source < 0] == panel.gap).all()
            assert (drawn[panel.source >= 0] == 0).all()
        label = image[top - 25 : top, left : left + panel.width]
        assert (label < 100).any()
        top += panel.height + 50
    assert (image[top - 50 + 2 :, 240:] == WHITE).all()


def test_each_value_is_shown_at_its_own_place(frozen_folder):
    frozen = open_frozen(frozen_folder("small"))
    canvas = Canvas(frozen, screen_shape=(210, 160, 3), steps=9)
    pictures = grey(frozen, value=0)
    dark = draw(canvas, frozen, pictures=pictures).copy()
    pictures[0][83, 2, 1] = 200  # second frame, last row
    pictures[3][255] = 100  # last unit
    image = draw(canvas, frozen, pictures=pictures)
    assert image[25 + 1 + 83, 350 - 341 // 2 + 85 + 1 + 2].tolist() == [200] * 3
    changed = image[(image != dark).any(axis=-1)]
    assert sorted(changed[:, 0].tolist()) == [100] * 16 + [200]


def test_the_chosen_action_is_framed_and_named(frozen_folder):
    frozen = open_frozen(frozen_folder("large"))
    canvas = Canvas(frozen, screen_shape=(210, 160, 3), steps=9)
    images = [draw(canvas, frozen, action=action).copy() for action in (0, 17)]
    framed = [np.argwhere((image == CHOSEN).all(axis=-1)) for image in images]
    assert len(framed[0]) == len(framed[1]) > 0
    # 17 actions of 14 pixels lie between them.
    np.testing.assert_array_equal(framed[1] - framed[0], np.broadcast_to([0, 17 * 14], framed[0].shape))
    left = 350 - canvas.panels[-1].width // 2
    assert framed[0].min(axis=0)[1] == left - 1
    label = slice(framed[0].min(axis=0)[0] - 24, framed[0].min(axis=0)[0] - 1)
    assert (images[0][label] != images[1][label]).any()


def test_a_frame_shows_nothing_of_the_one_before(frozen_folder):
    frozen = open_frozen(frozen_folder("small"))
    canvas = Canvas(frozen, screen_shape=(210, 160, 3), steps=20_000)
    first = draw(canvas, frozen, action=1).copy()
    draw(canvas, frozen, value=255, screen=SCREEN + np.uint8(9), action=2, score=123_456, step=12_345)
    np.testing.assert_array_equal(draw(canvas, frozen, action=1), first)


@pytest.mark.parametrize("model", ["small", "recurrent_large"])
def test_places_say_where_screen_and_panels_lie(frozen_folder, model):
    frozen = open_frozen(frozen_folder(model))
    canvas = Canvas(frozen, screen_shape=(210, 160, 3), steps=7)
    assert [place.name for place in canvas.places] == [
        "screen",
        "observation",
        *(layer.name for layer in frozen.layers),
    ]
    black, white = (draw(canvas, frozen, value=value).copy() for value in (0, 255))
    changed = (black != white).any(axis=-1)
    for place in canvas.places[1:]:
        left, top, width, height = place.box
        inside = changed[top : top + height, left : left + width]
        assert inside[1:-1].any(axis=0).sum() >= width - 1 - width // 4  # all columns but the gaps'
        changed[top : top + height, left : left + width] = False
    assert not changed.any()
    left, top, width, height = canvas.places[0].box
    assert (black[top : top + height, left : left + width] == 77).all()
    written = (black != 255).any(axis=-1)
    for place in canvas.places:
        left, top, width, height = place.view
        written[top : top + height, left : left + width] = False
    assert not written.any()
