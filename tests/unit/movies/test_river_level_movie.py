"""`level` says of a world of the river crossing task what an archive says of it."""

import numpy as np
import pytest
import yaml
from neurozoo.__main__ import main
from neurozoo.environments.level_domains import Play, get_level_domain
from neurozoo.environments.river_crossing import RESOURCE, TRAP
from neurozoo.environments.rivers.agents import SHUNTING
from neurozoo.environments.rivers.simulator import play
from neurozoo.environments.rivers.worlds import START
from neurozoo.movies.river_level_movie import describe_walk
from neurozoo.records.run_config import IDENTITY


def test_a_walk_to_death_in_a_world_without_a_plan_is_described_as_the_archive_has_it():
    world = np.zeros((20, 20), np.uint8)
    world[9:12, 0:3] = TRAP
    world[10, 1], world[10, 17] = START, RESOURCE
    walks = play(SHUNTING, world[None])
    said = describe_walk(world, walks)
    assert said == {"solved": 0, "died": 1, "steps": 200, "stones_placed": 0, "planned_steps": -1}
    assert walks.steps[0] < 200
    evaluated = get_level_domain("river_crossing").evaluate(world[None], Play(agent="shunting"), [])
    assert said == {name: evaluated.values[name][0] for name in said}


@pytest.mark.parametrize("game", ["river_crossing", "mario"])
def test_a_run_of_a_network_has_no_levels(tmp_path, capsys, game):
    run = dict.fromkeys(IDENTITY, "x") | {"format": 1, "run": 1, "algo": "ga", "game": game}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(run))
    with pytest.raises(SystemExit):
        main(["level", str(tmp_path)])
    assert "is a run of ga, which makes no levels. Name a run of a search for levels" in capsys.readouterr().err
