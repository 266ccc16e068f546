"""All environments follow the `World` interface, and the native ones equal those in Python to the bit."""

import dataclasses

import numpy as np
import pytest
from neurozoo.environments import make_world
from neurozoo.environments.protocols import output_names, protocol_of
from neurozoo.environments.river_agents import ShuntingAgent
from neurozoo.errors import NeurozooError

RIVERS = [
    (rules, observation)
    for rules in ("river_fixed", "river_faithful")
    for observation in ("pixels", "rgb", "greyscale", "objects")
]
WORLDS = [("frostbite", None), ("river_crossing", None), ("river_crossing", "river_faithful"), ("hard_maze", None)]
WORLDS += [("gym.CartPole-v1", None), ("gym.MountainCarContinuous-v0", None), ("frostbite", "gym_v4")]


def record(world, choose, *, seed):
    """Plays an episode and returns outputs, planes, rewards and ends."""
    world.reset(seed=seed)
    outputs, planes, rewards, ends = [], [world.plane], [], []
    while not world.is_done:
        outputs.append(choose(world))
        _, reward, is_done = world.act(outputs[-1])
        planes.append(world.plane)
        rewards.append(reward)
        ends.append(is_done)
    return np.array(outputs), np.array(planes), rewards, ends


def assert_native_equals(play_natively, world, choose, *, seed, **limits):
    outputs, planes, rewards, ends = record(world, choose, seed=seed)
    native = play_natively(world.protocol, outputs, world.shape, seed=seed, **limits)
    np.testing.assert_array_equal(native.planes, planes)
    np.testing.assert_array_equal(native.rewards, rewards)
    np.testing.assert_array_equal(native.is_over, ends)
    assert (native.frames == 1).all()
    np.testing.assert_array_equal(native.final_positions, world.final_positions.ravel())
    return len(outputs)


def wavering_agent(generator, *, share=0.97):
    """The scripted agent with some random actions in between, so that all levels and all deaths are seen."""
    agent = ShuntingAgent()

    def choose(world):
        outputs = generator.random(18, np.float32)
        if generator.random() < share:
            world.river.enter_next_world()
            outputs[agent(world.river)] = 2
        return outputs

    return choose


@pytest.mark.parametrize(("protocol", "observation"), RIVERS)
def test_the_native_river_crossing_equals_its_twin_to_the_bit(play_natively, protocol, observation):
    world = make_world("river_crossing", protocol_of("river_crossing", protocol, observation=observation))
    generator = np.random.default_rng(0)
    wanted = 500 if observation == "pixels" else 2000  # steps
    steps, seed, levels = 0, 0, set()
    while steps < wanted:
        choose = wavering_agent(generator) if seed % 2 else lambda _: generator.random(18, np.float32)
        steps += assert_native_equals(play_natively, world, choose, seed=seed)
        levels |= set(world.final_positions[:, 2])
        seed += 1
    assert levels >= {0, 3}


@pytest.mark.parametrize("game", ["river_crossing", "hard_maze"])
@pytest.mark.parametrize("max_frames", [1, 37])
def test_a_frame_limit_ends_native_and_python_episodes_alike(play_natively, game, max_frames):
    for protocol in {"river_crossing": ("river_fixed", "river_faithful"), "hard_maze": ("hard_maze",)}[game]:
        world = make_world(game, dataclasses.replace(protocol_of(game, protocol), max_frames=max_frames))
        generator = np.random.default_rng(1)

        def stay(world, generator=generator):
            return np.zeros(world.num_outputs, np.float32)

        assert assert_native_equals(play_natively, world, stay, seed=5, max_frames=max_frames) == max_frames


def test_the_first_of_equal_outputs_wins_in_both_languages(play_natively):
    world = make_world("river_crossing", protocol_of("river_crossing"))
    assert_native_equals(play_natively, world, lambda _: np.repeat([0, 1], 9).astype(np.float32), seed=0)


@pytest.mark.parametrize("seed", range(4))
def test_the_native_maze_equals_its_twin_to_the_bit(play_natively, seed):
    world = make_world("hard_maze", protocol_of("hard_maze"))
    generator = np.random.default_rng(seed)
    turn = 0.0

    def wander(_):
        nonlocal turn
        turn = 0.9 * turn + generator.normal(scale=0.2)
        outputs = np.array([turn, generator.normal(0.3, 0.4)], np.float32)
        outputs[generator.random(2) < 0.01] = np.nan
        return outputs

    assert assert_native_equals(play_natively, world, wander, seed=seed) == 400


