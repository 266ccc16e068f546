"""Which runs may be pooled, and which scores may be compared: by equal settings and equal facts, not by equal names.

A table of metrics has these columns besides those of `run_config.IDENTITY`:

- `settings`: the hash of the settings. Only runs with equal hashes are pooled: they are repetitions.
- `settings_NAME`: the settings that the hash covers, to name what differs.
- `protocol_NAME` and `evaluation_NAME`: the facts of how episodes are played, and of how tests are played besides.
  Only scores with equal facts are compared.
- `architecture`: the first digits of the hash of the network's description. Where runs of a network have several, only
  runs with equal ones are pooled: somebody edited the network in between.
- `label`: what an experiment wants to be called in place of its settings.

Logs of the published codes lack them. What they lack counts as "unknown", which equals only itself.
"""

import hashlib
import json
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from neurozoo.environments.protocols import Protocol
from neurozoo.records.run_config import ARCHITECTURE, STARTS, read_run_settings

if TYPE_CHECKING:
    import pandas as pd  # tables of metrics are those of who looks at results, not of who plays

SETTINGS, LABEL = "settings", "label"  # columns of metrics
VARIANT, PLAYED = "variant", "played"  # columns that `with_names` adds
OF_SETTINGS, OF_PROTOCOL, OF_EVALUATION = "settings_", "protocol_", "evaluation_"  # how columns begin
UNKNOWN = "unknown"

_MOST_NAMED = 3  # differences in the name of a variant
_DIGITS = 12  # of a hash; two of a million different settings share one with a probability of 0.2 %
_LONGEST = 40  # characters of a value in such a name

_STARTS = (*STARTS, "start_sha256")  # the last is of runs of evolution
Facts = Mapping[str, str]


def read_facts(config: str | os.PathLike) -> dict[str, str]:
    """Reads from a run's `config.yaml` what makes it comparable: texts by the names of columns.

    Those are `settings`, `settings_NAME`, `protocol_NAME`, `evaluation_NAME` and `architecture`, as far as the run has
    them, and the first digits of the hashes of the files that it started from.
    """
    found = read_run_settings(config)
    starts = {OF_SETTINGS + name: short_hash(found[name]) for name in _STARTS if found.get(name)}
    return facts_of(found) | starts | network_fact(found)


def network_fact(found: Mapping[str, Any]) -> dict[str, str]:
    """Returns what tells an edited network from the one before, from `config.yaml`; empty without a network."""
    return {ARCHITECTURE: short_hash(found[ARCHITECTURE])} if found.get(ARCHITECTURE) else {}


def short_hash(digest: object) -> str:
    """Returns as much of a file's hash as tells files apart."""
    return str(digest)[:_DIGITS]


def _with_starts(metrics: "pd.DataFrame") -> "pd.DataFrame":
    """Tells runs apart that have equal settings, but started from other files: their hashes join `settings`."""
    starts = [name for name in (OF_SETTINGS + name for name in _STARTS) if name in metrics]
    if not starts or SETTINGS not in metrics:
        return metrics
    texts = metrics[[SETTINGS, *starts]].astype("string")
    joined = texts[SETTINGS].str.cat([texts[name].fillna("") for name in starts], sep=" ")  # nothing stays nothing
    return metrics.assign(**{SETTINGS: joined.str.strip()})


def facts_of(found: Mapping[str, Any]) -> dict[str, str]:
    """Returns what makes a run comparable; `found` is the content of its `config.yaml`."""
    facts = {SETTINGS: settings_hash(found["settings_record"])} if "settings_record" in found else {}
    for start in (OF_SETTINGS, OF_EVALUATION, OF_PROTOCOL):
        facts |= _texts(start, found.get(f"{start}record"))
    return facts


def settings_hash(record: Mapping[str, object]) -> str:
    """Returns the hash of a run's `settings_record`. It depends on values only, not on presets or defaults."""
    return short_hash(hashlib.sha256(json.dumps(_texts("", record), sort_keys=True).encode()).hexdigest())


def settings_in(facts: Facts) -> dict[str, str]:
    """Returns the recorded settings among facts, by their own names."""
    return {name.removeprefix(OF_SETTINGS): text for name, text in facts.items() if name.startswith(OF_SETTINGS)}


def protocol_facts(protocol: Protocol) -> dict[str, str]:
    """Returns the facts of a protocol by the names of their columns."""
    return _texts(OF_PROTOCOL, asdict(protocol))


def _texts(start: str, record: Any) -> dict[str, str]:
    if not isinstance(record, Mapping):
        return {}
    return {f"{start}{name}": _text(value) for name, value in record.items() if start + name != "protocol_name"}


