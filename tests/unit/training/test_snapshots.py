"""Snapshots of a run. That kills do not change them is tested in test_loop, whose runs keep snapshots, too."""

import json

import numpy as np
import pytest
from neurozoo.agents.checkpoint import read_checkpoint, read_facts
from neurozoo.agents.freeze import freeze_run
from neurozoo.errors import NeurozooError
from neurozoo.genomes.genome import Genome, decode
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.rollouts.rollout import record_rollout
from training_processes import SETTINGS, assert_same_results, reports


def snapshots(run_dir):
    return sorted(int(path.stem) for path in (run_dir / "snapshots").glob("*"))


def test_each_generation_that_passes_a_multiple_keeps_the_best_so_far(uninterrupted, small_noise_table):
    records, noise = reports(uninterrupted), open_noise_table(small_noise_table)
    assert SETTINGS["snapshot_frames"] == 1000
    assert snapshots(uninterrupted) == [record["frames"] // 1000 * 1000 for record in records]
    assert len(set(snapshots(uninterrupted))) == len(records) >= 3
    for number, frames in enumerate(snapshots(uninterrupted)):
        path = uninterrupted / "snapshots" / f"{frames}.npz"
        checkpoint, facts = read_checkpoint(path), read_facts(path)
        best = max(records[: number + 1], key=lambda record: record["score"])
        assert facts["genome"] == best["TruncatedPopulationEliteSeeds"]
        assert (facts["iteration"], facts["frames"]) == (best["Iteration"], best["frames"])
        assert (facts["run_iteration"], facts["run_frames"]) == (number + 1, records[number]["frames"])
        theta = decode(Genome.from_json(facts["genome"]), noise=noise, layout=checkpoint.layout)
        np.testing.assert_array_equal(checkpoint.theta, theta)


def test_the_last_snapshot_says_what_the_results_say(uninterrupted):
    path = uninterrupted / "snapshots" / f"{snapshots(uninterrupted)[-1]}.npz"
    result, facts = json.loads((uninterrupted / "genome.json").read_text()), read_facts(path)
    assert {key: facts[key] for key in result} == result
    assert set(facts) - set(result) == {"run_frames", "run_iteration"}
    np.testing.assert_array_equal(read_checkpoint(path).theta, read_checkpoint(uninterrupted / "checkpoint.npz").theta)


@pytest.mark.long(seconds=4)
@pytest.mark.parametrize("nothing", [0, None])
def test_snapshots_can_be_turned_off_on_again_and_moved_apart_in_the_middle_of_a_run(
    runner, uninterrupted, tmp_path, nothing
):
    runner.finish(tmp_path, settings={"snapshot_frames": nothing, "frames": 1500})
    assert not (tmp_path / "snapshots").exists()
    runner.finish(tmp_path, settings={"snapshot_frames": 3000})
    assert snapshots(tmp_path) == [3000]
    assert not (tmp_path / "superseded").exists()
    whole = uninterrupted / "snapshots" / "3000.npz"
    assert (tmp_path / "snapshots" / "3000.npz").read_bytes() == whole.read_bytes()
    (tmp_path / "snapshots").rename(tmp_path / "mine")
    (tmp_path / "snapshots").symlink_to(uninterrupted / "snapshots")
    assert_same_results(tmp_path, uninterrupted)


def test_a_snapshot_is_frozen_and_played_without_the_run_around_it(
    uninterrupted, core, small_noise_table, tmp_path, runner
):
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "snapshots" / "1000.npz").write_bytes((uninterrupted / "snapshots" / "1000.npz").read_bytes())
    check = freeze_run(tmp_path, core=core, noise=small_noise_table, snapshot=1000)
    assert check["steps"] > 0
    folder = tmp_path / "snapshots" / "1000"
    facts = read_facts(folder.with_suffix(".npz"))
    record = json.loads((folder / "frozen" / "model.json").read_text())
    assert record["scores"]["test_score"] == facts["test_score"]
    assert record["scores"]["frames"] == facts["frames"]
    assert record_rollout(folder / "frozen", folder / "rollout.npz", max_steps=3).steps == 3


def test_the_error_for_a_missing_snapshot_names_those_that_exist(uninterrupted, core, small_noise_table):
    with pytest.raises(NeurozooError, match=r"no snapshot of 5 frames\. Its snapshots: 1000, 3000, 4000"):
        freeze_run(uninterrupted, core=core, noise=small_noise_table, snapshot=5)