@pytest.mark.parametrize(("game", "protocol"), WORLDS)
def test_a_world_follows_the_interface(game, protocol):
    record_ = protocol_of(game, protocol)
    world = make_world(game, record_)
    assert (world.game, world.protocol, world.is_done) == (game, record_, True)
    assert world.num_outputs == len(output_names(game, record_))
    first = world.reset(noops=1, seed=3)
    assert (world.steps, world.frames, world.is_done) == (0, 0, False)
    assert (first.shape, first.dtype) == (world.shape.observation, np.float32)
    np.testing.assert_array_equal(first[..., -world.shape.channels :], world.plane)
    assert not first[..., : -world.shape.channels].any()
    generator = np.random.default_rng(0)
    for step in range(5):
        observation, reward, is_done = world.act(generator.random(world.num_outputs, np.float32))
        assert (observation.shape, observation.dtype) == (world.shape.observation, np.float32)
        assert (world.plane.shape, world.plane.dtype) == (world.shape.plane, np.float32)
        assert isinstance(reward, float)
        assert is_done is world.is_done is False
        assert world.steps == step + 1 <= world.frames
    assert (world.screen.shape, world.screen.dtype) == (world.screen_shape, np.uint8)
    assert (world.ram.ndim, world.ram.dtype) == (1, np.uint8)
    assert (world.final_positions.ndim, world.final_positions.dtype) == (2, np.float32)
    with pytest.raises(NeurozooError, match="outputs, but got an array of shape"):
        world.act(np.zeros(world.num_outputs + 1, np.float32))
    with pytest.raises(NeurozooError, match="noops and seed should be 0 or more"):
        world.reset(seed=-1)


@pytest.mark.parametrize(("game", "protocol"), WORLDS)
def test_an_episode_depends_on_the_seed_alone(game, protocol):
    record_ = dataclasses.replace(protocol_of(game, protocol), max_frames=40)

    def episode(world):
        generator = np.random.default_rng(0)
        return record(world, lambda world: generator.random(world.num_outputs, np.float32), seed=8)

    used = make_world(game, record_)
    record(used, lambda world: np.zeros(world.num_outputs, np.float32), seed=1)
    for first, second in zip(episode(make_world(game, record_)), episode(used), strict=True):
        np.testing.assert_array_equal(first, second)


def test_a_world_is_not_stepped_after_its_end():
    world = make_world("hard_maze", protocol_of("hard_maze"))
    outputs = np.zeros(2, np.float32)
    with pytest.raises(NeurozooError, match="call reset"):
        world.act(outputs)
    world.reset()
    while not world.is_done:
        world.act(outputs)
    assert world.steps == 400
    with pytest.raises(NeurozooError, match="call reset"):
        world.act(outputs)


def test_a_game_and_a_protocol_that_do_not_fit_are_refused():
    with pytest.raises(NeurozooError, match="cannot be played under the protocol 'river_fixed'"):
        make_world("frostbite", protocol_of("river_crossing"))


def test_the_final_positions_of_the_river_are_where_attempts_ended():
    world = make_world("river_crossing", protocol_of("river_crossing"))
    world.reset(seed=0)
    assert world.final_positions.shape == (0, 3)
    left = np.eye(18, dtype=np.float32)[4]
    world.act(left)  # from column 1 to 0, if there is no trap
    row = world.river.row
    world.river.grid[0] = 0
    world.act(left)
    np.testing.assert_array_equal(world.final_positions, [[0, row, 0]])


def test_a_gymnasium_world_plays_the_environment_of_that_name():
    import gymnasium

    world = make_world("gym.CartPole-v1", protocol_of("gym.CartPole-v1"))
    environment = gymnasium.make("CartPole-v1")
    expected, _ = environment.reset(seed=6)
    np.testing.assert_array_equal(world.reset(seed=6).ravel(), expected)
    is_over, action = False, 0
    while not is_over:
        action = 1 - action
        observation, reward, is_done = world.act(np.eye(2, dtype=np.float32)[action])
        expected, points, terminated, truncated, _ = environment.step(action)
        is_over = terminated or truncated
        np.testing.assert_array_equal(observation.ravel(), expected)
        assert (reward, is_done) == (points, is_over)


def test_continuous_outputs_are_clipped_to_the_bounds_of_a_gymnasium_environment():
    import gymnasium

    world = make_world("gym.MountainCarContinuous-v0", protocol_of("gym.MountainCarContinuous-v0"))
    environment = gymnasium.make("MountainCarContinuous-v0")
    world.reset(seed=0)
    environment.reset(seed=0)
    for output, cut in ((0.25, 0.25), (3.0, 1.0), (-7.0, -1.0)):
        observation, _, _ = world.act(np.array([output], np.float32))
        np.testing.assert_array_equal(observation.ravel(), environment.step(np.array([cut], np.float32))[0])
