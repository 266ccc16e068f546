import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from neurozoo.environments import make_world
from neurozoo.environments.protocols import protocol_of
from neurozoo.environments.river_agents import ShuntingAgent
from neurozoo.errors import NeurozooError

RIVER, MAZE = "neurozoo/RiverCrossing-v0", "neurozoo/HardMaze-v0"
RIGHT = 5


def checked(environment):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(environment.unwrapped)


@pytest.mark.parametrize("obs_type", ["rgb", "greyscale", "objects", "pixels", "vector"])
@pytest.mark.parametrize("faithful", [False, True])
def test_gymnasium_s_checker_accepts_the_river_crossing(obs_type, faithful):
    checked(gymnasium.make(RIVER, obs_type=obs_type, faithful=faithful, render_mode="rgb_array"))


def test_gymnasium_s_checker_accepts_the_maze():
    checked(gymnasium.make(MAZE, render_mode="ansi"))


@pytest.mark.parametrize("name", [RIVER, MAZE])
def test_gymnasium_makes_the_environments_without_an_import_of_ours(name, library_path):
    code = f"import gymnasium; print(gymnasium.make('neurozoo.environments:{name}').reset(seed=0)[0].shape)"
    shape = {RIVER: "(20, 20, 3)", MAZE: "(11,)"}[name]
    result = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": library_path}, text=True, capture_output=True
    )
    assert result.stdout.strip() == shape, result.stderr


@pytest.fixture
def library_path(request):
    return str(request.path.parents[3] / "workflow" / "lib")


@pytest.mark.parametrize(("faithful", "protocol"), [(False, "river_fixed"), (True, "river_faithful")])
def test_a_seed_plays_the_episode_of_the_evaluators(faithful, protocol):
    environment = gymnasium.make(RIVER, faithful=faithful).unwrapped
    world = make_world("river_crossing", protocol_of("river_crossing", protocol, observation="rgb"))
    observation, _ = environment.reset(seed=9)
    np.testing.assert_array_equal(observation, world.reset(seed=9))
    generator = np.random.default_rng(0)
    is_over = False
    while not is_over:
        action = int(generator.integers(18))
        observation, reward, is_over, is_truncated, _ = environment.step(action)
        expected, points, is_done = world.act(np.eye(18, dtype=np.float32)[action])
        np.testing.assert_array_equal(observation, expected)
        assert (reward, is_over, is_truncated) == (points, is_done, False)


def test_resets_without_a_seed_go_on_to_new_worlds_that_can_be_repeated():
    grids = []
    for _ in range(2):
        environment = gymnasium.make(RIVER).unwrapped
        environment.reset(seed=1)
        for _ in range(2):
            environment.reset()
            grids.append(environment.river.grid.tobytes())
    assert grids[:2] == grids[2:]
    assert grids[0] != grids[1]


def rewards_of_the_scripted_agent(**options):
    environment = gymnasium.make(RIVER, attempts=2, **options).unwrapped
    agent = ShuntingAgent()
    environment.reset(seed=0)
    rewards, is_over = [], False
    while not is_over:
        environment.river.enter_next_world()
        _, reward, is_over, _, info = environment.step(agent(environment.river))
        rewards.append(reward)
    return rewards, info


@pytest.mark.parametrize(
    ("faithful", "reward", "total", "last"),
    [(False, None, 8, 1), (False, "final", 8, 8), (True, None, 6, 6), (True, "dense", 12, None)],
)
def test_the_reward_comes_at_the_end_or_with_each_level(faithful, reward, total, last):
    # Two attempts of four levels; faithful rules pay 3 each, play a third, and count its levels when asked to.
    rewards, info = rewards_of_the_scripted_agent(faithful=faithful, reward=reward)
    assert sum(rewards) == total
    assert last is None or rewards[-1] == last
    assert np.count_nonzero(rewards) == (1 if last == total else total)
    assert info["levels_solved"] == (12 if faithful else 8)
    assert info["stones_placed"] >= 2 * (1 + 2 + 3)


