"""Checks of what the catalogue describes: mistakes are told at once, and not after a training."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.files import plain_name

SHOW = "See docs/your_network.md."
_LAYER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")  # also of a Keras layer and of files
_TAKEN = ("observation", "flatten")  # layers that every Keras model has


def check_layer_name(name: str) -> None:
    """Refuses a name that a Keras layer cannot have."""
    if not _LAYER_NAME.fullmatch(name):
        raise NeurozooError(
            f"The layer {name!r} should have a name of letters, digits and _, beginning with a letter. {SHOW}"
        )


def check_network_name(name: str) -> None:
    """Refuses a name that cannot be part of a path."""
    try:
        plain_name(name)
    except ValueError as error:
        raise NeurozooError(f"The name of the network {error}. {SHOW}") from error


def check_layer_names(names: list[str], whose: str, *, taken: Iterable[str] = ()) -> None:
    """Refuses names that a network's layers share, with each other or with other layers of its Keras model."""
    counts = Counter([*names, *(has_already := {*_TAKEN, *taken})])
    if twice := [name for name in names if counts[name] > 1]:
        reason = "which its model has already" if twice[0] in has_already else "twice"
        raise NeurozooError(f"{whose} has a layer {twice[0]!r}, {reason}. Choose another name.")


def check_counts(described: object, least: dict[str, int], whose: str) -> None:
    """Refuses fields that are no whole numbers, or smaller than they may be."""
    for name, smallest in least.items():
        value = getattr(described, name)
        if type(value) is not int or value < smallest:
            raise NeurozooError(f"{whose} should have a whole number {name} >= {smallest}, but it is {value!r}. {SHOW}")


def check_choices(described: Any, whose: str) -> None:
    """Refuses a value that is none of those that the type of its field lists."""
    kind: Any = type(described)
    for name, allowed in _choices(kind).items():
        if (value := getattr(described, name)) not in allowed:
            raise unknown_name(f"{name} of {whose}", value, [each for each in allowed if each is not None])


@cache
def _choices(described: Any) -> dict[str, tuple[Any, ...]]:
    """Returns the allowed values of each field that has some."""
    found = {}
    for name, hint in get_type_hints(described).items():
        literals = [each for each in (hint, *get_args(hint)) if get_origin(each) is Literal]
        if literals and get_origin(hint) is not tuple:
            none = (None,) if type(None) in get_args(hint) else ()
            found[name] = (*get_args(literals[0]), *none)
    return found
