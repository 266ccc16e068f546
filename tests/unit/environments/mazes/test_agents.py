"""Files of agents: what can be sent into mazes, and what is refused."""

import json

import numpy as np
import pytest
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.level_domains import Play, get_level_domain
from neurozoo.environments.mazes.agents import read_maze_agent
from neurozoo.environments.mazes.recurrent_agent import layout
from neurozoo.environments.mazes.simulator import FORWARD, TURN_RIGHT, MazeEpisodes
from neurozoo.environments.mazes.world import MazeWorld
from neurozoo.environments.protocols import get_protocol
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, make_evaluator, play
from neurozoo.genomes.genome import Genome, Weights

PROTOCOL = get_protocol("maze")
LAYOUT = layout_of("maze", "simple", PROTOCOL)
MAZE = get_level_domain("maze")


def weights():
    """Returns a network that goes ahead, and turns right where a wall is before it."""
    theta = np.zeros(LAYOUT.parameter_count, np.float32)
    arrays = LAYOUT.split(theta)
    ahead = np.ravel_multi_index((2, 3, 0), (5, 5, 4))  # 1 empty, 2 wall, 8 goal
    arrays["fc1/w"][ahead, :2] = 1
    arrays["fc1/b"][:2] = -1, -2
    arrays["fc2/w"][:2, :2] = np.eye(2)
    arrays["out/w"][:2, TURN_RIGHT] = 1, -7 / 6  # 1 before a wall, 0 otherwise
    arrays["out/b"][FORWARD] = 0.5
    return theta


def checkpoint(path, *, theta=None, **changes):
    about = {"game": "maze", "model": "simple", "num_actions": 3} | changes
    np.savez(path, theta=weights() if theta is None else theta, about=np.array(json.dumps(about)))
    return path


def test_a_file_of_arrays_is_a_recurrent_agent(tmp_path):
    theta = layout().draw(np.random.default_rng(3), "orthogonal")
    np.savez(tmp_path / "agent.npz", **layout().split(theta))
    np.testing.assert_array_equal(read_maze_agent(tmp_path / "agent.npz").core_parameters, theta)


def test_an_evolved_agent_walks_in_mazes_as_it_does_in_training(tmp_path, small_noise_table):
    """The evaluator of the genetic algorithm plays mazes of its own; here the agent walks through the same ones."""
    theta = weights()
    agent = read_maze_agent(checkpoint(tmp_path / "checkpoint.npz", theta=theta))
    genome = Genome(Weights.of(theta))
    evaluator = make_evaluator(
        game="maze", layout=LAYOUT, protocol=PROTOCOL, core="no core", noise=small_noise_table, behaviour="none"
    )
    evaluator.pin([genome])
    found = play(evaluator, {seed: Episode(genome, 0, seed, PROTOCOL.max_frames) for seed in range(40)})
    world, solved = MazeWorld("maze", PROTOCOL), 0
    for seed, result in found.items():
        world.reset(seed=seed)
        level = world.level
        places = (np.array([each]) for each in (level.start, level.goal, level.direction))
        episode, is_solved = MazeEpisodes(level.walls[None], *places), False
        while not is_solved and episode.steps < PROTOCOL.max_frames:
            actions, _ = agent.act(episode.image, episode.direction, agent.first_memory(1), np.random.default_rng(0))
            is_solved = bool(episode.step(actions)[0])
        assert (result.steps, result.score > 0) == (episode.steps, is_solved)
        solved += is_solved
    assert 0 < solved < 40


def test_what_an_evolved_agent_does_in_a_maze_depends_neither_on_the_others_nor_on_the_core(tmp_path, core):
    path = str(checkpoint(tmp_path / "checkpoint.npz"))
    rng = np.random.default_rng(1)
    levels = MAZE.decode(rng.random((30, 256)) + rng.uniform(-0.5, 0.1, (30, 1)))
    rngs = [[np.random.default_rng(number) for number in range(30)] for _ in range(3)]
    together = MAZE.evaluate(levels, Play(agent=path), rngs[0])
    with_op = MAZE.evaluate(levels, Play(agent=path, core=core, threads=2), rngs[1])
    for number in range(30):
        alone = MAZE.evaluate(levels[number : number + 1], Play(agent=path), rngs[2][number : number + 1])
        for name, values in alone.values.items():
            assert values[0] == together.values[name][number] == with_op.values[name][number]
        np.testing.assert_array_equal(alone.occupancy[0], together.occupancy[number])
    assert 0 < together.values["solved"].mean() < 1


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"game": "frostbite"}, "trained in the game 'maze', but is of 'frostbite'"),
        ({"model": "impala_shallow"}, "impala_shallow"),
        ({"model": "large"}, "should be of a network of dense layers, but is of 'large'"),
        ({"model": "simpel"}, "did you mean 'simple'"),
        ({"num_actions": 90}, "should have 3 to 8 actions, but has 90"),
        ({"num_actions": 7}, "with 7 actions should be .* finite numbers of float32"),
        ({"theta": np.full(LAYOUT.parameter_count, np.nan, np.float32)}, "finite numbers"),
        ({"theta": np.zeros(9, np.float32)}, r"of shape \(9,\)"),
        ({"model": "maze_recurrent"}, "has 432,797 parameters, but got an array of shape"),
        ({"model": None}, "is no agent for mazes"),
    ],
)
def test_a_checkpoint_of_something_else_gets_a_sentence(tmp_path, changes, sentence):
    with pytest.raises(NeurozooError, match=sentence):
        read_maze_agent(checkpoint(tmp_path / "checkpoint.npz", **changes))


@pytest.mark.parametrize("about", ["[]", "{", "null", '"maze"'])
def test_a_damaged_checkpoint_gets_a_sentence(tmp_path, about):
    np.savez(tmp_path / "checkpoint.npz", theta=weights(), about=np.array(about))
    with pytest.raises(NeurozooError, match="is no agent for mazes"):
        read_maze_agent(tmp_path / "checkpoint.npz")


def test_a_missing_agent_gets_a_sentence(tmp_path):
    with pytest.raises(NeurozooError, match="is missing"):
        read_maze_agent(tmp_path / "checkpoint.npz")
