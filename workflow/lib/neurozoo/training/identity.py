"""The identity of a run: a state is continued only by a run with the same identity."""

from collections.abc import Mapping
from dataclasses import asdict

from neurozoo.algorithms.session import RunContext
from neurozoo.algorithms.spec import AlgorithmSpec


def state_identity(spec: AlgorithmSpec, context: RunContext, of_session: Mapping[str, object]) -> dict[str, object]:
    """Returns the identity of a run: plain values by name.

    The budget is not part of it, because it may grow. `WAYS_TO_RUN` are not, because they do not change the result.

    Args:
        spec: The algorithm.
        context: The run.
        of_session: `Session.identity`.
    """
    settings = context.settings
    identity = {**context.identity, **settings.without_added(asdict(settings)), **of_session}
    identity["protocol"] = spec.describe_protocol(context.game, settings)["name"]
    if identity.get("engine") == "native":
        del identity["engine"]  # states of earlier versions lack it: there was only this one
    for name in (spec.budget_unit, *settings.WAYS_TO_RUN):
        identity.pop(name, None)
    return identity


def run_facts(spec: AlgorithmSpec, context: RunContext, identity: Mapping[str, object]) -> dict[str, object]:
    """Returns what `config.yaml` records of a run: its identity, all other settings, and the protocol.

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
        "protocol_record": dict(spec.describe_protocol(context.game, settings)),
    }


def identity_of_before(spec: AlgorithmSpec, found: Mapping[str, object]) -> dict[str, object]:
    """Translates the identity in a state of an earlier version to the names of this version.

    Args:
        spec: The algorithm.
        found: The identity in the state.
    """
    identity = spec.settings.renamed(found)
    if "noise" not in spec.needs:  # earlier versions recorded it for every run
        identity.pop("noise_values", None)
    return identity
