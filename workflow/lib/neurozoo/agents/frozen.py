"""Reads frozen models: an agent in a folder that opens without this package.

`model.keras`, `saved_model/`, `model.pb` and `model.onnx` are forms of one network; Keras networks have no `model.pb`.
`model.json` describes the network, its inputs, its memory, and how its outputs become actions. `neurozoo.agents.freeze`
writes such folders.
"""

import contextlib
import math
import os
import shlex
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from neurozoo.agents.policies import ACTION_RULES
from neurozoo.environments.games import check_game
from neurozoo.environments.gymnasium_games import UntrustedModuleError
from neurozoo.environments.observations import ObservationShape, brightest, observation_shape
from neurozoo.environments.protocols import Protocol, has_continuous_outputs
from neurozoo.errors import NeurozooError, needing
from neurozoo.files import open_file, parse_json, plain_name, reached_file, read_json
from neurozoo.files.npz import GROWTH, MOST_TEXT
from neurozoo.records.format import check_format
from neurozoo.records.run_result import FILE as RESULT
from neurozoo.records.run_result import FILES, read_run_result

if TYPE_CHECKING:
    import keras

KERAS_FILE, SAVED_MODEL, GRAPH_FILE, ONNX_FILE = "model.keras", "saved_model", "model.pb", "model.onnx"
RECORD_FILE = "model.json"
MOST_SIDE = 2**20  # numbers along one side of an activation
REMEDY = "Freeze the agent again: python -m neurozoo freeze, or the rule freeze_model."
LONGEST_LINE = 300  # characters of what a library says


@dataclass(frozen=True)
class LayerRecord:
    """A layer of a frozen model, with its name in every form."""

    name: str  # short name such as `conv1`
    kind: str  # `conv`, `recurrent_conv`, `residual` (a section), `dense`, `lstm`, or a layer of `networks.modular`
    shape: tuple[int, ...]  # activation of one observation: (height, width, channels) or (units,)
    activation: str  # `relu` or `linear`
    cycles: int  # repetitions of a `recurrent_conv` or a `landscape`; 1 for the others
    keras_layer: str  # layer of `model.keras` whose output is the activation
    node: str  # node of `model.pb` with the activation; empty if there is no such file
    weight_node: str  # node of `model.pb` with the weights, which have a leading policy axis of length 1; or empty