def _text(value: object) -> str:
    """Returns a value as text that is never empty, because an empty cell means that nothing was recorded."""
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text(entry)}" for name, entry in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return str(value)


def with_names(metrics: "pd.DataFrame") -> "pd.DataFrame":
    """Names what the runs of a table are pooled and compared by.

    Args:
        metrics: Rows with `algo`, `model` and `protocol`, and the columns above as far as there are any.

    Returns:
        The rows with the columns `settings` (complete), `variant` and `played`. Runs of an algorithm and network have
        the same `variant` if and only if their settings have the same hash: empty where there is one hash only, else
        what differs, such as `mutation_power 0.5`, or the experiment's label. A network that was edited in between has
        a hash for each description. Rows have the same `played` if and only if they agree in all facts: the protocol's
        name, and the facts that other runs of this name do not share.
    """
    metrics = _with_networks(_with_starts(metrics))
    of_facts, of_settings = fact_columns(metrics), [name for name in metrics if name.startswith(OF_SETTINGS)]
    columns = ["algo", "model", "protocol", SETTINGS, LABEL, *of_settings, *of_facts]
    ids, kinds = distinct_rows(metrics, [name for name in columns if name in metrics])
    kinds = kinds.reindex(columns=columns).astype("string")
    kinds[SETTINGS] = kinds[SETTINGS].fillna(UNKNOWN)
    rows = kinds.astype(object).where(kinds.notna(), None).to_dict("records")
    variants, played = _variants(rows, of_settings), _played(rows, of_facts)
    kinds[VARIANT] = [variants[row["algo"], row["model"], row[SETTINGS]] for row in rows]
    kinds[PLAYED] = [played[_way(row["protocol"], [row[name] for name in of_facts])] for row in rows]
    named = kinds[[SETTINGS, *of_facts, VARIANT, PLAYED]].astype("string")
    return metrics.assign(**{name: named[name].array.take(ids) for name in named})


def _with_networks(metrics: "pd.DataFrame") -> "pd.DataFrame":
    """Tells runs of an edited network apart: the description counts as a setting where there are several."""
    if ARCHITECTURE not in metrics or SETTINGS not in metrics:
        return metrics
    descriptions = metrics[ARCHITECTURE].astype("string")
    is_edited = descriptions.groupby([metrics["algo"], metrics["model"]]).transform("nunique") > 1
    if not is_edited.any():
        return metrics
    told = descriptions.where(is_edited)
    settings = metrics[SETTINGS].astype("string")
    named = {OF_SETTINGS + "network": descriptions.fillna(UNKNOWN).where(is_edited)}
    return metrics.assign(**{SETTINGS: settings.str.cat(told, sep=" ").fillna(settings)}, **named)


def distinct_rows(table: "pd.DataFrame", columns: Sequence[str]) -> tuple[np.ndarray, "pd.DataFrame"]:
    """Returns the number of each row's values, and the different values by number; a table has many rows of each."""
    import pandas as pd

    ids = np.zeros(len(table), np.int64)
    for name in columns:
        codes, values = pd.factorize(table[name])
        ids, _ = pd.factorize(ids * (len(values) + 1) + codes + 1)
    return ids, table.loc[~pd.Series(ids, table.index).duplicated().to_numpy(), list(columns)]


def _variants(kinds: Iterable[Mapping], of_settings: Iterable[str]) -> dict[Hashable, str]:
    """Returns the names of all settings by algorithm, network and hash."""
    records: dict[tuple, dict[str, Facts]] = {}
    labels: dict[tuple, list[str]] = {}
    for kind in kinds:
        agent, key = (kind["algo"], kind["model"]), kind[SETTINGS]
        settings = {name.removeprefix(OF_SETTINGS): kind[name] for name in of_settings if kind[name] is not None}
        records.setdefault(agent, {})[key] = settings
        labels.setdefault((*agent, key), []).extend(filter(None, [kind[LABEL]]))
    names: dict[Hashable, str] = {}
    for agent, known in records.items():
        given = {key: " / ".join(dict.fromkeys(labels[*agent, key])) for key in known}
        names |= {(*agent, key): name for key, name in name_variants(known, given).items()}
    return names


