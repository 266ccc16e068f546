"""An evolved network runs through platform levels as in its training, and fills archives instead of the A* agent."""

import json

import numpy as np
import pytest
from neurozoo.environments import make_world
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.level_domains import Play, check_agent, get_level_domain
from neurozoo.environments.platformer.evolved_runner import GAME, read_runner, run_through
from neurozoo.environments.platformer.simulator import WON
from neurozoo.environments.platformer.tiles import to_characters
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.networks.numpy_networks import dense_network

PROTOCOL = protocol_of(GAME)


@pytest.fixture(scope="module")
def layout():
    return layout_of(GAME, "simple", PROTOCOL)


def checkpoint(path, layout, **changes):
    theta = 0.3 * np.random.default_rng(2).standard_normal(layout.parameter_count).astype(np.float32)
    about = {"game": GAME, "model": "simple", "num_actions": 8} | changes
    np.savez(path, theta=about.pop("theta", theta), about=np.array(json.dumps(about)))
    return str(path)


def levels(count):
    domain = get_level_domain("mario")
    return domain.decode(np.random.default_rng(0).standard_normal((count, 32)))


def test_it_does_in_a_level_what_it_does_in_the_game_it_was_trained_in(tmp_path, layout):
    path = checkpoint(tmp_path / "checkpoint.npz", layout)
    world, run = make_world(GAME, PROTOCOL), dense_network(layout, np.load(path)["theta"])
    for seed in range(8):
        observation, score = world.reset(seed=seed), 0.0
        level = world._environment.unwrapped._level
        while not world.is_done:
            observation, reward, _ = world.act(run(observation.reshape(-1)))
            score += reward
        buttons, game = run_through(read_runner(path), to_characters(level[None])[0])
        assert world._environment.unwrapped.game.tick == len(buttons) == game.tick[-1]
        assert 100 * (game.completion[-1] - game.completion[0]) == pytest.approx(score, abs=1e-3)


def test_its_outcomes_are_those_of_the_games_and_depend_on_the_level_alone(tmp_path, layout):
    domain, path = get_level_domain("mario"), checkpoint(tmp_path / "checkpoint.npz", layout)
    check_agent(domain, path)
    made = levels(12)
    play = Play(agent=path, num_episodes=5)
    together = domain.evaluate(made, play, [np.random.default_rng(n) for n in range(12)])
    for number, level in enumerate(made):
        alone = domain.evaluate(level[None], play, [np.random.default_rng(99)])
        assert alone.objectives[0] == together.objectives[number]
        _, game = run_through(read_runner(path), to_characters(level[None])[0])
        assert together.objectives[number] == game.completion[-1]
        assert together.values["won"][number] == (game.status[-1] == WON)
        assert together.values["ticks"][number] == game.tick[-1]
        assert together.values["longest_jump"][number] == game.longest_jump[-1]
        inside = game.position[1:, 1] < 16 * 16
        assert together.occupancy[number].sum() == (inside & (game.position[1:, 1] >= 0)).sum()
        (way,) = domain.ways(level[None], path)
        assert set(way[1:]) == set(np.flatnonzero(together.occupancy[number]))
    assert (together.values["jumps"] > 0).any()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"game": "frostbite"}, "trained in the game 'gym.Platformer-v0', but is of 'frostbite'"),
        ({"num_actions": 7}, "should have 8 actions, but has 7"),
        ({"model": "large"}, "should be of a network of dense layers"),
        ({"model": "mujoco"}, "should be of a network of dense layers"),
        ({"theta": np.zeros(9, np.float32)}, r"of shape \(9,\)"),
    ],
)
def test_a_checkpoint_of_something_else_gets_a_sentence(tmp_path, layout, changes, sentence):
    with pytest.raises(NeurozooError, match=sentence):
        read_runner(checkpoint(tmp_path / "checkpoint.npz", layout, **changes))


def test_a_missing_or_damaged_file_gets_a_sentence(tmp_path):
    with pytest.raises(NeurozooError, match=r"is missing\. Train one"):
        read_runner(tmp_path / "none.npz")
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(NeurozooError, match="is no agent for platform levels"):
        read_runner(tmp_path / "broken.npz")
