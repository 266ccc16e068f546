import csv
import itertools
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from neurozoo.comparison import classification, classify_states
from neurozoo.comparison.classification import _class_names, _evaluate, choose_records, read_records, split_records
from neurozoo.comparison.compared_runs import read_compared_runs
from neurozoo.errors import NeurozooError

RIVER = {"game": "river_crossing", "observation": "rgb"}


@pytest.fixture
def outputs(tmp_path):
    names = ("facts", "csv")
    return {name: tmp_path / f"classification.{'json' if name == 'facts' else name}" for name in names}


def scenes(seed, *, mark=0.0, episodes=6, steps=12):
    """Pictures of the river crossing: each episode has a scene of its own, with `mark` in a corner."""
    random = np.random.default_rng(seed)
    pictures = np.repeat(random.random((episodes, 20, 20, 3)), steps, axis=0)
    pictures[:, :6, :6] = mark
    return (pictures + random.normal(0, 0.01, pictures.shape)).astype(np.float32)


def records_of(episodes, *, length=5, label=0, run=0):
    """Different records of some episodes of a run, as `read_records` returns them."""
    number = np.repeat(np.arange(episodes), length)
    steps = np.arange(len(number))
    seen = [f"{run} {step}" for step in steps]
    return pd.DataFrame({"run": run, "label": label, "step": steps, "episode": 100 * run + number, "seen": seen})


def test_a_fifth_of_each_class_and_at_least_one_stretch_is_for_testing():
    records = pd.concat([records_of(10), records_of(5, label=1, run=1)], ignore_index=True)
    split, unit = split_records(records, np.random.default_rng(0))
    assert unit == "episode"
    assert split.groupby(["label", "stretch"])["is_test"].mean().groupby("label").sum().tolist() == [2, 1]
    with pytest.raises(NeurozooError, match=r"one has 5\. Record more"):
        split_records(pd.concat([records, records_of(1, label=2, run=2)], ignore_index=True), np.random.default_rng(0))


def test_runs_of_different_settings_are_never_one_class(run_folder):
    folders = [run_folder("ga", number) for number in (1, 2, 3)] + [run_folder("es")]
    for folder, power in zip(folders[:3], (0.0005, 0.0005, 0.5), strict=True):
        config = {"format": 1, "algo": "ga", "game": "pong", "model": "small", "run": 1, "protocol": "uber2018"}
        record = {"settings_record": {"mutation_power": power}}
        (folder / "config.yaml").write_text(json.dumps(config | record))
    runs, _ = read_compared_runs(folders)
    weak, strong = "mutation_power 0.0005", "mutation_power 0.5"
    assert _class_names(runs, "algo") == [f"ga, {weak}", f"ga, {weak}", f"ga, {strong}", "es"]
    assert _class_names(runs, "model") == [f"small, {weak}", f"small, {weak}", f"small, {strong}", "small"]
    assert _class_names(runs, "run")[0] == "ga/pong/small/1"


def test_algorithms_are_told_apart_also_where_each_has_a_network_of_its_own(run_folder):
    """Of one algorithm and network, each has one hash of settings only, so that nothing there differs."""
    runs, _ = read_compared_runs([run_folder("impala"), run_folder("impala", 2), run_folder("ga"), run_folder("ga", 2)])
    objectives, models = ("ppo", "pqn"), ("small", "large")
    learners = [
        replace(run, facts={"settings": f"hash{objective}", "settings_objective": objective})
        for run, objective in zip(runs[:2], objectives, strict=True)
    ]
    others = [
        replace(run, facts={"settings": f"hash{power}", "settings_mutation_power": power})
        for run, power in zip(runs[2:], ("0.1", "0.2"), strict=True)
    ]
    runs = [
        replace(run, frozen=replace(run.frozen, model=model))
        for run, model in zip([*learners, *others], models * 2, strict=True)
    ]
    assert _class_names(runs, "algo") == ["PPO", "PQN", "ga, mutation_power 0.1", "ga, mutation_power 0.2"]


