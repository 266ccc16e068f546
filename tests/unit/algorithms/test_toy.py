"""A new kind of learner needs its own package and nothing else: plan, train, kill, resume, parse, tabulate, look."""

import json
import multiprocessing
import os
import signal
from types import ModuleType

import numpy as np
import pytest
import toy
import yaml
from neurozoo.algorithms.registry import ALGORITHMS, specs_of
from neurozoo.algorithms.results import read_archive
from neurozoo.errors import NeurozooError
from neurozoo.plan.configuration import check_config
from neurozoo.plan.planned_runs import planned_runs, run_settings
from neurozoo.plan.products import planned_products
from neurozoo.records.run_config import read_identity
from neurozoo.records.run_log import parse_log
from neurozoo.records.run_result import read_run_result
from neurozoo.records.tables import merge_metrics, read_metrics
from neurozoo.status import read_overview
from neurozoo.training import make_context, resume, train

RUN = {"algo": "toy_search", "game": "plane", "model": "plain", "run": 1}
CONFIG = "experiments: {toys: {algo: toy_search, games: [plane], models: [plain], overrides: {evaluations: 100}}}"


@pytest.fixture(autouse=True)
def registered():
    ALGORITHMS.register(*toy.SPECS)
    yield
    del ALGORITHMS["toy_search"]


def trained(run_dir, **settings):
    train(make_context(**RUN, settings=settings, run_dir=run_dir), terminal="lines")
    return run_dir


def test_a_configuration_plans_it_and_asks_for_no_network():
    config = check_config(yaml.safe_load(CONFIG))
    (run,) = planned_runs(config)
    assert run_settings(config, **vars(run)) == {"evaluations": 100, "seed": 0}
    files = planned_products(config)
    assert "<results>/runs/toy_search/plane/plain/1/result.json" in files
    assert "<results>/tables/metrics.csv" in files
    assert not [file for file in files if "frozen" in file or "rollout" in file or file.endswith(".mp4")]


def test_a_slip_in_its_settings_gets_the_sentences_of_all_settings():
    with pytest.raises(Exception, match=r"evaluations should be at least 1, but is 0"):
        check_config(yaml.safe_load(CONFIG.replace("100", "0")))
    with pytest.raises(Exception, match=r"no setting 'evaluation'; did you mean 'evaluations'"):
        check_config(yaml.safe_load(CONFIG.replace("evaluations", "evaluation")))


def _train_and_die(run_dir):
    ALGORITHMS.register(*toy.SPECS)
    advance, count = toy.ToySession.advance, 0

    def dying(session, watch):
        nonlocal count
        count += 1
        if count == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return advance(session, watch)

    toy.ToySession.advance = dying
    trained(run_dir, evaluations=100)


def test_a_killed_run_resumes_to_the_same_bytes(tmp_path):
    whole = trained(tmp_path / "whole", evaluations=100)
    process = multiprocessing.get_context("spawn").Process(target=_train_and_die, args=(tmp_path / "killed",))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert len((tmp_path / "killed/state/log.jsonl").read_text().splitlines()) == 2
    resume(tmp_path / "killed")
    for name in ("archive.npz", "result.json"):
        assert (tmp_path / "killed" / name).read_bytes() == (whole / name).read_bytes()


def test_its_result_is_an_archive_that_says_what_it_is(tmp_path):
    run_dir = trained(tmp_path, evaluations=100)
    facts = read_run_result(run_dir)
    assert (facts["kind"], facts["elites"], facts["coverage"], facts["evaluations"]) == ("archive", 10, 1.0, 100)
    arrays = read_archive(run_dir / "archive.npz")
    assert facts["qd_score"] == pytest.approx(np.linalg.norm(arrays["solutions"], axis=1).sum())


def test_log_metrics_and_tables_count_evaluations(tmp_path):
    run_dir = trained(tmp_path / "run", evaluations=60)
    identity = read_identity(run_dir / "config.yaml")
    parse_log(run_dir / "log.jsonl", run_dir / "metrics.csv", identity=identity)
    merge_metrics([run_dir / "metrics.csv"], csv=tmp_path / "metrics.csv", parquet=tmp_path / "metrics.parquet")
    table = read_metrics(tmp_path / "metrics.parquet")
    assert table["evaluations"].tolist() == [20, 40, 60]
    assert table["score"].is_monotonic_increasing
    assert "frames" not in table
    assert "Evaluations Per Second" in (run_dir / "train.log").read_text()


def test_status_shows_how_far_it_is(tmp_path):
    (tmp_path / "config.yaml").write_text(CONFIG)
    run_dir = trained(tmp_path / "results/runs/toy_search/plane/plain/1", evaluations=100)
    (status,) = read_overview(["config.yaml"], workdir=tmp_path).runs
    assert (status.state, status.unit, status.progress, status.budget) == ("done", "evaluations", 100, 100)
    assert json.loads((run_dir / "log.jsonl").read_text().splitlines()[-1])["evaluations"] == 100


@pytest.mark.parametrize("content", [{}, {"SPEC": toy.SPECS[0]}, {"SPECS": toy.SPECS[0]}])
def test_a_module_without_a_tuple_of_specs_is_named_with_what_to_add(content):
    module = ModuleType("spec")
    module.__dict__.update(content, __file__="algorithms/mine/spec.py")
    with pytest.raises(NeurozooError, match=r"algorithms/mine/spec.py should have SPECS, .* Add it: SPECS = \("):
        specs_of(module)
    module.SPECS = toy.SPECS
    assert specs_of(module) == toy.SPECS
