"""Checkpoints: the weights of a run's best solution and what they belong to, in one file."""

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neurozoo.agents.policies import ACTION_RULES
from neurozoo.environments.game_networks import AnyLayout, any_layout_of
from neurozoo.environments.games import check_game
from neurozoo.environments.protocols import Protocol, protocol_of
from neurozoo.errors import NeurozooError, naming
from neurozoo.files import parse_json, plain_name, written_whole
from neurozoo.files.npz import read_npz
from neurozoo.networks.catalogue import architecture_digest
from neurozoo.records.format import FORMAT, KEY, FormatError, check_format
from neurozoo.records.run_config import ARCHITECTURE
from neurozoo.records.run_result import FILES


@dataclass(frozen=True)
class Checkpoint:
    """Weights, and the game, network and protocol that they belong to."""

    theta: np.ndarray  # float32, shape (parameters,)
    algo: str  # algorithm such as `ga`
    game: str  # game id
    model: str  # network name
    run: int  # number of the run
    protocol: Protocol  # how its episodes are played
    num_actions: int  # number of outputs of the network
    # Reference observations of virtual batch norm: float32, shape (batch, height, width, channels); None for networks
    # without it
    reference: np.ndarray | None = None
    # How outputs become actions: `greedy`, or `sampled` from their softmax. Continuous outputs are the actions,
    # whatever it says.
    action_rule: str = "greedy"

    @property
    def title(self) -> str:
        """The run, such as `ga/frostbite/large/1`."""
        return f"{self.algo}/{self.game}/{self.model}/{self.run}"

    @property
    def layout(self) -> AnyLayout:
        """The network that the weights belong to."""
        return any_layout_of(self.game, self.model, self.protocol)


def write_checkpoint(path: str | os.PathLike, checkpoint: Checkpoint, *, facts: Mapping | None = None) -> None:
    """Writes a checkpoint as arrays (`theta`, `reference`) and JSON text, which also has a hash of its network.

    Equal checkpoints give equal bytes. `facts` is the content of `genome.json`, for a checkpoint without one beside it.

    Raises:
        NeurozooError: The disk is full.
    """
    own = {key: value for key, value in vars(checkpoint).items() if key not in ("theta", "reference")}
    about = {KEY: FORMAT, **own, "protocol": asdict(checkpoint.protocol)}
    about[ARCHITECTURE] = architecture_digest(checkpoint.model)
    arrays: dict[str, Any] = {"theta": checkpoint.theta}
    if checkpoint.reference is not None:
        arrays["reference"] = checkpoint.reference
    arrays["about"] = np.array(json.dumps(about))
    if facts:
        arrays["facts"] = np.array(json.dumps(facts))
    with written_whole(path) as temporary:
        np.savez(temporary, **arrays)