def test_records_near_test_records_are_left_out_within_an_episode():
    records = records_of(2, length=12)
    is_test = records["step"].isin([10, 11])
    chosen, left_out = choose_records(records.assign(stretch=is_test.astype(int), is_test=is_test))
    assert chosen["step"].tolist() == [0, 1, 2, 3, 4, *range(10, 24)]
    assert left_out == 0


def test_accuracy_weighs_classes_alike_and_its_interval_draws_stretches():
    # Class 0: 0 to 4 of 4 right in five stretches; class 1: 1 of 1 in each of five.
    right = [[number < count for number in range(4)] for count in range(5)]
    guess = [0 if is_right else 1 for stretch in right for is_right in stretch] + [1] * 5
    stretch = [number for number in range(5) for _ in range(4)] + list(range(5, 10))
    tests = pd.DataFrame({"label": [0] * 20 + [1] * 5, "guess": guess, "stretch": stretch})
    found = _evaluate(tests, ("a", "b"), 20_000, 0.95, 0)
    assert found.confusion.tolist() == [[10, 10], [0, 5]]
    assert found.accuracy == (10 / 20 + 5 / 5) / 2
    assert found.chance == 0.5
    shares = [np.mean(drawn) for drawn in itertools.product([0, 0.25, 0.5, 0.75, 1], repeat=5)]
    assert found.interval == pytest.approx(tuple((np.quantile(shares, [0.025, 0.975]) + 1) / 2), abs=0.026)
    alone = _evaluate(tests[tests["stretch"] < 9], ("a", "b"), 100, 0.95, 0)
    assert np.isnan(alone.interval).all()


def test_different_classes_are_recognised_and_the_facts_are_written(run_folder, outputs, tmp_path):
    episodes = (12,) * 6
    runs = [
        run_folder("ga", episodes=episodes, pictures=scenes(1, mark=1.0), **RIVER),
        run_folder("ga", 2, episodes=episodes, pictures=scenes(2, mark=1.0), **RIVER),
        run_folder("es", episodes=episodes, pictures=scenes(3), **RIVER),
    ]
    broken = run_folder("rs", **RIVER)
    (broken / "rollout.npz").unlink()
    texts = []
    for _ in range(2):
        result = classify_states([*runs, broken], **outputs, figures=[tmp_path / "matrix.png"], epochs=6)
        texts.append([path.read_bytes() for path in (*outputs.values(), tmp_path / "matrix.png")])
    assert texts[0] == texts[1]
    assert result.accuracy > 0.9
    facts = json.loads(outputs["facts"].read_text())
    assert facts["classes"] == ["ga", "es"]
    assert facts["split_by"] == "episode"
    assert (facts["training_records"], facts["test_records"], facts["test_stretches"]) == (15 * 12, 3 * 12, 3)
    assert (facts["accuracy"], facts["chance"], facts["accuracy_low"]) == (result.accuracy, 0.5, None)
    assert list(facts["left_out"]) == [str(broken)]
    with open(outputs["csv"]) as file:
        rows = list(csv.DictReader(file))
    assert [(row["true"], row["guess"]) for row in rows] == [("ga", "ga"), ("ga", "es"), ("es", "ga"), ("es", "es")]
    assert sum(int(row["records"]) for row in rows) == 36


@pytest.mark.long(seconds=4)
def test_remembering_the_scene_does_not_help(run_folder, outputs):
    # The classes differ only in their scenes; with a shuffled split, nearly all would be recognised.
    runs = [
        run_folder(algo, episodes=(12,) * 15, pictures=scenes(seed, episodes=15), **RIVER)
        for seed, algo in enumerate(("ga", "es"), start=1)
    ]
    result = classify_states(runs, **outputs, epochs=6, replications=1000)
    assert result.interval[0] <= 0.5 <= result.interval[1]
    assert result.accuracy < 0.85


