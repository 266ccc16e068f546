"""What happens around Snakemake's rules, with a stand-in for its `workflow`."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from neurozoo.errors import NeurozooError
from neurozoo.plan.prepare import prepare

EXPERIMENTS = {"mine": {"algo": "rs", "games": ["pong"], "models": ["small"], "runs": 4}}
RUN = {"algo": "rs", "game": "pong", "model": "small", "run": "1"}


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """Prepares a configuration in a clean folder: `plan(experiments, targets=(), **changes_of_the_workflow)`."""
    monkeypatch.chdir(tmp_path)

    def make(experiments=EXPERIMENTS, *, targets=(), sections=(), notify=lambda sentence: None, **changes):
        workflow = {
            "is_main_process": True,
            "modifier_stack": ["the workflow itself"],
            "configfiles": ["mine.yaml"],
            "storage_settings": SimpleNamespace(default_storage_provider=None),
            "deployment_settings": SimpleNamespace(deployment_method=set()),
            "resource_settings": SimpleNamespace(cores=9),
            "dryrun": False,
            "is_rule": lambda name: name == "all",
        }
        monkeypatch.setattr("sys.argv", ["snakemake", *targets])
        parser = SimpleNamespace(parse_args=lambda arguments: SimpleNamespace(targets=arguments))
        config = {"experiments": experiments, **dict(sections)}
        return prepare(SimpleNamespace(**workflow | changes), config, get_parser=lambda: parser, notify=notify)

    return make


def finish(number):
    """Makes the files of a finished run, as far as a plan looks at them."""
    folder = Path("results/runs/rs/pong/small", str(number))
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(RUN | {"format": 1, "run": number, "protocol": "uber2018"}))
    (folder / "checkpoint.npz").touch()


@pytest.mark.parametrize("stack", [["this workflow"], ["another workflow", "this one as a module"]])
def test_a_mistake_ends_the_process_with_a_sentence(plan, stack, capsys):
    wrong = {"mine": EXPERIMENTS["mine"] | {"games": ["pnog"]}}
    with pytest.raises(SystemExit):
        plan(wrong, modifier_stack=stack)
    assert "neurozoo: mine.yaml has one problem:\n  experiments.mine.games[0]" in capsys.readouterr().err
    with pytest.raises(NeurozooError, match="did you mean 'pong'"):
        plan(wrong, modifier_stack=stack, is_main_process=False)  # a job


def test_files_and_targets_of_another_workflow_are_left_to_it(plan):
    targets = ["results/runs/rs/pong/small/1/metrics.csv"]
    as_module = plan(targets=targets, modifier_stack=["another workflow", "this one"])
    assert (plan(targets=targets).cores_of(RUN), as_module.cores_of(RUN)) == (9, 2)


def test_a_wrong_name_in_a_path_is_a_sentence_when_rules_ask(plan, capsys):
    with pytest.raises(SystemExit):
        plan().settings_of(RUN | {"model": "lagre"})
    assert "network 'lagre' is unknown; did you mean 'large'?" in capsys.readouterr().err


def test_a_what_if_gets_its_own_intervention_and_an_impossible_one_is_a_sentence(plan, capsys):
    changes = {"blind": {"step": 5, "intervention": "dark"}, "left": {"step": 5, "action": "LFT"}}
    asked = plan(sections={"interventions": {"dark": {"layer": "conv1"}}, "what_if": changes})
    assert asked.what_if(RUN | {"name": "blind"})["intervention"]["layer"] == "conv1"
    assert asked.successor_of(RUN | {"name": "blind"}) == []
    with pytest.raises(SystemExit):
        asked.successor_of(RUN | {"name": "left"})
    assert "neurozoo: action 'LFT' is unknown; did you mean 'LEFT'?" in capsys.readouterr().err


def test_an_intervention_in_a_layer_that_the_network_lacks_is_a_sentence(plan, capsys):
    sections = {
        "interventions": {"dark": {"layer": "fc1"}, "blind": {"layer": "observation"}},
        "what_if": {"dark": {"step": 5, "intervention": "dark"}},
    }
    asked = plan(sections=sections)
    assert asked.rollout_with(RUN | {"intervention": "blind"})["intervention"]["layer"] == "observation"
    for ask, name in ((asked.rollout_with, "intervention"), (asked.successor_of, "name")):
        with pytest.raises(SystemExit):
            ask(RUN | {name: "dark"})
        assert "small has no layer 'fc1'; did you mean 'fc'?" in capsys.readouterr().err


def test_only_emulators_repeat_actions_in_rollouts_for_probes(plan):
    found = [plan().rollout_for_probes(RUN | {"game": game}) for game in ("pong", "river_crossing")]
    assert [rollout["sticky_probability"] for rollout in found] == [0.25, None]


def test_a_file_in_the_place_of_a_runs_folder_stops_the_plan(plan, tmp_path, capsys):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "runs").touch()
    with pytest.raises(SystemExit):
        plan()
    assert "results/runs is a file, but a folder is needed: results/runs/rs/pong/small/1." in capsys.readouterr().err


def test_what_is_no_reason_to_stop_is_said_once_and_not_in_jobs(plan):
    told = []
    experiments = EXPERIMENTS | {"other": {"algo": "dqn", "games": ["pong"], "models": ["small"]}}
    plan(experiments, notify=told.append)
    assert ["play differently" in sentence for sentence in told] == [True]
    plan(experiments, notify=told.append, is_main_process=False)
    assert len(told) == 1


def test_the_cores_are_shared_by_the_wanted_runs_that_are_not_finished(plan):
    assert plan().cores_of(RUN) == 2
    assert plan(targets=[f"results/runs/rs/pong/small/{run}/metrics.csv" for run in (1, 2, 3)]).cores_of(RUN) == 3
    for number in (1, 2, 4):
        finish(number)
    assert plan(targets=["all"]).cores_of(RUN) == 9


def test_states_have_a_backup_if_jobs_may_lose_their_disk(plan):
    assert plan().backup_of(RUN) == ""
    storage = SimpleNamespace(default_storage_provider="s3", default_storage_prefix="s3://mine")
    assert plan(storage_settings=storage).backup_of(RUN) == "s3://mine/results/runs/rs/pong/small/1/backup"
