import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from neurozoo.agents.frozen import FrozenModel, LayerRecord, open_frozen
from neurozoo.environments.game_networks import any_layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.movies.activation_movie import render_activation_movie
from neurozoo.movies.activations import WatchedRollout
from neurozoo.movies.themes import THEMES, colour_table, packed
from neurozoo.movies.wide_frame import Scene, SceneLayout, places_on, trained_by
from neurozoo.networks.catalogue import ARCHITECTURES
from neurozoo.records.format import FORMAT, KEY
from neurozoo.rollouts.progress import Progress
from neurozoo.rollouts.rollout_files import open_rollout

SCREEN = (210, 160, 3)


@pytest.fixture
def composed(frozen_folder, rollout_file):
    """Composes the frames of the `small` network: `composed(theme)` yields (scene, step, picture of uint8)."""

    def each(theme="dark", *, steps=8, model="small"):
        frozen = open_frozen(frozen_folder(model))
        path = rollout_file(model)
        with open_rollout(path, frozen, max_steps=steps) as rollout:
            watched = WatchedRollout(frozen, rollout, layers=frozen.layers, is_centred=True)
            scene = Scene(frozen, watched, theme=theme)
            with Progress("x", total=2 * steps, log=None, terminal="lines") as progress:
                for step in watched.each_step(progress):
                    picture = scene.compose(step).view(np.uint8).reshape(scene.height, scene.width, 4)[..., :3]
                    yield scene, step, picture.copy()

    return each


def place_of(scene, name):
    """Returns the rectangle of a panel as slices."""
    left, top, width, height = next(place.box for place in scene._layout.places if place.name == name)
    return slice(top, top + height), slice(left, left + width)


@pytest.mark.parametrize(("rows", "size"), [(720, (1280, 720)), (1080, (1920, 1080))])
def test_a_wide_movie_has_the_format_of_a_screen(frozen_folder, rollout_file, tmp_path, decode, rows, size):
    path, looks = tmp_path / "x.mp4", {"rows": rows, "fps": 15, "max_steps": 3}
    movie = render_activation_movie(frozen_folder("small"), rollout_file("small"), path, **looks)
    frames, facts = decode(path)
    assert (facts["size"], facts["fps"]) == (size, 15)
    assert len(frames) == movie.frames == 3


def test_the_game_is_at_least_three_times_as_wide_and_twice_as_high_as_on_the_console(composed):
    scene, step, picture = next(composed())
    shown = picture[place_of(scene, "screen")]
    assert shown.shape == (420, 480, 3)
    np.testing.assert_array_equal(shown, step.screen.repeat(2, axis=0).repeat(3, axis=1))


@pytest.mark.parametrize(("objective", "title"), [("pqn", "PQN"), ("vtrace", "IMPALA")])
@pytest.mark.parametrize("folder", ["frozen", "tags/human/frozen"])
def test_a_learner_is_called_by_what_it_learns(tmp_path, objective, title, folder):
    identity = {"algo": "impala", "game": "pong", "model": "small", "run": 1, "protocol": "machado2018"}
    settings = {KEY: FORMAT, **identity, "settings_record": {"objective": objective}}
    (tmp_path / "config.yaml").write_text(json.dumps(settings))  # which is YAML, too
    (tmp_path / "result.json").touch()
    assert trained_by(replace(frozen_of([]), folder=tmp_path / folder, algo="impala")) == title


def frozen_of(layers, *, game="frostbite", states=()):
    """A frozen model of layers (name, kind, shape, activation, cycles) with 18 actions, without weights."""
    records = tuple(LayerRecord(*layer, layer[0], "", "") for layer in layers)
    actions = tuple(f"ACTION_{number}" for number in range(18))
    return FrozenModel(Path("frozen"), game, "deep", "ga", 1, protocol_of(game), actions, records, state_shapes=states)


def test_no_layer_is_drawn_over_another_or_beyond_the_frame():
    for name in sorted(set(ARCHITECTURES) - {"mujoco"}):  # it plays vectors only, with the layers of dense_tanh
        game, observation = ("maze" if name == "maze_recurrent" else "frostbite"), None
        if name.startswith("modular"):
            game, observation = "river_crossing", "objects"
        layout = any_layout_of(game, name, protocol_of(game, observation=observation))
        layers = []
        for placed in layout.layers:
            shape = placed.out_shape if placed.out_shape[:2] != (1, 1) else placed.out_shape[2:]
            each = placed.layer
            layers.append((each.name, each.kind, shape, each.activation, each.cycles))
        frozen = frozen_of(layers, game=game, states=getattr(layout, "state_shapes", ()))
        for rows in (720, 1080):
            boxes = [place.box for place in SceneLayout(frozen, screen_shape=SCREEN, rows=rows).places]
            for (left, _, width, _), (after, *_) in itertools.pairwise(boxes):
                assert left + width < after, (name, rows)
            for left, top, width, height in boxes:
                assert min(left, top) >= 0, (name, rows)
                assert left + width <= rows * 16 // 9, (name, rows)
                assert top + height <= rows, (name, rows)


