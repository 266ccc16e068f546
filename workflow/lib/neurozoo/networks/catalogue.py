"""The catalogue of architectures.

Sources: Mnih et al. 2015 (`large`, `nature`); Mnih et al. 2013 (`small`); the code of Such et al. 2017,
arXiv:1712.06567 (the classes LargeDQN to SimpleClassifier); Salimans et al. 2017, arXiv:1703.03864 (ESAtariPolicy,
MujocoPolicy); Deep Neuroevolution Toolbox (recurrent networks, RiverModel); cshenton/neuroevolution;
tambetm/simple_dqn; Espeholt et al. 2018, arXiv:1802.01561 (`impala_...`); impala_horovod_gym (`impala_gym_...`);
Parker-Holder et al. 2022, arXiv:2203.01302 (`maze_recurrent`);
Jolley and Channon 2018, doi:10.1162/isal_a_00099 (`modular...`);
Gallici et al. 2024, arXiv:2407.04811, and CleanRL's `pqn_atari_envpool.py` (`nature_layer_norm`).
docs/networks.md lists our deviations.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.networks.chains import Network
from neurozoo.networks.keras_networks import KerasNetwork
from neurozoo.networks.layers import EPSILON, Layer
from neurozoo.networks.maze_network import VIEW, MazeNetwork

_OF_NAMES = ("name", "published_names")
_OF_START = ("std", "initialisation", "vector_std")  # fields of layers
_DIGITS = 12  # of a hash; enough to tell networks apart


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


def _all(layers: tuple[Layer, ...], **changes: Any) -> tuple[Layer, ...]:
    return tuple(replace(layer, **changes) for layer in layers)


def _normalised(layers: tuple[Layer, ...], normalisation: str) -> tuple[Layer, ...]:
    return (*_all(layers[:-1], normalisation=normalisation), replace(layers[-1], std=1.0))


def _recurrent(std: float, **choices: Any) -> tuple[Layer, ...]:
    recurrent = Layer("recu1", "recurrent_conv", kernel=3, std=std, **{"cycles": 20, **choices})
    return (_LARGE[0], recurrent, *_LARGE[1:])


def _modular(name: str, *, has_kernel: bool, has_movement: bool) -> Network:
    layers = (
        Layer("decision", "decision", std=0.5, sees="colours" if "rgb" in name else "objects", activation="linear"),
        Layer("landscape", "landscape", std=0.5, cycles=50, is_fixed=not has_kernel, activation="linear"),
        Layer("out", "climb", std=0.5, is_fixed=not has_movement, activation="linear"),
    )
    return Network(name + "_evolved" * has_kernel + "_movement" * has_movement, (), layers)


_OUT = Layer("out", "dense", std=0.1, activation="linear")
_LARGE = (
    Layer("conv1", "conv", 32, kernel=8, stride=4),
    Layer("conv2", "conv", 64, kernel=4, stride=2),
    Layer("conv3", "conv", 64, kernel=3, stride=1),
    Layer("fc", "dense", 512),
    _OUT,
)
_SMALL = (
    Layer("conv1", "conv", 16, kernel=8, stride=4),
    Layer("conv2", "conv", 32, kernel=4, stride=2),
    Layer("fc", "dense", 256),
    _OUT,
)
_DENSE_TANH = _all(
    (
        Layer("fc1", "dense", 256, activation="tanh"),
        Layer("fc2", "dense", 256, activation="tanh"),
        replace(_OUT, std=0.01),
    ),
    initialisation="unit_columns",
)
# cshenton's batch normalisation never updates its statistics (mean 0, variance 1), so it only multiplies by this gain.
# Initial weights are normal with a variance of 1.3 * 2 / fan in.
_CSHENTON_GAIN = 1 / math.sqrt(1 + EPSILON)
_CSHENTON_STD = math.sqrt(1.3 * 2)

NETWORKS = by_name(
    (
        Network("large", ("LargeModel",), _LARGE),
        Network("small", ("Model", "RiverModel"), _SMALL),
        Network("recurrent_large", ("RecurrentLargeModel",), _recurrent(0.1)),
        # Without padding, 84 x 84 pixels become 20 x 20, 9 x 9 and 7 x 7.
        Network("nature", (), _all(_LARGE, padding="valid")),
        Network("simple_dqn", (), _all(_LARGE, padding="valid", bias=False)),
        Network("large_dqn", ("LargeDQN",), _all(_LARGE, initialisation="multiplied_glorot")),
        Network("small_dqn", ("SmallDQN",), _all(_SMALL, initialisation="multiplied_glorot")),
        Network("large_glorot", (), _all(_LARGE, initialisation="glorot")),
        Network("small_glorot", (), _all(_SMALL, initialisation="glorot")),
        Network("small_normalised", ("GAAtariPolicy",), _all(_SMALL, initialisation="unit_columns")),
        Network("virtual_bn", ("ModelVirtualBN",), _normalised(_SMALL, "before_bias")),
        Network("virtual_bn_large", (), _normalised(_LARGE, "before_bias")),
        Network("es_atari", ("ESAtariPolicy",), _all(_normalised(_SMALL, "after_bias"), initialisation="glorot")),
        Network("linear", ("LinearClassifier",), (replace(_OUT, std=1.0),)),
        Network("simple", ("SimpleClassifier",), (Layer("fc1", "dense", 16), Layer("fc2", "dense", 16), _OUT)),
        Network("dense_tanh", ("MujocoPolicy",), _DENSE_TANH),
        # The same with observations scaled by their running mean and standard deviation, as the published code plays
        # MuJoCo's robots.
        Network("mujoco", (), _DENSE_TANH, observation_clip=5.0),
        # The toolbox swapped the names of these two. Our names say what the code does.
        Network(
            "recurrent_large_iotas",
            ("IotasRecurrentLargeModel",),
            _recurrent(1.0, skip="input", inner_relu=True),
        ),
        Network("recurrent_large_iotas_linear", ("IotasRecurrentLargeModelRELU",), _recurrent(1.0, skip="input")),
        # At most as many cycles as the map is wide. Deviation: the published code sets 10% of the gates, drawn at
        # random, to zero in each step.
        Network(
            "recurrent_large_evolved",
            ("EvoRecurrentLargeModel",),
            _recurrent(0.1, skip="gated", vector_std=0.5, cycles=1),
        ),
        Network(
            "river_test",
            ("RiverModelTest",),
            (Layer("recu1", "recurrent_conv", kernel=3, cycles=10, std=0.01), *_SMALL[2:]),
        ),
        Network(
            "cells",
            (),
            (*(Layer(f"conv{i}", "conv", 32, kernel=3) for i in (1, 2, 3)), *_SMALL[2:]),
        ),
        *(
            _modular(name, has_kernel=has_kernel, has_movement=has_movement)
            for name in ("modular", "modular_rgb")
            for has_kernel in (False, True)
            for has_movement in (False, True)
        ),
        Network(
            "cshenton",
            (),
            (
                *_all(_SMALL[:-1], std=_CSHENTON_STD, bias=False, gain=_CSHENTON_GAIN),
                replace(_OUT, std=_CSHENTON_STD, bias=False),
            ),
        ),
    )
)


# The torso of the published residual networks, and the channels of its sections.
_SECTIONS = tuple(
    Layer(f"section{number}", "residual", units, kernel=3, activation="linear")
    for number, units in enumerate((16, 32, 32), 1)
)

# The paper's networks for Atari see four frames and have no memory; with `_lstm` they have one.
KERAS_NETWORKS = by_name(
    (
        KerasNetwork("impala_shallow", (), _SMALL[:2], units=256),
        KerasNetwork("impala_shallow_layer_norm", (), _all(_SMALL[:2], normalisation="layer"), units=256),
        KerasNetwork("impala_shallow_lstm", (), _SMALL[:2], units=256, lstm_units=256),
        KerasNetwork("impala_deep", (), _SECTIONS, units=256),
        KerasNetwork("impala_deep_lstm", (), _SECTIONS, units=256, lstm_units=256),
        KerasNetwork("impala_gym_simple", ("SimpleConvNetAgent",), _LARGE[:3], units=512),
        KerasNetwork("impala_gym_deep", ("ResNetLSTMAgent",), _SECTIONS, units=256, lstm_units=256),
        # Units are those of each head's hidden layer.
        MazeNetwork(
            "maze_recurrent", (), (Layer(VIEW, "conv", 16, kernel=3, padding="valid"),), units=32, lstm_units=256
        ),
        KerasNetwork(
            "nature_layer_norm",
            (),
            _all(_LARGE[:3], padding="valid", normalisation="layer"),
            units=512,
            head="q_values",
        ),
        KerasNetwork(
            "small_layer_norm",
            (),
            _all(_SMALL[:2], padding="valid", normalisation="layer"),
            units=256,
            head="q_values",
        ),
    )
)

Architecture = Network | KerasNetwork
ARCHITECTURES: dict[str, Architecture] = by_name([*NETWORKS.values(), *KERAS_NETWORKS.values()])


def get_architecture(name: str) -> Architecture:
    """Returns an architecture of any kind by our name or by the published class name.

    Raises:
        NeurozooError: The network is unknown; the message suggests the most similar name.
    """
    for network in ARCHITECTURES.values():
        if name in (network.name, *network.published_names):
            return network
    raise unknown_name("network", name, ARCHITECTURES)


def architecture_digest(name: str, *, with_start: bool = False) -> str:
    """Returns a hash of a network's description, which tells that the catalogue was edited since.

    Names do not count, nor do fields with their default values, so that new fields change no hash. What a class of
    networks does with its description does not count, either.

    Args:
        name: The network.
        with_start: Whether its initial weights count, too: to a training they matter, to trained weights they do not.
    """
    left_out = _OF_NAMES if with_start else (*_OF_NAMES, *_OF_START)
    described = _described(get_architecture(name), left_out)
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:_DIGITS]


def _described(value: Any, left_out: Collection[str]) -> Any:
    if isinstance(value, tuple):
        return [_described(each, left_out) for each in value]
    if not is_dataclass(value):
        return int(value) if isinstance(value, float) and value.is_integer() else value  # 2.0 is 2
    named = {each.name: getattr(value, each.name) for each in fields(value) if each.name not in left_out}
    defaults = {each.name: each.default for each in fields(value)}
    found = {name: _described(entry, left_out) for name, entry in named.items() if entry != defaults[name]}
    return {"class": type(value).__name__} | found


def get_network(name: str) -> Network:
    """Returns a chain of layers by our name or by the published class name.

    Raises:
        NeurozooError: The network is unknown, and the message suggests the most similar name; or it is a Keras network.
    """
    network = get_architecture(name)
    if isinstance(network, KerasNetwork):
        raise NeurozooError(
            f"{network.name!r} is a Keras network, as impala needs it, and not a chain of layers: it has no native "
            "plan, and algorithms for chains cannot train it. Choose a chain such as 'large' or 'small'. To score a "
            "trained Keras network: python -m neurozoo test."
        )
    return network


def get_keras_network(name: str) -> KerasNetwork:
    """Returns a Keras network by our name or by the published class name.

    Raises:
        NeurozooError: The network is unknown, and the message suggests the most similar name; or it is a chain.
    """
    network = get_architecture(name)
    if not isinstance(network, KerasNetwork):
        raise NeurozooError(
            f"{network.name!r} has no policy head and no baseline head. Choose a Keras network, such as "
            "impala_shallow, or one of action values for pqn, such as small_layer_norm (docs/networks.md)."
        )
    return network


def check_layer(network: str, layer: str) -> str:
    """Returns `layer` if a network has a layer of this name, whose activations can be shown.

    Raises:
        NeurozooError: The network or the layer is unknown; the message suggests the most similar name.
    """
    names = [each.name for each in get_architecture(network).layers]
    if layer not in names:
        raise unknown_name("layer", layer, names, owner=network)
    return layer


def check_hidden_layer(name: str, layers: Sequence[str]) -> None:
    """Checks that a layer is one of a network's `layers`, but not the last one.

    Raises:
        NeurozooError: It is not.
    """
    if name not in layers:
        raise unknown_name("layer", name, layers)
    if name == layers[-1]:
        others = f"Choose one of {', '.join(layers[:-1])}." if layers[:-1] else "The network has no other."
        raise NeurozooError(f"The layer {name!r} gives the outputs. {others}")
