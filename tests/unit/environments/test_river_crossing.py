import csv

import numpy as np
import pytest
from neurozoo.environments.games import RIVER_ACTIONS
from neurozoo.environments.river_agents import PlanningAgent, ShuntingAgent, plan_bridge, play, shunting_landscape
from neurozoo.environments.river_crossing import (
    EMPTY,
    HANDS,
    RESOURCE,
    STONE,
    TRAP,
    WATER,
    RiverCrossing,
    RiverRules,
    draw_world,
)  # fmt: skip
from neurozoo.environments.splitmix64 import SplitMix64
from neurozoo.errors import NeurozooError

FIXED, FAITHFUL = RiverRules(), RiverRules(is_faithful=True)
STAY, DOWN, LEFT, RIGHT, UP = 0, 2, 4, 5, 7
BOTH = pytest.mark.parametrize("rules", [FIXED, FAITHFUL], ids=["fixed", "faithful"])


def river_with(rules=FIXED, *, cells=(), at=(5, 5), carries=False):
    """A river crossing on an empty grid with these (column, row, cell), and the agent somewhere."""
    river = RiverCrossing(rules)
    river.reset(seed=0)
    river.grid[:] = EMPTY
    for column, row, cell in cells:
        river.grid[column, row] = cell
    river.column, river.row = at
    river.carries = carries
    return river


def attempts_that_die(river, *, level=0):
    """Jumps off the grid until the episode is over, and returns the rewards. `level` is set before each death."""
    rewards = []
    while not river.is_over:
        river.level, river.row = level, 0
        rewards.append(river.step(UP))
    return rewards


# ---- worlds


@BOTH
@pytest.mark.parametrize(
    ("width", "water_columns", "stones", "resource_column"),
    [
        (0, [], 17, 17),
        (1, [14], 18, 17),
        (2, [14, 15], 19, 18),
        (3, [14, 15, 16], 20, 18),
        (4, [14, 15, 16, 17], 21, 19),
    ],
)  # fmt: skip
def test_a_world_has_the_published_counts_and_places(rules, width, water_columns, stones, resource_column):
    traps, starts = [], []
    for seed in range(1000):
        grid, row = draw_world(width, SplitMix64(seed), rules)
        assert sorted(set(np.nonzero(grid == WATER)[0])) == water_columns
        assert (grid[water_columns] == WATER).all()
        assert np.argwhere(grid == RESOURCE).tolist() == [[resource_column, 10]]
        assert (grid == STONE).sum() == stones
        assert (grid[15:] != STONE).all()
        traps.append((grid == TRAP).sum())
        starts.append(grid[1, row])
        assert 0 <= row < 20
    # 7 draws; about 1 % of the pairs coincide, and the resource rarely falls on a trap.
    assert max(traps) == 7
    assert 6.8 < np.mean(traps) < 7
    on_something = np.mean(np.array(starts) != EMPTY)
    assert on_something == 0 if rules is FIXED else 0.03 < on_something < 0.12  # about (17 + width) / 300 + 7 / 400


def test_the_worlds_are_a_function_of_seed_attempt_and_level():
    def worlds(agent_seed):
        generator = np.random.default_rng(agent_seed)
        river, seen, before = RiverCrossing(RiverRules(attempts=3)), {}, None
        river.reset(seed=4)
        while not river.is_over:
            if (river.attempt, river.level) != before:
                before = (river.attempt, river.level)
                seen[before] = (river.grid.tobytes(), river.row)
            river.step(int(generator.integers(18)))
        return seen

    first, second = worlds(0), worlds(1)
    assert [first[key] for key in first.keys() & second.keys()] == [second[key] for key in first.keys() & second.keys()]
    assert len(set(first.values())) == len(first) >= 3


# ---- moves


@BOTH
def test_the_directions_are_those_of_the_table(rules):
    expected = {
        "STAY": (0, 0), "DOWNLEFT": (-1, 1), "DOWN": (0, 1), "DOWNRIGHT": (1, 1), "LEFT": (-1, 0), "RIGHT": (1, 0),
        "UPLEFT": (-1, -1), "UP": (0, -1), "UPRIGHT": (1, -1),
    }  # fmt: skip
    for action, name in enumerate(RIVER_ACTIONS):
        river = river_with(rules)
        river.step(action)
        columns, rows = expected[name.removesuffix("+HANDS")]
        assert (river.column, river.row) == (5 + columns, 5 + rows)


