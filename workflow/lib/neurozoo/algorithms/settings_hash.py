"""The hash of a run's settings: runs with equal hashes are repetitions of one experiment, and may be pooled."""

import hashlib
import json
from typing import Any

from neurozoo.algorithms.spec import AlgorithmSpec

DIGITS = 12  # hexadecimal; two of a million different settings share a hash with a probability of 0.2 %


def settings_record(spec: AlgorithmSpec, settings: Any) -> dict[str, object]:
    """Returns the settings that the hash covers, by name.

    It does not cover the budget, the seed and `WAYS_TO_RUN`, nor what the records of protocol and evaluation say.

    Args:
        spec: The algorithm.
        settings: Its complete settings.
    """
    left_out = {spec.budget_unit, *settings.WAYS_TO_RUN, *settings.OUTSIDE_HASH}
    return {name: value for name, value in settings.in_one_spelling().items() if name not in left_out}


def settings_hash(spec: AlgorithmSpec, settings: Any) -> str:
    """Returns the hash of `settings_record`.

    It depends on values only, not on presets or defaults, so a changed default changes the hash of no recorded run.
    Names are those of `as_first_recorded`, and a setting in `ADDED` counts only where it differs from what earlier
    versions did: a renamed or a new setting does not change the hash of a run that stays the same.

    Args:
        spec: The algorithm.
        settings: Its complete settings.
    """
    former = {new: old for old, new in settings.RENAMED.items()}
    record = settings.without_added(settings_record(spec, settings))
    named = {former.get(name, name): _in_one_form(value) for name, value in record.items()}
    text = json.dumps(named, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _in_one_form(value: Any) -> Any:
    """Returns a value as plain JSON, in which 1 and 1.0 are the same."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _in_one_form(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_in_one_form(entry) for entry in value]
    return value