def test_sparse1_is_one_world_with_1_for_the_resource_and_minus_1_for_death():
    options = {"reward": "sparse1", "max_width": 2, "step_limit": 20}
    environment = gymnasium.make(RIVER, **options).unwrapped
    environment.reset(seed=0)
    assert environment.river.width == 2
    environment.river.grid[2, environment.river.row] = 1
    assert environment.step(RIGHT)[1:4] == (1, True, False)
    environment.reset(seed=0)
    environment.river.grid[2, environment.river.row] = 4
    _, reward, is_over, is_truncated, info = environment.step(RIGHT)
    assert (reward, is_over, is_truncated, info["cause"]) == (-1, True, False, "trap")
    environment.reset(seed=0)
    ends = [environment.step(0)[1:4] for _ in range(20)]
    assert ends == [(0, False, False)] * 19 + [(0, False, True)]


def test_info_tells_level_attempt_and_cause():
    environment = gymnasium.make(RIVER).unwrapped
    _, info = environment.reset(seed=0)
    assert info == {"level": 0, "attempt": 0, "cause": "", "levels_solved": 0, "stones_placed": 0, "fitness": 0}
    environment.river.column = 19
    assert environment.step(RIGHT)[4]["cause"] == "edge"
    environment.river.grid[2, environment.river.row] = 1
    info = environment.step(RIGHT)[4]
    assert (info["attempt"], info["level"], info["levels_solved"], info["fitness"]) == (1, 1, 1, 1)


def test_pixels_are_the_last_four_pictures_in_bytes():
    environment = gymnasium.make(RIVER, obs_type="pixels").unwrapped
    first, _ = environment.reset(seed=0)
    assert not first[..., :3].any()
    second = environment.step(0)[0]
    np.testing.assert_array_equal(second[..., 2:], np.repeat(first[..., 3:], 2, axis=-1))
    # 255 times the greys of the table, without water: 0, trap 0.2989, agent 0.3445, stone 0.5019, resource 0.8859.
    assert np.unique(second).tolist() == [0, 76, 88, 128, 226]


def test_options_change_the_worlds():
    environment = gymnasium.make(RIVER, min_width=4, max_width=4, num_stones=3, num_traps=0).unwrapped
    environment.reset(seed=0)
    assert [(environment.river.grid == cell).sum() for cell in (2, 3, 4)] == [3, 80, 0]


def test_render_returns_a_picture_a_text_or_nothing():
    for name, size in ((RIVER, 160), (MAZE, 400)):
        for mode in ("rgb_array", "ansi", None):
            environment = gymnasium.make(name, render_mode=mode).unwrapped
            environment.reset(seed=0)
            shown = environment.render()
            if mode == "rgb_array":
                assert shown.shape == (size, size, 3)
            else:
                assert isinstance(shown, str) if mode else shown is None


def test_the_maze_is_truncated_after_400_steps_with_minus_the_distance():
    environment = gymnasium.make(MAZE).unwrapped
    environment.reset(seed=0)
    steps = [environment.step(np.array([0, 0.5], np.float32)) for _ in range(400)]
    assert [step[2] or step[3] for step in steps] == [False] * 399 + [True]
    assert (steps[-1][2], steps[-1][3]) == (False, True)
    assert steps[-1][1] == pytest.approx(-170.602, abs=5e-4)
    assert steps[-1][4]["position"] == (pytest.approx(78), pytest.approx(184))
    assert steps[-1][4]["distance"] == -steps[-1][1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"obs_type": "RGB"}, "obs_type .RGB. is unknown"), ({"reward": "dens"}, "did you mean .dense."),
        ({"render_mode": "human"}, "render_mode"), ({"reward": "sparse1", "faithful": True}, "fixed rules"),
        ({"max_width": 5}, "0 to 4, but got 5"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused(options, message):
    from neurozoo.environments.gymnasium_environments import RiverCrossingEnvironment

    with pytest.raises(NeurozooError, match=message):
        RiverCrossingEnvironment(**options)
