"""Checks of network descriptions: what the catalogue says wrongly is told at once, and not after a training."""

import itertools
import re
from collections import Counter
from collections.abc import Hashable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.files import plain_name

if TYPE_CHECKING:
    from neurozoo.networks.description import Layer, Network
    from neurozoo.networks.keras_networks import KerasNetwork

_LAYER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")  # also of a Keras layer and of files
_TAKEN = ("observation", "flatten")  # layers that every Keras model has
# Fields of layers that a network with heads does not read: its learner draws the weights.
_IN_ALL_TORSOS = {"bias": True, "gain": 1.0, "std": 1.0, "initialisation": "fan_in", "vector_std": 1.0}
_CONVOLUTIONS = ("conv", "recurrent_conv", "residual")
_OF_CHAINS = ("conv", "recurrent_conv", "dense")
_SHOW = "See docs/your_network.md."


def check_layer_fields(layer: "Layer") -> None:
    """Checks one layer by itself.

    Raises:
        NeurozooError: A value is not allowed; the message names the layer.
    """
    whose = f"The layer {layer.name!r}"
    if not _LAYER_NAME.fullmatch(layer.name):
        raise NeurozooError(f"{whose} should have a name of letters, digits and _, beginning with a letter. {_SHOW}")
    _check_choices(layer, f"the layer {layer.name!r}")
    least = {"stride": 1, "cycles": 1} | ({"kernel": 1} if layer.kind in _CONVOLUTIONS else {})
    least |= {} if layer.units is None else {"units": 1}
    _check_counts(layer, least, whose)


def check_chain(network: "Network") -> None:
    """Checks the layers of a chain together.

    Raises:
        NeurozooError: They make no network; the message names it.
    """
    whose = f"The network {network.name!r}"
    _check_folder_name(network.name)
    layers = network.layers
    if not layers:
        raise NeurozooError(f"{whose} has no layers. {_SHOW}")
    _check_unique([layer.name for layer in layers], whose)
    if wrong := [layer for layer in layers if layer.kind not in _OF_CHAINS or layer.normalisation == "layer"]:
        what = wrong[0].kind if wrong[0].kind not in _OF_CHAINS else "layer normalisation"
        raise NeurozooError(
            f"{whose} is a chain, and its layer {wrong[0].name!r} is not for chains ({what}). Make it a KerasNetwork. "
            f"{_SHOW}"
        )
    last = layers[-1]
    if last.kind != "dense" or last.units is not None:
        raise NeurozooError(
            f"{whose} should end with a dense layer without units, which gets one per action, such as _OUT, but ends "
            f"with {last.name!r} ({last.kind}, units={last.units}). {_SHOW}"
        )
    for before, layer in itertools.pairwise(layers):
        if before.kind == "dense" and layer.kind != "dense":
            raise NeurozooError(f"{whose} has the {layer.kind} {layer.name!r} after the dense {before.name!r}. {_SHOW}")
        if before.units is None and before.kind != "recurrent_conv":
            raise NeurozooError(f"{whose} has a layer {before.name!r} without units, which only its last one may be.")


def check_heads(network: "KerasNetwork", *, taken: Iterable[str]) -> None:
    """Checks a network with heads.

    Args:
        network: The network.
        taken: Names of layers that its Keras model has besides.

    Raises:
        NeurozooError: A value is not allowed; the message names the network.
    """
    whose = f"The network {network.name!r}"
    _check_folder_name(network.name)
    _check_choices(network, f"the network {network.name!r}")
    if not network.torso or any(layer.kind not in ("conv", "residual") for layer in network.torso):
        raise NeurozooError(f"{whose} should have a torso of convolutions and residual sections. {_SHOW}")
    for layer in network.torso:
        _check_counts(layer, {"units": 1}, f"The layer {layer.name!r}")
        ignored = [name for name, value in _IN_ALL_TORSOS.items() if getattr(layer, name) != value]
        if ignored or layer.normalisation not in (None, "layer"):
            what = ignored[0] if ignored else "normalisation"
            raise NeurozooError(
                f"{whose} has heads, so the {what} of its layer {layer.name!r} cannot be {getattr(layer, what)!r}: it "
                f"would have no effect. {_SHOW}"
            )
    _check_counts(network, {"units": 1, "lstm_units": 0}, whose)
    _check_unique([layer.name for layer in network.layers], whose, taken)


def by_name(networks: Iterable[Any]) -> dict[str, Any]:
    """Returns networks by their names.

    Raises:
        NeurozooError: Two have the same name, or the same published name.
    """
    networks = list(networks)
    counts = Counter(name for network in networks for name in (network.name, *network.published_names))
    if twice := [name for name, count in counts.items() if count > 1]:
        raise NeurozooError(f"Two networks of networks/catalogue.py are called {twice[0]!r}. Rename one of them.")
    return {network.name: network for network in networks}


def _check_choices(described: Any, whose: str) -> None:
    kind: Any = type(described)
    for name, allowed in _choices(kind).items():
        if (value := getattr(described, name)) not in allowed:
            raise unknown_name(f"{name} of {whose}", value, [each for each in allowed if each is not None])


@cache
def _choices(described: Hashable) -> dict[str, tuple[Any, ...]]:
    """Returns the allowed values of each field that has some."""
    found = {}
    for name, hint in get_type_hints(described).items():
        literals = [each for each in (hint, *get_args(hint)) if get_origin(each) is Literal]
        if literals and get_origin(hint) is not tuple:
            none = (None,) if type(None) in get_args(hint) else ()
            found[name] = (*get_args(literals[0]), *none)
    return found


def _check_folder_name(name: str) -> None:
    try:
        plain_name(name)  # it is part of paths
    except ValueError as error:
        raise NeurozooError(f"The name of the network {error}. {_SHOW}") from error


def _check_unique(names: list[str], whose: str, taken: Iterable[str] = ()) -> None:
    counts = Counter([*names, *(has_already := {*_TAKEN, *taken})])
    if twice := [name for name in names if counts[name] > 1]:
        reason = "which its model has already" if twice[0] in has_already else "twice"
        raise NeurozooError(f"{whose} has a layer {twice[0]!r}, {reason}. Choose another name.")


def _check_counts(described: object, least: dict[str, int], whose: str) -> None:
    for name, smallest in least.items():
        value = getattr(described, name)
        if type(value) is not int or value < smallest:
            raise NeurozooError(
                f"{whose} should have a whole number {name} >= {smallest}, but it is {value!r}. {_SHOW}"
            )
