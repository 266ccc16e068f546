"""Imports weights as plain arrays, such as those of `export`, or of a network that PyTorch, JAX or NumPy trained."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Unpack

import numpy as np

from neurozoo.agents.checkpoint import Checkpoint, check_finite, check_reference
from neurozoo.agents.imported_run import ImportChoices, choose_folder, write_imported
from neurozoo.agents.playable_agent import IMPORTED, chosen_protocol
from neurozoo.environments.game_networks import AnyLayout, any_layout_of
from neurozoo.environments.games import check_game
from neurozoo.errors import NeurozooError, naming, needing
from neurozoo.files import open_file, sha256_of
from neurozoo.files.npz import DAMAGE, read_npz
from neurozoo.genomes.reading import GenomeRecord
from neurozoo.networks.catalogue import get_architecture
from neurozoo.networks.keras_networks import KerasNetwork

SUFFIXES = (".npz", ".safetensors")  # of files with arrays of weights
REFERENCE = "reference"  # the array beside the weights that virtual batch normalisation needs
_HELP = "docs/your_network.md shows how weights of other programs are written."
_ORDERS = ((2, 3, 1, 0), (1, 0))  # of axes that turn PyTorch's convolutions and dense layers into ours


def import_weights(source: str | os.PathLike, **choices: Unpack[ImportChoices]) -> Path:
    """Imports arrays of weights as a run's folder.

    The agent takes the best action; one with a policy of its own (a network of `KERAS_NETWORKS` with the head `policy`)
    draws its actions from it.

    Args:
        source: The file: floats named and shaped as `export_weights` writes them.
        **choices: See `ImportChoices`; `game` and `model` are needed.

    Returns:
        The folder, with `config.yaml`, `genome.json` and `checkpoint.npz`.

    Raises:
        NeurozooError: The file is missing or damaged, its arrays are not those of the network for this game, or the
            folder holds another agent.
    """
    path = Path(source)
    game, model = choices.get("game"), choices.get("model")
    if game is None or model is None:
        raise NeurozooError(f"{path} names no game and network. Give both (--game, --model).")
    network = get_architecture(model)
    record = GenomeRecord(genome=None, game=check_game(game), model=network.name)
    played = chosen_protocol(record, choices)
    layout = any_layout_of(record.game, record.model, played)
    with naming(path):
        arrays = _read(path)
        theta = joined(arrays, layout)
        check_finite(theta, layout, source=os.fspath(path))
        reference = np.asarray(arrays[REFERENCE], np.float32) if layout.needs_reference else None
        check_reference(reference, layout, source=os.fspath(path))
    is_policy = isinstance(network, KerasNetwork) and network.head == "policy"
    rule, run = "sampled" if is_policy else "greedy", choices.get("run", 1)
    checkpoint = Checkpoint(
        theta, IMPORTED, record.game, record.model, run, played, layout.num_actions, reference, action_rule=rule
    )
    folder = choose_folder(checkpoint, choices)
    source_facts = {"weights": path.name, "sha256": sha256_of(path)}
    write_imported(folder, checkpoint, source=source_facts, solution={"genome": None})
    return folder


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        arrays = read_npz(path) if path.suffix == ".npz" else _read_safetensors(path)
    except OSError as error:
        raise NeurozooError(
            f"{path} cannot be read ({error.strerror}). Give a file with arrays of weights ({' or '.join(SUFFIXES)})."
        ) from error
    except DAMAGE as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise NeurozooError(f"{path} is damaged or holds more than arrays of numbers ({reason}). {_HELP}") from error
    if "theta" in arrays:
        raise NeurozooError(
            f"{path} is a checkpoint of this project, which needs no import: give the folder of its run to freeze, "
            "rollout or evaluate. To import its weights for another game, export them first."
        )
    return arrays


def _read_safetensors(path: Path) -> dict[str, np.ndarray]:
    with needing("export", "A file .safetensors"):
        import safetensors.numpy

    with open_file(path) as file:
        content = file.read()
    try:
        return safetensors.numpy.load(content)
    except safetensors.SafetensorError as error:
        raise ValueError(str(error)) from error
    except KeyError as error:  # a type that NumPy lacks, such as BF16
        raise NeurozooError(
            f"{path} holds numbers of type {error}, which NumPy does not have. Convert them to float32 first."
        ) from error


def joined(arrays: Mapping[str, np.ndarray], layout: AnyLayout) -> np.ndarray:
    """Joins named arrays to a parameter vector, float32, shape (parameters,): the opposite of `layout.split`.

    If and only if the network needs one, there is a `reference` among the arrays, which is left out.

    Raises:
        NeurozooError: Arrays are missing, are no floats, have another shape, or belong to nothing in the network.
    """
    wanted = {name: part.shape for name, part in layout.split(np.zeros(layout.parameter_count, np.float32)).items()}
    names = [*wanted, *([REFERENCE] if layout.needs_reference else [])]
    missing = [name for name in names if name not in arrays]
    unknown = [name for name in arrays if name not in names]
    if missing or unknown:
        found = [f"lacks {', '.join(missing)}"] if missing else []
        found += [f"has {', '.join(unknown)}, too"] if unknown else []
        listed = ", ".join(f"{name} {shape}" for name, shape in wanted.items())
        raise NeurozooError(
            f"The weights of {layout.network.name!r} with {layout.num_actions} outputs are {listed}; but the file "
            f"{' and '.join(found)}. Rename its arrays, or give another network. {_HELP}"
        )
    for name, shape in wanted.items():
        array = arrays[name]
        if not np.issubdtype(array.dtype, np.floating):
            raise NeurozooError(f"{name} should hold floats, but holds {array.dtype}. {_HELP}")
        if array.shape != shape:
            raise NeurozooError(
                f"{name} should have shape {shape}, but has {array.shape}. {_why(array, shape, layout)}"
            )
    with np.errstate(over="ignore"):  # what does not fit is infinite, which is refused later
        return np.concatenate([np.asarray(arrays[name], np.float32).ravel() for name in wanted])


def _why(array: np.ndarray, shape: tuple[int, ...], layout: AnyLayout) -> str:
    for order in _ORDERS:
        if len(order) == array.ndim and tuple(array.shape[axis] for axis in order) == shape:
            return f"Its axes seem to be in another order: transpose{order} gives this shape. {_HELP}"
    if array.shape[:-1] == shape[:-1] and shape[-1] == layout.num_actions:
        return f"The game has {shape[-1]} outputs here. Give the game, protocol and action set that it was trained for."
    return f"Give the network that it belongs to. {_HELP}"
