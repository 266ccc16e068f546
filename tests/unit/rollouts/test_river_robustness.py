"""The robustness report of frozen and scripted agents."""

import csv
import json

import numpy as np
import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.environments import make_world
from neurozoo.environments.river_crossing import RiverCrossing, RiverRules
from neurozoo.environments.river_world import view
from neurozoo.errors import NeurozooError
from neurozoo.rollouts.river_robustness import CAUSES, as_table, measure_robustness, world_seeds

FROZEN = {
    "objects": ("cells", {"game": "river_crossing", "observation": "objects"}),
    "pixels": ("small", {"game": "river_crossing"}),
}


def measured(agent, folder, **choices):
    record = measure_robustness(agent, folder / "r.json", table=folder / "r.csv", **choices)
    assert record == json.loads((folder / "r.json").read_text())
    with open(folder / "r.csv", newline="") as file:
        return record, list(csv.DictReader(file))


def played_alone(frozen, *, width, seed, step_limit):
    """The slow twin: one world, one observation at a time, with the network's own Keras call."""
    model, river = frozen.load_keras(), RiverCrossing(RiverRules(min_width=width, max_width=width, attempts=1))
    shape = make_world(frozen.game, frozen.protocol).shape
    river.reset(seed=seed)
    planes = [np.zeros(shape.plane, np.float32)] * shape.stack
    for step in range(1, step_limit + 1):
        planes = [*planes[1:], view(river, frozen.protocol.observation)]
        outputs = model(np.concatenate(planes, axis=-1)[None]).numpy()[0]
        river.step(int(outputs.argmax()))
        if river.is_over:
            return str(int(river.levels_solved)), str(step), river.cause
    return "0", str(step_limit), "age"


@pytest.mark.parametrize("observation", FROZEN)
def test_a_frozen_agent_plays_each_world_as_it_would_alone(frozen_folder, tmp_path, observation):
    model, choices = FROZEN[observation]
    folder = frozen_folder(model, **choices)
    record, rows = measured(folder, tmp_path, widths=[0, 3], worlds=4, step_limit=12)
    assert [(row["width"], int(row["seed"])) for row in rows] == [(w, s) for w in ("0", "3") for s in world_seeds(4)]
    frozen = open_frozen(folder)
    for row in rows:
        twin = played_alone(frozen, width=int(row["width"]), seed=int(row["seed"]), step_limit=12)
        assert (row["complete"], row["age"], row["death"]) == twin
    assert record["agent"] == frozen.title
    for report in record["widths"]:
        assert report["solved"] + sum(report[cause] for cause in CAUSES) == report["worlds"] == 4


def test_the_scripted_agents_are_the_ends_of_the_scale(tmp_path):
    shunting, _ = measured("shunting", tmp_path, widths=[2], worlds=25)
    (report,) = shunting["widths"]
    # docs/river_crossing.md: 100 % of 400 worlds, 28.8 steps; five standard errors of 25 worlds are about 9 steps.
    assert report["solved"] == 25
    assert abs(report["mean_steps"] - 28.8) < 9
    random, rows = measured("random", tmp_path, widths=[2], worlds=25)
    assert random["widths"][0]["solved"] <= 1
    assert {row["death"] for row in rows} - {""} <= set(CAUSES)


def test_the_table_shows_every_width_and_cause(tmp_path):
    record, _ = measured("random", tmp_path, widths=[0, 4], worlds=3)
    text = as_table(record)
    assert text.startswith("random: 3 worlds of each width, from column 1, at most 150 steps.")
    assert len(text.splitlines()) == 1 + 2 + 2
    assert all(cause in text for cause in CAUSES)


def test_what_cannot_be_measured_is_refused(frozen_folder, tmp_path):
    with pytest.raises(NeurozooError, match="agent 'shuntin' is unknown; did you mean 'shunting'"):
        measured("shuntin", tmp_path)
    with pytest.raises(NeurozooError, match=r"plays 'breakout'\. Robustness is tested"):
        measured(frozen_folder("small"), tmp_path)
    with pytest.raises(NeurozooError, match="max_width of the river crossing task should be 0 to 4, but got 5"):
        measured("random", tmp_path, widths=[5], worlds=1)
