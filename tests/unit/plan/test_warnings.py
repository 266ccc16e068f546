"""What a plan warns of: packages, environments, and agents that it would play differently."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest
import yaml
from neurozoo.environments.gymnasium_games import gymnasium_spaces
from neurozoo.errors import NeurozooError
from neurozoo.plan import warnings
from neurozoo.plan.configuration import check_config
from neurozoo.plan.warnings import (
    computed_by_keras,
    missing_packages,
    played_differently,
    runs_besides,
    try_environments,
)

PROJECT = Path(__file__).parents[3]
SEARCH = {"algo": "cma_me", "games": ["mario"], "models": ["plain"], "preset": "mario_demo"}
EVOLUTION = {"algo": "ga", "games": ["pong"], "models": ["small"]}


@pytest.mark.parametrize(
    ("config", "installed", "sentence"),
    [
        (
            {"demo": SEARCH},
            (),
            '(plotly and ribs); without them, jobs will fail. Run once: make setup EXTRAS="compare l',
        ),
        ({"demo": SEARCH}, ("plotly",), "(ribs); without them, jobs will fail. Run once: make setup EXTRAS=levels"),
        ({"demo": SEARCH}, ("plotly", "ribs"), None),
        ({"demo": EVOLUTION}, (), None),
    ],
)
def test_packages_that_runs_need_are_missed_before_they_run(config, installed, sentence, monkeypatch):
    monkeypatch.setattr(warnings, "find_spec", lambda name: object() if name in installed else None)
    said = missing_packages(check_config({"experiments": config}))
    assert said is None if sentence is None else sentence in said


def test_a_dask_cluster_needs_its_packages(monkeypatch):
    monkeypatch.setattr(warnings, "find_spec", lambda name: None)
    config = check_config({"experiments": {"demo": EVOLUTION}, "distributed": {"cluster": "local", "workers": 2}})
    assert "make setup EXTRAS=cluster" in missing_packages(config)


def test_onnx_needs_its_packages(monkeypatch):
    monkeypatch.setattr(warnings, "find_spec", lambda name: None)
    config = check_config({"experiments": {"demo": EVOLUTION}, "freeze": {"forms": ["onnx"]}})
    assert "make setup EXTRAS=export" in missing_packages(config)


def test_a_network_that_keras_computes_is_told_once():
    learner = {"algo": "impala", "games": ["pong"], "runs": 2}
    chosen = {name: learner | {"models": [name]} for name in ("impala_shallow", "impala_shallow_lstm")}
    chosen["mine"] = learner | {"models": ["impala_deep"], "overrides": {"engine": "keras"}}
    (said,) = computed_by_keras(check_config({"experiments": chosen | {"other": EVOLUTION}}))
    assert said.startswith("Keras computes the network 'impala_shallow_lstm', which takes longer: the core learns")


def test_a_run_that_its_experiment_leaves_out_is_told_until_it_has_begun(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = check_config({"experiments": {"one": EVOLUTION | {"runs": 2}}})
    runs = ("ga/pong/small/2", "ga/pong/small/3", "ga/pong/large/3", "es/pong/small/3")
    wanted = [f"results/runs/{run}/{file}" for run in runs for file in ("result.json", "rollout.npz")]
    (said,) = runs_besides(config, ["all", "results/site/index.html", *wanted])
    assert said.startswith("ga/pong/small/3 is in no experiment, so it will have the settings under algorithms.ga, not")
    begun = tmp_path / "results/runs/ga/pong/small/3/config.yaml"
    begun.parent.mkdir(parents=True)
    begun.touch()
    assert list(runs_besides(config, wanted)) == []


def told(*experiments):
    chosen = {f"e{number}": {"games": ["pong"], "models": ["small"], **e} for number, e in enumerate(experiments)}
    return played_differently(check_config({"experiments": chosen}))


@pytest.mark.parametrize("name", ["comparison", "book/six_algorithms"])
def test_the_examples_of_a_comparison_play_alike(name):
    config = check_config(yaml.safe_load((PROJECT / "config" / f"{name}.yaml").read_text()))
    assert len({e["algo"] for e in config["experiments"].values()}) >= 3
    assert played_differently(config) is None


def test_algorithms_with_their_own_presets_are_told_with_what_differs_and_what_to_set():
    ppo = {"algo": "impala", "preset": "neurozoo", "models": ["impala_shallow"]}
    sentence = told({"algo": "ga", "preset": "neurozoo"}, {"algo": "dqn", "preset": "neurozoo"}, ppo)
    assert sentence.startswith("In pong, GA, DQN and IMPALA play differently, so not all scores will be compared: ")
    for fact in ("sticky probability", "preprocessing", "test cutoff", "test action rule", "test epsilon"):
        assert fact in sentence
    assert "set protocol, action_set, test_cutoff, test_epsilon and test_actions alike" in sentence


def test_runs_of_one_algorithm_may_differ_too():
    one = {"algo": "ga", "overrides": {"protocol": "machado2018"}}
    sentence = told(one, {"algo": "ga", "runs": [11], "overrides": {"protocol": "uber2018"}})
    assert sentence.startswith("In pong, runs of GA play differently")


def test_settings_that_do_not_change_how_episodes_are_played_are_no_difference():
    assert told({"algo": "ga"}, {"algo": "ga", "runs": [11], "overrides": {"mutation_power": 0.5}}) is None
    assert told({"algo": "ga"}, {"algo": "rs"}, {"algo": "es"}) is None
    assert told({"algo": "ga"}, {"algo": "dqn", "games": ["breakout"]}) is None  # another game


def test_searches_for_levels_are_compared_by_other_rules():
    search = {"algo": "map_elites", "games": ["maze"], "models": ["plain"]}
    assert told(search, {**search, "runs": [11], "overrides": {"num_episodes": 30}}) is None


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


@pytest.fixture
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


def test_an_environment_whose_runs_are_finished_is_not_needed(registered, tmp_path):
    folder = tmp_path / "runs" / "ga" / "gym.Broken-v0" / "simple" / "1"
    folder.mkdir(parents=True)
    with pytest.raises(NeurozooError):
        tried("gym.Broken-v0", results=tmp_path)
    (folder / "result.json").write_text("{}")
    assert tried("gym.Broken-v0", results=tmp_path) == []


def test_an_environment_with_random_numbers_of_its_own_is_told_and_others_are_not(registered):
    (sentence,) = tried("gym.CartPole-v1", "gym.Unseeded-v0", "gym.Platformer-v0", "hard_maze")
    assert sentence.startswith("Two episodes of 'gym.Unseeded-v0' with the same seed differ")


def test_a_broken_environment_is_named_with_its_place_in_the_configuration(registered):
    with pytest.raises(NeurozooError, match=r"mine.games\[1\]: 'gym.Broken-v0' fails in its first step: KeyError: 'se"):
        tried("gym.CartPole-v1", "gym.Broken-v0")


def test_deep_q_learning_refuses_more_actions_than_a_byte_can_tell_apart(registered):
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
