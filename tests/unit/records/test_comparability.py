import json
from dataclasses import asdict, replace

import pandas as pd
import pytest
from neurozoo.environments.protocols import get_protocol
from neurozoo.records.comparability import (
    differing_facts,
    name_differences,
    protocol_facts,
    read_facts,
    settings_hash,
    with_names,
)

RUN = {"algo": "ga", "game": "pong", "model": "large", "run": 1, "protocol": "uber2018"}


def run_of(**changes):
    facts = {"settings": "aa", "protocol_action_set": "minimal", "evaluation_epsilon": "0"}
    return RUN | facts | changes


def named(*runs, column="variant"):
    return with_names(pd.DataFrame(runs))[column].tolist()


def test_several_hashes_are_named_by_what_differs_only():
    weak = run_of(settings_mutation_power="0.0005", settings_population_size="100")
    strong = run_of(settings="bb", settings_mutation_power="0.5", settings_population_size="100", game="breakout")
    other = run_of(settings="cc", algo="rs", settings_mutation_power="0.002")
    assert named(weak, strong, other) == ["mutation_power 0.0005", "mutation_power 0.5", ""]


def test_an_experiments_label_stands_for_its_settings():
    weak, strong = run_of(settings_mutation_power="0.0005"), run_of(settings="bb", settings_mutation_power="0.5")
    assert named(weak, strong | {"label": "bold"}) == ["mutation_power 0.0005", "bold"]
    assert named(strong | {"label": "bold"}) == ["bold"]
    assert named(weak, strong | {"label": "a"}, strong | {"label": "b", "run": 2})[1:] == ["a / b", "a / b"]


def test_a_label_for_two_hashes_does_not_make_them_one():
    runs = [
        run_of(settings=key, settings_mutation_power=power, label="mine") for key, power in (("aa", "1"), ("bb", "2"))
    ]
    assert named(*runs) == ["mine, mutation_power 1", "mine, mutation_power 2"]


def test_many_differences_are_counted_and_names_stay_different():
    records = {key: {f"s{n}": f"{key}{n}" for n in range(5)} for key in "ab"}
    assert name_differences(records) == {"a": "s0 a0, s1 a1, s2 a2, 2 more", "b": "s0 b0, s1 b1, s2 b2, 2 more"}
    alike = {"a": {"x": "1"}, "b": {"x": "1"}}  # such as the settings of two versions that differ in a hidden way
    assert name_differences(alike) == {"a": "a", "b": "b"}
    cut = {"a": {"x": "y" * 50 + "1"}, "b": {"x": "y" * 50 + "2"}}
    assert [name.rpartition(", ")[2] for name in name_differences(cut).values()] == ["a", "b"]


def test_a_setting_that_a_run_is_older_than_has_its_default():
    older, newer = run_of(), run_of(settings="bb", settings_target_score="39", run=2)
    assert named(older, newer) == ["target_score default", "target_score 39"]


def test_a_file_that_a_run_did_not_record_is_unknown():
    older, newer = run_of(), run_of(settings="bb", settings_start_sha256="1a", run=2)
    assert named(older, newer) == ["start_sha256 unknown", "start_sha256 1a"]


def test_unknown_settings_are_never_those_of_a_run_of_ours():
    new, old = run_of(settings_mutation_power="0.5"), run_of(settings=None, run=2)
    assert named(new, old) == ["", "settings unknown"]
    assert named(new, old, column="settings") == ["aa", "unknown"]
    assert named(RUN, column="settings") == ["unknown"]


def test_one_way_to_play_has_the_name_of_its_protocol():
    assert named(run_of(), run_of(run=2), column="played") == ["uber2018", "uber2018"]
    assert named(run_of(), run_of(protocol="ours"), column="played") == ["uber2018 / ours"] * 2


