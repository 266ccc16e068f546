"""Tests of rollouts with perturbations."""

import json

import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.rollouts.rollout import record_rollout


@pytest.fixture(scope="module")
def folder(frozen_folder):
    return frozen_folder("small", game="space_invaders")


@pytest.fixture
def recorded(folder, tmp_path):
    """Records 40 steps of an agent and reads them: `recorded(seed=..., action_noise=...)`."""

    def record(name="x", *, of=folder, **choices):
        record_rollout(of, tmp_path / f"{name}.npz", **{"max_steps": 40, "noops": 1, **choices})
        with np.load(tmp_path / f"{name}.npz", allow_pickle=False) as file:
            return dict(file)

    return record


def test_without_noise_the_file_is_the_same_and_names_no_perturbation(recorded, tmp_path):
    assert "perturbation" not in recorded("plain")
    recorded("zero", observation_noise=0.0, parameter_noise=0.0, action_noise=0.0)
    assert (tmp_path / "zero.npz").read_bytes() == (tmp_path / "plain.npz").read_bytes()


def test_the_agent_sees_new_noise_of_the_right_size_in_every_step(recorded):
    plain, noisy = recorded(), recorded(observation_noise=0.05)
    noise = noisy["observations"][0] - plain["observations"][0]
    assert noise.std() == pytest.approx(0.05, rel=0.03)  # of 28,224 draws
    assert abs(noise.mean()) < 0.002
    other = noisy["observations"][1] - plain["observations"][1]
    assert abs(np.corrcoef(noise.ravel(), other.ravel())[0, 1]) < 0.05
    assert json.loads(str(noisy["perturbation"])) == {
        "observation": 0.05,
        "parameter": 0.0,
        "action": 0.0,
        "sticky_probability": None,
        "seed": 0,
    }


@pytest.mark.long(seconds=5)
def test_observation_noise_is_a_part_of_the_range_of_observations(recorded, frozen_folder):
    colours = frozen_folder("small", game="pong", protocol="gym_v4")  # 0 to 255
    plain, noisy = recorded(of=colours, max_steps=2), recorded(of=colours, max_steps=2, observation_noise=0.1)
    assert (noisy["observations"][0] - plain["observations"][0]).std() == pytest.approx(25.5, rel=0.03)


@pytest.mark.long(seconds=5)
def test_every_action_is_random_if_the_probability_is_one(recorded, folder):
    actions = json.loads((folder / "model.json").read_text())["actions"]
    counts = np.bincount(recorded(action_noise=1.0, max_steps=300)["actions"], minlength=len(actions))
    assert counts.sum() == 300
    assert counts.min() > 300 / len(actions) / 2
    assert len(set(recorded(max_steps=300)["actions"].tolist())) < len(actions)  # by itself it never tries them all


def test_parameter_noise_changes_the_network_from_the_first_step_on(recorded):
    plain, noisy = recorded(), recorded(parameter_noise=0.02)
    assert (noisy["observations"][0] == plain["observations"][0]).all()
    assert not np.allclose(noisy["representation"][0], plain["representation"][0], atol=1e-3)


def test_a_network_without_convolutions_gets_noise_on_its_dense_layers(recorded, frozen_folder):
    maze = frozen_folder("simple", game="hard_maze")
    plain, noisy = recorded(of=maze, max_steps=1), recorded(of=maze, max_steps=1, parameter_noise=0.5)
    assert not np.allclose(noisy["representation"], plain["representation"], atol=1e-3)


def test_actions_stick_as_the_protocol_of_the_rollout_says(recorded):
    free, sticky = recorded(), recorded(sticky_probability=0.9)
    assert (free["ram"] != sticky["ram"]).any()
    again = recorded(sticky_probability=0.9, seed=1)
    assert (again["ram"] != sticky["ram"]).any()


def test_the_seed_decides_all_noise(recorded, tmp_path):
    choices = {"observation_noise": 0.1, "parameter_noise": 0.01, "action_noise": 0.3, "sticky_probability": 0.2}
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        recorded(name, seed=seed, **choices)
    a, b, c = ((tmp_path / f"{name}.npz").read_bytes() for name in "abc")
    assert a == b != c


def test_the_noise_of_the_second_episode_does_not_depend_on_the_first(recorded, own_copy_under):
    def noise(limit):
        short = own_copy_under(max_frames=4 * limit)
        plain, noisy = (recorded(of=short, episodes=2, observation_noise=size) for size in (0.0, 0.1))
        first = int(plain["starts"][1, 0])
        assert first == limit
        return [noisy["observations"][number] - plain["observations"][number] for number in (0, first)]

    (own, short), (_, long) = noise(3), noise(6)
    np.testing.assert_allclose(short, long, atol=1e-6)
    assert not np.allclose(short, own, atol=0.01)


@pytest.mark.parametrize(
    ("choices", "answer"),
    [
        ({"observation_noise": -1}, "observation_noise should be a standard deviation >= 0, but is -1"),
        ({"parameter_noise": float("nan")}, "parameter_noise should be a standard deviation >= 0, but is nan"),
        ({"action_noise": 1.5}, r"action_noise should be a probability from 0 to 1, but is 1\.5"),
        ({"sticky_probability": -0.1}, r"sticky_probability should be a probability from 0 to 1, but is -0\.1"),
    ],
)
def test_numbers_out_of_range_are_refused(recorded, choices, answer):
    with pytest.raises(NeurozooError, match=answer):
        recorded(**choices)


def test_noise_that_a_world_cannot_have_is_refused(recorded, frozen_folder):
    maze = frozen_folder("simple", game="hard_maze")
    with pytest.raises(NeurozooError, match="hard_maze has continuous outputs, so there is no random action"):
        recorded(of=maze, action_noise=0.1)
    with pytest.raises(NeurozooError, match="hard_maze has no emulator that could repeat actions"):
        recorded(of=maze, sticky_probability=0.1)
