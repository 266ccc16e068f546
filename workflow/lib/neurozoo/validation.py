"""Types of settings for pydantic, its errors as sentences for people who have never seen a schema, and JSON schemas."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    AllowInfNan,
    BeforeValidator,
    Discriminator,
    Field,
    Strict,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

from neurozoo.errors import nearest, unknown_name

FROM_YAML = {"source": "yaml"}  # validation context of what people wrote, where 6.0e+9 may stand for a whole number

TYPE_NAMES = {
    "object": "a mapping of keys to values",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "empty",
}
_PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": Mapping,
    "array": (list, tuple),
    "string": str,
    "integer": int,
    "number": (int, float),
}
_BOUNDS = {  # by pydantic's type of an error: the name of the bound there and in JSON schemas, and its words
    "greater_than_equal": ("ge", "minimum", "at least"),
    "greater_than": ("gt", "exclusiveMinimum", "above"),
    "less_than_equal": ("le", "maximum", "at most"),
    "less_than": ("lt", "exclusiveMaximum", "below"),
}


# ---- types


def _whole(value: object, info: ValidationInfo) -> object:
    from_yaml = info.context == FROM_YAML
    return int(value) if from_yaml and isinstance(value, float) and value.is_integer() else value


def as_given(value: object, check: Callable[[object], object]) -> object:
    """Checks a value, but leaves it as it is: to Snakemake, 1.0 would be another setting than 1."""
    check(value)
    return value


def _named_once(value: list) -> list:
    if len(set(map(repr, value))) < len(value):
        raise PydanticCustomError("not_unique", "named twice")
    return value


def _pair(value: Any) -> tuple:
    """Reads [least, most], which becomes a tuple."""
    is_pair = isinstance(value, (list, tuple)) and len(value) == 2 and all(map(_is_number, value))
    if not is_pair or value[0] > value[1]:
        raise PydanticCustomError("no_pair", "no pair")
    return tuple(value)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


Whole = Annotated[int, Strict(), BeforeValidator(_whole)]
Number = Annotated[float, Strict(), AllowInfNan(False), WrapValidator(as_given)]
Flag = Annotated[bool, Strict()]
Count = Annotated[Whole, Field(ge=1)]
Share = Annotated[Number, Field(ge=0, le=1)]
Item = TypeVar("Item")
Unique = Annotated[list[Item], AfterValidator(_named_once), Field(json_schema_extra={"uniqueItems": True})]
Pair = Annotated[tuple[Item, Item], BeforeValidator(_pair)]


def setting(default: Any, description: str, **bounds: Any) -> Any:
    """Returns a field of settings; its bounds are named as in pydantic's `Field`."""
    return Field(default=default, description=description, **bounds)


def either(*kinds: str) -> Discriminator:
    """Chooses the member of a union by the kind of a value, so that an error is about one of them.

    Kinds are JSON types such as `integer`. Each member of the union carries its own as a tag: `Tag("<integer>")`.
    """

    def kind_of(value: object) -> str:
        if isinstance(value, bool):
            return "none of them"
        if isinstance(value, float) and "integer" in kinds:
            return "<integer>"
        return next((f"<{kind}>" for kind in kinds if isinstance(value, _PYTHON_TYPES[kind])), "none of them")

    return Discriminator(kind_of, custom_error_type="wrong_kind", custom_error_message="wrong kind")


# ---- sentences


def explain(error: ValidationError, schema: Mapping, *, place: Sequence[str | int] = ()) -> Iterator[str]:
    """Words everything that is wrong with a value, one sentence each: what is wrong, what is allowed, what to do.

    Sentences begin with a place such as `experiments.demo.games[1]`; each comes once, in the order of the places.
    `schema` is that of what was validated, see `json_schema`, and `place` is where the value stands, such as
    ("experiments", "demo").
    """
    said: set[str] = set()
    for detail in sorted(error.errors(include_url=False), key=lambda detail: [str(part) for part in detail["loc"]]):
        if (sentence := _sentence(detail, schema, place)) not in said:
            said.add(sentence)
            yield sentence


def _sentence(detail: Mapping, schema: Mapping, before: Sequence[str | int]) -> str:
    path = [part for part in detail["loc"] if not str(part).startswith("<")]  # without the tags of unions
    value, kind, facts = detail["input"], detail["type"], detail.get("ctx", {})
    node = _node(schema, path)
    place = place_of((*before, *path))
    last = path.pop() if path else ""
    parent = place_of((*before, *path))
    prefix = f"{parent}: " if parent else ""
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{prefix}{unknown_name('key', last, _node(schema, path).get('properties', {}))}"
    if kind == "invalid_key":
        return f"{prefix}YAML reads the name {last!r} as no text. Write it in quotes."
    if kind == "missing" and isinstance(last, int):
        wanted = _node(schema, path).get("minItems", last + 1)
        return f"{parent} should have {wanted} entries, but has {len(value)}."
    if kind == "missing":
        return f"{prefix}the key {last!r} is missing. {node.get('description', '')}".rstrip()
    if last == "[key]":
        mapping = place_of((*before, *path[:-1]))
        if not isinstance(value, str):
            return f"{mapping}: YAML reads the name {value!r} as no text. Write it in quotes."
        return f"{mapping}: the name {value!r} should consist of letters, digits, '_' and '-' only."
    if kind == "literal_error":
        return f"{place}: {not_allowed(value, node['enum'])}"
    if kind in _BOUNDS:
        name, _, words = _BOUNDS[kind]
        return f"{place} should be {words} {_plain(facts[name])}, but is {value!r}."
    if kind == "multiple_of":
        multiple = "even" if facts["multiple_of"] == 2 else f"a multiple of {facts['multiple_of']}"
        return f"{place} should be {multiple}, but is {value!r}."
    if kind == "string_too_short":
        return f"{place} should be text, but is empty."
    if kind == "too_short":
        return f"{place} should have at least {facts.get('min_length')} entry, but is empty."
    if kind == "not_unique":
        return f"{place} should name everything once, but is {value!r}."
    if kind == "no_pair":
        return f"{place} should be [least, most]{' or empty' if _is_nullable(node) else ''}, but is {value!r}."
    if kind == "string_pattern_mismatch":
        form = f"look like {node['examples'][0]}" if "examples" in node else f"match {facts['pattern']}"
        return f"{place} should {form}, but is {value!r}."
    kinds = _types(node)
    expected = " or ".join(TYPE_NAMES[kind] for kind in kinds)
    return f"{place or 'The file'} should be {expected}, but is {_shown(value)}.{_number_hint(value, kinds)}"


