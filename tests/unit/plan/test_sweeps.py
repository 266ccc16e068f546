import re

import pytest
import yaml
from neurozoo.errors import NeurozooError
from neurozoo.plan.configuration import check_config
from neurozoo.plan.planned_runs import PlannedRun, labels_of_runs, planned_runs, run_settings
from neurozoo.plan.sweeps import MOST_COMBINATIONS, SPACING, members_of

TWO_LISTS = "sweep: {mutation_power: [0.002, 0.005], population_size: [20, 30, 40]}"


def checked(text: str, *others: str, runs: str = "2") -> dict:
    demo = f"demo: {{algo: ga, games: [pong, skiing], models: [large], runs: {runs}, {text}}}"
    return check_config(yaml.safe_load("experiments:\n" + "".join(f"  {entry}\n" for entry in (demo, *others))))


def settings(config: dict, run: int) -> tuple:
    found = run_settings(config, algo="ga", game="pong", model="large", run=run)
    return found["mutation_power"], found["population_size"]


def test_each_combination_has_runs_of_its_own_and_the_last_list_changes_fastest():
    config = checked(TWO_LISTS)
    expected = {
        1: (0.002, 20), 101: (0.002, 30), 201: (0.002, 40), 301: (0.005, 20), 401: (0.005, 30), 501: (0.005, 40),
    }  # fmt: skip
    numbers = [number for first in expected for number in (first, first + 1)]
    assert planned_runs(config) == [
        PlannedRun("ga", game, "large", number) for game in ("pong", "skiing") for number in numbers
    ]
    for first, values in expected.items():
        assert settings(config, first) == settings(config, first + 1) == values


@pytest.mark.parametrize("run", [3, 100, 103, 200, 600, 601, 10**9])
def test_a_run_number_between_or_beyond_the_combinations_belongs_to_no_experiment(run):
    config = checked(TWO_LISTS + ", overrides: {frames: 77}")
    names = {"algo": "ga", "game": "pong", "model": "large"}
    assert run_settings(config, run=501, **names)["frames"] == 77
    assert run_settings(config, run=run, **names)["frames"] != 77


def test_a_list_of_run_numbers_is_that_of_the_first_combination():
    config = checked("sweep: {mutation_power: [0.002, 0.005]}", runs="[7, 100]")
    assert [run.run for run in planned_runs(config) if run.game == "pong"] == [7, 100, 107, 200]
    assert [settings(config, run)[0] for run in (7, 100, 107, 200)] == [0.002, 0.002, 0.005, 0.005]


@pytest.mark.parametrize(("text", "runs"), [(TWO_LISTS.replace("0.005]", "0.005, 0.5]"), "2"), (TWO_LISTS, "9")])
def test_more_runs_or_a_value_at_the_end_of_the_first_list_change_no_run_that_was_planned(text, runs):
    before, after = checked(TWO_LISTS), checked(text, runs=runs)
    assert set(planned_runs(before)) < set(planned_runs(after))
    for run in planned_runs(before):
        assert settings(before, run.run) == settings(after, run.run)


def test_one_setting_may_be_swept_and_others_be_fixed_and_a_checked_configuration_stays_as_it_is():
    config = checked("overrides: {population_size: 33}, sweep: {mutation_power: [0.002, 0.005]}")
    assert [settings(config, run) for run in (2, 101)] == [(0.002, 33), (0.005, 33)]
    assert check_config(config) == config
    members = members_of(config["experiments"]["demo"])
    assert [member["overrides"]["mutation_power"] for member in members] == [0.002, 0.005]
    assert config["experiments"]["demo"]["overrides"] == {"population_size": 33}


def test_whole_numbers_are_read_as_under_overrides():
    text = "experiments: {a: {algo: ga_ns, games: [pong], models: [large], sweep: {num_neighbours: [7.0, 8]}}}"
    config = check_config(yaml.safe_load(text))
    names = {"algo": "ga_ns", "game": "pong", "model": "large"}
    found = [run_settings(config, run=run, **names)["num_neighbours"] for run in (1, 101)]
    assert found == [7, 8]
    assert isinstance(found[0], int)


def test_a_label_is_that_of_all_combinations():
    labels = labels_of_runs(checked("sweep: {mutation_power: [0.002, 0.005]}, label: bold", runs="1"))
    assert labels == {f"ga/{game}/large/{run}": "bold" for game in ("pong", "skiing") for run in (1, 101)}