def test_ways_of_one_name_are_told_apart_by_the_facts_that_differ():
    runs = run_of(), run_of(protocol_action_set="full"), run_of(evaluation_epsilon="0.001")
    assert named(*runs, column="played") == [
        "uber2018, action set minimal, test epsilon 0",
        "uber2018, action set full, test epsilon 0",
        "uber2018, action set minimal, test epsilon 0.001",
    ]
    assert differing_facts(with_names(pd.DataFrame(runs))) == ["action set", "test epsilon"]
    assert named(*runs[:2], column="played") == ["uber2018, action set minimal", "uber2018, action set full"]


def test_runs_of_an_edited_network_are_not_pooled_with_those_of_the_network_before():
    before, after = run_of(architecture="111"), run_of(run=2, architecture="222")
    runs = with_names(pd.DataFrame([before, after, run_of(model="small", architecture="333")]))
    assert runs["variant"].tolist() == ["network 111", "network 222", ""]
    assert runs["settings"].tolist() == ["aa 111", "aa 222", "aa"]


def test_a_network_that_nobody_edited_leaves_names_and_hashes_as_they_are():
    runs = with_names(pd.DataFrame([run_of(architecture="111"), run_of(run=2), run_of(model="b", architecture="2")]))
    assert (runs["variant"].tolist(), runs["settings"].tolist()) == (["", "", ""], ["aa", "aa", "aa"])


def test_the_networks_description_and_files_that_a_run_started_from_are_facts_of_its_metrics(tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps({"format": 1, **RUN, "architecture": "1" * 64, "agent_sha256": "b" * 64}))
    assert read_facts(config) == {"architecture": "1" * 12, "settings_agent_sha256": "b" * 12}


def test_every_field_of_the_protocol_is_a_fact():
    facts = protocol_facts(get_protocol("machado2018"))
    assert {name.removeprefix("protocol_") for name in facts} == set(asdict(get_protocol("machado2018"))) - {"name"}
    assert facts["protocol_sticky_probability"] == "0.25"
    assert facts["protocol_max_frames"] == "108000"
    assert facts["protocol_presses_fire"] == "no"
    assert facts["protocol_least_frame_skip"] == facts["protocol_rules"] == "none"  # an empty cell would be unknown
    assert protocol_facts(replace(get_protocol("machado2018"), max_noops=3)) != facts


@pytest.mark.parametrize("is_imported", [False, True])
def test_facts_come_from_the_runs_config_as_far_as_it_has_them(tmp_path, is_imported):
    protocol = asdict(get_protocol("uber2018"))
    records = {
        "settings_record": {"mutation_power": 0.5, "noop_steps": [5, 31], "double": True, "power": {"type": "linear"}},
        "evaluation_record": {"action_rule": "greedy", "epsilon": 0.0, "cutoff": None},
    }
    found = {"format": 1, **RUN, "seed": 0, "protocol_record": protocol, **({} if is_imported else records)}
    (tmp_path / "config.yaml").write_text(json.dumps(found))
    facts = read_facts(tmp_path / "config.yaml")
    of_protocol = {name: value for name, value in facts.items() if name.startswith("protocol_")}
    assert of_protocol == protocol_facts(get_protocol("uber2018"))
    assert {name: value for name, value in facts.items() if name not in of_protocol} == ({} if is_imported else {
        "settings": settings_hash(records["settings_record"]), "settings_mutation_power": "0.5",
        "settings_noop_steps": "5, 31", "settings_double": "yes", "settings_power": "type linear",
        "evaluation_action_rule": "greedy",
        "evaluation_epsilon": "0", "evaluation_cutoff": "none",
    })  # fmt: skip


@pytest.mark.parametrize("start", ["agent_sha256", "start_sha256"])
def test_runs_that_start_from_other_files_are_told_apart(start):
    runs = [
        {**RUN, "settings": "aa", f"settings_{start}": "111"},
        {**RUN, "settings": "aa", f"settings_{start}": "222"},
        {**RUN, "settings": "aa"},
        {**RUN},
    ]
    assert with_names(pd.DataFrame(runs))["settings"].tolist() == ["aa 111", "aa 222", "aa", "unknown"]
    assert with_names(pd.DataFrame(runs[:2]))["variant"].tolist() == [f"{start} 111", f"{start} 222"]
