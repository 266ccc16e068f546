"""A state is continued only by a run with the same identity."""

import json

import pytest
from neurozoo.algorithms.registry import get_algorithm
from neurozoo.algorithms.session import RunContext
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.networks.catalogue import architecture_digest
from neurozoo.training.identity import continues, run_facts, state_identity


def context_of(run_dir, **overrides):
    settings = resolve_settings("dqn", preset="nature", overrides=overrides)
    return RunContext(algo="dqn", game="breakout", model="nature", run=1, settings=settings, run_dir=run_dir)


def save(run_dir, identity):
    (run_dir / "state").mkdir(parents=True, exist_ok=True)
    (run_dir / "state" / "state.json").write_text(json.dumps({"identity": identity}))


def test_only_the_run_that_began_goes_on(tmp_path):
    spec, context = get_algorithm("dqn"), context_of(tmp_path)
    assert not continues(spec, context)
    save(tmp_path, state_identity(spec, context, {"of its session": 7}))
    assert continues(spec, context)
    assert continues(spec, context_of(tmp_path, frames=10**9, keep_replay=False))  # the budget, and a way to run
    assert not continues(spec, context_of(tmp_path, batch_size=17))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"identity": 3}', '{"identity": {"algo": "dqn"}}'])
def test_a_damaged_state_is_left_to_those_who_explain_it(tmp_path, text):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "state.json").write_text(text)
    assert not continues(get_algorithm("dqn"), context_of(tmp_path))


def test_a_runs_config_has_all_settings_and_the_format(tmp_path):
    spec, context = get_algorithm("dqn"), context_of(tmp_path)
    facts = run_facts(spec, context, state_identity(spec, context, {}))
    assert facts.items() >= {"format": 1, **context.identity}.items()
    assert set(vars(context.settings)) <= set(facts)
    assert facts["protocol_record"]["name"] == facts["protocol"] == "nature2015"
    assert facts["architecture"] == architecture_digest("nature", with_start=True)
