"""Reads YAML from anywhere: plain values only, and no more of them than the text shows.

An alias such as `*name` repeats what stands elsewhere in the text. Nine lines of aliases of aliases can stand for a
billion values, so what aliases add is counted before it is built.
"""

import os
import re
from collections.abc import Mapping
from typing import Any

import yaml

from neurozoo.errors import NeurozooError
from neurozoo.files import read_text

MOST_ADDED = 100_000  # values that the aliases of a text may add to those that are written out
MOST_BYTES = 2**21  # of a file: 2 MiB, which can take 200 times as much memory
MOST_LEVELS = 100  # of collections in collections
MOST_DIGITS = 1_000  # of a whole number

_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same in C, ten times as fast


class _PlainLoader(_Loader):
    """Loads plain values, like `yaml.SafeLoader`, and refuses numbers that nobody can write out again."""

    def construct_whole(self, node: yaml.ScalarNode) -> int:
        if len(node.value) > MOST_DIGITS:
            raise yaml.YAMLError(f"a whole number of {len(node.value):,} characters")
        return self.construct_yaml_int(node)


_PlainLoader.add_constructor("tag:yaml.org,2002:int", _PlainLoader.construct_whole)


def read_yaml(path: str | os.PathLike, remedy: str) -> dict:
    """Reads a YAML file with a mapping of names to values, which may be empty. Errors end with the remedy."""
    text = read_text(path, remedy, most=MOST_BYTES)
    try:
        value = parse_yaml(text)
        value = {} if value is None else value
    except NeurozooError as error:
        raise NeurozooError(f"{path} is damaged ({error}). {remedy}") from error
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise NeurozooError(f"{path} should be a mapping of names to values, but is not. {remedy}")
    return value


def parse_yaml(text: str) -> Any:
    """Reads YAML text; None for an empty one.

    Raises:
        NeurozooError: It is not YAML, names types of Python, or its aliases stand for too much. The message is a part
            of a sentence.
    """
    try:
        _check_depth(text)
        loader = _PlainLoader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _check_growth(node)
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise NeurozooError(" ".join(str(error).split())[:300]) from error
    except (ValueError, TypeError, OverflowError, RecursionError) as error:  # a 13th month, a mapping as a name, depth
        raise NeurozooError(f"{type(error).__name__}: {error}"[:300]) from error


def check_written(text: str) -> None:
    """Checks what people write by hand: that it is YAML, and that no value is another one than it seems to be.

    YAML drops the first of two equal keys, and takes 1:30 for 90 and 010 for 8.

    The message of an error is a part of a sentence, with the line.
    """
    try:
        _check_depth(text)
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        began = f" ({error.context}, which begins in line {error.context_mark.line + 1})" if error.context_mark else ""
        lines = text.split("\n")
        if mark and mark.line < len(lines) and lines[mark.line][mark.column : mark.column + 1] == "\t":
            raise NeurozooError(f"{place}a tab is not allowed here; indent with spaces") from error
        raise NeurozooError(f"{place}{error.problem}{began}") from error
    except yaml.YAMLError as error:
        raise NeurozooError(" ".join(str(error).split())[:300]) from error
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        waiting += _parts(node)
        if isinstance(node, yaml.MappingNode):
            _check_keys(node)
        if isinstance(node, yaml.ScalarNode) and node.tag in _NUMBERS and re.search(r":|^[-+]?0[0-9_]+$", node.value):
            line, seen_as = node.start_mark.line + 1, parse_yaml(node.value)
            raise NeurozooError(
                f"line {line}: {node.value} means {seen_as} in YAML. Write {seen_as}, or '{node.value}' for the text"
            )


def _check_keys(node: yaml.MappingNode) -> None:
    lines: dict[str, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or key.tag.endswith(":merge"):
            continue
        if key.value in lines:
            where = "twice" if lines[key.value] == line else f"here and in line {lines[key.value]}"
            raise NeurozooError(
                f"line {line}: the key {key.value!r} stands {where}, but can have one value. Remove one"
            )
        lines[key.value] = line


def _check_depth(text: str) -> None:
    """Refuses deep texts before libyaml, which would end the process with a full stack, builds anything of them."""
    level = 0
    for event in yaml.parse(text, Loader=_Loader):
        level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if level > MOST_LEVELS:
            raise yaml.YAMLError(f"more than {MOST_LEVELS} levels of collections in collections")


def check_growth(value: object) -> None:
    """Refuses a value from YAML, read by others, that contains itself or whose aliases stand for too much."""
    try:
        _check_growth(value)
    except yaml.YAMLError as error:
        raise NeurozooError(str(error)) from error


def _check_growth(root: object) -> None:
    """Compares the number of values with the number that there would be if every alias were written out."""
    sizes: dict[int, int] = {}  # by the identity of a collection: values in it; 0 while it is being counted
    written = 0
    waiting: list[tuple[Any, bool]] = [(root, False)]
    while waiting:
        value, is_counted = waiting.pop()
        parts = _parts(value)
        if is_counted:
            sizes[id(value)] = size = 1 + sum(sizes.get(id(part), 1) for part in parts)
            if size > written + MOST_ADDED:
                raise yaml.YAMLError(f"its aliases stand for more than {MOST_ADDED:,} values; write them out")
        elif id(value) not in sizes:
            sizes[id(value)] = 0
            written += 1 + len(parts)
            waiting.append((value, True))
            for part in parts:
                if _parts(part):
                    if sizes.get(id(part)) == 0:
                        raise yaml.YAMLError("an alias stands for a collection that contains it")
                    waiting.append((part, False))


def _parts(value: Any) -> list:
    if isinstance(value, yaml.MappingNode):
        return [part for pair in value.value for part in pair]
    if isinstance(value, yaml.SequenceNode):
        return value.value
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, (list, tuple)) else []
