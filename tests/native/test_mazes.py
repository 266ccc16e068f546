"""The core plays mazes as NumPy does: the same endpoints, episodes and visits, for any number of threads."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from neurozoo.environments.level_domains import Play, get_level_domain
from neurozoo.environments.mazes.agents import WallFollower
from neurozoo.environments.mazes.endpoints import SIDE, find_endpoints
from neurozoo.environments.mazes.episodes import Finished, Starts, play_in_core
from neurozoo.environments.mazes.recurrent_agent import RecurrentAgent, choose, layout
from neurozoo.environments.mazes.simulator import TIME_LIMIT, TURN_LEFT, TURN_RIGHT, MazeEpisodes
from neurozoo.environments.splitmix64 import SplitMix64
from neurozoo.errors import NeurozooError
from neurozoo.native import load_core

MAZE = get_level_domain("maze")


def random_walls(count, seed=0, least=0.0, most=0.6):
    rng = np.random.default_rng(seed)
    return rng.random((count, SIDE, SIDE)) < np.linspace(least, most, count)[:, None, None]


def starts_in(walls, *, copies=4, episodes=5, counting=5, seed=1):
    rng = np.random.default_rng(seed)
    endpoints = find_endpoints(walls)
    direction = rng.integers(4, size=(len(walls), copies, episodes)).astype(np.uint8)
    seeds = rng.integers(2**63, size=len(walls))
    return Starts(walls, endpoints.start, endpoints.goal, direction, seeds, counting)


def lively(seed=0, num_actions=3, scale=600):
    """An agent with random weights whose preferences differ and depend on what it sees and remembers."""
    network = layout(num_actions)
    arrays = network.split(network.draw(np.random.default_rng(seed), "orthogonal"))
    arrays["policy/w"] = scale * arrays["policy/w"]
    arrays["policy/b"] = np.r_[0, 0, 1, np.full(num_actions - 3, -2)].astype(np.float32)  # likes to go ahead
    return RecurrentAgent(arrays)


def walk(agent, starts, maze, copy, episode):
    """One episode: cells before each action, actions, and whether the goal was reached."""
    places = starts.start[[maze]], starts.goal[[maze]], starts.direction[[maze], copy, episode]
    level, memory = MazeEpisodes(starts.walls[[maze]], *places), agent.first_memory(1)
    number = copy * starts.direction.shape[2] + episode
    random = SplitMix64(SplitMix64.after(int(starts.seed[maze]), number).next())
    cells, actions, solved = [], [], False
    while not solved and len(cells) < TIME_LIMIT:
        cells.append(int(level.cell[0]))
        if isinstance(agent, RecurrentAgent):
            preferences, memory = agent.preferences(level.image, level.direction, memory)
            action = choose(preferences, np.array([random.uniform()]))
        else:
            action, memory = agent.act(level.image, level.direction, memory, None)
        actions.append(int(action[0]))
        solved = bool(level.step(action)[0])
    return cells, actions, solved


def play_slowly(agent, starts):
    """What the core plays, episode by episode in NumPy.

    Sums have other roundings than in the core. So a recurrent agent may choose another action where a random number
    lies within 1e-6 of the border between two, and go another way from there.
    """
    fields, visits = [], []
    copies, episodes = starts.direction.shape[1:]
    for maze in range(len(starts.walls)):
        walks = [[walk(agent, starts, maze, copy, each) for each in range(episodes)] for copy in range(copies)]
        ends = [np.cumsum([len(cells) for cells, _, _ in row]).tolist() for row in walks]
        order = sorted((end, copy, each) for copy, row in enumerate(ends) for each, end in enumerate(row))
        counting = order[: starts.num_counting]
        fields.append([])
        for _, copy, each in counting:
            cells, actions, solved = walks[copy][each]
            turns = actions.count(TURN_LEFT), actions.count(TURN_RIGHT)
            fields[-1].append((len(cells), solved, len(cells) - len(set(cells)), *turns))
        seen = [list(chain(*(cells for cells, _, _ in row)))[: counting[-1][0]] for row in walks]
        visits.append(np.bincount(np.concatenate(seen), minlength=SIDE * SIDE))
    return Finished(*np.moveaxis(np.array(fields), 2, 0), np.array(visits))


def check_same(found, expected):
    for name in ("lengths", "is_solved", "repeats", "left_turns", "right_turns", "visits"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def test_endpoints_are_those_of_numpy(core):
    corridor = np.ones((3, SIDE, SIDE), bool)
    corridor[1, 15, 14:] = False  # the last two cells
    corridor[2, 4, 4] = False
    walls = np.concatenate([random_walls(300, most=1.0), corridor, np.zeros((1, SIDE, SIDE), bool)])
    found, expected = find_endpoints(walls, core=core), find_endpoints(walls)
    for name in ("start", "goal", "distance", "reachable"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    assert (expected.distance < 1).sum() >= 2


@pytest.mark.parametrize("sampling", ["first_finished", "fixed"])
@pytest.mark.parametrize("episodes", [7, 50])
def test_an_evaluation_of_the_wall_follower_is_the_same_to_the_byte(core, sampling, episodes):
    levels = random_walls(40, seed=2, most=0.95).astype(np.uint8)
    play = Play(agent="wall_follower", num_episodes=episodes, sampling=sampling, shares_first_direction=episodes == 50)
    slow = MAZE.evaluate(levels, play, [np.random.default_rng(n) for n in range(40)])
    for threads in (1, 3):
        in_op = replace(play, core=core, threads=threads)
        fast = MAZE.evaluate(levels, in_op, [np.random.default_rng(n) for n in range(40)])
        assert {name: array.tobytes() for name, array in fast.values.items()} == {
            name: array.tobytes() for name, array in slow.values.items()
        }
        assert fast.occupancy.tobytes() == slow.occupancy.tobytes()
        assert fast.levels.tobytes() == slow.levels.tobytes()
    assert slow.values["left_turns"].std() > 5


def test_every_episode_of_the_wall_follower_is_that_of_a_slow_twin(core):
    starts = starts_in(random_walls(20, seed=3))
    check_same(play_in_core(WallFollower(), starts, core=core), play_slowly(WallFollower(), starts))


@pytest.mark.parametrize("num_actions", [3, 7])
def test_preferences_are_those_of_a_twin_in_double_precision(core, num_actions):
    agent = lively(num_actions=num_actions)
    walls = random_walls(2, seed=4, most=0.3)[1:]
    ends = find_endpoints(walls)
    rng = np.random.default_rng(5)
    episode = MazeEpisodes(walls, ends.start, ends.goal, np.array([1]))
    memory, expected, poses = agent.first_memory(1), [], []
    for _ in range(300):
        preferences, memory = agent.preferences(episode.image, episode.direction, memory)
        expected.append(preferences[0])
        poses.append((episode.cell[0], episode.direction[0]))
        episode.step(rng.choice(3, size=1, p=[0.2, 0.2, 0.6]))
    cells, directions = np.array(poses, np.int64).T
    found = load_core(core).compute_maze_preferences(
        walls=walls[0], goal=ends.goal[0], cells=cells, directions=directions, parameters=agent.core_parameters
    )
    assert np.ptp(expected, axis=0).min() > 0.1
    # Sums of 405 products are rounded to 24 bits, and the memory carries that on.
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize("num_actions", [7, pytest.param(3, marks=pytest.mark.long(seconds=3))])
def test_the_recurrent_agent_walks_as_its_twin(core, num_actions):
    agent = lively(num_actions=num_actions)
    starts = starts_in(random_walls(2, seed=6, least=0.45), copies=3, episodes=2, counting=4)
    expected = play_slowly(agent, starts)
    check_same(play_in_core(agent, starts, core=core), expected)
    assert expected.lengths.std() > 50


def test_episodes_depend_neither_on_threads_nor_on_other_mazes(core):
    agent = lively()
    starts = starts_in(random_walls(8, seed=7, least=0.5), copies=5, episodes=2, counting=6)
    whole = play_in_core(agent, starts, core=core)
    for threads in (3, 100_000):  # no more are started than there are mazes
        check_same(play_in_core(agent, starts, core=core, threads=threads), whole)
    some = np.array([7, 3, 1])
    parts = (getattr(starts, name)[some] for name in ("walls", "start", "goal", "direction", "seed"))
    alone = play_in_core(agent, Starts(*parts, starts.num_counting), core=core)
    np.testing.assert_array_equal(alone.lengths, whole.lengths[some])
    np.testing.assert_array_equal(alone.visits, whole.visits[some])
    other = play_in_core(agent, replace(starts, seed=starts.seed + 1), core=core)
    assert not np.array_equal(other.visits, whole.visits)


def test_an_episode_begins_without_memory(core):
    agent = lively()
    walls = np.repeat(random_walls(1, seed=8, least=0.4), 20, axis=0)
    one = starts_in(walls, copies=1, episodes=1, counting=1)
    two = replace(one, direction=np.repeat(one.direction, 2, axis=2), num_counting=2)
    np.testing.assert_array_equal(
        play_in_core(agent, one, core=core).lengths[:, 0], play_in_core(agent, two, core=core).lengths[:, 0]
    )
    # The second episode has the random numbers that the first one has under a seed moved by one.
    moved = replace(one, seed=(one.seed.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)).astype(np.int64))
    np.testing.assert_array_equal(
        play_in_core(agent, moved, core=core).lengths[:, 0], play_in_core(agent, two, core=core).lengths[:, 1]
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"num_counting": 21}, "4 copies with 5 episodes each never finish 21"),
        ({"num_counting": -1}, r"^num_counting should be at least 1, but is -1\.$"),
        ({"goal": np.array([256])}, "Level 0 has no free cell 256"),
        ({"direction": np.full((1, 4, 5), 4, np.uint8)}, "direction should be from 0"),
        ({"direction": np.zeros((1, 4), np.uint8)}, r"shape \(mazes, copies, episodes\), not \[1,4\]"),
        ({"seed": np.zeros(2, np.int64)}, "Input seeds should have 1 values, but has 2"),
    ],
)
def test_what_makes_no_sense_is_refused(core, change, sentence):
    starts = replace(starts_in(random_walls(1)), **change)
    with pytest.raises(NeurozooError, match=sentence):
        play_in_core(WallFollower(), starts, core=core)


def test_weights_of_another_network_are_refused(core):
    with pytest.raises(NeurozooError, match="432,698 parameters and 33 for each of 3 to 8 actions, but 7 were given"):
        load_core(core).compute_maze_preferences(
            walls=np.zeros((16, 16)), goal=0, cells=[0], directions=[0], parameters=np.zeros(7)
        )
