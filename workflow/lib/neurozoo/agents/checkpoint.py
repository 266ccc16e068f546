"""The result of a run: the weights of its best solution."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.files import written_whole
from neurozoo.games import Protocol, check_game, layout_of, protocol_of
from neurozoo.networks import Layout


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
        reference: Observations by which virtual batch norm sets its statistics: float32, (batch, height, width,
            channels); None for networks without it.
    """

    theta: np.ndarray
    algo: str
    game: str
    model: str
    run: int
    protocol: Protocol
    num_actions: int
    reference: np.ndarray | None = None

    @property
    def layout(self) -> Layout:
        """The network that the weights belong to."""
        return layout_of(self.game, self.model, self.protocol)


def write_checkpoint(path: str | os.PathLike, checkpoint: Checkpoint, *, facts: Mapping | None = None) -> None:
    """Writes `theta`, `reference` if there is one, and, as JSON text, the rest; equal checkpoints give equal bytes.

    Args:
        path: The file, which appears whole or not at all.
        checkpoint: What to write.
        facts: What `genome.json` would say, for a checkpoint without one beside it; kept as `facts`, JSON text.

    Raises:
        NeurozooError: The disk is full.
    """
    about = {key: value for key, value in vars(checkpoint).items() if key not in ("theta", "reference")}
    about["protocol"] = asdict(checkpoint.protocol)
    arrays = {"theta": checkpoint.theta}
    if checkpoint.reference is not None:
        arrays["reference"] = checkpoint.reference
    texts = {"about": np.array(json.dumps(about))} | ({"facts": np.array(json.dumps(facts))} if facts else {})
    with written_whole(path) as temporary:
        np.savez(temporary, **arrays, **texts)


def read_checkpoint(path: str | os.PathLike) -> Checkpoint:
    """Reads a checkpoint; a file from a stranger is safe to read.

    Raises:
        NeurozooError: The file is missing or damaged, or its weights do not fit its network.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            theta, about = arrays["theta"], json.loads(str(arrays["about"]))
            reference = arrays.get("reference")
        about["protocol"] = protocol = Protocol.from_record(about["protocol"])
        checkpoint = Checkpoint(theta=theta, reference=reference, **about)
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
    protocol_of(
        checkpoint.game,
        protocol.name,
        action_set=protocol.action_set,
        observation=protocol.observation or None,
        start_state=protocol.start_state,
    )
    layout = checkpoint.layout
    expected = layout.parameter_count
    if theta.shape != (expected,) or theta.dtype != np.float32 or layout.num_actions != checkpoint.num_actions:
        raise NeurozooError(
            f"The checkpoint {path} should hold {expected:,} float32 weights of {checkpoint.model!r} with "
            f"{layout.num_actions} actions, but holds {theta.dtype} of shape {theta.shape} for "
            f"{checkpoint.num_actions} actions."
        )
    check_reference(reference, layout, source=f"The checkpoint {path}")
    return checkpoint


def read_facts(path: str | os.PathLike) -> dict:
    """Reads what a snapshot says of its agent beside the weights: the keys of `genome.json`.

    Raises:
        NeurozooError: The file is missing or damaged, or no snapshot.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            facts = json.loads(str(arrays["facts"]))
        if not isinstance(facts, dict):
            raise ValueError(f"its facts are a {type(facts).__name__}")
    except FileNotFoundError as error:
        raise NeurozooError(f"The snapshot {path} is missing.") from error
    except Exception as error:  # as in `read_checkpoint`
        reason = f"{type(error).__name__}: {error}"[:200]
        raise NeurozooError(f"{path} is damaged or no snapshot ({reason}).") from error
    return facts


def check_reference(reference: np.ndarray | None, layout: Layout, *, source: str = "The checkpoint") -> None:
    """Refuses a virtual batch norm without observations to set its statistics by.

    Raises:
        NeurozooError: The network needs a reference and there is none, or it has another shape.
    """
    if reference is None and not layout.needs_reference:
        return
    wanted = f"float32 of shape (batch, {', '.join(map(str, layout.observation_shape))})"
    if reference is None:
        raise NeurozooError(
            f"{source} lacks the reference of {layout.network.name!r}, {wanted}: its weights alone do not say how the "
            "agent acts. Train it again."
        )
    fits = reference.dtype == np.float32 and reference.shape[1:] == tuple(layout.observation_shape) and len(reference)
    if not fits or not np.isfinite(reference).all():
        raise NeurozooError(
            f"{source} should hold a reference of finite numbers, {wanted}, but holds {reference.dtype} of shape "
            f"{reference.shape}. Delete it and train again."
        )
