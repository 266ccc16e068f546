"""Whole training runs on the real core: killed, stopped, continued, and the same in the end."""

import json
import os
import random
import re
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
import training_processes
import yaml
from neurozoo.agents.checkpoint import read_checkpoint
from neurozoo.book.update import STATE_FILES
from neurozoo.errors import NeurozooError
from neurozoo.evaluation.native import NativeEvaluator
from neurozoo.genomes.genome import decode
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.genomes.reading import read_genome
from neurozoo.records.published_log import GA_FIELDS, read_tables
from neurozoo.records.run_log import read_log
from neurozoo.training import make_context
from training_processes import ENDLESS, PATIENCE, assert_same_results, reports, train_run, wait_for_news

SETTINGS = training_processes.SETTINGS


def content(folder):
    """Returns all files but the heartbeat, which every start writes."""
    paths = [path for path in Path(folder).rglob("*") if path.is_file() and path.name != "process.json"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def state_of(run_dir):
    return json.loads((run_dir / "state" / "state.json").read_text())


# ---- an uninterrupted run


def test_a_run_leaves_all_its_files_and_they_agree(uninterrupted, small_noise_table):
    assert {path.name for path in uninterrupted.iterdir()} == {
        "config.yaml", "train.log", "log.jsonl", "checkpoint.npz", "genome.json", "result.json", "snapshots", "state",
    }  # fmt: skip
    records = read_log(uninterrupted / "log.jsonl")
    assert [record["Iteration"] for record in records] == list(range(1, len(records) + 1))
    assert len(records) >= 3
    standard = {"frames", "score", "score_episodes", "test_score", "test_episodes", "Lineage", "OverheadThisIter"}
    standard.add("ProcessorTimeTotal")
    assert all(set(GA_FIELDS) | standard == set(record) for record in records)
    assert records[-2]["frames"] < SETTINGS["frames"] <= records[-1]["frames"]

    facts = json.loads((uninterrupted / "genome.json").read_text())
    best = max(records, key=lambda record: record["score"])  # the first of equals
    assert facts["genome"] == best["TruncatedPopulationEliteSeeds"]
    assert facts["validation_score"] == best["score"]
    assert facts["test_score"] == records[-1]["test_score"] == best["TruncatedPopulationEliteTestRewMean"]
    assert (facts["iteration"], facts["frames"]) == (best["Iteration"], best["frames"])
    expected = {"algo": "ga", "game": "assault", "model": "small", "run": 1, "protocol": "uber2018"}
    assert {name: facts[name] for name in expected} == expected
    assert (facts["action_set"], facts["test_episodes"]) == ("minimal", SETTINGS["num_test_episodes"])
    assert (facts["observation"], facts["start_state"]) == ("", "today")

    checkpoint = read_checkpoint(uninterrupted / "checkpoint.npz")
    genome = read_genome(uninterrupted / "genome.json").genome
    theta = decode(genome, noise=open_noise_table(small_noise_table), layout=checkpoint.layout)
    np.testing.assert_array_equal(checkpoint.theta, theta)
    assert (checkpoint.game, checkpoint.model, checkpoint.run, checkpoint.num_actions) == ("assault", "small", 1, 7)

    settings = yaml.safe_load((uninterrupted / "config.yaml").read_text())
    assert {name: settings[name] for name in SETTINGS} == SETTINGS
    assert settings["protocol_record"]["name"] == "uber2018"
    assert {"neurozoo", "commit"} <= set(settings)


def test_the_text_log_has_a_table_and_a_genome_for_each_generation(uninterrupted):
    records = [json.loads(line) for line in (uninterrupted / "log.jsonl").read_text().splitlines()]
    tables = list(read_tables((uninterrupted / "train.log").read_text().splitlines()))
    assert len(tables) == len(records)
    for table, record in zip(tables, records, strict=True):
        assert float(table["PopulationEpRewMax"]) == float(f"{record['PopulationEpRewMax']:.3g}")
        assert set(GA_FIELDS) <= set(table)


def test_times_add_up(uninterrupted):
    records = [json.loads(line) for line in (uninterrupted / "log.jsonl").read_text().splitlines()]
    for kind, total in (("TimeElapsedThisIter", "TimeElapsed"), ("TimeElapsedThisIterTotal", "TimeElapsedTotal")):
        np.testing.assert_allclose(np.cumsum([r[kind] for r in records]), [r[total] for r in records], rtol=1e-9)
    processor = [record["ProcessorTimeTotal"] for record in records]
    assert processor == sorted(processor)
    # Two threads at the most, and of a tick of the system's clock either way.
    assert 0 < processor[0] < 2 * records[0]["TimeElapsedTotal"] + 0.1
    for record in records:
        assert 0 < record["TimeElapsedThisIter"] < record["TimeElapsedThisIterTotal"]  # the tests take time, too
        assert 0 < record["OverheadThisIter"] < record["TimeElapsedThisIterTotal"]
        assert record["TimestepsPerSecondThisIter"] == pytest.approx(
            record["TimestepsThisIter"] / record["TimeElapsedThisIterTotal"]
        )


@pytest.mark.long(seconds=5)
def test_the_order_in_which_episodes_finish_does_not_matter(runner, uninterrupted, tmp_path, monkeypatch):
    class LastFirst(NativeEvaluator):
        def submit(self, episodes):
            self.waiting = len(episodes)
            super().submit(episodes)

        def receive(self, *, timeout):
            found = {}
            while len(found) < self.waiting:
                found |= super().receive(timeout=timeout)
            return dict(sorted(found.items(), reverse=True))

    monkeypatch.setattr("neurozoo.evaluation.native.NativeEvaluator", LastFirst)
    train_run(**runner.arguments(tmp_path))
    assert_same_results(tmp_path, uninterrupted)


def test_another_run_number_gives_another_result(runner, uninterrupted, tmp_path):
    runner.finish(tmp_path, run=2)
    assert reports(tmp_path) != reports(uninterrupted)


def test_random_search_trains_too(runner, tmp_path):
    runner.finish(tmp_path, algo="rs", settings={"selection_threshold": 0, "frames": 2000})
    genomes = [record["TruncatedPopulationEliteSeeds"] for record in reports(tmp_path)]
    assert len(genomes) >= 2
    assert all(len(genome) == 1 for genome in genomes)


# ---- killed


def test_a_run_that_is_killed_again_and_again_ends_the_same(runner, uninterrupted, tmp_path):
    dice = random.Random(1)
    kills = 0
    while True:
        process = runner.start(tmp_path, threads=1 + kills % 2, settings=ENDLESS if kills < 2 else {})
        if kills % 3:
            wait_for_news(tmp_path, process)
        process.join(timeout=dice.uniform(0, 0.3))
        if not process.is_alive():
            assert process.exitcode == 0, runner.said()
            break
        process.kill()
        process.join()
        kills += 1
        assert not (tmp_path / "checkpoint.npz").exists() or read_checkpoint(tmp_path / "checkpoint.npz")
        assert kills < 200, "the run makes no progress"
    assert_same_results(tmp_path, uninterrupted)


# Moments between others of the same kind.
RARE = ("before a snapshot", "before the checkpoint", "between genome and result")


@pytest.mark.parametrize(
    "crash", [pytest.param(crash, marks=[pytest.mark.long] * (crash in RARE)) for crash in training_processes.CRASHES]
)
def test_a_run_that_is_killed_at_the_worst_moment_ends_the_same(runner, uninterrupted, tmp_path, crash):
    process = runner.start(tmp_path, crash=crash)
    process.join(timeout=PATIENCE)
    assert process.exitcode == -signal.SIGKILL, runner.said()
    runner.finish(tmp_path)
    assert_same_results(tmp_path, uninterrupted)


# Every other algorithm, on another world: (algorithm, game, network, settings).
GRADIENT = {"population_size": 6, "num_test_episodes": 1, "episode_cutoff_mode": 30}
OTHERS = [
    ("es", "assault", "virtual_bn", GRADIENT | {"frames": 2_000}),
    ("nsra_es", "hard_maze", "simple", GRADIENT | {"patience": 1, "frames": 1_000}),
    ("ga_ns", "hard_maze", "simple", {"archive_probability": 0.5, "frames": 4_000}),
    ("ga", "assault", "small", {"elite_rule": "racing"}),
    ("ga", "assault", "small", {"elite_rule": "carried", "first_generation": "mutations"}),
]
# Those that differ from one of these in the world, or in a rule without a state of its own.
RELATED = [
    ("es", "hard_maze", "simple", GRADIENT | {"episode_cutoff_mode": "env_default", "frames": 9_000}),
    ("ns_es", "assault", "small", GRADIENT | {"frames": 3_000}),
    ("nsr_es", "river_crossing", "simple", GRADIENT | {"observation": "greyscale", "frames": 700}),
    ("ga", "gym.CartPole-v1", "simple", {"frames": 600}),
]


@pytest.mark.parametrize(
    "crash",
    [
        "after a line of the journal",
        pytest.param("after the state and before the journal is emptied", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize(
    ("algo", "game", "model", "settings"), [*OTHERS, *(pytest.param(*each, marks=pytest.mark.long) for each in RELATED)]
)
def test_every_algorithm_continues_as_if_nothing_had_happened(runner, tmp_path, algo, game, model, settings, crash):
    base = {} if algo in ("es", "ns_es", "nsr_es", "nsra_es") else SETTINGS
    arguments = {"algo": algo, "game": game, "model": model}
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    runner.finish(whole, whole_settings=base | settings, threads=2, **arguments)
    process = runner.start(killed, whole_settings=base | settings, crash=crash, **arguments)
    process.join(timeout=PATIENCE)
    assert process.exitcode == -signal.SIGKILL, runner.said()
    runner.finish(killed, whole_settings=base | settings, **arguments)
    assert len(reports(whole)) >= 3
    assert_same_results(killed, whole)


def test_a_killed_run_does_not_play_finished_episodes_again(runner, uninterrupted, tmp_path):
    process = runner.start(tmp_path, crash="after a line of the journal")
    process.join(timeout=PATIENCE)
    journal = tmp_path / "state" / "journal.jsonl"
    lines = journal.read_text().splitlines()
    assert lines
    # An impossible score shows that the result was taken from the journal.
    forged = json.loads(lines[0])
    forged[3] = 123456.0
    journal.write_text("\n".join([json.dumps(forged), *lines[1:]]) + "\n")
    runner.finish(tmp_path)
    assert reports(tmp_path)[0]["PopulationEpRewMax"] == 123456.0
    assert reports(uninterrupted)[0]["PopulationEpRewMax"] < 123456.0


def test_snakemake_may_delete_the_results_of_an_interrupted_run(runner, uninterrupted, tmp_path):
    process = runner.start(tmp_path, crash="after a report and before the state")
    process.join(timeout=PATIENCE)
    for name in ("config.yaml", "train.log"):
        (tmp_path / name).unlink()
    runner.finish(tmp_path)
    assert_same_results(tmp_path, uninterrupted)
    assert "Loaded iteration 1 from" in (tmp_path / "train.log").read_text()
    assert "Iteration" in (tmp_path / "train.log").read_text().partition("Loaded iteration 1")[0]


# ---- stopped


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_saves_what_is_done_and_ends_with_an_error(runner, uninterrupted, tmp_path, number, wait_until):
    process = runner.start(tmp_path, settings=ENDLESS)
    journal = tmp_path / "state" / "journal.jsonl"
    wait_until(journal.exists, what="no episode")
    os.kill(process.pid, number)
    process.join(timeout=PATIENCE)
    assert process.exitcode == 1
    sentence = f"Stopped by {number.name}; the state is saved. Start the same command again to continue."
    assert sentence in runner.said()
    assert sentence in (tmp_path / "train.log").read_text()
    assert not (tmp_path / "checkpoint.npz").exists()
    # The seconds of the generation that was stopped count, too: its episodes are not played again.
    kept = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    elapsed = kept[-1] if kept else state_of(tmp_path)["elapsed"]
    assert elapsed["total"] + elapsed["now"]["total"] > 0
    runner.finish(tmp_path)
    assert_same_results(tmp_path, uninterrupted)


# ---- finished, and started again


def test_a_finished_run_is_not_trained_again_when_its_results_are_gone(runner, uninterrupted, tmp_path):
    runner.finish(tmp_path)
    before = content(tmp_path / "state")
    for name in ("checkpoint.npz", "genome.json", "log.jsonl", "train.log", "config.yaml"):
        (tmp_path / name).unlink()
    runner.finish(tmp_path)
    assert_same_results(tmp_path, uninterrupted)
    after = content(tmp_path / "state")
    assert {name for name in before if before[name] != after[name]} == {"train.log"}
    assert not (tmp_path / "superseded").exists()


def test_a_larger_budget_continues_and_equals_a_run_that_had_it_from_the_start(runner, uninterrupted, tmp_path):
    runner.finish(tmp_path, settings={"frames": 1500})
    assert state_of(tmp_path)["algorithm"]["iteration"] < len(reports(uninterrupted))
    runner.finish(tmp_path)
    assert_same_results(tmp_path, uninterrupted)
    assert not (tmp_path / "superseded").exists()


def test_the_files_that_the_book_keeps_continue_a_run_on_another_machine(runner, uninterrupted, tmp_path):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    runner.finish(here, settings={"frames": 1500})
    (elsewhere / "state").mkdir(parents=True)
    for name in STATE_FILES:
        shutil.copy(here / "state" / name, elsewhere / "state" / name)
    runner.finish(elsewhere)
    assert reports(elsewhere) == reports(uninterrupted)
    for name in ("checkpoint.npz", "genome.json"):
        assert (elsewhere / name).read_bytes() == (uninterrupted / name).read_bytes()


def test_a_smaller_budget_that_is_spent_starts_anew_and_keeps_the_old_state(runner, uninterrupted, tmp_path):
    runner.finish(tmp_path)
    state, snapshots = content(tmp_path / "state"), content(tmp_path / "snapshots")
    names = ("config.yaml", "log.jsonl", "checkpoint.npz", "genome.json", "result.json")
    results = {name: (tmp_path / name).read_bytes() for name in names}
    runner.finish(tmp_path, settings={"frames": 1500})
    assert reports(tmp_path) == reports(uninterrupted)[: len(reports(tmp_path))]
    assert reports(tmp_path)[-1]["frames"] >= 1500
    assert len(reports(tmp_path)) < len(reports(uninterrupted))
    shelf = content(tmp_path / "superseded" / "1")
    assert {name: shelf.pop(f"snapshots/{name}") for name in snapshots} == snapshots
    assert {name: shelf.pop(f"result/{name}") for name in results} == results
    assert shelf == state


def test_changed_settings_start_anew_and_keep_the_old_state(runner, uninterrupted, tmp_path):
    process = runner.start(tmp_path, crash="after a line of the journal", settings={"seed": 1})  # first generation
    process.join(timeout=PATIENCE)
    state = content(tmp_path / "state")
    assert "journal.jsonl" in state
    runner.finish(tmp_path)
    assert_same_results(tmp_path, uninterrupted)
    shelf = content(tmp_path / "superseded" / "1")
    assert yaml.safe_load(shelf.pop("result/config.yaml"))["seed"] == 1
    assert shelf == state
    assert "The settings have changed: what was there is now in" in (tmp_path / "train.log").read_text()


# ---- the other engine


@pytest.mark.long(seconds=20)
def test_a_run_of_the_batched_engine_equals_a_native_one_but_is_not_continued_by_it(runner, uninterrupted, tmp_path):
    process = runner.start(
        tmp_path, crash="after a report and before the state", settings={"engine": "batched"}, slots=4
    )
    process.join(timeout=PATIENCE)
    assert process.exitcode == -signal.SIGKILL, runner.said()
    runner.finish(tmp_path, settings={"engine": "batched"}, slots=6)
    assert reports(tmp_path) == reports(uninterrupted)  # in these episodes no two outputs are nearly equal
    assert yaml.safe_load((tmp_path / "config.yaml").read_text())["engine"] == "batched"
    assert "Batched engine: 6 slots of network 'small' need about" in (tmp_path / "train.log").read_text()
    assert not (tmp_path / "superseded").exists()
    runner.finish(tmp_path)
    before = json.loads((tmp_path / "superseded" / "1" / "state.json").read_text())
    assert before["identity"]["engine"] == "batched"
    assert state_of(tmp_path)["identity"]["engine"] == "native"


# ---- bad input


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"algo": "gaa"}, "algorithm 'gaa' is unknown; did you mean 'ga'"),
        ({"game": "asault"}, "game 'asault' is unknown; did you mean 'assault'"),
        ({"model": "smal"}, "network 'smal' is unknown; did you mean 'small'"),
        ({"settings": {"protocol": "uber"}}, "protocol 'uber' is unknown"),
        ({"settings": {"population": 5}}, "ga has no setting 'population'"),
        ({"settings": {"population_size": 0}}, "population_size should be at least 1"),
        ({"noise": "/nowhere/table.f32"}, "The noise table /nowhere/table.f32 is missing"),
        ({"core": "/nowhere/core.so"}, "The native library /nowhere/core.so is missing"),
        ({"threads": 0}, "An evaluator needs at least 1 thread"),
        ({"model": "large"}, "'large' needs a noise table of at least 4,047,015 values, but "),
    ],
)
def test_bad_input_is_explained_and_leaves_no_results(runner, tmp_path, changes, complaint):
    with pytest.raises(NeurozooError, match=re.escape(complaint)):
        train_run(**runner.arguments(tmp_path / "run", **changes))
    assert not {"checkpoint.npz", "genome.json", "log.jsonl"} & {path.name for path in tmp_path.rglob("*")}