@dataclass(frozen=True)
class FrozenModel:
    """The content of a `model.json`."""

    folder: Path  # the folder of the model
    game: str  # game id such as `frostbite`
    model: str  # network name such as `large`
    algo: str  # algorithm such as `ga`; also the scope of the nodes in `model.pb`
    run: int  # number of the run; 0 if unknown
    protocol: Protocol  # how the agent's episodes are played
    actions: tuple[str, ...]  # action names in the order of the outputs
    layers: tuple[LayerRecord, ...]  # all layers, from the first to the outputs
    generation: int | None = None  # generation of the run that it is from; None for the run's result
    tag: str | None = None  # tag at which it was the run's best agent, such as `400M`; None for the run's result
    snapshot: int | None = None  # frames after which the snapshot was taken that it is; None for the run's result
    action_rule: str = "greedy"  # how outputs become actions: `greedy`, `sampled` or `continuous`
    has_history: bool = False  # whether the network also sees the action and reward before, and has a baseline
    # Shapes of what the network remembers; () for a network without memory
    state_shapes: tuple[tuple[int, ...], ...] = ()

    @property
    def title(self) -> str:
        """The run, such as `ga/frostbite/large/1`, followed by the tag, snapshot or generation if there is one."""
        title = f"{self.algo}/{self.game}/{self.model}/{self.run}"
        if self.tag is not None:
            return f"{title}, {self.tag}"
        if self.snapshot is not None:
            return f"{title}, {self.snapshot:,} frames"
        return title if self.generation is None else f"{title}, generation {self.generation}"

    @property
    def shape(self) -> ObservationShape:
        """The shape of the agent's observations."""
        return observation_shape(self.game, self.protocol)

    @property
    def is_continuous(self) -> bool:
        """Whether the outputs are continuous actions; otherwise they are scores of discrete actions."""
        return has_continuous_outputs(self.protocol, self.actions)

    @property
    def representation(self) -> LayerRecord:
        """The second-to-last layer, whose activation summarises the observation; the only one if there is one."""
        return self.layers[-2:][0]

    def load_keras(self) -> "keras.Model":
        """Loads `model.keras`. No code in it is run, so a folder from a stranger is safe.

        Raises:
            NeurozooError: The file is missing or damaged, or its outputs differ from those in `model.json`.
        """
        import keras

        path = self.folder / KERAS_FILE
        if not path.exists():
            raise NeurozooError(f"{path} is missing. {REMEDY}")
        try:
            check_size(path)
            with reached_file(path) as reached:
                model = keras.models.load_model(reached, compile=False, safe_mode=True)
        except Exception as error:  # Keras passes on what its parsers raise
            raise NeurozooError(f"{path} is damaged or not a Keras model ({first_line(error)}). {REMEDY}") from error
        broken = (each.path for each in model.weights if not np.isfinite(keras.ops.convert_to_numpy(each)).all())
        if (name := next(broken, None)) is not None:
            raise NeurozooError(f"{path} holds weights that are NaN or infinite; the first are in {name}. {REMEDY}")
        outputs = tuple(model.outputs[0].shape)
        if outputs != (None, len(self.actions)):
            raise NeurozooError(
                f"{path} has outputs of shape {outputs}, but {RECORD_FILE} beside it names {len(self.actions)} "
                f"actions. {REMEDY}"
            )
        wanted = 3 + len(self.state_shapes) if self.has_history else 1
        if len(model.inputs) != wanted:
            raise NeurozooError(
                f"{path} has {len(model.inputs)} inputs, but {RECORD_FILE} beside it describes {wanted}. {REMEDY}"
            )
        return model

    def load_served(self) -> Callable:
        """Loads the signature of `saved_model/`: from inputs by name to tensors by name.

        Raises:
            NeurozooError: The folder is missing or damaged.
        """
        import tensorflow as tf

        path = self.folder / SAVED_MODEL
        try:
            loaded = tf.saved_model.load(str(path))
            signature = loaded.signatures["serving_default"]
        except (OSError, KeyError, ValueError) as error:
            raise NeurozooError(f"{path} is missing or not a SavedModel ({first_line(error)}). {REMEDY}") from error
        signature.owner = loaded  # its variables live as long as this object
        return signature

    def load_onnx(self) -> Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]:
        """Loads `model.onnx`: from inputs by name to outputs by name, as `load_served`.

        Raises:
            NeurozooError: The package onnxruntime or the file is missing, or the file is damaged.
        """
        with needing("export", "ONNX"):
            import onnxruntime

        path = self.folder / ONNX_FILE
        try:
            with reached_file(path) as reached:
                session = onnxruntime.InferenceSession(reached, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has a class of its own for each fault
            raise NeurozooError(f"{path} is missing or not ONNX ({first_line(error)}). {REMEDY}") from error
        names = [each.name for each in session.get_outputs()]
        return lambda inputs: dict(zip(names, session.run(names, inputs), strict=True))

    def activations_model(self, layers: list[str]) -> "keras.Model":
        """Returns the model with a list of outputs: the activations of the named layers, in the given order.

        Its only input is the observation.

        Raises:
            NeurozooError: `model.keras` lacks one of the layers or cannot be loaded, or a layer depends on more than
                the observation.
        """
        import keras

        model = self.load_keras()
        outputs = self._activations(model, layers)
        try:
            return keras.Model(model.inputs[0] if self.has_history else model.input, outputs)
        except ValueError as error:
            raise NeurozooError(
                f"{', '.join(layers)} of {self.title}: the network also sees earlier actions and rewards, so at least "
                "one of these layers cannot be computed from observations alone. Choose a convolution or 'fc'."
            ) from error

    def step_model(self, layers: list[str]) -> "keras.Model":
        """Returns the model with all of its inputs, and as outputs the activations of the layers and the new memory.

        The inputs are the observation, and for a network with a history the action before, the reward before and the
        memory, in this order.

        Raises:
            NeurozooError: `model.keras` lacks one of the layers or cannot be loaded.
        """
        import keras

        model = self.load_keras()
        states = list(model.outputs[len(model.outputs) - len(self.state_shapes) :])
        return keras.Model(list(model.inputs), [*self._activations(model, layers), *states])

    def _activations(self, model: "keras.Model", layers: list[str]) -> list:
        known = {record.name: record.keras_layer for record in self.layers}
        try:
            return [model.get_layer(known[layer]).output for layer in layers]
        except (KeyError, ValueError) as error:
            raise NeurozooError(
                f"{self.folder / KERAS_FILE} lacks a layer that {RECORD_FILE} names ({first_line(error)}). {REMEDY}"
            ) from error


def check_size(path: Path) -> None:
    """Compares the weights that a Keras model asks for with its file, before there is memory for them.

    Raises:
        ValueError: It has more weights than its file can hold.
    """
    import keras

    with open_file(path) as whole, zipfile.ZipFile(whole) as file:
        size = os.fstat(whole.fileno()).st_size
        if file.getinfo("config.json").file_size > MOST_TEXT:
            raise ValueError(f"its config.json has more than {MOST_TEXT:,} bytes")
        config = parse_json(file.read("config.json"))

    def count() -> int:
        with keras.StatelessScope(initialize_variables=False):  # shapes are known there, but no variable has a value
            model = keras.saving.deserialize_keras_object(config, safe_mode=True)
        return sum(math.prod(variable.shape) for variable in model.variables)

    # Keras keeps such variables for each thread, and would give them values when the thread next builds a layer.
    with ThreadPoolExecutor(1) as own_thread:
        weights = own_thread.submit(count).result()
    if 4 * weights > MOST_TEXT + GROWTH * size:
        raise ValueError(f"it asks for {weights:,} weights, but its file has {size:,} bytes")


def observation_range(protocol: Protocol, shape: ObservationShape) -> list[float] | None:
    """Returns the smallest and the largest number that an observation may contain; None if they are unknown."""
    is_unknown = protocol.world == "gymnasium" and shape.height == 1
    return None if is_unknown else [0.0, brightest(protocol)]


def use_one_thread() -> None:
    """Limits TensorFlow to one thread, so that a rollout has the same bytes on every machine.

    The sums of a dense layer depend on the number of threads. For single observations more threads gain nothing
    (measured: 3.4 ms with one, 4.5 ms with two, network `large`). If TensorFlow has already started, nothing changes.
    """
    import tensorflow as tf

    with contextlib.suppress(RuntimeError):  # TensorFlow has started
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)


