"""Networks that were trained or evolved, as agents in levels: read from the checkpoint of a run."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.files import parse_json
from neurozoo.files.npz import DAMAGE, read_npz
from neurozoo.networks.catalogue import get_network
from neurozoo.networks.chains import Layout
from neurozoo.networks.numpy_networks import dense_network

_LONGEST = 80  # characters of a value in messages


class TrainedWeights(NamedTuple):
    """What the checkpoint of a run says of its agent; `theta` is not checked."""

    model: str
    num_actions: int
    theta: np.ndarray


@contextmanager
def reading_agent(path: str | os.PathLike, *, levels: str) -> Iterator[dict[str, np.ndarray]]:
    """Gives the arrays of an agent's file (.npz); what is found wrong with them becomes one sentence.

    Raises:
        NeurozooError: The file is missing or damaged, or no agent for `levels`.
    """
    if not Path(path).exists():
        raise NeurozooError(f"The agent {path} is missing. Train one for {levels}, or name a scripted agent.")
    try:
        yield read_npz(path)
    except (*DAMAGE, OSError, NeurozooError) as error:
        raise NeurozooError(f"{path} is no agent for {levels}: {error}") from error


def trained_weights(arrays: Mapping[str, np.ndarray], *, game: str, actions: range) -> TrainedWeights:
    """Reads the arrays of a run's `checkpoint.npz`.

    Raises:
        NeurozooError, LookupError, ValueError: They are not those of a checkpoint, or of another game, or the number of
            actions is not in `actions`.
    """
    about = parse_json(str(arrays["about"]))
    trained_in, model, num_actions = (
        about.get(key) if isinstance(about, dict) else None for key in ("game", "model", "num_actions")
    )
    if trained_in != game:
        raise NeurozooError(
            f"It should have been trained in the game {game!r}, but is of {str(trained_in)[:_LONGEST]!r}."
        )
    if type(num_actions) is not int or num_actions not in actions:
        wanted = f"{actions[0]} to {actions[-1]}" if len(actions) > 1 else str(actions[0])
        raise NeurozooError(f"It should have {wanted} actions, but has {str(num_actions)[:_LONGEST]}.")
    return TrainedWeights(str(model)[:_LONGEST], num_actions, arrays["theta"])


def dense_outputs(agent: TrainedWeights, observation_shape: tuple[int, int, int]) -> Callable[[np.ndarray], np.ndarray]:
    """Returns the function of an agent's network; see `dense_network`.

    Raises:
        NeurozooError: The network is unknown, has other layers than dense ones, or scales observations by their
            statistics; or the weights are others, or not finite.
    """
    layout = get_network(agent.model).layout(agent.num_actions, observation_shape)
    if layout.needs_statistics or any(layer.kind != "dense" for layer in layout.network.layers):
        raise NeurozooError(f"It should be of a network of dense layers, but is of {agent.model!r}.")
    return dense_network(layout, checked_weights(agent.theta, layout))


def checked_weights(theta: np.ndarray, layout: Layout) -> np.ndarray:
    """Returns `theta` if it has the weights of a network, or raises `NeurozooError`."""
    if theta.shape != (layout.parameter_count,) or theta.dtype != np.float32 or not np.isfinite(theta).all():
        raise NeurozooError(
            f"The weights of {layout.network.name!r} with {layout.num_actions} actions should be "
            f"{layout.parameter_count:,} finite numbers of float32, but are {theta.dtype} of shape {theta.shape}."
        )
    return theta
