"""What has changed in a plan, and what that does to a run."""

import contextlib
import datetime
import json
import subprocess
import sys
from dataclasses import asdict, replace

import pytest
import yaml
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import ARCHITECTURES, architecture_digest
from neurozoo.plan import changes
from neurozoo.plan.changes import changed_settings, outlook, runs_to_train, unseen_changes
from neurozoo.plan.configuration import check_config
from neurozoo.plan.planned_runs import PlannedRun, planned_runs, run_settings
from neurozoo.plan.snakemake_records import record_of

PLACES = [
    *(("pong", model) for model in ("small", "small_layer_norm", "impala_shallow")),
    ("hard_maze", "simple"),
    *(("river_crossing", model) for model in ("modular", "full", "plain")),
    *(("maze", model) for model in ("maze_recurrent", "full", "plain")),
    *(("mario", model) for model in ("full", "plain")),
]


def runs_of_presets(algo, presets):
    """Returns a configuration with its run for each preset, in the first place in which the algorithm can be."""
    found = []
    for preset in presets:
        for game, model in PLACES:
            chosen = {"algo": algo, "preset": preset, "games": [game], "models": [model]}
            with contextlib.suppress(NeurozooError):
                config = check_config({"experiments": {"one": chosen}})
                found.append((config, *planned_runs(config)))
                break
    assert len(found) == len(presets)
    return found


def recorded_of(spec_, settings, game):
    recorded = {"format": 1} | json.loads(json.dumps(asdict(settings)))
    if "protocol" in recorded:
        recorded["protocol"] = settings.describe_protocol(game)["name"]
    return recorded


@pytest.mark.parametrize("algo", sorted(ALGORITHMS))
def test_a_run_as_planned_has_no_changed_settings_and_every_change_is_named(algo):
    spec_ = ALGORITHMS[algo]
    for config, run in runs_of_presets(algo, spec_.presets):
        recorded = recorded_of(spec_, spec_.settings(**run_settings(config, **vars(run))), run.game)
        assert changed_settings(config, recorded, **vars(run)) == []
        for budget, is_growth in ((1, True), (10**12, False)):
            (change,) = changed_settings(config, recorded | {spec_.budget_unit: budget}, **vars(run))
            assert (change.name, change.is_growth) == (spec_.budget_unit, is_growth)
        for seed, text in ((12, "12"), (datetime.date(2020, 1, 1), "2020-01-01")):  # as YAML reads a date
            (change,) = changed_settings(config, recorded | {"seed": seed}, **vars(run))
            assert str(change) == f"seed was {text}, is now 0"


def write_state(run_dir, recorded, *, budget, spent):
    """Writes what `RunState` writes: no budget and nothing that changes no result among the identity."""
    identity = {name: value for name, value in recorded.items() if name not in ("frames", "snapshot_frames")}
    found = {"format": 1, "identity": identity, "budget": budget, "progress": spent, "algorithm": {}}
    (run_dir / "state").mkdir(exist_ok=True)
    (run_dir / "state" / "state.json").write_text(json.dumps(found))


@pytest.mark.parametrize(
    ("before", "spent", "words"),
    [
        ({}, 500, ""),
        ({"frames": 1_000}, 500, "goes on (frames was 1,000, is now 40,000)"),
        ({"snapshot_frames": 500}, 500, "goes on (snapshot_frames was 500, is now empty)"),
        ({"frames": 90_000}, 500, "goes on (frames was 90,000, is now 40,000)"),
        ({"frames": 90_000}, 40_000, "starts anew (frames was 90,000, is now 40,000)"),
        ({"mutation_power": 0.5}, 500, "starts anew (mutation_power was 0.5, is now 0.002)"),
        ({"mutation_power": 0.5, "frames": 1_000}, 500, "starts anew (mutation_power was 0.5, is now 0.002)"),
        ({"seed": 3, "mutation_power": 0.5}, 500, "starts anew (seed was 3, is now 0, and 1 more)"),
    ],
)
def test_a_plan_says_whether_a_run_goes_on_or_starts_anew(before, spent, words, tmp_path):
    overrides = {"frames": 40_000, "mutation_power": 0.002}
    one = {"algo": "ga", "preset": "uber2018", "games": ["pong"], "models": ["small"], "overrides": overrides}
    config = check_config({"experiments": {"one": one}})
    run = PlannedRun("ga", "pong", "small", 1)
    assert outlook(config, tmp_path, **vars(run)) == ""  # it has not begun
    recorded = recorded_of(ALGORITHMS["ga"], ALGORITHMS["ga"].settings(**run_settings(config, **vars(run))), "pong")
    recorded = {**vars(run), **recorded, **before}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(recorded))
    # Without a state, there is nothing to go on from.
    assert outlook(config, tmp_path, **vars(run)) == words.replace("goes on", "starts anew")
    write_state(tmp_path, recorded, budget=recorded["frames"], spent=spent)
    assert outlook(config, tmp_path, **vars(run)) == words
    (tmp_path / "config.yaml").unlink()  # by Snakemake, because the job failed; the state is what counts
    assert outlook(config, tmp_path, **vars(run)) == ("" if "snapshot_frames" in before else words)
    (tmp_path / "state" / "state.json").write_text("{")  # damaged; a plan is possible all the same
    assert outlook(config, tmp_path, **vars(run)) == ""