def test_settings_that_fit_only_together_are_judged_together():
    config = checked("overrides: {selection_threshold: 50}, sweep: {population_size: [100, 200]}")
    assert settings(config, 101)[1] == 200
    with pytest.raises(NeurozooError) as caught:
        checked("overrides: {selection_threshold: 50}, sweep: {population_size: [100, 20]}")
    assert "has one problem:\n  experiments.demo.sweep: population_size 20: selection_threshold should be at most" in (
        str(caught.value)
    )


def test_an_experiment_may_share_the_runs_of_a_combination_if_it_has_its_settings():
    other = "other: {algo: ga, games: [pong], models: [large], runs: [102], overrides: {mutation_power: %s}}"
    sweep = "sweep: {mutation_power: [0.002, 0.005]}"
    assert len(planned_runs(checked(sweep, other % 0.005))) == 2 * 2 * 2
    with pytest.raises(NeurozooError, match=r"both contain the run ga/pong/large/102, but differ in mutation_power\."):
        checked(sweep, other % 0.002)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("sweep: [0.1]", "experiments.demo.sweep should be a mapping of keys to values, but is [0.1]."),
        ("sweep: {mutation_power: 0.1}", "experiments.demo.sweep.mutation_power should be a list, but is 0.1."),
        ("sweep: {mutation_power: []}", "demo.sweep.mutation_power should have at least 1 entry, but is empty."),
        (
            "sweep: {mutation_power: [0.1, 0.2, 0.1]}",
            "experiments.demo.sweep.mutation_power should name everything once, but is [0.1, 0.2, 0.1].",
        ),
        (
            "sweep: {mutation_powr: [0.1]}",
            "experiments.demo.sweep: ga has no setting 'mutation_powr'; did you mean 'mutation_power'? Known: ",
        ),
        (
            "overrides: {popsize: 3}, sweep: {mutation_power: [0.1]}",
            "experiments.demo.overrides: ga has no setting 'popsize'; did you mean 'population_size'? Known: ",
        ),
        (
            "overrides: {population_size: 0}, sweep: {mutation_power: [0.1, 0.2]}",
            "experiments.demo.overrides.population_size should be at least 1, but is 0.",
        ),
        (
            "overrides: {mutation_power: 0.3}, sweep: {mutation_power: [0.1, 0.2]}",
            "demo.sweep.mutation_power is a setting under overrides, too, as 0.3. Remove one of them.",
        ),
        (
            "sweep: {mutation_power: [0.1, 2e-3], population_size: [20, 30]}",
            "demo.sweep.mutation_power should be a number or a mapping of keys to values, but is '2e-3'. YAML reads",
        ),
        (
            "sweep: {protocol: [uber2018, uber2081]}",
            "demo.sweep: protocol uber2081: protocol 'uber2081' is unknown; did you mean 'uber2018'?",
        ),
        (
            "sweep: {frames: [1000, 2000], mutation_power: [0.1, 0.2]}",
            "demo.sweep: the runs with frames 1000 and with frames 2000 would be pooled. Budget, seed and ways to run",
        ),
        ("sweep: {seed: [1, 2]}", "demo.sweep: the runs with seed 1 and with seed 2 would be pooled."),
        ("sweep: {engine: [native, batched]}", "with engine native and with engine batched would be pooled."),
        ("sweep: {snapshot_frames: [1, 2]}", "with snapshot_frames 1 and with snapshot_frames 2 would be pooled."),
        ("sweep: {population_size: [20, 20.0]}", "with population_size 20 and with population_size 20.0 would be"),
        (
            "sweep: {mutation_power: [0.5, {type: constant, initial: 0.5}]}",
            "with mutation_power 0.5 and with mutation_power {'type': 'constant', 'initial': 0.5} would be pooled.",
        ),
    ],
)
def test_a_mistake_in_a_sweep_is_one_sentence(text, sentence):
    with pytest.raises(NeurozooError, match=r"has one problem:") as caught:
        checked(text)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("runs", [str(SPACING + 1), "[3, 250]"])
def test_runs_beyond_those_of_a_combination_are_refused(runs):
    with pytest.raises(NeurozooError, match=r"demo\.runs should be at most 100 in an experiment with a sweep, but is"):
        checked("sweep: {mutation_power: [0.1]}", runs=runs)


def test_a_sweep_of_too_many_combinations_is_refused_before_they_are_listed():
    lists = ", ".join(f"{name}: [{', '.join(map(str, range(1, 60)))}]" for name in (
        "population_size", "num_test_episodes", "selection_threshold", "mutation_power", "frames", "seed",
    ))  # fmt: skip
    with pytest.raises(NeurozooError) as caught:
        checked(f"sweep: {{{lists}}}")
    expected = f"demo.sweep should make at most {MOST_COMBINATIONS:,} combinations, but makes {59**6:,}."
    assert re.search(re.escape(expected), str(caught.value))
