"""The result of a run: the weights of its best solution."""

import json
import os
from dataclasses import asdict, dataclass

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.files import written_whole
from neurozoo.games import Protocol, check_game, get_protocol
from neurozoo.networks import Layout, get_network


@dataclass(frozen=True)
class Checkpoint:
    """Weights, and what they are for.

    Attributes:
        theta: float32, shape (parameters,).
        algo: Algorithm such as `ga`.
        game: Game id.
        model: Network name.
        run: Number of the run.
        protocol: How its episodes are played.
        num_actions: Outputs of the network.
    """

    theta: np.ndarray
    algo: str
    game: str
    model: str
    run: int
    protocol: Protocol
    num_actions: int

    @property
    def layout(self) -> Layout:
        """The network that the weights belong to."""
        return get_network(self.model).layout(self.num_actions)


def write_checkpoint(path: str | os.PathLike, checkpoint: Checkpoint) -> None:
    """Writes `theta` and, as JSON text, everything else; equal checkpoints give equal bytes."""
    about = {key: value for key, value in vars(checkpoint).items() if key != "theta"}
    about["protocol"] = asdict(checkpoint.protocol)
    with written_whole(path) as temporary:
        np.savez(temporary, theta=checkpoint.theta, about=np.array(json.dumps(about)))


def read_checkpoint(path: str | os.PathLike) -> Checkpoint:
    """Reads a checkpoint; a file from a stranger is safe to read.

    Raises:
        NeurozooError: The file is missing or damaged, or its weights do not fit its network.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            theta, about = arrays["theta"], json.loads(str(arrays["about"]))
        about["protocol"] = protocol = Protocol(**about["protocol"])
        checkpoint = Checkpoint(theta=theta, **about)
        if type(checkpoint.num_actions) is not int or checkpoint.num_actions < 1:
            raise ValueError(f"{checkpoint.num_actions!r} actions")
    except FileNotFoundError as error:
        raise NeurozooError(f"The checkpoint {path} is missing. Train first: snakemake --cores all {path}") from error
    except (
        Exception
    ) as error:  # zipfile and NumPy raise whatever they stumble over: SyntaxError, TokenError, zlib.error
        reason = f"{type(error).__name__}: {error}"[:200]
        raise NeurozooError(f"The checkpoint {path} is damaged ({reason}). Delete it and train again.") from error
    check_game(checkpoint.game)
    get_protocol(protocol.name, action_set=protocol.action_set)
    expected = checkpoint.layout.parameter_count
    if theta.shape != (expected,) or theta.dtype != np.float32:
        raise NeurozooError(
            f"The checkpoint {path} should hold {expected:,} float32 weights of {checkpoint.model!r} with "
            f"{checkpoint.num_actions} actions, but holds {theta.dtype} of shape {theta.shape}."
        )
    return checkpoint
