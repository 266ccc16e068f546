"""The pages of docs/reference/, which `make schema` generates from the classes that the library uses."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.algorithms.run_settings import Settings
from neurozoo.files import write_text
from neurozoo.plan.catalogue_pages import GENERATED, as_yaml, networks_page, protocols_page
from neurozoo.plan.config_models import Config
from neurozoo.plan.config_schema import schema_text
from neurozoo.text import markdown_table
from neurozoo.validation import json_schema

_TYPES = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "object": "mapping",
    "null": "empty",
}


@dataclass(frozen=True)
class Entry:
    """One key of the configuration, or one setting, in words."""

    name: str
    type: str  # such as "whole number or empty"
    default: str  # as in YAML, or "required"; empty if the key is absent by default
    bounds: str  # such as "at least 1"
    description: str


def pages() -> dict[str, str]:
    """Returns every generated file by its path in the project."""
    return {
        "workflow/schemas/config.schema.yaml": schema_text(),
        "docs/reference/settings.md": settings_page(),
        "docs/reference/presets.md": presets_page(),
        "docs/reference/networks.md": networks_page(),
        "docs/reference/protocols.md": protocols_page(),
    }


def write_pages(project: str | os.PathLike) -> None:
    """Writes every generated file."""
    for path, text in pages().items():
        Path(project, path).parent.mkdir(parents=True, exist_ok=True)
        write_text(Path(project, path), text)


# ---- settings


def settings_page() -> str:
    """Returns the page with all keys of config.yaml and all settings of algorithms."""
    text = (
        f"# Settings\n\n{GENERATED}Look up a key of `config.yaml` or a setting of an algorithm. "
        "An experiment changes settings under `overrides`; on the command line it is "
        "`python -m neurozoo train --set NAME=VALUE`. `python -m neurozoo settings dqn` prints the settings of an "
        "algorithm in the terminal. An unknown key is refused, and the message names the nearest one.\n\n"
        '"Empty" is `null`. Write 6_000_000_000 or 6.0e+9: YAML reads 6e9 as text.\n\n'
        "## Keys of config.yaml\n"
    )
    schema = json_schema(Config)
    for place, section in _sections("", schema):
        title = f"`{place}`" if place else "Top level"
        rows = entries(section)
        text += f"\n### {title}\n\n{section['description']}\n" + (f"\n{_table_of(rows)}" if rows else "")
    text += "\n## Settings of algorithms\n"
    for kind, names in _classes().items():
        titles = "; ".join(f"`{name}` ({ALGORITHMS[name].title})" for name in names)
        text += f"\n### {titles}\n\n{_table_of(entries(kind.schema()))}"
    return text


def _classes() -> dict[type[Settings], list[str]]:
    classes: dict[type[Settings], list[str]] = {}
    for name, spec in ALGORITHMS.items():
        classes.setdefault(spec.settings, []).append(name)
    return classes


def _sections(place: str, schema: Mapping) -> Iterator[tuple[str, Mapping]]:
    """Yields every mapping of keys with its place, such as `figures.phases` or `experiments.NAME`."""
    yield place, schema
    for key, part in schema["properties"].items():
        others = part.get("additionalProperties")
        if part.get("properties"):
            yield from _sections(f"{place}.{key}".removeprefix("."), part)
        elif isinstance(others, Mapping) and others.get("properties"):
            yield from _sections(f"{place}.{key}.NAME".removeprefix("."), others)


def entries(schema: Mapping) -> list[Entry]:
    """Lists the keys of a mapping, except for the sections in it."""
    required = schema.get("required", ())
    return [
        Entry(
            name,
            "one of " + ", ".join(as_yaml(each) for each in part["enum"]) if "enum" in part else _type_text(part),
            "required" if name in required else f"`{as_yaml(part['default'])}`" if "default" in part else "",
            _bounds_text(part),
            part.get("description", ""),
        )
        for name, part in schema["properties"].items()
        if "default" not in part or not isinstance(part["default"], Mapping) or "properties" not in part
    ]


def _type_text(part: Mapping) -> str:
    kinds = [part["type"]] if isinstance(part["type"], str) else part["type"]
    return " or ".join("list" + _items_text(part) if kind == "array" else _TYPES[kind] for kind in kinds)


def _items_text(part: Mapping) -> str:
    items = part.get("items", {})
    if "enum" in items:
        return " of " + ", ".join(items["enum"])
    plural = {"integer": "whole numbers", "number": "numbers", "string": "text"}
    return f" of {plural[items['type']]}" if "type" in items else ""


def _bounds_text(part: Mapping) -> str:
    words = {
        "minimum": "at least {}",
        "exclusiveMinimum": "above {}",
        "maximum": "at most {}",
        "exclusiveMaximum": "below {}",
        "multipleOf": "multiple of {}",
        "pattern": "`{}`",
    }
    return ", ".join(text.format(as_yaml(part[key])) for key, text in words.items() if key in part)


def _table_of(rows: Iterable[Entry]) -> str:
    head = ("name", "type", "default", "bounds", "description")
    return markdown_table(head, [(f"`{e.name}`", e.type, e.default, e.bounds, e.description) for e in rows])


# ---- presets


def presets_page() -> str:
    """Returns the page with the values of all presets."""
    text = (
        f"# Presets\n\n{GENERATED}Compare the presets of an algorithm: `preset` in an experiment, or "
        "`python -m neurozoo train --preset NAME`. The tables have the settings in which a preset differs from the "
        "defaults; all others are as in docs/reference/settings.md. `demo` is small enough to try things out.\n"
    )
    for name, spec in ALGORITHMS.items():
        rows = []
        for key, part in spec.settings.schema()["properties"].items():
            values = [as_yaml(asdict(settings)[key]) for settings in spec.presets.values()]
            if set(values) != {as_yaml(part.get("default"))}:
                rows.append((f"`{key}`", *values))
        head = ("setting", *(f"`{preset}`" for preset in spec.presets))
        text += f"\n## `{name}`: {spec.title}\n\n{markdown_table(head, rows)}"
    return text


if __name__ == "__main__":
    write_pages(Path.cwd())
