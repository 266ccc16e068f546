import numpy as np
import pytest
from neurozoo.environments.level_domains import Play, get_level_domain
from neurozoo.environments.river_crossing import EMPTY, RESOURCE, STONE, TRAP, WATER
from neurozoo.environments.rivers.worlds import START

from tests.unit.environments.rivers.river_levels import world_of

RIVER = get_level_domain("river_crossing")
PLAY = Play(agent="shunting", num_episodes=1)
FIELD = {(10, 1): START, (10, 17): RESOURCE}


def evaluated(*worlds, play=PLAY):
    return RIVER.evaluate(np.stack(worlds), play, [np.random.default_rng(0)] * len(worlds))


def values(found, number):
    return {name: float(array[number]) for name, array in found.values.items()}


def test_measures_of_worlds_by_hand():
    bridge = world_of({**FIELD, (10, 5): STONE}, water=slice(14, 15))
    found = evaluated(world_of(FIELD), bridge)
    nothing = {"died": 0, "bridge_length": 0, "stones": 0, "water": 0, "traps": 0, "stones_placed": 0}
    assert values(found, 0) == nothing | {"steps": 16, "step_ratio": 1, "solved": 1, "planned_steps": 16}
    assert values(found, 1) == nothing | {
        "steps": 16, "step_ratio": 1, "solved": 1, "planned_steps": 16, "stones_placed": 1, "bridge_length": 1,
        "stones": 1, "water": 20,
    }  # fmt: skip
    assert found.objectives.tolist() == [0, 0]
    np.testing.assert_array_equal(found.occupancy[1].sum(axis=0), [0, 0, *[1] * 16, 0, 0])
    (way,) = RIVER.ways(bridge[None], "shunting")
    assert way.tolist() == [200 + column for column in range(2, 18)]


def test_the_objective_is_the_share_of_steps_that_a_planner_saves():
    # A stone far behind: the agent, which wants a stone at any price, fetches it; the planner walks to the resource.
    detour = world_of({**FIELD, (10, 8): START, (10, 1): EMPTY, (10, 5): STONE})
    found = evaluated(detour)
    (ratio,), (steps,) = found.values["step_ratio"], found.values["steps"]
    assert found.values["planned_steps"].tolist() == [9]
    assert steps == 3 + 12
    assert ratio == pytest.approx(15 / 9)
    assert found.objectives[0] == pytest.approx(1 - 9 / 15)


def test_a_failure_takes_all_steps_and_counts_only_if_the_planner_has_a_plan(tmp_path):
    closed = world_of(FIELD)
    closed[9:12, 0:3] = TRAP
    closed[10, 1] = START
    found = evaluated(closed)
    assert found.objectives.tolist() == [0]
    facts = values(found, 0)
    assert [facts[name] for name in ("died", "solved", "steps", "planned_steps", "step_ratio", "bridge_length")] == [
        1, 0, 200, -1, 0, -1,
    ]  # fmt: skip
    # An agent that desires nothing stays.
    about = '{"game": "river_crossing", "model": "modular", "num_actions": 18}'
    np.savez(tmp_path / "checkpoint.npz", theta=np.zeros(44, np.float32), about=np.array(about))
    lazy = evaluated(world_of(FIELD), play=Play(agent=str(tmp_path / "checkpoint.npz")))
    assert lazy.objectives[0] == pytest.approx(1 - 16 / 200)
    assert lazy.values["step_ratio"][0] == 12.5
    assert lazy.occupancy.sum() == 200


def test_a_world_counts_the_same_alone_and_among_others():
    worlds = RIVER.decode(np.random.default_rng(0).integers(RIVER.num_values, size=(70, 400)))
    together, alone = evaluated(*worlds), evaluated(worlds[66])
    assert values(together, 66) == values(alone, 0)
    np.testing.assert_array_equal(together.occupancy[66], alone.occupancy[0])
    assert (worlds == WATER).any()