def first_line(error: BaseException) -> str:
    """Returns the first line of a library's error message, short enough for a sentence of ours."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} ..."


def open_frozen(folder: str | os.PathLike) -> FrozenModel:
    """Reads a frozen model's `model.json`.

    Raises:
        NeurozooError: The folder does not exist, or its `model.json` is missing, damaged or incomplete.
    """
    folder = Path(folder)
    path = folder / RECORD_FILE
    if folder.parent.joinpath(FILES["archive"]).exists():
        raise NeurozooError(
            f"{folder.parent} is the run of a search: it has an archive, and no network of its own. Look at it in "
            "archive.html."
        )
    record = read_json(path, f"A frozen model is a folder with {KERAS_FILE} and {RECORD_FILE}. {REMEDY}")
    check_format(record, path, REMEDY)
    try:
        frozen = FrozenModel(
            folder=folder,
            game=check_game(record["game"]),
            model=plain_name(record["model"]),
            algo=plain_name(record["algo"]),
            run=_typed(record["run"], int),
            protocol=Protocol.from_record(_typed(record["protocol"], dict)),
            actions=tuple(_typed(name, str) for name in _typed(record["actions"], list)),
            layers=tuple(map(_layer, _typed(record["layers"], list))),
            generation=_typed(record.get("generation"), int, NoneType),
            snapshot=_typed(record.get("snapshot"), int, NoneType),
            tag=_typed(record.get("tag"), str, NoneType),
            action_rule=record.get("policy", "greedy"),
            has_history="memory" in record,
            state_shapes=tuple(_shape(part["shape"]) for part in _typed(record.get("memory", []), list)),
        )
    except UntrustedModuleError:
        raise
    except (KeyError, TypeError, ValueError, NeurozooError) as error:
        reason = f"{type(error).__name__}: {error}"[:300]
        raise NeurozooError(f"{path} is incomplete or damaged ({reason}). {REMEDY}") from error
    if frozen.action_rule not in [*ACTION_RULES]:
        raise NeurozooError(
            f"{path} is damaged: the policy {frozen.action_rule!r} is none of {', '.join(ACTION_RULES)}. {REMEDY}"
        )
    if not frozen.layers or not frozen.actions:
        raise NeurozooError(f"{path} should name at least one layer and one action, but names none. {REMEDY}")
    return frozen


def outdated(run_dir: str | os.PathLike) -> str | None:
    """Returns a warning if a run has trained on, or anew, since its result was frozen, else None.

    A network that was trained anew is known by its scores; with equal scores, it is not.

    Args:
        run_dir: Folder with `result.json` and `frozen/`; without one of them there is nothing to compare.

    Raises:
        NeurozooError: `result.json` or `frozen/model.json` is damaged.
    """
    run_dir = Path(run_dir)
    record = run_dir / "frozen" / RECORD_FILE
    if not record.exists() or not (run_dir / RESULT).exists():
        return None
    scores, result = read_json(record, REMEDY).get("scores"), read_run_result(run_dir)
    again = f"Freeze it again: python -m neurozoo freeze {shlex.quote(str(run_dir))}"
    for name in ("frames", "iteration", "test_score", "validation_score"):
        before, now = scores.get(name) if isinstance(scores, dict) else None, result.get(name)
        if not (isinstance(before, int | float) and isinstance(now, int | float)) or before == now:
            continue
        if name == "frames":
            return f"{run_dir}/frozen is the agent after {before:,} frames, but the run has reached {now:,}. {again}"
        words = name.replace("_", " ")
        return f"{run_dir}/frozen is an earlier agent: its {words} is {before:,}, that of the run is {now:,}. {again}"
    return None


def _typed(value: Any, *kinds: type) -> Any:
    if type(value) not in kinds:
        raise TypeError(f"{str(value)[:80]!r} should be {' or '.join(kind.__name__ for kind in kinds)}")
    return value


def _shape(value: object) -> tuple[int, ...]:
    shape = tuple(_typed(side, int) for side in _typed(value, list))
    if len(shape) > 3 or not all(0 < side <= MOST_SIDE for side in shape):
        raise ValueError(f"{str(value)[:80]} should be a shape")
    return shape


def _layer(value: Any) -> LayerRecord:
    """Reads a layer's entry in `model.json`; `kind` and `activation` may be those of a later version."""
    names = [field.name for field in fields(LayerRecord) if field.name != "shape"]
    record: dict[str, Any] = {
        name: _typed(_typed(value, dict)[name], int if name == "cycles" else str) for name in names
    }
    if len(shape := _shape(value["shape"])) not in (1, 3):
        raise ValueError(f"the shape {list(shape)} of an activation should be [units] or [height, width, channels]")
    plain_name(record["name"])  # it becomes part of the names of files
    return LayerRecord(**record, shape=shape)
