"""Tags that training keeps at named moments."""

import json
import shutil

import numpy as np
import pytest
from neurozoo.agents.checkpoint import read_checkpoint, read_facts
from neurozoo.agents.freeze import freeze_run
from neurozoo.agents.frozen import open_frozen
from training_processes import SETTINGS, reports

ES = {"population_size": 6, "num_test_episodes": 1, "episode_cutoff_mode": 30, "frames": 2_000}


def kept(run_dir):
    return sorted(path.parent.name for path in run_dir.glob("tags/*/checkpoint.npz"))


@pytest.fixture(scope="module")
def es_run(runner, tmp_path_factory):
    run_dir = tmp_path_factory.mktemp("es") / "run"
    tags = ["initial", "1K", "0.000001HR", "100HR", "1B", "human"]
    runner.finish(run_dir, algo="es", whole_settings=ES, keep_tags=tags)
    return run_dir


def test_the_best_is_kept_in_the_generation_that_reaches_a_tag(es_run):
    records = reports(es_run)
    assert kept(es_run) == ["0.000001HR", "1K", "initial"]
    wanted = {"initial": 1, "0.000001HR": 1, "1K": next(r["Iteration"] for r in records if r["frames"] >= 1000)}
    assert wanted["1K"] > 1
    for tag, generation in wanted.items():
        facts = read_facts(es_run / "tags" / tag / "checkpoint.npz")
        assert (facts["run_iteration"], facts["test_score"]) == (generation, records[generation - 1]["test_score"])


def test_keeping_tags_does_not_change_the_run(runner, es_run, tmp_path):
    runner.finish(tmp_path, algo="es", whole_settings=ES)
    assert not (tmp_path / "tags").exists()
    assert reports(tmp_path) == reports(es_run)
    assert (tmp_path / "checkpoint.npz").read_bytes() == (es_run / "checkpoint.npz").read_bytes()


def test_a_tag_is_frozen_as_what_was_kept(es_run, core, small_noise_table):
    check = freeze_run(es_run, core=core, noise=small_noise_table, tag="1K")
    assert check["steps"] > 0
    frozen = open_frozen(es_run / "tags" / "1K" / "frozen")
    assert (frozen.tag, frozen.title) == ("1K", "es/assault/small/1, 1K")
    kept_theta = read_checkpoint(es_run / "tags" / "1K" / "checkpoint.npz").theta
    weights = frozen.load_keras().get_layer("out").get_weights()[0]
    np.testing.assert_array_equal(weights.ravel(), kept_theta[-weights.size - weights.shape[1] : -weights.shape[1]])


@pytest.mark.long(seconds=7)
def test_a_genome_in_the_log_is_not_kept_and_gives_the_weights_of_the_snapshot(
    runner, uninterrupted, core, small_noise_table, tmp_path
):
    runner.finish(tmp_path, settings={"frames": 1500}, keep_tags=["initial", "1K"])
    assert SETTINGS["selection_threshold"] > 0
    assert kept(tmp_path) == []
    run_dir = shutil.copytree(uninterrupted, tmp_path / "run")  # other tests look at its files
    freeze_run(run_dir, core=core, noise=small_noise_table, tag="3K")
    facts = read_facts(run_dir / "snapshots" / "3000.npz")
    record = json.loads((run_dir / "tags" / "3K" / "frozen" / "model.json").read_text())
    assert record["scores"] == {key: facts[key] for key in record["scores"]}


def test_tags_move_aside_with_the_state_of_other_settings(runner, tmp_path):
    short = ES | {"frames": 700}
    runner.finish(tmp_path, algo="es", whole_settings=short, keep_tags=["initial"])
    runner.finish(tmp_path, algo="es", whole_settings=short | {"seed": 5})
    assert kept(tmp_path) == []
    assert (tmp_path / "superseded" / "1" / "tags" / "initial" / "checkpoint.npz").exists()
