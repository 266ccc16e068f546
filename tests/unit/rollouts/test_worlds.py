"""Frozen models, rollouts and movies of every world, and of networks of other kinds than plain convolutions."""

import dataclasses
import json

import numpy as np
import pytest
from neurozoo.agents.freeze import freeze
from neurozoo.agents.frozen import open_frozen
from neurozoo.agents.frozen_check import check_same_actions, stacked
from neurozoo.environments import make_world
from neurozoo.environments.observations import ObservationShape
from neurozoo.errors import NeurozooError
from neurozoo.movies.activation_movie import render_activation_movie
from neurozoo.movies.activations import WatchedStep
from neurozoo.movies.classic_frame import Canvas, colour_panel, observation_panel
from neurozoo.rollouts.rollout import record_rollout

WORLDS = {
    "river_pixels": ("small", {"game": "river_crossing"}),
    "river_rgb": ("small", {"game": "river_crossing", "protocol": "river_faithful"}),
    "river_objects": ("cells", {"game": "river_crossing", "observation": "objects"}),
    "river_greyscale": ("linear", {"game": "river_crossing", "observation": "greyscale"}),
    "maze": ("dense_tanh", {"game": "hard_maze"}),
    "cart": ("simple", {"game": "gym.CartPole-v1"}),
    "pendulum": ("simple", {"game": "gym.Pendulum-v1"}),
    "gym_v4": ("cshenton", {"game": "frostbite", "protocol": "gym_v4"}),
    "virtual_bn": ("virtual_bn", {"game": "breakout"}),
}
STEPS = 9
RAM = {"gym_v4": 128, "virtual_bn": 128}


FEW = ("river_objects", "maze", "gym_v4", "virtual_bn")


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=() if name in FEW else pytest.mark.long) for name in WORLDS],
)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def folder(name, frozen_folder):
    model, choices = WORLDS[name]
    return frozen_folder(model, **choices)


