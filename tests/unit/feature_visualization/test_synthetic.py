import numpy as np
import pytest
from neurozoo.environments.observations import ObservationShape
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization import objectives
from neurozoo.feature_visualization.inversion import invert
from neurozoo.feature_visualization.layers import find_layer, kernel_of, model_to
from neurozoo.feature_visualization.synthetic import Ascent, _shift, draw_synthetic, synthesise
from neurozoo.networks.catalogue import get_network

FRAMES, COLOURS = ObservationShape(20, 20, 1, 4), ObservationShape(20, 20, 3)
FIRM = {"steps": 120, "learning_rate": 0.2, "jitter": 0}


def make(frozen, layer, goal, count, **settings):
    return synthesise(frozen, find_layer(frozen, layer), goal, count=count, ascent=Ascent(**{**FIRM, **settings}))


@pytest.fixture(scope="module")
def small(make_frozen):
    return make_frozen(get_network("small"), FRAMES)


def test_the_best_picture_of_a_linear_objective_is_found(small):
    """The mean before the first ReLU is linear, so the best picture is known: white where the gradient is positive."""
    import tensorflow as tf

    model, goal = model_to(small, find_layer(small, "conv1")), objectives.channel_mean([0, 5])
    black = tf.zeros((2, *FRAMES.observation))
    with tf.GradientTape() as tape:
        tape.watch(black)
        value = goal(model(black))
    slopes = tape.gradient(value, black).numpy()
    best = value.numpy() + np.maximum(slopes, 0).sum(axis=(1, 2, 3))
    made = make(small, "conv1", goal, 2)
    np.testing.assert_allclose(made.values, best, rtol=0.02)
    assert (made.values <= best + 1e-5).all()
    assert (made.start_values < best - 0.1).all()


@pytest.mark.parametrize(
    ("layer", "goal", "parameterisation"),
    [("conv2", "unit", "pixel"), ("fc", "channel", "pixel"), ("fc", "channel", "fourier"), ("conv2", "unit", "cppn")],
)
def test_a_synthetic_input_excites_more_than_many_random_ones(small, layer, goal, parameterisation):
    chosen = objectives.unit([1, 2], (1, 1)) if goal == "unit" else objectives.channel_mean([1, 2])
    settings = {"parameterisation": parameterisation}
    if parameterisation == "cppn":
        settings["learning_rate"] = 0.01
    made = make(small, layer, chosen, 2, **settings)
    random = np.random.default_rng(0).random((200, *FRAMES.observation)).round(1).astype(np.float32)
    values = np.asarray(model_to(small, find_layer(small, layer))(random))
    others = values[:, 1, 1, 1:3] if goal == "unit" else values[:, 1:3]
    assert (made.values > others.max(axis=0)).all()
    assert (made.values > made.start_values).all()
    assert made.course.shape == (120, 2)
    np.testing.assert_allclose(made.course[0], made.start_values, rtol=1e-5)
    assert made.inputs.min() >= 0
    assert made.inputs.max() <= 1
    at_end = np.asarray(model_to(small, find_layer(small, layer))(made.inputs))
    assert np.allclose(
        at_end[[0, 1], 1, 1, [1, 2]] if goal == "unit" else at_end[[0, 1], [1, 2]], made.values, atol=1e-5
    )


def test_old_frames_stay_black_if_only_the_newest_is_optimised(small, make_frozen):
    made = make(small, "fc", objectives.channel_mean([0]), 1, frames="newest", steps=5)
    assert not made.inputs[..., :3].any()
    assert made.inputs[..., 3].any()
    colours = make(
        make_frozen(get_network("small"), COLOURS), "fc", objectives.channel_mean([0]), 1, frames="newest", steps=5
    )
    assert colours.inputs.any(axis=(0, 1, 2)).all()


@pytest.mark.long(seconds=5)
def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not(small):
    pictures = [
        make(small, "conv2", objectives.channel_mean([3]), 1, steps=5, jitter=2, seed=seed).inputs for seed in (1, 1, 2)
    ]
    assert pictures[0].tobytes() == pictures[1].tobytes() != pictures[2].tobytes()


def test_jitter_shifts_and_mirrors(small):
    import tensorflow as tf

    picture = tf.reshape(tf.range(16.0), (1, 4, 4, 1))
    assert np.array_equal(_shift(picture, [1, 1], 1), picture)
    down = _shift(picture, [0, 1], 1).numpy()[0, ..., 0]
    assert np.array_equal(down, picture.numpy()[0, [0, 0, 1, 2], :, 0])


