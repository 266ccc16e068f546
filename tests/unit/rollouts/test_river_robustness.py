"""The robustness report of frozen and scripted agents."""

import csv
import json
import shutil

import numpy as np
import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.environments import make_world
from neurozoo.environments.river_crossing import RiverCrossing, RiverRules
from neurozoo.environments.river_world import view
from neurozoo.errors import NeurozooError
from neurozoo.rollouts import river_robustness
from neurozoo.rollouts.perturbations import Perturbation
from neurozoo.rollouts.player import Player
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
    """The slow twin: one world, and the player of rollouts."""
    player, river = (
        Player(frozen, Perturbation(), seed=1),
        RiverCrossing(RiverRules(min_width=width, max_width=width, attempts=1)),
    )
    shape = make_world(frozen.game, frozen.protocol).shape
    river.reset(seed=seed)
    player.begin(0)
    planes = [np.zeros(shape.plane, np.float32)] * shape.stack
    for step in range(1, step_limit + 1):
        planes = [*planes[1:], view(river, frozen.protocol.observation)]
        river.step(int(player.decide(np.concatenate(planes, axis=-1)).chosen.argmax()))
        if river.is_over:
            return str(int(river.levels_solved)), str(step), river.cause
    return "0", str(step_limit), "age"


@pytest.fixture
def remembering(policy_folder, tmp_path):
    """An agent with a memory, which also sees its last action; with a rule that draws nothing."""
    folder = shutil.copytree(policy_folder(game="river_crossing", protocol="river_split"), tmp_path / "frozen")
    record = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(record | {"policy": "greedy"}))
    return folder


def assert_played_as_alone(folder, tmp_path, *, worlds):
    record, rows = measured(folder, tmp_path, widths=[0, 3], worlds=worlds, step_limit=12)
    seeds = world_seeds(worlds)
    assert [(row["width"], int(row["seed"])) for row in rows] == [(w, s) for w in ("0", "3") for s in seeds]
    frozen = open_frozen(folder)
    for row in rows:
        twin = played_alone(frozen, width=int(row["width"]), seed=int(row["seed"]), step_limit=12)
        assert (row["complete"], row["age"], row["death"]) == twin
    assert record["agent"] == frozen.title
    for report in record["widths"]:
        assert report["solved"] + sum(report[cause] for cause in CAUSES) == report["worlds"] == worlds
    return {row["age"] for row in rows}


@pytest.mark.parametrize("observation", FROZEN)
def test_a_frozen_agent_plays_each_world_as_it_would_alone(frozen_folder, tmp_path, observation):
    model, choices = FROZEN[observation]
    assert_played_as_alone(frozen_folder(model, **choices), tmp_path, worlds=4)


@pytest.mark.parametrize("model", ["modular", "modular_evolved", "modular_rgb_evolved_movement"])
def test_a_modular_agent_walks_as_it_would_alone(frozen_folder, tmp_path, model):
    folder = frozen_folder(model, game="river_crossing", observation="objects")
    assert len(assert_played_as_alone(folder, tmp_path, worlds=6)) > 1


def test_a_network_with_q_values_plays_each_world_as_it_would_alone(policy_folder, tmp_path):
    folder = policy_folder("small_layer_norm", game="river_crossing", protocol="river_split")
    assert_played_as_alone(folder, tmp_path, worlds=4)


def test_an_agent_remembers_each_world_by_itself(remembering, tmp_path, monkeypatch):
    monkeypatch.setattr(river_robustness, "AT_ONCE", 4)  # so worlds follow one another
    ages = assert_played_as_alone(remembering, tmp_path, worlds=7)
    assert len(ages) > 1


def test_an_agent_that_draws_its_actions_does_so_and_the_same_ones_again(policy_folder, remembering, tmp_path):
    drawing = policy_folder(game="river_crossing", protocol="river_split")
    first, second, greedy = (
        measured(folder, tmp_path, widths=[0], worlds=8, step_limit=40)[1] for folder in (drawing, drawing, remembering)
    )
    assert first == second != greedy


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
    with pytest.raises(NeurozooError, match=r"plays 'breakout'\. Robustness is tested"):
        measured(frozen_folder("small"), tmp_path)
    with pytest.raises(NeurozooError, match="max_width of the river crossing task should be 0 to 4, but got 5"):
        measured("random", tmp_path, widths=[5], worlds=1)
