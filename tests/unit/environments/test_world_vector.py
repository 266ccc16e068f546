"""Several river crossing tasks at once equal single ones, and continue exactly from a saved state."""

import dataclasses

import numpy as np
import pytest
from neurozoo.environments import make_world
from neurozoo.environments.protocols import get_protocol
from neurozoo.environments.vector_environments import make_vector_environment
from neurozoo.environments.world_vector import WorldVectorEnvironment
from neurozoo.errors import NeurozooError

PROTOCOL = get_protocol("river_fixed")
STAY, LEFT, RIGHT = 0, 4, 5


def vector(protocol=PROTOCOL, count=3, seed=0):
    return WorldVectorEnvironment(
        "river_crossing", protocol, count=count, seed_of=lambda index, episode: seed + 100 * index + episode
    )


def play(environment, steps, random):
    seen = []
    for _ in range(steps):
        environment.send(random.integers(environment.num_actions, size=environment.count))
        step = environment.receive()
        seen.append((environment.screens.copy(), environment.lives.copy(), *step))
        if (ended := step.is_over | step.is_cut).any():
            environment.start_episodes(ended)
    return seen


def assert_same(first, second):
    for one, other in zip(first, second, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_factory_makes_it():
    environment = make_vector_environment(
        "river_crossing", PROTOCOL, count=2, threads=1, seed_of=lambda index, episode: 0
    )
    assert environment.num_actions == 18
    assert environment.stacks.shape == (2, 4, 84, 84)
    assert environment.lives.tolist() == [10, 10]


def test_each_environment_plays_the_episode_of_its_seed():
    environment, twin = vector(count=2, seed=5), make_world("river_crossing", PROTOCOL)
    observation = twin.reset(seed=105)
    score = twin_score = 0.0
    for action in np.random.default_rng(3).integers(18, size=150):
        np.testing.assert_array_equal(environment.stacks[1], np.rint(observation.transpose(2, 0, 1) * 255))
        environment.send(np.array([STAY, action]))
        step = environment.receive()
        observation, reward, is_done = twin.act(np.eye(18, dtype=np.float32)[action])
        score += step.rewards[1]
        twin_score += reward
        assert step.is_over[1] == is_done
        if is_done:
            break
    assert score == twin_score


def test_an_attempt_is_a_life_and_the_last_one_ends_the_episode():
    environment = vector(count=1)
    lost, lives = [], []
    for _ in range(20):
        environment.send(np.array([LEFT]))  # from column 1: the second step leaves the grid
        step = environment.receive()
        lost.append(bool(step.is_life_lost[0]))
        lives.append(int(environment.lives[0]))
        assert step.is_over[0] == (len(lost) == 20)
    # A trap on the way would end an attempt a step earlier; the ten worlds of this seed have none there.
    assert lost == [False, True] * 10
    assert lives == [lives_left for n in range(10, 0, -1) for lives_left in (n, n - 1)]


def test_a_frame_limit_cuts_an_episode():
    environment = vector(dataclasses.replace(PROTOCOL, max_frames=5), count=1)
    steps = []
    for _ in range(5):
        environment.send(np.array([STAY]))
        steps.append(environment.receive())
    assert [bool(step.is_cut[0]) for step in steps] == [False] * 4 + [True]
    assert not any(step.is_over[0] for step in steps)


def test_a_new_episode_begins_with_three_black_screens_and_old_arrays_stay():
    environment = vector(count=2)
    play(environment, 10, np.random.default_rng(1))
    before = environment.stacks
    kept = before.copy()
    environment.start_episodes(np.array([False, True]))
    assert not environment.stacks[1, :3].any()
    assert environment.stacks[1, 3].any()
    assert environment.episodes.tolist()[1] == 1
    np.testing.assert_array_equal(before, kept)


def test_restored_environments_continue_like_ones_that_were_never_interrupted():
    environment = vector()
    play(environment, 500, np.random.default_rng(1))  # past ends of episodes
    assert environment.episodes.max() >= 1
    continued = vector()
    continued.set_state(environment.get_state(), environment.get_arrays())
    np.testing.assert_array_equal(continued.stacks, environment.stacks)
    assert_same(play(continued, 300, np.random.default_rng(2)), play(environment, 300, np.random.default_rng(2)))


def test_a_state_whose_actions_lead_to_other_screens_is_refused():
    environment = vector()
    play(environment, 7, np.random.default_rng(1))
    arrays = {"actions": np.full_like(environment.get_arrays()["actions"], STAY)}
    with pytest.raises(NeurozooError, match="the same actions now lead to other screens"):
        vector().set_state(environment.get_state(), arrays)


def test_other_observations_are_refused():
    with pytest.raises(NeurozooError, match="Set observation to pixels"):
        vector(get_protocol("river_fixed", observation="rgb"))
