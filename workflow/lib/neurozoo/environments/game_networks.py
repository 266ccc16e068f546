"""Which networks fit a game, and their layouts for its observations and outputs."""

from neurozoo.environments.observations import observation_shape
from neurozoo.environments.protocols import Protocol, output_names
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import Architecture, get_architecture, get_keras_network, get_network
from neurozoo.networks.chains import Layout, Network
from neurozoo.networks.keras_networks import KerasLayout
from neurozoo.networks.numpy_networks import is_plain

AnyLayout = Layout | KerasLayout


def check_network(game: str, model: str, protocol: Protocol) -> Architecture:
    """Returns a network that fits a game. Loads no ROM, so that plans of many games are quick.

    Raises:
        NeurozooError: The game or network is unknown, the network needs pictures and the game has none, its kernels do
            not fit into them, or it has layers that nothing computes for this game.
    """
    network = get_architecture(model)
    chain = network if isinstance(network, Network) else None
    has_pictures = protocol.world == "atari" or observation_shape(game, protocol).plane[:2] != (1, 1)
    is_chain_in_maze = chain is not None and protocol.world == "maze"  # where chains see a vector
    if (is_chain_in_maze or not has_pictures) and any(layer.kind != "dense" for layer in network.layers):
        raise NeurozooError(
            f"{game!r} has no pictures as observations and needs a network of dense layers such as 'simple', but got "
            f"{network.name!r}."
        )
    has_vectors = protocol.world == "gymnasium" and not has_pictures
    if chain and chain.is_modular and protocol.rules != "fixed":
        raise NeurozooError(
            f"The network {network.name!r} is for the river crossing task under fixed rules, but {game!r} has the "
            f"protocol {protocol.name!r}. Choose river_fixed or river_split."
        )
    if chain and chain.observation_clip is not None and not has_vectors:
        raise NeurozooError(
            f"The network {network.name!r} scales observations by their statistics, for gym. worlds with vectors only. "
            f"For {game!r}, choose 'dense_tanh' or another network."
        )
    if chain and protocol.is_stepwise and not is_plain(chain):
        raise NeurozooError(
            f"Python plays {game!r}, with dense layers and convolutions that are not normalised, but {network.name!r} "
            "has others. Choose another network, such as 'simple' or 'small'."
        )
    if protocol.preprocessing != "rgb":  # whose size only the ROM knows
        network.layout(1, observation_shape(game, protocol).observation)
    return network


def any_layout_of(game: str, model: str, protocol: Protocol) -> AnyLayout:
    """Returns a network's layout for the observations and outputs of a game. The network may be of any kind.

    Raises:
        NeurozooError: The network does not fit the game; see `check_network`.
    """
    network, shape = check_network(game, model, protocol), observation_shape(game, protocol)
    return network.layout(len(output_names(game, protocol)), shape.observation)


def layout_of(game: str, model: str, protocol: Protocol) -> Layout:
    """Returns the layout of a chain of layers, such as the native core plays, for a game.

    Raises:
        NeurozooError: It is a Keras network, or does not fit the game.
    """
    layout = any_layout_of(game, get_network(model).name, protocol)
    assert isinstance(layout, Layout)  # `get_network` returns chains
    return layout


def keras_layout_of(game: str, model: str, protocol: Protocol) -> KerasLayout:
    """Returns the layout of a Keras network for a game.

    Raises:
        NeurozooError: It is a chain, or does not fit the game.
    """
    layout = any_layout_of(game, get_keras_network(model).name, protocol)
    assert isinstance(layout, KerasLayout)  # `get_keras_network` returns Keras networks
    return layout


def is_modular(model: str) -> bool:
    """Returns whether a network is a modular agent of the river crossing task; these can play on a page."""
    network = get_architecture(model)
    return isinstance(network, Network) and network.is_modular


def check_browser(title: str, *, model: str) -> None:
    """Checks that an agent can play on a page; `title` is its run.

    Raises:
        NeurozooError: It has another network.
    """
    if not is_modular(model):
        raise NeurozooError(
            f"{title} cannot play in a browser: play.html is for modular agents of river_crossing "
            "(docs/river_crossing.md). Ask for activation.mp4, or open a window: python -m neurozoo play."
        )