def test_bad_input_leaves_earlier_results_as_they_are(runner, uninterrupted, tmp_path):
    shutil.copytree(uninterrupted, tmp_path / "run")
    before = content(tmp_path / "run")
    for changes in ({"game": "asault"}, {"settings": {"population": 5}}, {"noise": "/nowhere/table.f32"}):
        with pytest.raises(NeurozooError):
            train_run(**runner.arguments(tmp_path / "run", **changes))
    assert content(tmp_path / "run") == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"elite"', '"elit"'),
        lambda text: text.replace('"keeps": ', '"keeps": -'),
    ],
)
def test_a_damaged_state_is_refused_and_nothing_is_touched(runner, uninterrupted, tmp_path, damage):
    shutil.copytree(uninterrupted / "state", tmp_path / "state")
    path = tmp_path / "state" / "state.json"
    path.write_text(damage(path.read_text()))
    before = content(tmp_path)
    with pytest.raises(NeurozooError, match=r"damaged .*Delete .*state to train this run from the start"):
        train_run(**runner.arguments(tmp_path))
    assert content(tmp_path) == before


# ---- a full disk


FULL_DISK = """
import shutil
from pathlib import Path
from neurozoo.training import make_context, train

disk, core, noise, settings, spares = sys.argv[1], *sys.argv[2:4], *map(json.loads, sys.argv[4:])
run = Path(disk) / "run"

def go(**changes):
    context = make_context(
        algo="ga", game="assault", model="small", run=1, settings=settings | changes, core=core, noise=noise,
        run_dir=run, threads=2,
    )
    train(context, terminal="lines")

def results():
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return [
        (run / "checkpoint.npz").read_bytes().hex()[:2000], (run / "genome.json").read_text(),
        [[record["frames"], record["score"], record["test_score"]] for record in log],
    ]

go()
expected = results()
outcomes = []
for spare in spares:
    shutil.rmtree(run)
    go(frames=1)
    state = json.loads((run / "state" / "state.json").read_text())
    fill(spare)
    message = refusal(go)
    kept = json.loads((run / "state" / "state.json").read_text())
    free()
    go()
    outcomes.append([message, kept["algorithm"]["iteration"] >= state["algorithm"]["iteration"], results() == expected])
print(json.dumps(outcomes))
"""


