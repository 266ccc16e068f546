"""The identity of a run: a state is continued only by a run with the same identity."""

from collections.abc import Mapping
from dataclasses import asdict

from neurozoo.algorithms.session import RunContext
from neurozoo.algorithms.spec import AlgorithmSpec
from neurozoo.networks.catalogue import architecture_digest
from neurozoo.records.comparability import settings_hash
from neurozoo.records.format import FORMAT, KEY
from neurozoo.records.run_config import ARCHITECTURE
from neurozoo.training.state import as_saved, read_state_identity

PROTOCOL = "protocol_record"  # how episodes are played, in the records of a run


def continues(spec: AlgorithmSpec, context: RunContext) -> bool:
    """Says whether a run has a state with the same settings, so that it goes on."""
    found = read_state_identity(context.run_dir) or {}
    return all(found.get(name) == value for name, value in as_saved(state_identity(spec, context, {})).items())


def state_identity(spec: AlgorithmSpec, context: RunContext, of_session: Mapping[str, object]) -> dict[str, object]:
    """Returns the identity of a run: plain values by name.

    The budget is not part of it, because it may grow. `WAYS_TO_RUN` are not, because they do not change the result.
    """
    settings = context.settings
    played = settings.describe_protocol(context.game)
    identity = {**context.identity, **asdict(settings), **of_session, "protocol": played["name"], PROTOCOL: played}
    if spec.result == "network":
        identity[ARCHITECTURE] = architecture_digest(context.model, with_start=True)
    left_out = (spec.budget_unit, *settings.WAYS_TO_RUN)
    return {name: value for name, value in identity.items() if name not in left_out}


def run_facts(spec: AlgorithmSpec, context: RunContext, identity: Mapping[str, object]) -> dict[str, object]:
    """Returns what `config.yaml` records of a run: its identity, all other settings, and what makes it comparable."""
    settings = context.settings
    return {
        KEY: FORMAT,
        **identity,
        **{name: value for name, value in asdict(settings).items() if name not in identity},
        **as_saved(settings.records(context.game)),  # with lists in place of tuples, which YAML does not have
    }


def result_facts(context: RunContext) -> dict[str, object]:
    """Returns what `result.json` says besides the result: what makes the run comparable with others."""
    records = context.settings.records(context.game)
    return {
        "settings_hash": settings_hash(records["settings_record"]),
        "evaluation_record": records["evaluation_record"],
    }
