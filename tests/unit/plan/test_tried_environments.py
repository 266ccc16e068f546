"""Gymnasium environments are tried in the plan."""

import gymnasium
import numpy as np
import pytest
from neurozoo.environments.gymnasium_games import gymnasium_spaces
from neurozoo.errors import NeurozooError
from neurozoo.plan.configuration import check_config
from neurozoo.plan.warnings import try_environments


class Unseeded(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.random.random(2).astype(np.float32), {}  # what it must not do

    def step(self, action):
        return np.zeros(2, np.float32), 0.0, False, False, {}


class Broken(Unseeded):
    def step(self, action):
        raise KeyError("sensor")


class Keyboard(Unseeded):
    observation_space = gymnasium.spaces.Box(0, 255, (84, 84), np.uint8)
    action_space = gymnasium.spaces.Discrete(300)


ENVIRONMENTS = {"Unseeded-v0": Unseeded, "Broken-v0": Broken, "Keyboard-v0": Keyboard}


@pytest.fixture(autouse=True)
def registered():
    for name, made in ENVIRONMENTS.items():
        gymnasium.register(name, entry_point=made)
    yield
    for name in ENVIRONMENTS:
        del gymnasium.registry[name]
    gymnasium_spaces.cache_clear()


def tried(*games, results="results"):
    experiment = {"algo": "ga", "games": list(games), "models": ["simple"]}
    return list(
        try_environments(check_config({"experiments": {"mine": experiment}, "pathvars": {"results": str(results)}}))
    )


def test_an_environment_whose_runs_are_finished_is_not_needed(tmp_path):
    folder = tmp_path / "runs" / "ga" / "gym.Broken-v0" / "simple" / "1"
    folder.mkdir(parents=True)
    with pytest.raises(NeurozooError):
        tried("gym.Broken-v0", results=tmp_path)
    (folder / "result.json").write_text("{}")
    assert tried("gym.Broken-v0", results=tmp_path) == []


def test_an_environment_with_random_numbers_of_its_own_is_told_and_others_are_not():
    (sentence,) = tried("gym.CartPole-v1", "gym.Unseeded-v0", "gym.Platformer-v0", "hard_maze")
    assert sentence.startswith("Two episodes of 'gym.Unseeded-v0' with the same seed differ")


def test_a_broken_environment_is_named_with_its_place_in_the_configuration():
    with pytest.raises(NeurozooError, match=r"mine.games\[1\]: 'gym.Broken-v0' fails in its first step: KeyError: 'se"):
        tried("gym.CartPole-v1", "gym.Broken-v0")


def test_deep_q_learning_refuses_more_actions_than_a_byte_can_tell_apart():
    overrides = {"protocol": "gymnasium", "action_set": None}
    choice = {
        "algo": "dqn",
        "preset": "neurozoo",
        "games": ["gym.Keyboard-v0"],
        "models": ["small"],
        "overrides": overrides,
    }
    with pytest.raises(NeurozooError, match=r"a game may have 256 of them, but 'gym.Keyboard-v0' has 300"):
        check_config({"experiments": {"mine": choice}})