def test_l1_blackens_what_is_not_worth_it_and_l2_dims_everything(make_frozen):
    """For a linear unit both optima are known: L1 decides pixel by pixel, L2 weighs them."""
    frozen = make_frozen(get_network("linear"), FRAMES)
    worth = kernel_of(frozen, frozen.layers[0])[:, 0].reshape(FRAMES.observation)
    worth = worth / np.abs(worth).sum() * worth.size  # what a pixel adds, in units of the penalties' means
    goal, settings = objectives.channel_mean([0]), {"steps": 400, "learning_rate": 0.1}
    l1 = make(frozen, "out", goal, 1, l1=1.0, **settings).inputs[0]
    clear = np.abs(worth - 1) > 0.2
    assert ((l1 > 0.5) == (worth > 1))[clear].all()
    assert l1[(worth > 0.2) & (worth < 0.8)].mean() < 0.05  # L2 would leave a quarter
    l2 = make(frozen, "out", goal, 1, l2=2.0, **settings).inputs[0]
    np.testing.assert_allclose(l2, np.clip(worth / 4, 0, 1), atol=0.04)


def test_penalties_match_their_definitions():
    import tensorflow as tf

    picture = tf.constant([[[[0.0], [0.5]], [[1.0], [0.25]]]])
    assert objectives.mean_absolute(picture).numpy() == pytest.approx([1.75 / 4])
    assert objectives.mean_square(picture).numpy() == pytest.approx([(0.25 + 1 + 0.0625) / 4])
    assert objectives.total_variation(picture).numpy() == pytest.approx([(1 + 0.25) / 2 + (0.5 + 0.75) / 2])


def test_a_direction_weighs_the_dot_product_with_the_cosine_at_each_place():
    values = np.random.default_rng(0).normal(size=(2, 3, 4, 5)).astype(np.float32)
    along = objectives.direction(np.eye(5, dtype=np.float32)[[1, 4]])(values).numpy()
    for picture, channel in enumerate((1, 4)):
        dots = values[picture, ..., channel]
        cosines = dots / np.linalg.norm(values[picture], axis=-1)
        assert along[picture] == pytest.approx((dots * np.maximum(cosines, 0.1)).mean(), rel=1e-4)


def test_two_wrong_signs_make_no_right_one():
    target = np.array([[1.0, 2.0, 2.0]])
    goal = objectives.likeness(target)
    assert goal(np.float32(target)).numpy() == pytest.approx([9])
    assert goal(np.float32(-target)).numpy() == pytest.approx([-0.9])  # not +9
    assert goal(np.float32([[2, -1, 0]])).numpy() == pytest.approx([0])


def test_an_inversion_points_where_the_observation_does(small):
    seen = np.random.default_rng(3).random((2, *FRAMES.observation)).round().astype(np.float32)
    layer = find_layer(small, "conv2")
    made, cosines = invert(small, layer, seen, ascent=Ascent(**FIRM))
    model = model_to(small, layer, stops="behind")

    def cosine(pictures):
        ours, theirs = (np.asarray(model(one)).reshape(2, -1) for one in (pictures, seen))
        return (ours * theirs).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)

    np.testing.assert_allclose(cosines, cosine(made.inputs), rtol=1e-4)
    assert (cosines > 0.9).all()
    assert (cosines > cosine(made.start)).all()


def test_bad_settings_silent_layers_and_vectors_are_refused(small, make_frozen):
    for settings, sentence in (({"steps": 0}, "above 0"), ({"l1": -1}, "l1 should be at least 0")):
        with pytest.raises(NeurozooError, match=sentence):
            Ascent(**settings)
    silent = make_frozen(get_network("small"), FRAMES, change=lambda arrays: arrays["conv2/b"].fill(-100))
    with pytest.raises(NeurozooError, match="silent for these observations"):
        invert(silent, find_layer(silent, "conv2"), np.ones((1, *FRAMES.observation), np.float32))
    vector = make_frozen(get_network("simple"), ObservationShape(1, 1, 11))
    with pytest.raises(NeurozooError, match="sees 11 numbers"):
        synthesise(vector, vector.layers[0], objectives.channel_mean([0]), count=1)


def test_a_section_has_units_at_places(policy_folder, tmp_path):
    """Its maps have 42 rows and columns."""
    unit = {"layer": "section1", "objective": "unit", "position": (42, 0)}
    with pytest.raises(NeurozooError, match=r"'section1' has 42 rows and 42 columns, but got the position \(42, 0\)"):
        draw_synthetic(policy_folder("impala_deep"), tmp_path / "none.npz", tmp_path / "unit.png", **unit)
