"""The identity of a run: a state is continued only by a run with the same identity."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, get_args

from neurozoo.algorithms.session import RunContext
from neurozoo.algorithms.settings_hash import settings_hash, settings_record
from neurozoo.algorithms.spec import AlgorithmSpec
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import architecture_digest
from neurozoo.randomness import OLD_RULE, EntropyRule
from neurozoo.records.run_config import ARCHITECTURE
from neurozoo.training.state import as_saved, read_state_identity

PROTOCOL = "protocol_record"  # how episodes are played, in the records of a run


def as_begun(spec: AlgorithmSpec, context: RunContext) -> RunContext:
    """Returns a run with the rules by which it began, if presets or protocols have been corrected since then.

    So a run that an earlier version began continues as it was. A run without a state, and one whose settings the user
    has changed, is returned as it is; of any other, `continues` is true.

    Args:
        spec: The algorithm.
        context: The run.
    """
    found = read_state_identity(context.run_dir)
    if found is None or (rule := found.get("entropy", OLD_RULE)) not in get_args(EntropyRule):
        return context
    settings = context.settings
    lacking = frozenset({*spec.settings.ADDED, PROTOCOL} - set(found) - set(spec.settings.WAYS_TO_RUN))
    try:
        recorded = spec.settings.as_recorded(found)
        if lacking:
            names = _corrected(spec) & set(recorded)
            if _name_of_protocol(spec, context) == recorded.get("protocol"):  # which a state names, also the game's own
                names.discard("protocol")
            settings = settings.changed({name: recorded[name] for name in names})
        record = spec.keep_protocol(context.game, settings, found.get(PROTOCOL))
    except (ValueError, TypeError, NeurozooError):  # a damaged state, which `RunState` explains or moves aside
        return context
    begun = replace(
        context,
        settings=settings,
        protocol_record=record,
        lacking=lacking,
        continues=True,
        entropy_rule=rule,
    )
    identity = as_saved(state_identity(spec, begun, {}))
    before = identity_of_before(spec, identity, found)
    return begun if all(before.get(name) == value for name, value in identity.items()) else context


def _corrected(spec: AlgorithmSpec) -> set[str]:
    """Returns the settings that differ from an earlier version although the user has changed nothing."""
    return set().union(*spec.first_presets.values())


def kept_rules(wanted: RunContext, begun: RunContext) -> list[str]:
    """Returns sentences about the rules in which `as_begun` differs from what presets and protocols say today."""
    old, new = asdict(begun.settings), asdict(wanted.settings)
    kept = [f"{name}: {value}" for name, value in old.items() if value != new[name]]
    if begun.protocol_record is not None:
        kept.append(f"the protocol {begun.protocol_record['name']} as it was")
    if not kept:
        return []
    return [f"An earlier version began this run, and it goes on by its rules: {', '.join(kept)}"]


def state_identity(spec: AlgorithmSpec, context: RunContext, of_session: Mapping[str, object]) -> dict[str, object]:
    """Returns the identity of a run: plain values by name.

    The budget is not part of it, because it may grow. `WAYS_TO_RUN` are not, because they do not change the result.

    Args:
        spec: The algorithm.
        context: The run.
        of_session: `Session.identity`.
    """
    settings, played = context.settings, _played(spec, context)
    identity = {**context.identity, **asdict(settings), **of_session, "protocol": played["name"], PROTOCOL: played}
    if identity.get("engine") == "native":
        del identity["engine"]  # states of earlier versions lack it: there was only this one
    if spec.result == "network":
        identity[ARCHITECTURE] = architecture_digest(context.model, with_start=True)
    if context.entropy_rule != OLD_RULE:  # states of earlier versions do not name it
        identity["entropy"] = context.entropy_rule
    left_out = [spec.budget_unit, *settings.WAYS_TO_RUN]
    # The run stays recognisable as one of an earlier version: it lacks what was added since.
    before = {**settings.ADDED, PROTOCOL: played}
    left_out += [name for name in context.lacking if identity[name] == before[name]]
    for name in left_out:
        identity.pop(name, None)
    return identity


def run_facts(spec: AlgorithmSpec, context: RunContext, identity: Mapping[str, object]) -> dict[str, object]:
    """Returns what `config.yaml` records of a run: its identity, all other settings, and what makes it comparable.

    Args:
        spec: The algorithm.
        context: The run.
        identity: As returned by `state_identity`.
    """
    settings = context.settings
    left_out = [name for name in asdict(settings) if name not in identity]
    return {
        **identity,
        **{name: getattr(settings, name) for name in left_out},
        "entropy": context.entropy_rule,
        PROTOCOL: _played(spec, context),
        **result_facts(spec, context),
        "settings_record": _as_yaml(settings_record(spec, settings)),
    }


def result_facts(spec: AlgorithmSpec, context: RunContext) -> dict[str, object]:
    """Returns what `result.json` says besides the result: what makes the run comparable with others.

    Args:
        spec: The algorithm.
        context: The run.
    """
    return {
        "settings_hash": settings_hash(spec, context.settings),
        "evaluation_record": spec.evaluation_record(context.game, context.settings),
    }


def _as_yaml(value: object) -> Any:
    """Returns a value with lists in place of tuples, which YAML does not have."""
    return json.loads(json.dumps(value))


def _name_of_protocol(spec: AlgorithmSpec, context: RunContext) -> object:
    try:
        return spec.describe_protocol(context.game, context.settings)["name"]
    except NeurozooError:  # the corrected preset does not fit the game any more
        return None


def _played(spec: AlgorithmSpec, context: RunContext) -> dict[str, object]:
    return dict(context.protocol_record or spec.describe_protocol(context.game, context.settings))


def identity_of_before(
    spec: AlgorithmSpec, identity_now: Mapping[str, object], found: Mapping[str, object]
) -> dict[str, object]:
    """Translates the identity in a state of an earlier version to the names of this version.

    Args:
        spec: The algorithm.
        identity_now: The identity of the run that wants to continue; see `as_begun`.
        found: The identity in the state.
    """
    added = spec.settings.ADDED
    recorded = spec.settings.as_recorded(found)
    identity = {name: value for name, value in recorded.items() if name not in added or name in identity_now}
    if ARCHITECTURE in identity_now:  # earlier versions did not record it
        identity.setdefault(ARCHITECTURE, identity_now[ARCHITECTURE])
    if "noise" not in spec.needs:  # earlier versions recorded it for every run
        identity.pop("noise_values", None)
    return identity