def read_checkpoint(path: str | os.PathLike) -> Checkpoint:
    """Reads a checkpoint; a file from a stranger is safe to open.

    Raises:
        NeurozooError: The file is missing, damaged or no checkpoint, its weights do not fit its network or are not
            finite, or the description of its network has changed since.
    """
    try:
        arrays = read_npz(path)
        if lacking := {"theta", "about"} - set(arrays):
            raise FormatError(
                f"{path} is no checkpoint of a run: it lacks {' and '.join(sorted(lacking))}. If it has weights from "
                "elsewhere, import them: python -m neurozoo import --help"
            )
        theta, about = arrays["theta"], parse_json(str(arrays["about"]))
        reference = arrays.get("reference")
        check_format(about, f"The checkpoint {path}")
        del about[KEY]
        architecture = about.pop(ARCHITECTURE)
        about["protocol"] = protocol = Protocol.from_record(about["protocol"])
        checkpoint = Checkpoint(theta=theta, reference=reference, **about)
        plain_name(checkpoint.algo)  # it names a folder; a later version may have other algorithms
        if type(checkpoint.run) is not int or checkpoint.run < 1:
            raise ValueError(f"the run {checkpoint.run!r}")
        if type(checkpoint.num_actions) is not int or checkpoint.num_actions < 1:
            raise ValueError(f"{checkpoint.num_actions!r} actions")
        if checkpoint.action_rule not in ACTION_RULES:
            raise ValueError(f"the action rule {checkpoint.action_rule!r}")
    except FileNotFoundError as error:
        if Path(path).with_name(FILES["archive"]).exists():
            raise NeurozooError(
                f"{Path(path).parent} is the run of a search: it has an archive, and no network of its own. Look at it "
                f"in archive.html: snakemake --cores all {shlex.quote(str(Path(path).with_name('archive.html')))}"
            ) from error
        command = f"snakemake --cores all {shlex.quote(str(path))}"
        raise NeurozooError(f"The checkpoint {path} is missing. Train first: {command}") from error
    except FormatError:
        raise
    except Exception as error:  # zipfile and NumPy raise many kinds: SyntaxError, TokenError, zlib.error
        reason = f"{type(error).__name__}: {error}"[:200]
        raise NeurozooError(f"The checkpoint {path} is damaged ({reason}). Delete it and train again.") from error
    with naming(f"The checkpoint {path}"):
        check_game(checkpoint.game)
        protocol_of(
            checkpoint.game,
            protocol.name,
            action_set=protocol.action_set,
            observation=protocol.observation or None,
            start_state=protocol.start_state,
        )
        layout = checkpoint.layout
    if architecture != architecture_digest(checkpoint.model):
        raise NeurozooError(
            f"The checkpoint {path} belongs to another network {checkpoint.model!r} than networks/catalogue.py "
            "describes here. If it was edited, undo that and give the new network a name of its own; or train anew."
        )
    expected = layout.parameter_count
    if theta.shape != (expected,) or theta.dtype != np.float32 or layout.num_actions != checkpoint.num_actions:
        raise NeurozooError(
            f"The checkpoint {path} should hold {expected:,} float32 weights of {checkpoint.model!r} with "
            f"{layout.num_actions} actions, but holds {theta.dtype} of shape {theta.shape} for "
            f"{checkpoint.num_actions} actions."
        )
    check_finite(theta, layout, source=f"The checkpoint {path}")
    check_reference(reference, layout, source=f"The checkpoint {path}")
    return checkpoint


def check_finite(theta: np.ndarray, layout: AnyLayout, *, source: str = "The checkpoint") -> None:
    """Checks that all weights are numbers; comparisons with NaN are false, so that an agent would still play.

    Raises:
        NeurozooError: Some are NaN or infinite; the message says in which layer.
    """
    if np.isfinite(theta).all():
        return
    name, wrong = next(
        (name, count) for name, part in layout.split(theta).items() if (count := (~np.isfinite(part)).sum())
    )
    raise NeurozooError(
        f"{source} holds weights that are NaN or infinite; the first are in {name} ({wrong:,}). If it comes from a "
        "run, the run diverged: train again, with a lower learning rate. If it was imported, its source has them."
    )


def read_facts(path: str | os.PathLike) -> dict:
    """Reads the facts in a snapshot, which are those of a `genome.json`.

    Raises:
        NeurozooError: The file is missing, damaged or not a snapshot.
    """
    try:
        facts = parse_json(str(read_npz(path)["facts"]))
        if not isinstance(facts, dict):
            raise ValueError(f"its facts are a {type(facts).__name__}")
    except FileNotFoundError as error:
        raise NeurozooError(f"The snapshot {path} is missing.") from error
    except Exception as error:  # as in `read_checkpoint`
        reason = f"{type(error).__name__}: {error}"[:200]
        raise NeurozooError(f"{path} is damaged or not a snapshot ({reason}). Use another one.") from error
    return facts


def check_reference(reference: np.ndarray | None, layout: AnyLayout, *, source: str = "The checkpoint") -> None:
    """Checks that a network with virtual batch norm has its reference observations.

    Raises:
        NeurozooError: The reference is missing, or has another shape or type, or numbers that are not finite.
    """
    if reference is None and not layout.needs_reference:
        return
    wanted = f"float32 of shape (batch, {', '.join(map(str, layout.observation_shape))})"
    if reference is None:
        raise NeurozooError(
            f"{source} lacks the reference of {layout.network.name!r}, {wanted}. Its weights alone do not determine "
            "how the agent acts. Train it again."
        )
    fits = reference.dtype == np.float32 and reference.shape[1:] == tuple(layout.observation_shape) and len(reference)
    if not fits or not np.isfinite(reference).all():
        raise NeurozooError(
            f"{source} should hold a reference of finite numbers, {wanted}, but holds {reference.dtype} of shape "
            f"{reference.shape}. Delete it and train again."
        )
