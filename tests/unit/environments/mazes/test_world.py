from dataclasses import replace

import numpy as np
from neurozoo.environments import make_world
from neurozoo.environments.episode_seeds import RANGES, is_for_test
from neurozoo.environments.mazes.agents import WallFollower
from neurozoo.environments.mazes.curriculum import Curriculum, Phase
from neurozoo.environments.mazes.endpoints import find_endpoints
from neurozoo.environments.mazes.vector import MazeVectorEnvironment
from neurozoo.environments.protocols import protocol_of

PROTOCOL = protocol_of("maze")
FIRST_TEST = RANGES["test"][0]


def test_a_world_plays_what_the_vector_environment_plays():
    seeds = [FIRST_TEST + 5, FIRST_TEST + 9]
    environment = MazeVectorEnvironment(PROTOCOL, count=2, seed_of=lambda index, episode: seeds[index])
    worlds = [make_world("maze", PROTOCOL) for _ in seeds]
    seen = [world.reset(seed=seed) for world, seed in zip(worlds, seeds, strict=True)]
    rng = np.random.default_rng(0)
    for step in range(1, PROTOCOL.max_frames + 1):
        for each, stack in zip(seen, environment.stacks, strict=True):
            np.testing.assert_array_equal(each, stack.transpose(1, 2, 0))
        actions = rng.choice(3, 2, p=[0.2, 0.2, 0.6])
        environment.send(actions)
        result = environment.receive()
        acted = [world.act(np.eye(3)[action]) for world, action in zip(worlds, actions, strict=True)]
        seen = [each for each, _, _ in acted]
        assert [reward for _, reward, _ in acted] == [0, 0]
        assert not result.rewards.any()
        assert [is_over for _, _, is_over in acted] == [step == PROTOCOL.max_frames] * 2
        assert result.is_cut.tolist() == [step == PROTOCOL.max_frames] * 2


def test_the_goal_is_rewarded_by_how_soon_it_is_reached():
    world, walker = make_world("maze", PROTOCOL), WallFollower()
    lengths = []
    for seed in range(8):
        observation, memory, rewards = world.reset(seed=seed), walker.first_memory(1), []
        while not world.is_done:
            image, direction = observation[None, ..., :3], observation[:1, 0, 3].astype(int)
            (action,), memory = walker.act(image, direction, memory, np.random.default_rng(0))
            observation, reward, _ = world.act(np.eye(3)[action])
            rewards.append(reward)
        assert not any(rewards[:-1])
        assert rewards[-1] == (1 - 0.9 * len(rewards) / 648 if len(rewards) < 648 else 0)
        lengths.append(len(rewards))
    assert len(set(lengths)) > 4
    assert min(lengths) < 200


def test_mazes_of_tests_have_seeds_of_their_own_and_are_those_of_evaluations():
    easy = Phase(1.0, 0.0, 0.01, 0.0)
    curriculum = Curriculum(100, (easy,))
    training = MazeVectorEnvironment(PROTOCOL, count=20, seed_of=lambda index, episode: index, curriculum=curriculum)
    tests = MazeVectorEnvironment(
        PROTOCOL, count=20, seed_of=lambda index, episode: FIRST_TEST + index, curriculum=curriculum
    )
    assert training.get_arrays()["walls"].mean() < 0.02
    walls = tests.get_arrays()["walls"]
    assert 0.2 < walls.mean() < 0.4
    np.testing.assert_array_equal(find_endpoints(walls).goal, tests.get_arrays()["goal"])
    assert [is_for_test(seed) for seed in (0, RANGES["validation"][1] - 1, FIRST_TEST)] == [False, False, True]


def test_mazes_become_harder_while_agents_learn():
    phases = (Phase(0.5, 0.0, 0.001, 0.0), Phase(1.0, 0.3, 0.4, 1.0))
    environment = MazeVectorEnvironment(
        PROTOCOL, count=3, seed_of=lambda *place: sum(place), curriculum=Curriculum(10, phases)
    )
    for steps, is_hard in ((4, False), (1, True), (30, True)):
        for _ in range(steps):
            environment.send(np.zeros(3, int))
            environment.receive()
        environment.start_episodes(np.ones(3, bool))
        assert (environment.get_arrays()["walls"].mean() > 0.2) == is_hard


def test_a_picture_shows_walls_goal_and_agent():
    world = make_world("maze", PROTOCOL)
    world.reset(seed=3)
    picture = world.screen.reshape(18, 8, 18, 8, 3).transpose(0, 2, 1, 3, 4)
    is_wall = (picture == 80).all(axis=(2, 3, 4))
    np.testing.assert_array_equal(is_wall[1:-1, 1:-1], world.level.walls)
    assert is_wall.sum() == world.level.walls.sum() + 18 * 18 - 16 * 16
    row, column = divmod(world.level.start, 16)
    assert (picture[row + 1, column + 1] == (200, 60, 50)).all(axis=2).any()
    row, column = divmod(world.level.goal, 16)
    assert (picture[row + 1, column + 1] == (60, 160, 80)).all()


def test_a_maze_counts_the_same_for_episodes_with_another_limit_because_selection_and_tests_have_different_ones():
    world, walker = make_world("maze", PROTOCOL), WallFollower()
    scores = []
    for limit in (648, 500):
        world.protocol = replace(PROTOCOL, max_frames=limit)  # as an evaluator sets the limit of an episode
        observation, memory, score = world.reset(seed=3), walker.first_memory(1), 0.0
        while not world.is_done:
            image, direction = observation[None, ..., :3], observation[:1, 0, 3].astype(int)
            (action,), memory = walker.act(image, direction, memory, np.random.default_rng(0))
            observation, reward, _ = world.act(np.eye(3)[action])
            score += reward
        scores.append(score)
    assert scores[0] == scores[1] > 0