@pytest.mark.parametrize(("convolutions", "has_notes"), [(4, True), (5, False), (7, False)])
def test_the_maps_of_many_layers_can_be_seen(convolutions, has_notes):
    layers = [(f"conv{number + 1}", "conv", (10, 10, 64), "relu", 1) for number in range(convolutions)]
    layers += [("fc", "dense", (256,), "relu", 1), ("out", "dense", (18,), "relu", 1)]
    layout = SceneLayout(frozen_of(layers), screen_shape=SCREEN)
    assert layout.has_notes == has_notes
    boxes = [place.box for place in layout.places]
    assert min(width for _, _, width, _ in boxes) > 25
    assert all(left + width < after for (left, _, width, _), (after, *_) in itertools.pairwise(boxes))


def test_the_chosen_action_is_marked_and_no_other(composed):
    for scene, step, picture in composed():
        card = picture[place_of(scene, "out")]
        row = card.shape[0] // len(scene._frozen.actions)
        colour = np.array(THEMES["dark"].chosen)
        marked = [number for number in range(len(scene._frozen.actions)) if (card[number * row + 2, 0] == colour).all()]
        assert marked == [step.action]


def test_maps_have_the_colours_of_the_theme_and_dark_paper_is_dark(composed):
    for theme, is_dark in (("dark", True), ("light", False)):
        scene, step, picture = next(composed(theme))
        assert (picture[1, 1] == THEMES[theme].paper).all()
        assert (picture[1, 1].mean() < 60) == is_dark
        maps = picture[place_of(scene, "conv1")]
        table = colour_table(THEMES[theme].sequential)
        first = int(step.pictures[1][0, 0, 0])
        assert (maps[0, 0] == [int(table[first]) >> shift & 255 for shift in (0, 8, 16)]).all()


def test_the_colour_maps_grow_steadily_from_dark_to_bright_or_back():
    for theme in THEMES.values():
        table = colour_table(theme.sequential)
        brightness = sum(weight * (table >> shift & 255) for shift, weight in ((0, 0.2126), (8, 0.7152), (16, 0.0722)))
        steps = np.diff(brightness.astype(float))
        assert (steps >= -1).all() or (steps <= 1).all()


def test_frames_before_the_start_of_an_episode_are_empty_and_not_black(composed):
    scene, step, first = next(composed())
    assert not step.pictures[0][..., 0].any()  # the network sees zeros
    observation = first[place_of(scene, "observation")]
    assert (observation[5, 5] == THEMES["dark"].card).all()
    later = [picture for _, _, picture in composed()][-1][place_of(scene, "observation")]
    assert not (later[5, 5] == THEMES["dark"].card).all()


def test_the_score_line_grows_with_the_game(composed):
    colour = packed(THEMES["dark"].chosen)
    lengths = []
    for scene, _, _ in composed(steps=40):
        drawn = scene._chart == colour
        lengths.append(int(np.flatnonzero(drawn.any(axis=0))[-1]))
    assert lengths == sorted(lengths)
    assert lengths[0] < 15
    assert lengths[-1] > 380


def test_the_last_step_shows_the_score_of_the_whole_episode(frozen_folder, rollout_file, rewritten, tmp_path):
    path = rewritten(rollout_file("small"), tmp_path / "x.npz", ep_rewards=np.array([77.0]))
    frozen = open_frozen(frozen_folder("small"))
    with np.load(path) as file, open_rollout(path, frozen) as rollout:
        with Progress("x", total=80, log=None, terminal="lines") as progress:
            steps = WatchedRollout(frozen, rollout, layers=frozen.layers).each_step(progress)
            shown = [step.score for step in steps]
        assert shown == rollout.scores.tolist() == [*file["score"][:-1].tolist(), 77]


def test_the_same_rollout_gives_the_same_bytes(frozen_folder, rollout_file, tmp_path):
    for name in ("a.mp4", "b.mp4"):
        render_activation_movie(frozen_folder("small"), rollout_file("small"), tmp_path / name, max_steps=10)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()


def test_a_network_with_a_memory_shows_its_cells_and_probabilities(policy_folder, tmp_path, decode):
    from neurozoo.rollouts.rollout import record_rollout

    record_rollout(policy_folder(), tmp_path / "rollout.npz", max_steps=6)
    frozen = open_frozen(policy_folder())
    with (
        open_rollout(tmp_path / "rollout.npz", frozen) as rollout,
        Progress("x", total=12, log=None, terminal="lines") as progress,
    ):
        watched = WatchedRollout(frozen, rollout, layers=frozen.layers, is_centred=True)
        scene = Scene(frozen, watched)
        assert scene._layout.meaning == "probabilities"
        lstm = next(each for each in scene._layout.stages if each.stage.name == "lstm")
        assert [block.array for block in lstm.blocks] == [4, 7]  # the output of the LSTM, and its cells
        for step in watched.each_step(progress):
            assert len(step.pictures) == 8  # observation, five layers, two parts of the memory
            scene.compose(step)
        # The first part of the memory is the output of the LSTM.
        np.testing.assert_array_equal(step.pictures[4], step.pictures[6])


def test_places_are_those_of_the_movie_of_that_size_only(frozen_folder):
    frozen = open_frozen(frozen_folder("small"))
    names = ["screen", "observation", "conv1", "conv2", "fc", "out"]
    for width, height in ((1280, 720), (1920, 1080), (550, 1000)):
        places = places_on(frozen, screen_shape=SCREEN, width=width, height=height, steps=9)
        assert [place.name for place in places] == names
        assert all(place.box[0] + place.box[2] <= width for place in places)
    assert places_on(frozen, screen_shape=SCREEN, width=1280, height=1000, steps=9) == ()
