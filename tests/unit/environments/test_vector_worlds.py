"""Worlds that continue exactly, and what they report."""

import dataclasses

import numpy as np
import pytest
from neurozoo.environments import make_world
from neurozoo.environments.vector_worlds import VectorWorlds
from neurozoo.errors import NeurozooError
from neurozoo.games import get_protocol

STICKY = get_protocol("machado2018")


def worlds_of(game="breakout", protocol=STICKY, count=3, threads=1, seed=0):
    return VectorWorlds(
        game, protocol, count=count, threads=threads, seed_of=lambda world, episode: seed + 100 * world + episode
    )


def play(worlds, steps, random):
    """Plays random actions; returns what happened, step by step."""
    seen = []
    for _ in range(steps):
        actions = random.integers(worlds.num_actions, size=worlds.count)
        worlds.send(actions)
        step = worlds.receive()
        seen.append((worlds.screens.copy(), *step))
        if (ended := step.is_over | step.is_cut).any():
            worlds.start_episodes(ended)
    return seen


def assert_same(first, second):
    for one, other in zip(first, second, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_worlds_that_continue_see_what_undisturbed_ones_see():
    worlds = worlds_of()
    play(worlds, 400, np.random.default_rng(1))  # over ends of games, which come at different times
    assert len(set(worlds.episodes.tolist())) > 1 or worlds.episodes.min() > 0
    state, arrays = worlds.get_state(), worlds.get_arrays()
    continued = worlds_of(threads=2)
    continued.set_state(state, arrays)
    np.testing.assert_array_equal(continued.stacks, worlds.stacks)
    np.testing.assert_array_equal(continued.lives, worlds.lives)
    assert_same(play(continued, 300, np.random.default_rng(2)), play(worlds, 300, np.random.default_rng(2)))


def test_a_world_that_has_just_begun_an_episode_continues_too():
    worlds = worlds_of(count=2)
    play(worlds, 30, np.random.default_rng(1))
    worlds.start_episodes(np.array([True, False]))
    continued = worlds_of(count=2)
    continued.set_state(worlds.get_state(), worlds.get_arrays())
    assert_same(play(continued, 50, np.random.default_rng(2)), play(worlds, 50, np.random.default_rng(2)))


def test_worlds_that_show_something_else_than_before_are_refused():
    worlds = worlds_of()
    play(worlds, 20, np.random.default_rng(1))
    state, arrays = worlds.get_state(), worlds.get_arrays()
    arrays = {"actions": arrays["actions"][::-1].copy()}
    with pytest.raises(NeurozooError, match="the same actions now lead to other screens"):
        worlds_of().set_state(state, arrays)


def test_an_episode_depends_on_its_own_seed_only():
    alone, beside = worlds_of(count=1, seed=7), worlds_of(count=3, seed=7)
    for action in np.random.default_rng(1).integers(alone.num_actions, size=200):
        for worlds in (alone, beside):
            worlds.send(np.full(worlds.count, action))
            worlds.receive()
        np.testing.assert_array_equal(alone.stacks[0], beside.stacks[0])
    assert (beside.stacks[0] != beside.stacks[1]).any()


def test_a_new_episode_begins_with_three_black_screens():
    worlds = worlds_of()
    play(worlds, 50, np.random.default_rng(1))
    worlds.start_episodes(np.array([False, True, False]))
    assert not worlds.stacks[1, :3].any()
    assert worlds.stacks[1, 3].any()
    assert worlds.stacks[0, :3].any()


def test_lost_lives_and_the_end_of_the_game_are_told_apart():
    seen = play(worlds_of(count=1, protocol=get_protocol("nature2015")), 600, np.random.default_rng(1))
    lost = sum(int(step[4][0]) for step in seen)
    over = sum(int(step[2][0]) for step in seen)
    assert over >= 1
    assert lost >= 5 * over  # five lives in Breakout; the last one ends the game, too


def test_a_limit_cuts_an_episode_without_ending_the_game():
    short = dataclasses.replace(STICKY, max_frames=80)
    seen = play(worlds_of("pong", short, count=1), 45, np.random.default_rng(1))
    assert [n for n, step in enumerate(seen, start=1) if step[3][0]] == [20, 40]
    assert not any(step[2][0] for step in seen)


def test_rewards_are_the_games_own_points():
    seen = play(worlds_of("seaquest", count=4), 900, np.random.default_rng(1))
    rewards = {float(reward) for step in seen for reward in step[1]}
    assert max(rewards) >= 20


def test_what_is_seen_is_what_the_native_preprocessing_shows():
    """Without chance both play the same game; one grey level of rounding is allowed, see the design."""
    plain = dataclasses.replace(STICKY, sticky_probability=0.0)
    worlds, twin = worlds_of("pong", plain, count=1), make_world("pong", plain)
    twin.reset(noops=0)
    for action in np.random.default_rng(3).integers(worlds.num_actions, size=60):
        worlds.send(np.array([action]))
        worlds.receive()
        observation, _, _ = twin.step(int(action))
        difference = np.abs(worlds.stacks[0].transpose(1, 2, 0).astype(int) - np.rint(observation * 255).astype(int))
        assert difference.max() <= 1


@pytest.mark.parametrize(("game", "protocol"), [("pong", "uber2018"), ("river_crossing", "river_fixed")])
def test_other_protocols_are_refused(game, protocol):
    with pytest.raises(NeurozooError, match="vector environment does not play"):
        worlds_of(game, get_protocol(protocol))
