"""Checks the structure of a configuration, and fills in defaults, as `config_models` states them."""

import re
from collections.abc import Mapping
from functools import cache
from itertools import islice
from types import NoneType
from typing import Any, get_args

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.environments.games import expand_games
from neurozoo.plan.config_models import Choice, Config
from neurozoo.plan.config_sections import ABSENT, Section
from neurozoo.validation import FROM_YAML, explain, json_schema

SHOWN_PROBLEMS = 50  # of a configuration; a long list of wrong values has one for each


def check_structure(config: Mapping) -> tuple[dict, list[str]]:
    """Checks keys, types and bounds.

    Returns:
        A copy with all defaults, and one sentence per problem, hardly more than `SHOWN_PROBLEMS`; with problems, the
        copy is of no use.
    """
    try:
        checked = Config.model_validate(config, context=FROM_YAML)
    except ValidationError as error:
        found = islice(explain(error, _schema()), SHOWN_PROBLEMS + 1)
        return {}, [_with_hint(line) for line in found]
    problems = []
    if "imports" not in config and not checked.experiments:
        missing = f"the key 'experiments' is missing. {Config.model_fields['experiments'].description}"
        is_empty = "experiments should have at least 1 entry, but is empty."
        problems.append(is_empty if "experiments" in config else missing)
    filled = _plain(checked)
    filled["algorithms"] |= {name: _plain(Choice()) for name in ALGORITHMS if name not in checked.algorithms}
    for experiment in filled["experiments"].values():
        experiment["games"] = expand_games(experiment["games"])
    return filled, problems


_HINTS = (
    (r"^key 'results' is unknown", "Folders are written under pathvars: {results: results/mine}."),
    (r"^experiments should be a mapping .*, but is \[", "Give each a name: experiments: {mine: {algo: ga, ...}}."),
    (r"^experiments\..* should be a list, but is '([\w.:/-]+)'", r"Write [\1]."),
    (r"^figures: key '(\w+)' is unknown", "Keys of learning curves are written under learning_curves."),
)


def _with_hint(line: str) -> str:
    """Says what to write where it can be known: where a key belongs, or how a list is written."""
    for pattern, hint in _HINTS:
        if found := re.search(pattern, line):
            return f"{line} {found.expand(hint)}"
    found = re.match(r"(experiments\.[^.]+: key '(\w+)' is unknown)(?:; did you mean '\w+'\?|\.)", line)
    if found is None or not any(found[2] in spec.settings.schema()["properties"] for spec in ALGORITHMS.values()):
        return line
    hint = "This is a setting of the algorithm: write it under overrides."
    if found[2] == "seed":
        hint = "The number of a run decides its seed: write runs: [7] for run 7."
    return f"{found[1]}.{line[found.end() :]} {hint}"


@cache
def _schema() -> dict:
    return json_schema(Config)


def _plain(value: Any) -> Any:
    """Returns a value without models, which shares no mapping or list with what the user wrote.

    The keys of a section are in the order of its class, because Snakemake makes a file again if the text of its
    parameters has changed: who writes out a default, or changes the order of keys, changes nothing.
    """
    if isinstance(value, Section):
        fields = {name: field for name, field in type(value).model_fields.items() if not _is_absent(value, name, field)}
        return {field.alias or name: _plain(getattr(value, name)) for name, field in fields.items()}
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _is_absent(section: Section, name: str, field: FieldInfo) -> bool:
    is_given = name in section.model_fields_set
    return not is_given and field.default is ABSENT and NoneType not in get_args(field.annotation)