@BOTH
def test_a_stone_is_picked_up_only_with_the_hands(rules):
    river = river_with(rules, cells=[(6, 5, STONE)])
    river.step(RIGHT)
    assert (river.carries, river.grid[6, 5]) == (False, STONE)
    river = river_with(rules, cells=[(6, 5, STONE)])
    river.step(HANDS + RIGHT)
    assert (river.carries, river.grid[6, 5], river.stones_placed) == (True, EMPTY, 0)


@BOTH
def test_one_stone_is_carried_at_a_time(rules):
    river = river_with(rules, cells=[(6, 5, STONE)], carries=True)
    river.step(HANDS + RIGHT)
    assert (river.carries, river.grid[6, 5]) == (True, STONE)


@BOTH
def test_a_stone_makes_a_bridge_only_with_the_hands(rules):
    river = river_with(rules, cells=[(6, 5, WATER)], carries=True)
    river.step(HANDS + RIGHT)
    assert (river.carries, river.grid[6, 5], river.stones_placed, river.attempt) == (False, EMPTY, 1, 0)
    river = river_with(rules, cells=[(6, 5, WATER)], carries=True)
    river.step(RIGHT)
    assert (river.attempt, river.cause) == (1, "water")


@BOTH
def test_a_stone_is_dropped_neither_on_grass_nor_on_a_trap(rules):
    river = river_with(rules, carries=True)
    river.step(HANDS + RIGHT)
    assert (river.carries, river.grid[6, 5]) == (True, EMPTY)
    river = river_with(rules, cells=[(6, 5, TRAP)], carries=True)
    river.step(HANDS + RIGHT)
    assert (river.attempt, river.cause) == (1, "trap")


@BOTH
@pytest.mark.parametrize("cell", [TRAP, WATER])
@pytest.mark.parametrize("hands", [0, HANDS])
def test_traps_and_water_kill_free_hands(rules, cell, hands):
    river = river_with(rules, cells=[(6, 5, cell)])
    river.step(hands + RIGHT)
    assert (river.attempt, river.cause) == (1, {TRAP: "trap", WATER: "water"}[cell])
    assert river.final_positions == [(6, 5, 0)]


@BOTH
@pytest.mark.parametrize(("at", "action"), [((0, 5), LEFT), ((19, 5), RIGHT), ((5, 0), UP), ((5, 19), DOWN)])
def test_each_edge_of_the_grid_kills(rules, at, action):
    river = river_with(rules, at=at)
    river.step(action)
    assert (river.attempt, river.cause) == (1, "edge")
    assert river.final_positions == [(*at, 0)]  # the last cell on the grid


def test_stay_and_use_hands_works_under_fixed_rules_and_is_stay_under_faithful_ones():
    for rules, carries in ((FIXED, True), (FAITHFUL, False)):
        river = river_with(rules, cells=[(5, 5, STONE)])
        river.step(HANDS + STAY)
        assert river.carries == carries
        assert river.grid[5, 5] == (EMPTY if carries else STONE)


# ---- levels, attempts, fitness


def test_fixed_rules_show_and_pay_a_solved_level_at_once():
    river = river_with(FIXED, cells=[(6, 5, RESOURCE)], carries=True)
    assert river.step(RIGHT) == 1
    assert (river.level, river.width, river.age, river.attempt, river.carries) == (1, 1, 0, 0, False)
    assert (river.grid[14] == WATER).all()


def test_faithful_rules_bring_the_new_world_a_step_later_with_the_action_of_the_old_one():
    river = river_with(FAITHFUL, cells=[(6, 5, RESOURCE)])
    assert river.step(RIGHT) == 0
    assert (river.level, river.column, river.has_reached) == (0, 6, True)
    assert river.step(RIGHT) == 0
    assert (river.level, river.column, river.age, river.has_reached) == (1, 2, 1, False)


