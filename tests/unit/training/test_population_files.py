"""Runs that keep their populations: what the files hold, also after a kill, and that the run stays the same."""

import signal

import numpy as np
import pytest
from neurozoo.environments import make_world
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.genomes.genome import Genome, decode
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.records.population_files import population_paths, read_population
from neurozoo.training import make_context, train
from training_processes import PATIENCE, SETTINGS, assert_same_results, reports

MAZE = {"game": "hard_maze", "model": "simple"}
WHOLE = {**SETTINGS, "frames": 1200, "snapshot_frames": 0}
RECORDED = {**WHOLE, "record_population": True}


@pytest.fixture(scope="module")
def recorded(runner, tmp_path_factory):
    run_dir = tmp_path_factory.mktemp("recorded") / "run"
    runner.finish(run_dir, whole_settings=RECORDED, **MAZE)
    return run_dir


def populations(run_dir):
    return [read_population(path) for path in population_paths(run_dir).values()]


def test_there_is_a_file_for_each_generation_with_what_its_report_says(recorded):
    found, records = populations(recorded), reports(recorded)
    assert [population.generation for population in found] == [record["Iteration"] for record in records]
    for population, record in zip(found, records, strict=True):
        assert len(population.score) == SETTINGS["population_size"]
        assert population.score.max() == record["PopulationEpRewMax"]
        assert population.steps.sum() == record["PopulationTimesteps"]
        assert population.tested.score == record["TruncatedPopulationEliteTestRewMean"]
    assert (found[0].parent == -1).all()
    assert set(found[1].parent.tolist()) <= {0, 1}
    assert set(found[1].power.tolist()) == {SETTINGS["mutation_power"]}


def test_points_are_where_the_episodes_ended(recorded, small_noise_table):
    protocol = protocol_of("hard_maze")
    layout, noise = layout_of("hard_maze", "simple", protocol), open_noise_table(small_noise_table, verify=False)
    (first, *_) = populations(recorded)
    for individual in range(3):  # fresh weights, so the noise index is enough to play it again, in Python
        arrays = layout.split(decode(Genome(int(first.index[individual])), noise=noise, layout=layout))
        world = make_world("hard_maze", protocol)
        value = world.reset(seed=0)
        for _ in range(SETTINGS["episode_cutoff_mode"]):
            value = value.reshape(-1)
            for name in ("fc1", "fc2"):
                value = np.maximum(value @ arrays[f"{name}/w"] + arrays[f"{name}/b"], 0)
            value, *_ = world.act(value @ arrays["out/w"] + arrays["out/b"])
        np.testing.assert_allclose(world.final_positions[-1], first.points[individual], rtol=1e-4)


def test_a_run_is_the_same_with_and_without_them(runner, recorded, tmp_path):
    runner.finish(tmp_path, whole_settings=WHOLE, **MAZE)
    assert_same_results(tmp_path, recorded)
    assert not (tmp_path / "population").exists()


def test_a_killed_run_leaves_the_same_files(runner, recorded, tmp_path):
    process = runner.start(tmp_path, crash="after a report and before the state", whole_settings=RECORDED, **MAZE)
    process.join(timeout=PATIENCE)
    assert process.exitcode == -signal.SIGKILL, runner.said()
    runner.finish(tmp_path, whole_settings=RECORDED, **MAZE)
    assert_same_results(tmp_path, recorded)
    for path in population_paths(recorded).values():
        with np.load(path) as expected, np.load(tmp_path / "population" / path.name) as found:
            assert set(found.files) == set(expected.files)
            for name in expected.files:
                np.testing.assert_array_equal(found[name], expected[name])


def test_games_without_positions_are_refused_before_anything_is_played(runner, tmp_path):
    context = make_context(
        algo="ga", game="pong", model="small", run=1, settings=RECORDED, run_dir=tmp_path, core=runner.core,
        noise=runner.noise,
    )  # fmt: skip
    with pytest.raises(NeurozooError, match="needs a game with final positions"):
        train(context, terminal="lines")
