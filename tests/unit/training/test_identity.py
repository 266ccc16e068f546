"""Runs that an earlier version began go on by its rules, also where presets and protocols were corrected."""

import json
from dataclasses import asdict, replace

import pytest
from neurozoo.algorithms.registry import get_algorithm
from neurozoo.algorithms.session import RunContext
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.environments.protocols import protocol_of
from neurozoo.training.identity import PROTOCOL, as_begun, identity_of_before, kept_rules, run_facts, state_identity

BEFORE = (
    "masks_lost_lives",
    "finishes_test",
    "tied_ranks",
    "shards",
    PROTOCOL,
)  # what the version before did not record


def context_of(run_dir, algo, preset, *, game="breakout", model="nature", **overrides):
    settings = resolve_settings(algo, preset=preset, overrides=overrides)
    return RunContext(algo=algo, game=game, model=model, run=1, settings=settings, run_dir=run_dir)


def save(run_dir, identity):
    (run_dir / "state").mkdir(parents=True, exist_ok=True)
    (run_dir / "state" / "state.json").write_text(json.dumps({"identity": identity}))


def begun_before(run_dir, algo, preset, **choices):
    """Writes the state of a run that the version before began with a preset, and returns the run as it is asked for."""
    spec, context = get_algorithm(algo), context_of(run_dir, algo, preset, **choices)
    identity = state_identity(spec, context, {"noise_values": 7}) | spec.first_presets.get(preset, {})
    identity["protocol"] = identity["protocol"] or "uber2018"  # states name the game's own
    if algo == "dqn":
        identity["worlds"] = identity.pop("num_envs")  # a former name
    save(run_dir, {name: value for name, value in identity.items() if name not in BEFORE})
    return spec, context


def assert_continues(spec, context, begun):
    """Asserts that the state of a run is continued, now and after it has been saved again."""
    needed = {"noise_values": 7} if "noise" in spec.needs else {}
    own = json.loads(json.dumps(state_identity(spec, begun, needed)))
    for _ in range(2):
        found = json.loads((context.state_dir / "state.json").read_text())["identity"]
        assert identity_of_before(spec, own, found) == own
        assert as_begun(spec, context) == begun
        save(context.run_dir, own)


@pytest.mark.parametrize(
    ("algo", "preset", "settings", "protocol"),
    [
        ("dqn", "nature", {"masks_lost_lives": False}, {"max_frames": 108_000}),
        ("dqn", "dopamine", {"finishes_test": False, "initialisation": "torch"}, {}),
        ("dqn", "simple_dqn", {"noop_steps": (5, 31)}, {"max_frames": 108_000, "max_noop_steps": 31}),
        ("impala", "neurozoo", {"shards": 1}, {}),
        ("es", "demo", {"tied_ranks": "order", "test_cutoff": None}, {}),
        ("es", "uber2017", {"protocol": "uber2018"}, {}),  # the game's own
        ("ga", "uber2017", {"protocol": "uber2018"}, {}),
    ],
)
def test_a_run_of_before_goes_on_by_the_rules_of_its_begin(tmp_path, algo, preset, settings, protocol):
    spec, context = begun_before(tmp_path, algo, preset)
    begun = as_begun(spec, context)
    assert asdict(begun.settings) == asdict(context.settings) | settings
    today = asdict(protocol_of(context.game, **begun.settings.protocol_choices))
    assert begun.protocol_record == (today | protocol if protocol else None)
    facts = run_facts(spec, begun, state_identity(spec, begun, {}))
    assert facts[PROTOCOL] == today | protocol
    assert {name: facts[name] for name in settings} == settings
    (sentence,) = kept_rules(context, begun)
    assert sentence.startswith("An earlier version began this run")
    assert_continues(spec, context, begun)


@pytest.mark.parametrize("changes", [{"proximal_policy": "learning"}, {"objective": "pqn"}, {"epochs": 4}])
def test_a_setting_that_only_new_presets_have_is_a_choice_and_not_a_correction(tmp_path, changes):
    spec, context = begun_before(tmp_path, "impala", "neurozoo")
    state = tmp_path / "state" / "state.json"
    identity = json.loads(state.read_text())["identity"]
    save(tmp_path, {name: value for name, value in identity.items() if name != "proximal_policy"})
    assert as_begun(spec, context).continues
    asked = context_of(tmp_path, "impala", "neurozoo", **changes)
    assert as_begun(spec, asked) == asked  # so it starts anew


def test_a_search_that_began_without_random_starts_goes_on_without_them(tmp_path):
    spec, context = begun_before(tmp_path, "ga", "demo", protocol="simple_dqn", model="small")
    begun = as_begun(spec, context)
    assert (begun.protocol_record["max_noop_steps"], begun.protocol_record["max_frames"]) == (0, 108_000)
    assert_continues(spec, context, begun)


def test_a_new_run_and_one_whose_settings_have_changed_have_todays_rules(tmp_path):
    context = context_of(tmp_path / "new", "dqn", "nature")
    assert as_begun(get_algorithm("dqn"), context) == context
    begun_before(tmp_path / "old", "dqn", "nature", batch_size=16)
    changed = context_of(tmp_path / "old", "dqn", "nature", batch_size=17)
    assert as_begun(get_algorithm("dqn"), changed) == changed
    assert changed.settings.masks_lost_lives


def test_a_run_of_this_version_goes_on_with_the_protocol_that_it_recorded(tmp_path):
    spec, context = get_algorithm("dqn"), context_of(tmp_path, "dqn", "nature")
    identity = state_identity(spec, context, {})
    save(tmp_path, identity)
    assert as_begun(spec, context) == replace(context, continues=True)
    identity[PROTOCOL] |= {"max_frames": 12_345}  # as if it were corrected once more
    save(tmp_path, identity)
    begun = as_begun(spec, context)
    assert (begun.settings, begun.protocol_record["max_frames"]) == (context.settings, 12_345)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"identity": 3}', '{"identity": {"worlds": 1, "num_envs": 1}}'])
def test_a_damaged_state_is_left_to_those_who_explain_it(tmp_path, text):
    context = context_of(tmp_path, "dqn", "nature")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "state.json").write_text(text)
    assert as_begun(get_algorithm("dqn"), context) == context


@pytest.mark.parametrize(
    "damage",
    [
        {"entropy": "another rule"},
        {"entropy": [1]},
        {PROTOCOL: 5},
        {PROTOCOL: {"name": "uber2018"}},
        {"protocol": 5},
        {"protocol": "nowhere"},
        {"tied_ranks": "nonsense"},
    ],
)
def test_a_damaged_identity_is_not_that_of_the_run_and_raises_nothing(tmp_path, damage):
    spec, context = begun_before(tmp_path, "es", "demo")
    assert as_begun(spec, context) != context  # it continues by the old rules
    found = json.loads((tmp_path / "state" / "state.json").read_text())["identity"]
    save(tmp_path, found | damage)
    assert as_begun(spec, context) == context