def name_variants(records: Mapping[str, Facts], labels: Mapping[str, str]) -> dict[str, str]:
    """Names the settings of one algorithm and network, by their hash; those of `UNKNOWN` are empty.

    Returns:
        A different name for each hash: its label from experiments, or what differs from the other hashes. If there is
        one hash and no label, its name is empty.
    """
    # A record lacks what is newer than its run, and a new setting changes nothing by default. A file may be any.
    files = dict.fromkeys(_STARTS, UNKNOWN)
    recorded = {key: {**record, **files, **record} for key, record in records.items() if key != UNKNOWN}
    differences = name_differences(recorded, absent="default")
    differences[UNKNOWN] = f"settings {UNKNOWN}" if len(records) > 1 else ""
    names = {key: labels.get(key) or differences[key] for key in records}
    return {
        key: name if _is_alone(name, names) else ", ".join(filter(None, (name, differences[key])))
        for key, name in names.items()
    }


def name_differences(records: Mapping[str, Facts], *, absent: str = UNKNOWN) -> dict[str, str]:
    """Names each record by the entries in which the records differ, such as `mutation_power 0.5`.

    `absent` stands for the value of an entry that a record lacks.

    Returns:
        A different name for each record; it ends with the record's key where the first differences are the same.
    """
    entries = list(dict.fromkeys(name for record in records.values() for name in record))
    differing = [name for name in entries if len({record.get(name) for record in records.values()}) > 1]
    names = {}
    for key, record in records.items():
        parts = [f"{name} {_shortened(record.get(name, absent))}" for name in differing[:_MOST_NAMED]]
        if len(differing) > _MOST_NAMED:
            parts.append(f"{len(differing) - _MOST_NAMED} more")
        names[key] = ", ".join(parts)
    return {
        key: name if _is_alone(name, names) else ", ".join(filter(None, (name, key))) for key, name in names.items()
    }


def _is_alone(name: str, names: Mapping[str, str]) -> bool:
    return list(names.values()).count(name) == 1


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _way(protocol: str, facts: Sequence[str | None]) -> Hashable:
    """Returns the same value for rows with the same facts; the protocol's name counts only if there are no facts."""
    return tuple(facts) if any(fact is not None for fact in facts) else (UNKNOWN, protocol)


def _played(kinds: Iterable[Mapping], of_facts: Sequence[str]) -> dict[Hashable, str]:
    """Returns the names of the ways to play by `_way`."""
    protocols: dict[Hashable, list[str]] = {}
    facts: dict[Hashable, dict[str, str]] = {}
    for kind in kinds:
        way = _way(kind["protocol"], [kind[name] for name in of_facts])
        protocols.setdefault(way, []).append(kind["protocol"])
        facts[way] = {fact_name(name): kind[name] for name in of_facts if kind[name] is not None}
    return name_ways({way: " / ".join(dict.fromkeys(names)) for way, names in protocols.items()}, facts)


def name_ways(protocols: Mapping[Any, str], facts: Mapping[Any, Facts]) -> dict[Any, str]:
    """Names the ways to play: by the protocol, and by the facts that others of the same protocol do not share.

    `protocols` has the protocol's name by way, and `facts` the facts, which are empty if they are unknown.
    """
    names: dict[Any, str] = {}
    for protocol in dict.fromkeys(protocols.values()):
        ways = [way for way in protocols if protocols[way] == protocol]
        keys = {str(number): way for number, way in enumerate(ways, start=1) if facts[way]}
        different = name_differences({key: facts[way] for key, way in keys.items()}) if len(keys) > 1 else {}
        names |= {way: f"{protocol}, {UNKNOWN}" for way in ways if not facts[way]}
        names |= {way: ", ".join(filter(None, (protocol, different.get(key, "")))) for key, way in keys.items()}
    return names


def is_fact(column: str) -> bool:
    """Says whether a column has texts about how a run was made or played, which all of its rows share."""
    return column in (SETTINGS, LABEL, ARCHITECTURE) or column.startswith((OF_SETTINGS, OF_PROTOCOL, OF_EVALUATION))


def fact_columns(metrics: "pd.DataFrame") -> list[str]:
    """Returns the columns with facts of how episodes are played."""
    return [name for name in metrics if name.startswith((OF_PROTOCOL, OF_EVALUATION))]


def fact_name(column: str) -> str:
    """Returns a fact's name for people: `test epsilon` for `evaluation_epsilon`."""
    start = "test " if column.startswith(OF_EVALUATION) else ""
    return start + column.removeprefix(OF_EVALUATION).removeprefix(OF_PROTOCOL).replace("_", " ")


def differing_facts(metrics: "pd.DataFrame") -> list[str]:
    """Returns the names of the facts in which rows differ; `how is unknown` if a row has no facts."""
    facts = metrics[fact_columns(metrics)].astype("string")
    if facts.isna().all(axis=1).any():
        return [f"how is {UNKNOWN}"]
    return [fact_name(name) for name in facts if facts[name].fillna(UNKNOWN).nunique() > 1]
