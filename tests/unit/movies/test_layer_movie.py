import numpy as np
import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.errors import NeurozooError
from neurozoo.movies.activation_movie import GAP, TOP, LayerPicture, render_layer_movie
from neurozoo.movies.activations import WatchedStep
from neurozoo.movies.classic_frame import CHOSEN
from neurozoo.movies.screens import LINE
from neurozoo.rollouts.rollout import record_rollout

SCREEN = np.full((210, 160, 3), 77, np.uint8)


def step_of(layer, *, value=200, action=0, number=4):
    return WatchedStep(
        number, (np.zeros(1), np.full(layer.shape, value, np.uint8)), np.zeros(1), SCREEN, 1230.0, action
    )


def test_each_frame_shows_the_layer_beside_the_game(frozen_folder, rollout_file, tmp_path, decode):
    movie = render_layer_movie(
        frozen_folder("small"), rollout_file("small"), tmp_path / "x.mp4", layer="conv1", max_steps=12
    )
    frames, facts = decode(tmp_path / "x.mp4")
    assert movie.frames == len(frames) == 12
    assert facts["fps"] == 60
    frozen = open_frozen(frozen_folder("small"))
    with np.load(rollout_file("small")) as rollout:
        seen = frozen.activations_model(["conv1"])(rollout["observations"][:12])
        maps = np.asarray(seen[0] if isinstance(seen, list) else seen)
        for step in (0, 11):
            screen = rollout["frames"][step].repeat(2, axis=0).repeat(2, axis=1).astype(float)
            assert np.abs(frames[step, TOP : TOP + 420, GAP : GAP + 320] - screen).mean() < 8  # halved colours
    # The first map, of 21 x 21 values on 2 * 1.5 pixels each (half pixels are cut off), after gaps of 2 pixels.
    picture = frames[11, TOP + 4 : TOP + 4 + 64, 2 * GAP + 320 + 4 : 2 * GAP + 320 + 4 + 64].mean(axis=-1)
    values = maps[11, ..., 0][np.ix_(np.arange(32) * 21 // 32, np.arange(32) * 21 // 32)]
    assert values.std() > 0
    assert np.corrcoef(picture.ravel(), values.repeat(2, axis=0).repeat(2, axis=1).ravel())[0, 1] > 0.95


def test_a_movie_of_a_perturbed_network_shows_the_perturbed_layers(frozen_folder, tmp_path):
    folder, rollout = frozen_folder("small"), tmp_path / "r.npz"
    record_rollout(folder, rollout, max_steps=5, noops=1, parameter_noise=0.3, seed=7)
    frozen = open_frozen(folder)
    plain = frozen.activations_model(["fc"])
    with np.load(rollout) as file:
        told = plain(file["observations"])
        assert not np.allclose(told[0] if isinstance(told, list) else told, file["representation"], atol=0.1)
    assert render_layer_movie(folder, rollout, tmp_path / "x.mp4", layer="conv1").frames == 5  # compares the values


@pytest.mark.parametrize("model", ["small", "large", "recurrent_large"])
def test_every_layer_fits_and_shows_its_values(frozen_folder, model):
    frozen = open_frozen(frozen_folder(model))
    for layer in frozen.layers:
        picture = LayerPicture(frozen, layer, screen_shape=SCREEN.shape)
        dark, light = (picture.compose(step_of(layer, value=value)).copy() for value in (0, 200))
        assert light.shape == (picture.height, picture.width, 3)
        assert picture.width % 2 == picture.height % 2 == 0
        assert (dark != light).any(axis=-1).sum() >= 4 * np.prod(layer.shape)
        assert (light[TOP : TOP + 420, GAP : GAP + 320] == 77).all()
        assert (light[:, [0, -1]] == 255).all()
        assert (light[[0, -1]] == 255).all()


def test_the_chosen_output_is_framed_and_named(frozen_folder):
    frozen = open_frozen(frozen_folder("small"))
    picture = LayerPicture(frozen, frozen.layers[-1], screen_shape=SCREEN.shape)
    first, second = (picture.compose(step_of(frozen.layers[-1], action=action)).copy() for action in (0, 1))
    columns = [np.flatnonzero((image == CHOSEN).all(axis=-1).any(axis=0)).mean() for image in (first, second)]
    assert columns[1] - columns[0] == 2 * 14
    below = slice(TOP + 420 + LINE, TOP + 420 + 2 * LINE)
    assert (first[below, : GAP + 320] != second[below, : GAP + 320]).any()


def test_an_unknown_layer_is_refused_and_the_known_ones_are_named(frozen_folder, rollout_file, tmp_path):
    with pytest.raises(
        NeurozooError, match=r"has no layer 'conv3'; did you mean '.*'\? Known: conv1, conv2, fc, out\."
    ):
        render_layer_movie(frozen_folder("small"), rollout_file("small"), tmp_path / "x.mp4", layer="conv3")
    assert not (tmp_path / "x.mp4").exists()