def test_runs_to_train_are_those_without_a_result_or_with_other_settings(tmp_path):
    one = {"algo": "ga", "preset": "uber2018", "games": ["pong"], "models": ["small"], "runs": 5}
    config = check_config({"experiments": {"one": one}, "pathvars": {"results": str(tmp_path)}})
    runs = planned_runs(config)
    assert runs_to_train(config, runs) == runs
    for run in runs[:4]:
        folder = tmp_path / "runs" / run.name
        folder.mkdir(parents=True)
        settings = ALGORITHMS["ga"].settings(**run_settings(config, **vars(run)))
        (folder / "config.yaml").write_text(yaml.safe_dump(vars(run) | recorded_of(ALGORITHMS["ga"], settings, "pong")))
    assert runs_to_train(config, runs) == runs  # begun, but not finished
    for run in runs[:4]:
        (tmp_path / "runs" / run.name / "checkpoint.npz").touch()
    assert runs_to_train(config, runs) == runs[4:]
    changed, damaged = (tmp_path / "runs" / runs[place].name / "config.yaml" for place in (1, 2))
    changed.write_text(changed.read_text().replace("population_size: ", "population_size: 1"))
    damaged.write_text("{")
    assert runs_to_train(config, runs) == [runs[1], runs[2], runs[4]]


def test_results_of_other_settings_that_snakemake_does_not_know_are_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = {"algo": "ga", "preset": "uber2018", "games": ["pong"], "models": ["small"], "runs": 3}
    config = check_config({"experiments": {"one": one}, "pathvars": {"results": str(tmp_path)}})
    runs = planned_runs(config)
    for run in runs:
        folder = tmp_path / "runs" / run.name
        folder.mkdir(parents=True)
        settings = ALGORITHMS["ga"].settings(**run_settings(config, **vars(run)))
        (folder / "config.yaml").write_text(yaml.safe_dump(vars(run) | recorded_of(ALGORITHMS["ga"], settings, "pong")))
        (folder / "checkpoint.npz").touch()
    assert unseen_changes(config, runs) == ""
    for run in runs[1:]:
        changed = tmp_path / "runs" / run.name / "config.yaml"
        changed.write_text(changed.read_text().replace("population_size: 1000", "population_size: 100"))
    sentence = unseen_changes(config, runs)
    assert sentence.startswith("2 runs have results of other settings or another network than planned")
    assert "(ga/pong/small/2: population_size was 100, is now 1,000; and 1 more)" in sentence
    assert sentence.endswith(f"--forcerun {tmp_path}/runs/ga/pong/small/2/checkpoint.npz ...")


def test_results_of_a_network_that_was_edited_since_are_told_although_snakemake_knows_them(tmp_path, monkeypatch):
    one = {"algo": "ga", "preset": "uber2018", "games": ["pong"], "models": ["small"], "runs": 2}
    config = check_config({"experiments": {"one": one}, "pathvars": {"results": str(tmp_path)}})
    monkeypatch.setattr(changes, "record_of", lambda *_: {"endtime": 0})
    for run in planned_runs(config):
        folder = tmp_path / "runs" / run.name
        folder.mkdir(parents=True)
        record = {"architecture": architecture_digest("small", with_start=True)} if run.run == 2 else {}
        own = {"format": 1, "protocol": "uber2018"}
        (folder / "config.yaml").write_text(yaml.safe_dump(vars(run) | own | record))
        (folder / "checkpoint.npz").touch()
    assert unseen_changes(config, planned_runs(config)) == ""
    small = ARCHITECTURES["small"]
    first, *others = small.layers
    monkeypatch.setitem(ARCHITECTURES, "small", replace(small, layers=(replace(first, activation="tanh"), *others)))
    sentence = unseen_changes(config, planned_runs(config))
    assert sentence.startswith("1 run has a result of other settings or another network than planned")
    assert "(ga/pong/small/2: the description of 'small' was " in sentence
    run = vars(planned_runs(config)[1])
    assert outlook(config, tmp_path / "runs/ga/pong/small/2", **run).startswith("starts anew (the description of 'sm")


def test_files_that_snakemake_made_are_recorded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Snakefile").write_text(
        f"rule:\n    output: 'known.txt', '{'a' * 150}/{'b' * 150}.txt'\n    shell: 'touch {{output}}'\n"
    )
    words = [sys.executable, "-m", "snakemake", "--cores", "1", "--directory", str(tmp_path)]
    subprocess.run([*words, "-s", str(tmp_path / "Snakefile"), "known.txt"], check=True, capture_output=True)
    (tmp_path / "unknown.txt").touch()
    long = f"{'a' * 150}/{'b' * 150}.txt"
    known = [record_of(name).get("endtime") for name in ("known.txt", long, "unknown.txt")]
    assert known == [(tmp_path / "known.txt").stat().st_mtime, (tmp_path / long).stat().st_mtime, None]