def test_looking_into_the_next_world_changes_nothing():
    ends = []
    for looks in (False, True):
        river = river_with(FAITHFUL, cells=[(6, 5, RESOURCE)])
        river.step(RIGHT)
        if looks:
            river.enter_next_world()
            river.enter_next_world()
        river.step(HANDS + RIGHT)
        ends.append((river.level, river.column, river.row, river.age, river.grid.tobytes()))
    assert ends[0] == ends[1]


@pytest.mark.parametrize(("rules", "deaths"), [(FIXED, 10), (FAITHFUL, 11)])
def test_ten_deaths_on_level_0_bring_nothing_and_an_eleventh_attempt_is_faithful(rules, deaths):
    river = RiverCrossing(rules)
    river.reset(seed=0)
    assert attempts_that_die(river) == [0] * deaths
    assert len(river.final_positions) == deaths


def test_a_death_on_level_2_brings_2_at_the_end_of_a_faithful_episode():
    river = RiverCrossing(FAITHFUL)
    river.reset(seed=0)
    assert attempts_that_die(river, level=2) == [0] * 10 + [20]  # the eleventh does not count


def test_completing_the_last_level_pays_3_under_faithful_rules_and_4_under_fixed_ones():
    faithful = river_with(FAITHFUL, cells=[(6, 5, RESOURCE)])
    faithful.level = 3
    faithful.step(RIGHT)
    assert faithful.fitness == 0
    faithful.step(STAY)
    assert (faithful.fitness, faithful.attempt, faithful.level) == (3, 1, 0)

    fixed = RiverCrossing(FIXED)
    fixed.reset(seed=0)
    rewards = []
    for _ in range(4):
        fixed.grid[fixed.column + 1, fixed.row] = RESOURCE
        rewards.append(fixed.step(RIGHT))
    assert rewards == [1, 1, 1, 1]
    assert (fixed.fitness, fixed.attempt, fixed.level) == (4, 1, 0)


@pytest.mark.parametrize("rules", [FIXED, FAITHFUL])
def test_150_steps_in_one_world_end_the_attempt_and_a_whole_faithful_episode(rules):
    river = river_with(rules, at=(5, 5))
    river.fitness = 7 if rules is FAITHFUL else 0
    for _ in range(149):
        assert river.step(STAY) == 0
    assert (river.attempt, river.is_over) == (0, False)
    reward = river.step(STAY)
    assert river.cause == "age"
    if rules is FAITHFUL:
        assert (reward, river.is_over) == (7, True)
    else:
        assert (reward, river.is_over, river.attempt, river.age) == (0, False, 1, 0)
    assert river.final_positions == [(5, 5, 0)]


def test_a_level_solved_in_the_150th_step_counts_under_fixed_rules():
    river = river_with(FIXED, cells=[(6, 5, RESOURCE)])
    for _ in range(149):
        river.step(STAY)
    assert river.step(RIGHT) == 1
    assert (river.attempt, river.level) == (0, 1)


@BOTH
def test_a_frame_limit_pays_what_was_collected(rules):
    river = river_with(rules, cells=[(6, 5, RESOURCE)], at=(5, 5))
    river.fitness = 2
    reward = river.step(RIGHT, is_last=True)
    assert river.is_over
    assert reward == (2 if rules is FAITHFUL else 1)
    assert len(river.final_positions) == 1


def test_a_step_after_the_end_and_unknown_actions_are_refused():
    river = RiverCrossing(FIXED)
    with pytest.raises(NeurozooError, match="call reset"):
        river.step(0)
    river.reset(seed=0)
    with pytest.raises(NeurozooError, match="actions 0 to 17, but got 18"):
        river.step(18)


@pytest.mark.parametrize(
    "wrong", [{"max_width": 5}, {"min_width": 2, "max_width": 1}, {"attempts": 0}, {"num_traps": -1}]
)
def test_rules_out_of_range_are_refused(wrong):
    with pytest.raises(NeurozooError, match="should be"):
        RiverRules(**wrong)


# ---- scripted agents and the reference numbers


@pytest.fixture(scope="module")
def reference(request):
    path = request.path.parents[2] / "data" / "river_crossing_reference.csv"
    with path.open() as file:
        rows = list(csv.DictReader(file))

    def find(agent, rules, width, metric):
        (row,) = [
            row for row in rows
            if row["agent"].startswith(agent) and row["rules"].startswith(rules)
            and (row["width"], row["metric"]) == (str(width), metric)
        ]  # fmt: skip
        return float(row["value"]), int(row["n"])

    return find