def not_allowed(value: object, allowed: Sequence[object]) -> str:
    """Words the error for a value that is none of a few."""
    words = ["empty" if each is None else str(each) for each in allowed]
    guess = nearest(str(value), words)
    hint = f"; did you mean {guess!r}?" if guess else "."
    return f"{value!r} is not allowed{hint} Allowed: {', '.join(words)}."


def place_of(path: Sequence[str | int]) -> str:
    """Writes a path as in `experiments.demo.games[1]`; the top of the file is the empty text."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _plain(bound: float) -> float:
    return int(bound) if float(bound).is_integer() else bound


def _shown(value: object) -> str:
    if value is None:
        return "empty"
    text = repr(dict(value) if isinstance(value, Mapping) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _number_hint(value: object, kinds: Sequence[str]) -> str:
    """YAML 1.1 takes 6e9 for text, which nobody expects."""
    if isinstance(value, str) and {"integer", "number"} & set(kinds):
        try:
            number = float(value)
        except ValueError:
            return ""
        if value.strip().isdigit() and len(value.strip()) > 1 and value.strip().startswith("0"):
            return f" YAML reads {value} as text; write {value.strip().lstrip('0') or 0}."
        if value.strip().isdigit():  # YAML reads this as a number, if it sees it
            return (
                f" This is text: write {value} without quotes, in a --configfile; in --config, nested values are text."
            )
        if math.isfinite(number):
            return f" YAML reads {value} as text; write {f'{int(number):_}' if number.is_integer() else number}."
    return ""


# ---- JSON schemas


def json_schema(kind: Any) -> dict:
    """Returns the JSON schema of a type in one piece: no titles, no references, bounds in the words of JSON schema."""
    schema = TypeAdapter(kind).json_schema()
    return _tidy(schema, schema.get("$defs", {}))


def _tidy(node: Any, definitions: Mapping) -> Any:
    if isinstance(node, list):
        return [_tidy(item, definitions) for item in node]
    if not isinstance(node, Mapping):
        return node
    if "$ref" in node:
        node = {**definitions[node["$ref"].removeprefix("#/$defs/")], **node}
    words = {name: word for name, word, _ in _BOUNDS.values()} | {"multiple_of": "multipleOf"}
    tidy = {}
    for key, value in node.items():
        if key == "properties":
            tidy[key] = {name: _tidy(part, definitions) for name, part in value.items()}
        elif key in ("default", "enum"):
            tidy[key] = value
        elif key not in ("$ref", "$defs", "title", "discriminator"):
            tidy[words.get(key, key)] = _tidy(value, definitions)
    if "prefixItems" in tidy:  # a pair of two equals
        tidy["items"] = tidy.pop("prefixItems")[0]
    if "patternProperties" in tidy:
        ((pattern, part),) = tidy.pop("patternProperties").items()
        tidy |= {"propertyNames": {"pattern": pattern}, "additionalProperties": part}
    return _with_plain_default(_merged(tidy))


def _merged(node: dict) -> dict:
    """Writes a union of types as `type: [integer, "null"]`, which is easier to read, and what messages name."""
    for key in ("anyOf", "oneOf"):
        members = node.get(key, ())
        if members and all("type" in member for member in members):
            one: dict = {"type": [kind for member in members for kind in _types(member)]}
            for member in members:
                one |= {name: value for name, value in member.items() if name != "type"}
            if "enum" in one and "null" in one["type"]:
                one["enum"] = [*one["enum"], None]
            return {**one, **{name: value for name, value in node.items() if name != key}}
    return node


def _with_plain_default(node: dict) -> dict:
    """Leaves out a default that stands for an absent key, and the defaults of a section, which its keys have."""
    if "default" in node and node["default"] is None and not _is_nullable(node):
        return {key: value for key, value in node.items() if key != "default"}
    if isinstance(node.get("default"), Mapping) and "properties" in node:
        return {**node, "default": {}}
    return node


def _node(schema: Mapping, path: Sequence[str | int]) -> Mapping:
    """Finds the part of a schema that is about a place; empty where there is none."""
    node = schema
    for part in path:
        if isinstance(part, int):
            node = node.get("items", {})
        else:
            others = node.get("additionalProperties")
            node = node.get("properties", {}).get(part, others if isinstance(others, Mapping) else {})
    return node


def _types(node: Mapping) -> list[str]:
    kinds = node.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _is_nullable(node: Mapping) -> bool:
    return "null" in _types(node)
