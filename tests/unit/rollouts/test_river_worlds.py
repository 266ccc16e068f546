import math
from collections import defaultdict

import numpy as np
import pytest
from neurozoo.environments.episode_seeds import RANGES
from neurozoo.environments.protocols import get_protocol
from neurozoo.environments.river_agents import ShuntingAgent
from neurozoo.environments.river_crossing import RiverCrossing, RiverRules
from neurozoo.rollouts.river_robustness import (
    CAUSES,
    Outcome,
    play_worlds,
    summarise,
    wilson_interval,
    world_seeds,
)

FIXED = get_protocol("river_fixed", observation="greyscale")
FAITHFUL = get_protocol("river_faithful", observation="greyscale")
BOTH = pytest.mark.parametrize("protocol", [FIXED, FAITHFUL], ids=["fixed", "faithful"])
STAY, LEFT, RIGHT = 0, 4, 5
ACTIONS = np.eye(18, dtype=np.float32)


def always(action):
    return lambda worlds: ACTIONS[[action] * len(worlds)]


def outcomes(choose, protocol=FIXED, *, width=3, count=30, **choices):
    return list(play_worlds(choose, protocol, width=width, seeds=world_seeds(count), **choices))


def test_the_seeds_are_fixed_all_different_and_those_of_tests_and_fewer_are_the_first_of_more():
    seeds = world_seeds(10_000)
    assert len(set(seeds)) == 10_000
    assert all(RANGES["test"][0] <= seed < RANGES["test"][1] for seed in seeds)
    assert world_seeds(100) == seeds[:100]


@BOTH
def test_walking_off_the_grid_is_an_edge_and_takes_two_steps(protocol):
    found = outcomes(always(LEFT), protocol)
    assert {outcome.seed for outcome in found} == set(world_seeds(30))
    for outcome in found:
        assert not outcome.is_solved
        # Column 1: the second step leaves the grid, unless a trap stands in column 0.
        assert (outcome.steps, outcome.cause) in ((2, "edge"), (1, "trap"))
    assert sum(outcome.cause == "edge" for outcome in found) > 20
    found = outcomes(always(LEFT), protocol, start_column=0)
    assert {(outcome.steps, outcome.cause) for outcome in found} == {(1, "edge")}


def test_standing_still_ends_by_age_at_the_limit():
    assert {(o.steps, o.cause) for o in outcomes(always(STAY), step_limit=17)} == {(17, "age")}


@BOTH
def test_walking_right_ends_in_the_water_if_nothing_is_in_the_way(protocol):
    found = outcomes(always(RIGHT), protocol)
    water = [outcome for outcome in found if outcome.cause == "water"]
    assert {outcome.cause for outcome in found} <= {"water", "trap"}
    assert len(water) > 10
    assert {outcome.steps for outcome in water} == {13}  # from column 1 to 14


def test_an_agent_that_solves_a_world_is_counted_with_its_steps_as_in_a_game_of_its_own():
    agents = defaultdict(ShuntingAgent)

    def shunting(worlds):
        return ACTIONS[[agents[place](world.river) for place, world in worlds.items()]]

    found = outcomes(shunting, width=2, count=20)
    for outcome in found:
        river, agent, steps = RiverCrossing(RiverRules(min_width=2, max_width=2, attempts=1)), ShuntingAgent(), 0
        river.reset(seed=outcome.seed)
        while not river.is_over:
            river.step(agent(river))
            steps += 1
        assert (outcome.is_solved, outcome.steps, outcome.cause) == (river.levels_solved == 1, steps, river.cause)
    assert sum(outcome.is_solved for outcome in found) >= 18


def test_worlds_do_not_depend_on_how_many_are_played_at_once(monkeypatch):
    many = sorted(outcomes(always(RIGHT)), key=lambda outcome: outcome.seed)
    monkeypatch.setattr("neurozoo.rollouts.river_robustness.AT_ONCE", 4)
    assert sorted(outcomes(always(RIGHT)), key=lambda outcome: outcome.seed) == many


def test_a_summary_counts_steps_of_solved_worlds_and_causes_of_the_others():
    found = [
        *(Outcome(1, n, True, steps, "") for n, steps in enumerate((10, 20, 30))),
        *(Outcome(1, 9 + n, False, 5, cause) for n, cause in enumerate(("water", "trap", "water", "age", "edge"))),
    ]
    summary = summarise(found)
    low, high = wilson_interval(3, 8)
    assert summary == {
        "width": 1, "worlds": 8, "solved": 3, "share": 0.375, "low": low, "high": high, "mean_steps": 20.0,
        "steps_95": pytest.approx(29.0), "edge": 1, "trap": 1, "water": 2, "age": 1,
    }  # fmt: skip
    assert summary["solved"] + sum(summary[cause] for cause in CAUSES) == summary["worlds"]
    assert summarise(found[3:])["mean_steps"] is None


def test_the_interval_of_a_share_is_wilsons():
    # By hand for 8 of 10 with z = 2: centre (0.8 + 0.2) / 1.4, half 2 / 1.4 * sqrt(0.016 + 0.01).
    low, high = wilson_interval(8, 10, z=2)
    assert low == pytest.approx(1 / 1.4 - 2 / 1.4 * math.sqrt(0.026))
    assert high == pytest.approx(1 / 1.4 + 2 / 1.4 * math.sqrt(0.026))
    # All of 100 with z = 2: 1 / (1 + 4 / 100), and no more than 1.
    assert wilson_interval(100, 100, z=2) == (pytest.approx(1 / 1.04), 1.0)
    assert wilson_interval(0, 100, z=2) == (pytest.approx(0, abs=1e-12), pytest.approx(1 - 1 / 1.04))