def single_worlds(agent, *, width, count, **rules):
    """Returns (share solved, steps of the solved worlds)."""
    river = RiverCrossing(RiverRules(min_width=width, max_width=width, attempts=1, **rules))
    episodes = [play(river, agent, seed=seed) for seed in range(count)]
    return np.mean([score for score, _ in episodes]), np.array([steps for score, steps in episodes if score])


def assert_same_mean(samples, expected, count):
    """Within four standard errors of a difference of two means."""
    error = samples.std(ddof=1) * np.sqrt(1 / len(samples) + 1 / count)
    assert abs(samples.mean() - expected) < 4 * error + 0.05  # the reference has one decimal


@pytest.mark.parametrize("width", [2, *(pytest.param(width, marks=pytest.mark.long) for width in (0, 1, 3, 4))])
def test_the_shunting_agent_solves_every_width_as_fast_as_the_reference(reference, width):
    solved, steps = single_worlds(ShuntingAgent(), width=width, count=150, step_limit=200, start_column=0)
    assert solved == reference("scripted shunting (water neutral", "start column 0", width, "solved_share")[0] == 1
    assert_same_mean(steps, *reference("scripted shunting (water neutral", "start column 0", width, "mean_steps"))


def test_the_shunting_agent_gets_30_of_30_under_faithful_rules_and_40_of_40_under_fixed_ones(reference):
    episodes = [play(RiverCrossing(FAITHFUL), ShuntingAgent(), seed=seed) for seed in range(15)]
    assert [score for score, _ in episodes] == [30] * 15
    # One number for 15 reference episodes: the spread is that of ours.
    assert_same_mean(np.array([steps for _, steps in episodes]), *reference("scripted", "toolbox", "0-3", "mean_steps"))
    assert [play(RiverCrossing(FIXED), ShuntingAgent(), seed=seed)[0] for seed in range(3)] == [40] * 3


@pytest.mark.parametrize("width", [2, *(pytest.param(width, marks=pytest.mark.long) for width in (0, 1, 3, 4))])
def test_the_planner_solves_every_world_as_fast_as_the_reference(reference, width):
    solved, steps = single_worlds(PlanningAgent(), width=width, count=60)
    expected, count = reference("greedy planner", "start column 1", width, "mean_steps")
    assert solved == 1
    assert steps.min() >= 15
    assert_same_mean(steps, expected, count)


def test_a_plan_fetches_stone_after_stone():
    # From (5, 5): a stone at (7, 5), water at (14, 5) and (15, 5), a stone at (9, 5), the resource at (17, 5).
    cells = [(7, 5, STONE), (9, 5, STONE), (17, 5, RESOURCE)]
    cells += [(column, row, WATER) for column in (14, 15) for row in range(20)]
    river = river_with(RiverRules(min_width=2), cells=cells)
    plan = plan_bridge(river)
    # 2 to the stone, 7 to the water, 5 back, 6 to the second water, 2 to the resource.
    assert len(plan) == 2 + 7 + 5 + 6 + 2
    assert [step for step, action in enumerate(plan) if action >= HANDS] == [1, 8, 13, 19]


def test_the_landscape_rises_towards_desired_cells_and_around_feared_ones():
    desires = np.zeros((7, 7))
    desires[6, 3] = 1
    desires[3, :6] = -1
    landscape = shunting_landscape(desires)
    assert (landscape[3, :6] == -1).all()
    assert landscape[6, 3] == landscape.max()
    path = [(0, 0), (1, 2), (2, 5), (3, 6), (4, 5), (5, 4), (6, 3)]
    heights = [landscape[place] for place in path]
    assert heights == sorted(heights)
    # After one cycle a peak of 1 gives 1/8 to each neighbour: by hand for 2 x 1 cells, x <- 1 + y / 8, y <- x / 8.
    x = y = 0.0
    for _ in range(50):
        x, y = 1 + y / 8, x / 8
    np.testing.assert_allclose(shunting_landscape(np.array([[1.0], [0.0]])), [[x], [y]])
