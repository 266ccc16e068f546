"""Runs that start from another run: killed and continued without it, and the same in the end."""

import json
import shutil
from pathlib import Path

import pytest
import training_processes
import yaml
from neurozoo.files import sha256_of
from neurozoo.genomes.packing import unpack
from training_processes import ENDLESS, assert_same_results, reports, wait_for_news


@pytest.fixture
def source(uninterrupted, tmp_path):
    return Path(shutil.copytree(uninterrupted, tmp_path / "source"))


def settings_of(algo, source):
    common = {"population_size": 6, "num_test_episodes": 1, "mutation_power": 0.02, "episode_cutoff_mode": 40}
    if algo == "es":
        return {**common, "test_cutoff": 40, "frames": 1500, "load_from": str(source)}
    return {**training_processes.SETTINGS, "frames": 2500, "load_population": str(source)}


@pytest.mark.parametrize("algo", ["ga", "es"])
def test_a_run_that_starts_from_another_is_continued_exactly_when_that_one_is_gone(runner, source, tmp_path, algo):
    settings = settings_of(algo, source)
    runner.finish(tmp_path / "through", algo=algo, whole_settings=settings)
    process = runner.start(tmp_path / "killed", algo=algo, whole_settings=settings | ENDLESS)
    while not (tmp_path / "killed" / "state" / "start.npz").exists() and process.is_alive():
        wait_for_news(tmp_path / "killed", process)
    process.kill()
    process.join()
    assert not (tmp_path / "killed" / "result.json").exists()
    shutil.rmtree(source)
    runner.finish(tmp_path / "killed", algo=algo, whole_settings=settings)
    assert_same_results(tmp_path / "killed", tmp_path / "through")


def test_a_run_that_starts_anew_starts_from_the_source_as_it_is_now(runner, tmp_path):
    """Its own copy belongs to the run before."""
    source, run_dir = tmp_path / "population.json", tmp_path / "run"
    settings = settings_of("ga", source) | {"frames": 1}
    source.write_text('{"population": [[1]]}')
    runner.finish(run_dir, whole_settings=settings)
    assert reports(run_dir)[0]["TruncatedPopulationEliteSeeds"][0] == 1
    source.write_text('{"population": [[777]]}')
    runner.finish(run_dir, whole_settings=settings | {"frames": 2})
    assert reports(run_dir)[0]["TruncatedPopulationEliteSeeds"][0] == 1
    runner.finish(run_dir, whole_settings=settings | {"mutation_power": 0.01})
    assert (run_dir / "superseded" / "1").is_dir()
    assert reports(run_dir)[0]["TruncatedPopulationEliteSeeds"][0] == 777


def test_the_children_of_the_loaded_parents_are_those_of_a_longer_run_s_last_parents(runner, source, tmp_path):
    read = source / "state" / "state.json"
    state = json.loads(read.read_text())["algorithm"]
    parents = [genome.to_json() for genome in unpack(state["genomes"], {})[: len(state["parent_births"])]]
    runner.finish(tmp_path / "run", whole_settings={**settings_of("ga", source), "frames": 1})
    elite = reports(tmp_path / "run")[0]["TruncatedPopulationEliteSeeds"]
    assert elite[:-1] in parents
    facts = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert facts["load_population"] == str(source)
    assert (facts["start_sha256"], facts["start_genomes"]) == (sha256_of(read), len(parents))
    assert f"SHA-256 {sha256_of(read)}" in (tmp_path / "run" / "train.log").read_text()