@pytest.fixture(scope="module")
def rollout(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("worlds") / "rollout.npz"
    record_rollout(folder, path, max_steps=STEPS, noops=1, seed=3)
    return path


def test_every_agent_freezes_and_says_what_it_sees(folder, name):
    frozen = open_frozen(folder)
    record = json.loads((folder / "model.json").read_text())
    world = make_world(frozen.game, frozen.protocol)
    assert record["check"]["steps"] >= 8
    assert record["world"] == frozen.protocol.world
    assert record["input"]["shape"] == [None, *world.shape.observation]
    assert record["input"]["plane"] == list(world.shape.plane)
    assert len(record["actions"]) == world.num_outputs
    assert ("obeyed" in record["action_rule"]) == frozen.is_continuous == (name in ("maze", "pendulum"))


def test_every_world_is_recorded_step_by_step(folder, rollout, name):
    # The twin of the recorder: a plain loop, with the no-ops and the seed that the recorder draws.
    frozen = open_frozen(folder)
    model = frozen.activations_model([frozen.representation.name, frozen.layers[-1].name])
    world = make_world(frozen.game, frozen.protocol)
    random = np.random.default_rng([3, 0])
    if frozen.protocol.max_noops:
        random.integers(1, frozen.protocol.max_noops, endpoint=True)
    observation, score = world.reset(noops=1, seed=int(random.integers(2**31))), 0.0
    with np.load(rollout) as file:
        recorded = {key: file[key] for key in file}
    steps = len(recorded["score"])
    assert recorded["ram"].shape == (steps, RAM.get(name, 0))
    for step in range(steps):
        representation, outputs = (array.numpy()[0] for array in model(observation[None]))
        np.testing.assert_array_equal(recorded["observations"][step], observation)
        np.testing.assert_array_equal(recorded["frames"][step], world.screen)
        np.testing.assert_allclose(recorded["representation"][step], representation, rtol=1e-4, atol=1e-4)
        assert recorded["score"][step] == pytest.approx(score, abs=1e-4)
        done = outputs if frozen.is_continuous else np.argmax(outputs)
        np.testing.assert_allclose(recorded["actions"][step], done, rtol=1e-4, atol=1e-4)
        observation, reward, is_done = world.act(outputs)
        score += reward
    assert steps == STEPS or is_done
    assert recorded["ep_rewards"].tolist() == pytest.approx([score], abs=1e-3)


def test_every_world_is_filmed(folder, rollout, tmp_path):
    import imageio_ffmpeg

    movie = render_activation_movie(folder, rollout, tmp_path / "x.mp4", fps=10)
    frames = list(imageio_ffmpeg.read_frames(str(tmp_path / "x.mp4")))[1:]
    assert len(frames) == movie.frames <= STEPS


def test_no_panel_lies_on_the_screen_or_outside_of_the_canvas(folder):
    frozen = open_frozen(folder)
    screen = make_world(frozen.game, frozen.protocol).screen_shape
    canvas = Canvas(frozen, screen_shape=screen, steps=1)
    activations = tuple(np.zeros(panel.source.max() + 1, np.uint8) for panel in canvas.panels)
    outputs, colour = np.zeros(len(frozen.actions)), np.array([1, 2, 3], np.uint8)
    action = outputs if frozen.is_continuous else 0
    image = canvas.compose(WatchedStep(0, activations, outputs, np.full(screen, colour), 0.0, action))
    assert (image == colour).all(axis=-1).sum() == screen[0] * screen[1]  # nothing hides a part of it
    assert canvas.width % 2 == canvas.height % 2 == 0
    assert (image[:, [0, -1]] == 255).all()


# ---- continuous outputs


def test_continuous_outputs_may_differ_by_rounding_but_not_by_more(frozen_folder, agent, played):
    model, choices = WORLDS["maze"]
    folder, trace = frozen_folder(model, **choices), played(agent(model, **choices))
    largest = np.abs(trace.logits).max()
    logits = trace.logits.copy()
    logits[4, 1] += np.float32(0.5e-4) * largest
    assert check_same_actions(folder, dataclasses.replace(trace, logits=logits)) == {"steps": 20, "ties": 0}
    logits[4, 1] += np.float32(2e-4) * largest
    with pytest.raises(NeurozooError, match=r"in 1 of 20 steps, first in step 4: \["):
        check_same_actions(folder, dataclasses.replace(trace, logits=logits))


def test_virtual_batch_norm_is_not_frozen_without_its_reference(agent, played, tmp_path):
    checkpoint = agent("virtual_bn", game="breakout")
    trace = played(checkpoint, 2)
    with pytest.raises(NeurozooError, match="reference"):
        freeze(dataclasses.replace(checkpoint, reference=None), tmp_path / "frozen", trace=trace)
    assert not (tmp_path / "frozen").exists()


# ---- pictures


def test_stacks_keep_the_channels_of_a_plane_together():
    planes = np.arange(1, 7, dtype=np.float32).reshape(3, 1, 1, 2)
    (batch,) = stacked(planes, 5, ObservationShape(1, 1, 1, 2))
    assert batch.reshape(3, 4).tolist() == [[0, 0, 1, 2], [1, 2, 3, 4], [3, 4, 5, 6]]


def test_a_picture_in_colour_shows_red_green_and_blue_where_they_are():
    panel = colour_panel("", (1, 2, 3), scale=2)
    picture = np.append(np.array([10, 20, 30, 40, 50, 60], np.uint8), 0)[panel.source]
    assert picture.shape == (4, 6, 3)
    assert picture[1].tolist() == [[0, 0, 0], [10, 20, 30], [10, 20, 30], [40, 50, 60], [40, 50, 60], [0, 0, 0]]
    assert not picture[[0, -1]].any()


@pytest.mark.parametrize(
    ("shape", "label", "size"),
    [
        (ObservationShape(84, 84, 1, 4), "observation: the last 4 frames", (86, 341)),
        (ObservationShape(20, 20, 3), "observation: 20 x 20 in colour", (82, 82)),
        (ObservationShape(20, 20, 6), "observation: 6 x 20 x 20", (163, 244)),
        (ObservationShape(1, 1, 11), "observation: 11 numbers", (15, 155)),
        (ObservationShape(210, 160, 3), "observation: 210 x 160 in colour", (86, 66)),
    ],
)
def test_every_kind_of_observation_has_its_panel(shape, label, size):
    panel = observation_panel(shape)
    assert (panel.label, (panel.height, panel.width)) == (label, size)