def test_a_full_disk_is_explained_and_the_run_continues_when_there_is_room(small_disk, core, small_noise_table):
    spares = [0, 4096, 8192, 12288, 16384, 65536]
    settings = SETTINGS | {"frames": 2000, "snapshot_frames": 0}
    outcomes = small_disk(FULL_DISK, core, small_noise_table, json.dumps(settings), json.dumps(spares), size="12m")
    files = set()
    for message, is_kept, is_same in outcomes:
        found = re.search(
            r"/(\S+) could not be written: no space left on device\. An earlier file of that name", message
        )
        assert found, message
        files.add(Path(found[1]).name)
        assert is_kept
        assert is_same
    assert files == {"config.yaml", "train.log", "state.json", "checkpoint.npz"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("experiments: {}\n", "is not that of a run, so .* is not the folder of one. Nothing was written."),
        (
            "{format: 1, algo: ga, game: pong, model: small, run: 1, protocol: x}\n",
            "holds the run ga/pong/small/1, whose game is",
        ),
    ],
)
def test_a_folder_of_something_else_is_refused_and_left_as_it_is(runner, tmp_path, text, complaint):
    """Such as the project's own folder, whose `config.yaml` would be lost."""
    (tmp_path / "config.yaml").write_text(text)
    (tmp_path / "tags").mkdir()
    with pytest.raises(NeurozooError, match=complaint):
        train_run(**runner.arguments(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"config.yaml", "tags"}
    assert (tmp_path / "config.yaml").read_text() == text


@pytest.mark.parametrize(
    ("game", "settings", "sentence"),
    [
        ("hard_maze", {"stage_threshold": 0.8}, "stage_threshold is for river_crossing with fixed rules"),
        (
            "river_crossing",
            {"stage_threshold": 0.8, "protocol": "river_faithful"},
            "stage_threshold is for river_crossing with fixed rules",
        ),
        ("pong", {"behaviour": "final_state"}, "final_state"),
    ],
)
def test_settings_that_do_not_fit_the_game_are_refused_before_anything_is_written(tmp_path, game, settings, sentence):
    """The plan refuses them, too; this is for runs that are trained by hand."""
    with pytest.raises(NeurozooError, match=sentence):
        make_context(
            algo="ga_ns" if "behaviour" in settings else "ga",
            game=game,
            model="simple",
            run=1,
            settings=settings,
            run_dir=tmp_path / "run",
            core="core",
            noise="noise",
        )
    assert not (tmp_path / "run").exists()
