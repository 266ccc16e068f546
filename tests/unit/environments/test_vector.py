"""Vector environments continue exactly from a saved state, and report rewards, lives and ends."""

import dataclasses

import numpy as np
import pytest
from neurozoo.environments import make_world
from neurozoo.environments.protocols import get_protocol
from neurozoo.environments.vector import AtariVectorEnvironment
from neurozoo.errors import NeurozooError

from .vector_steps import assert_same, play

STICKY = get_protocol("machado2018")


def vector(game="breakout", protocol=STICKY, count=3, threads=1, seed=0, **choices):
    return AtariVectorEnvironment(
        game,
        protocol,
        count=count,
        threads=threads,
        seed_of=lambda index, episode: seed + 100 * index + episode,
        **choices,
    )


def test_restored_environments_continue_like_ones_that_were_never_interrupted():
    environment = vector()
    play(environment, 250, np.random.default_rng(1))  # past ends of games, at different times in each environment
    assert len(set(environment.episodes.tolist())) > 1 or environment.episodes.min() > 0
    state, arrays = environment.get_state(), environment.get_arrays()
    continued = vector(threads=2)
    continued.set_state(state, arrays)
    np.testing.assert_array_equal(continued.stacks, environment.stacks)
    np.testing.assert_array_equal(continued.lives, environment.lives)
    assert_same(play(continued, 60, np.random.default_rng(2)), play(environment, 60, np.random.default_rng(2)))


def test_an_environment_that_has_just_started_an_episode_continues_too():
    environment = vector(count=2)
    play(environment, 30, np.random.default_rng(1))
    environment.start_episodes(np.array([True, False]))
    continued = vector(count=2)
    continued.set_state(environment.get_state(), environment.get_arrays())
    assert_same(play(continued, 50, np.random.default_rng(2)), play(environment, 50, np.random.default_rng(2)))


def test_a_state_whose_actions_lead_to_other_screens_is_refused():
    environment = vector()
    play(environment, 20, np.random.default_rng(1))
    state, arrays = environment.get_state(), environment.get_arrays()
    arrays = {"actions": arrays["actions"][::-1].copy()}
    with pytest.raises(NeurozooError, match="the same actions now lead to other screens"):
        vector().set_state(state, arrays)


def test_an_episode_depends_on_its_own_seed_only():
    alone, beside = vector(count=1, seed=7), vector(count=3, seed=7)
    for action in np.random.default_rng(1).integers(alone.num_actions, size=200):
        for environment in (alone, beside):
            environment.send(np.full(environment.count, action))
            environment.receive()
        np.testing.assert_array_equal(alone.stacks[0], beside.stacks[0])
    assert (beside.stacks[0] != beside.stacks[1]).any()


def test_lost_lives_and_the_end_of_the_game_are_distinguished():
    seen = play(vector(count=1, protocol=get_protocol("nature2015")), 600, np.random.default_rng(1))
    lost = sum(int(step[5][0]) for step in seen)
    over = sum(int(step[3][0]) for step in seen)
    assert over >= 1
    assert lost >= 5 * over  # five lives in Breakout; the last one ends the game, too


def test_a_frame_limit_truncates_an_episode_without_ending_the_game():
    short = dataclasses.replace(STICKY, max_frames=80)
    seen = play(vector("pong", short, count=1), 45, np.random.default_rng(1))
    assert [n for n, step in enumerate(seen, start=1) if step[4][0]] == [20, 40]
    assert not any(step[3][0] for step in seen)


def test_rewards_are_the_games_own_points():
    seen = play(vector("seaquest", count=4), 200, np.random.default_rng(1))
    rewards = {float(reward) for step in seen for reward in step[2]}
    assert max(rewards) >= 20


@pytest.mark.parametrize(("game", "protocol"), [("pong", "uber2018"), ("river_crossing", "river_fixed")])
def test_other_protocols_are_refused(game, protocol):
    with pytest.raises(NeurozooError, match="vector environment does not play"):
        vector(game, get_protocol(protocol))


@pytest.mark.long(seconds=15)
def test_episodes_begin_with_as_many_no_ops_as_the_protocol_says():
    protocol = dataclasses.replace(get_protocol("nature2015"), max_noops=3)
    world = make_world("freeway", protocol)
    screens = [np.rint(world.reset(noops=noops)[..., -1] * 255) for noops in range(5)]
    environment = vector("freeway", protocol, count=4)
    found = set()
    for _ in range(12):
        for screen in environment.screens:
            (noops,) = [n for n, other in enumerate(screens) if np.abs(screen - other).max() <= 1]  # one fits
            found.add(noops)
        environment.start_episodes(np.ones(4, bool))
    assert found == {1, 2, 3}


@pytest.mark.long(seconds=7)
def test_a_restored_environment_that_had_to_draw_its_no_ops_again_continues():
    protocol = dataclasses.replace(get_protocol("nature2015"), max_noops=1)  # half of all draws are none
    environment = vector("freeway", protocol, count=4)
    play(environment, 20, np.random.default_rng(1))
    continued = vector("freeway", protocol, count=4)
    continued.set_state(environment.get_state(), environment.get_arrays())
    np.testing.assert_array_equal(continued.stacks, environment.stacks)