def test_no_picture_of_a_test_is_in_the_training_of_its_class(run_folder):
    """Episodes 1 and 3 are the same game, and all begin with the same screen."""
    folders = []
    for seed, algo in enumerate(("ga", "es"), start=1):
        pictures = scenes(seed, episodes=7)
        pictures[24:36] = pictures[:12]
        pictures[::12] = pictures[0]
        folders.append(run_folder(algo, episodes=(12,) * 7, pictures=pictures, **RIVER))
    runs, _ = read_compared_runs(folders)
    records, repeated = read_records(runs, [0, 1], "observations")
    assert (records["episode"].nunique(), repeated) == (12, 2)
    for seed in range(5):
        split, unit = split_records(records, np.random.default_rng(seed))
        chosen, left_out = choose_records(split)
        assert (unit, left_out) == ("episode", 2 * 5)  # the first screens of all training episodes
        for label in (0, 1):
            trained, tested = (
                set(chosen["seen"][(chosen["label"] == label) & (chosen["is_test"] == is_test)])
                for is_test in (False, True)
            )
            assert len(tested) == 12
            assert not trained & tested


@pytest.mark.parametrize("number_of_the_long_one", [0, 5])
def test_short_stretches_keep_a_record_when_a_class_is_thinned(monkeypatch, number_of_the_long_one):
    """Else a class could be left without tests, and the accuracy would be unknown after all the training."""
    monkeypatch.setattr(classification, "_MAX_RECORDS", 10)
    lengths = [3, 3, 3, 3, 3]
    lengths.insert(number_of_the_long_one, 185)  # of 200 records, every twentieth is kept
    numbers = np.repeat(np.arange(6), lengths)
    runs = [records_of(200, length=1, label=run, run=run).assign(episode=100 * run + numbers) for run in (0, 1)]
    for seed in range(4):
        split, unit = split_records(pd.concat(runs, ignore_index=True), np.random.default_rng(seed))
        chosen, _ = choose_records(split)
        assert unit == "episode"
        assert chosen.groupby(["label", "is_test"]).size().size == 4
        assert sorted(set(chosen["stretch"])) == list(range(12))


def test_thinning_counts_over_the_whole_rollout(monkeypatch):
    records = records_of(5, length=10)
    records = records.assign(stretch=records["episode"], is_test=records["episode"] == 4)
    for most, kept in ((50, list(range(50))), (17, list(range(0, 50, 3)))):
        monkeypatch.setattr(classification, "_MAX_RECORDS", most)
        assert choose_records(records)[0]["step"].tolist() == kept


def test_observations_of_different_kinds_are_refused_and_screens_are_not(run_folder, outputs):
    episodes = (60,)
    runs = [
        run_folder(algo, game="river_crossing", observation=seen, episodes=episodes)
        for algo, seen in (("ga", "rgb"), ("es", "greyscale"))
    ]
    with pytest.raises(NeurozooError, match=r"of one kind, .* 20 x 20 x 3, rgb; .* set source to frames"):
        classify_states(runs, **outputs)
    result = classify_states(runs, **outputs, source="frames", epochs=1, replications=10)
    assert (result.confusion.sum(axis=1) > 0).all()
    assert json.loads(outputs["facts"].read_text())["split_by"] == "stretch of 25 records"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"by": "algos"}, "class 'algos' is unknown; did you mean 'algo'"),
        ({"source": "frame"}, "did you mean 'frames'"),
        ({"by": "model"}, "at least two classes to tell apart by 'model', but all runs are of 'small'"),
        ({"seed": 2**32}, "seed of a classification should be from 0 to 4294967295, but is 4294967296"),
        ({}, "at least 50 different records"),
    ],
)
def test_bad_input_is_refused_before_training(run_folder, outputs, changes, message):
    runs = [run_folder(algo, episodes=(20,), **RIVER) for algo in ("ga", "es")]
    with pytest.raises(NeurozooError, match=message):
        classify_states(runs, **outputs, **changes)
    assert not outputs["facts"].exists()
