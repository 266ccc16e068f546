import pytest
from neurozoo.plan import warnings as module
from neurozoo.plan.configuration import check_config
from neurozoo.plan.warnings import missing_packages

SEARCH = {"algo": "cma_me", "games": ["mario"], "models": ["plain"], "preset": "mario_demo"}
EVOLUTION = {"algo": "ga", "games": ["pong"], "models": ["small"]}


@pytest.mark.parametrize(
    ("config", "installed", "sentence"),
    [
        (
            {"demo": SEARCH},
            (),
            '(plotly and ribs); without them, jobs will fail. Run once: make setup EXTRAS="compare l',
        ),
        ({"demo": SEARCH}, ("plotly",), "(ribs); without them, jobs will fail. Run once: make setup EXTRAS=levels"),
        ({"demo": SEARCH}, ("plotly", "ribs"), None),
        ({"demo": EVOLUTION}, (), None),
    ],
)
def test_packages_that_runs_need_are_missed_before_they_run(config, installed, sentence, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: object() if name in installed else None)
    said = missing_packages(check_config({"experiments": config}))
    assert said is None if sentence is None else sentence in said


def test_a_dask_cluster_needs_its_packages(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    config = check_config({"experiments": {"demo": EVOLUTION}, "distributed": {"cluster": "local", "workers": 2}})
    assert "make setup EXTRAS=cluster" in missing_packages(config)
