"""Freezes agents: turns a run's checkpoint into a folder that opens without this package.

`neurozoo.agents.freeze_keras` does the part that differs for Keras networks.
"""

import errno
import math
import os
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from neurozoo import __version__
from neurozoo.agents.checkpoint import Checkpoint, check_finite, read_checkpoint, read_facts
from neurozoo.agents.freeze_keras import (
    CHECKED_STEPS,
    check_same_outputs,
    describe_history,
    play_policy,
    serving_step,
)
from neurozoo.agents.frozen import (
    GRAPH_FILE,
    KERAS_FILE,
    ONNX_FILE,
    RECORD_FILE,
    SAVED_MODEL,
    observation_range,
    open_frozen,
)
from neurozoo.agents.frozen_check import check_same_actions
from neurozoo.agents.generation_reports import generation_folder, reports_of
from neurozoo.agents.graph import INPUT_NODE, build_graph, layer_record
from neurozoo.agents.playable_agent import check_same_run, read_agent
from neurozoo.agents.tagged_agents import tag_folder, tagged_agent
from neurozoo.agents.tags import snapshot_path
from neurozoo.environments.game_networks import AnyLayout, layout_of
from neurozoo.environments.observations import ObservationShape, observation_shape
from neurozoo.environments.protocols import has_continuous_outputs, output_names
from neurozoo.errors import NeurozooError, needing
from neurozoo.evaluation import Episode, Trace, trace_episode
from neurozoo.files import folder_written_whole, write_json, write_text
from neurozoo.folders import delete, delete_folder, find
from neurozoo.genomes.genome import Genome, Weights, decode
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.networks.chains import Layout
from neurozoo.networks.keras_networks import KerasLayout
from neurozoo.networks.numpy_networks import is_plain
from neurozoo.records.format import FORMAT, KEY
from neurozoo.records.run_result import read_run_result

if TYPE_CHECKING:
    import keras

_RULES = {
    "greedy": "arg max of the outputs; of equal outputs the first",
    "sampled": "drawn with the probabilities softmax(outputs)",
    "continuous": "all outputs are obeyed",
}
FORMS = ("saved_model", "graph", "onnx")  # besides the Keras model, which everything here reads
KEPT = FORMS[:2]  # without packages of others than Keras and TensorFlow
_PARTS = (
    KERAS_FILE, GRAPH_FILE, ONNX_FILE, RECORD_FILE, SAVED_MODEL, f"{SAVED_MODEL}/*.pb", f"{SAVED_MODEL}/assets",
    f"{SAVED_MODEL}/variables", f"{SAVED_MODEL}/variables/variables.*",
)  # fmt: skip
SCORES = ("validation_score", "test_score", "test_episodes", "iteration", "frames")  # of genome.json
NO_FACTS: Mapping[str, Any] = MappingProxyType({})
CHECKED_FRAMES = 10_000  # longest episode for the check: 2,500 steps of an Atari game
CHECKED_BYTES = 2**27  # largest size of its observations: 128 MB
CHECKED_SLOWLY = 300  # longest episode that NumPy plays, in steps: two seconds


def freeze_run(
    run_dir: str | os.PathLike,
    *,
    core: str | os.PathLike | None = None,
    noise: str | os.PathLike | None = None,
    generation: int | None = None,
    snapshot: int | None = None,
    tag: str | None = None,
    forms: Collection[str] = KEPT,
    log: str | os.PathLike | None = None,
) -> dict[str, int]:
    """Freezes a run's result as `frozen/` in its folder, or an earlier agent of the run.

    A generation's elite becomes `generations/N/frozen/`, a snapshot `snapshots/FRAMES/frozen/`, the best agent at a
    tag `tags/TAG/frozen/`.

    The evaluator plays the episode for the check from the run's genome. The check therefore also proves that genome
    and weights belong together. Without a core, NumPy plays the first steps.

    Args:
        run_dir: Folder with `checkpoint.npz` and `result.json`. A generation also needs `log.jsonl`; a tag needs the
            log and `config.yaml`; a snapshot needs only its own file.
        core: The native core; not needed for Keras networks, nor for those that `is_plain`.
        noise: The noise table; not needed for Keras networks.
        generation: Number of a generation, from 1.
        snapshot: Number of frames in the name of a snapshot.
        tag: A tag such as `human` or `2HR`, see `agents.tags`.
        forms: Which of `FORMS` to keep besides the Keras model; `KEPT` are always made and checked.
        log: Optional file for a line about the check.

    Returns:
        `steps` that were compared, and `ties` among them in which a form took the other of two equal actions.

    Raises:
        NeurozooError: A file is missing or damaged, the run has no such generation, snapshot or tag, or `freeze`
            refuses.
    """
    run_dir = Path(run_dir)
    if tag is not None:
        checkpoint, genome, scores = tagged_agent(run_dir, tag, noise=noise or "")
        folder = tag_folder(run_dir, tag) / "frozen"
    elif snapshot is not None:
        checkpoint, genome, folder, scores = _snapshot_agent(run_dir, snapshot)
    else:
        checkpoint, genome, folder, scores = _run_agent(run_dir, noise or "", generation)
    trace = None
    if isinstance(checkpoint.layout, Layout):
        if noise is None or not (core or is_plain(checkpoint.layout.network)):
            raise NeurozooError(f"Freezing {run_dir} needs the core and the noise table. Build them: make foundations")
        trace = _played(checkpoint, genome, core=core, noise=noise)
    moment = {"generation": generation, "tag": tag, "snapshot": snapshot}
    check = freeze(checkpoint, folder, trace=trace, scores=scores, moment=moment, forms=forms)
    if log is not None:
        write_text(log, f"{folder}: same actions in {check['steps']} steps, {check['ties']} ties\n")
    return check


def _snapshot_agent(run_dir: Path, frames: int) -> tuple[Checkpoint, Genome, Path, dict]:
    path = snapshot_path(run_dir, frames)
    if not path.exists():
        kept = sorted(int(file.stem) for file in find(path.parent, "*.npz") if file.stem.isdecimal())
        raise NeurozooError(
            f"{run_dir} has no snapshot of {frames:,} frames. Its snapshots: {', '.join(map(str, kept)) or 'none'}. "
            "The setting snapshot_frames says how often a run keeps one."
        )
    checkpoint, facts = read_checkpoint(path), read_facts(path)
    recipe = facts.get("genome")
    genome = Genome(Weights.of(checkpoint.theta)) if recipe is None else Genome.from_json(recipe)
    return checkpoint, genome, path.with_suffix("") / "frozen", facts


def _run_agent(
    run_dir: Path, noise: str | os.PathLike, generation: int | None
) -> tuple[Checkpoint, Genome, Path, dict]:
    checkpoint = read_checkpoint(run_dir / "checkpoint.npz")
    agent = read_agent(run_dir, game=checkpoint.game, model=checkpoint.model)
    check_same_run(run_dir, agent, checkpoint)
    if generation is None:
        genome, folder = agent.genome, run_dir / "frozen"
        scores: dict[str, Any] = read_run_result(run_dir)
    else:
        (report,) = reports_of(run_dir, [generation])
        genome, folder = report.genome, generation_folder(run_dir, generation) / "frozen"
        layout = layout_of(checkpoint.game, checkpoint.model, checkpoint.protocol)
        theta = decode(genome, noise=open_noise_table(noise, verify=False), layout=layout)
        checkpoint = replace(checkpoint, theta=theta)
        scores = report.scores
    return checkpoint, genome, folder, scores


def _played(
    checkpoint: Checkpoint, genome: Genome, *, core: str | os.PathLike | None, noise: str | os.PathLike
) -> Trace:
    """Plays the episode for the check with the evaluator."""
    protocol = checkpoint.protocol
    plane_bytes = 4 * math.prod(observation_shape(checkpoint.game, protocol).plane)
    longest = CHECKED_FRAMES if core else CHECKED_SLOWLY * protocol.frame_skip
    frames = min(longest, CHECKED_BYTES // plane_bytes * protocol.frame_skip, protocol.max_frames)
    start = Episode(genome, noops=min(1, protocol.max_noops), seed=0, max_frames=frames)
    return trace_episode(
        start,
        game=checkpoint.game,
        model=checkpoint.model,
        protocol=protocol,
        core=core,
        noise=noise,
        reference=checkpoint.reference,
    )


def freeze(
    checkpoint: Checkpoint,
    folder: str | os.PathLike,
    *,
    trace: Trace | None = None,
    scores: Mapping[str, Any] = NO_FACTS,
    moment: Mapping[str, int | str | None] = NO_FACTS,
    forms: Collection[str] = KEPT,
    steps: int = CHECKED_STEPS,
) -> dict[str, int]:
    """Writes a frozen model, and checks on an episode that it acts like the trained agent.

    Args:
        checkpoint: The agent: weights, game, network, protocol.
        folder: The folder to write. It appears complete or not at all, and replaces an older frozen model.
        trace: An episode of this agent, recorded by the engine that trained it. Keras networks need none: they play
            one here, of which all outputs are compared.
        scores: Facts of `genome.json`, of which `model.json` repeats `SCORES`.
        moment: `generation`, `tag` or `snapshot` that the weights are from; none for the run's result.
        forms: Which of `FORMS` to keep besides the Keras model; `KEPT` are always made and checked.
        steps: Longest episode that a Keras network plays, in steps.

    Returns:
        `steps` that were compared, and `ties` among them in which a form took the other of two equal actions.

    Raises:
        NeurozooError: The weights are not finite, a form acts differently from the trace, or the folder holds other
            files or cannot be written. In all these cases nothing is written.
    """
    layout, theta = checkpoint.layout, checkpoint.theta
    check_finite(theta, layout)
    record = {**_describe(checkpoint, layout, scores), "generation": None, "tag": None, "snapshot": None, **moment}
    with folder_written_whole(folder, parts=_PARTS) as new:
        if isinstance(layout, KerasLayout):
            model = layout.keras_model(theta)
            signatures = serving_step(model)
        else:
            reference = {} if checkpoint.reference is None else {"reference": checkpoint.reference}
            model = layout.keras_model(theta, **reference)
            signatures = _serving(model, layout)
            graph = build_graph(layout, theta, scope=checkpoint.algo, **reference)
        model.save(new / KERAS_FILE)
        _save_served(model, signatures, new / SAVED_MODEL)
        if isinstance(layout, Layout):
            (new / GRAPH_FILE).write_bytes(graph.SerializeToString(deterministic=True))
        if "onnx" in forms:
            record["files"]["onnx"] = ONNX_FILE
            _save_onnx(signatures["serving_default"], new / ONNX_FILE)
        write_json(new / RECORD_FILE, record)
        if isinstance(layout, KerasLayout):
            record["check"] = check_same_outputs(open_frozen(new), play_policy(checkpoint, layout, steps=steps))
        else:
            assert trace is not None  # the agents of chains are played by the core, or by the graph that they come from
            record["check"] = check_same_actions(new, trace)
        _keep_forms(new, record, forms)
    return record["check"]


def _keep_forms(folder: Path, record: dict, forms: Collection[str]) -> None:
    """Deletes the forms that are not wanted, and writes the record of the others."""
    for name, file in list(record["files"].items()):
        if name in FORMS and name not in forms:
            del record["files"][name]
            delete_folder(folder / file) if (folder / file).is_dir() else delete(folder / file)
    write_json(folder / RECORD_FILE, record)


def _save_served(model: "keras.Model", signatures: dict, path: Path) -> None:
    import tensorflow as tf

    served = tf.Module()
    served.model = model
    try:
        tf.saved_model.save(served, str(path), signatures=signatures)
    except tf.errors.ResourceExhaustedError as error:  # the disk is full
        raise OSError(errno.ENOSPC, error.message) from error


def _save_onnx(signature: Any, path: Path) -> None:
    """Writes a TensorFlow function as ONNX, with the same names of inputs and outputs."""
    with needing("export", "ONNX"):
        import tf2onnx

    tf2onnx.convert.from_function(signature, signature.input_signature, output_path=path)


def _describe(checkpoint: Checkpoint, layout: AnyLayout, scores: Mapping) -> dict:
    import keras
    import tensorflow as tf

    protocol = checkpoint.protocol
    shape = observation_shape(checkpoint.game, protocol)
    actions = output_names(checkpoint.game, protocol)
    rule = "continuous" if has_continuous_outputs(protocol, actions) else checkpoint.action_rule
    is_keras = isinstance(layout, KerasLayout)
    forms = {"keras": KERAS_FILE, "saved_model": SAVED_MODEL, **({} if is_keras else {"graph": GRAPH_FILE})}
    return {
        KEY: FORMAT,
        "game": checkpoint.game,
        "world": protocol.world,
        "model": layout.network.name,
        "published_model": layout.network.published_name,
        "algo": checkpoint.algo,
        "run": checkpoint.run,
        "parameters": layout.parameter_count,
        "actions": list(actions),
        "action_rule": _RULES[rule],
        **({} if rule == "greedy" else {"policy": rule}),
        "protocol": asdict(protocol),
        "input": {
            **({} if is_keras else {"node": INPUT_NODE}),
            "keras_layer": "observation",
            "signature": "serving_default",
            "shape": [None, *layout.observation_shape],
            "plane": list(shape.plane),
            "stack": shape.stack,
            "dtype": "float32",
            "range": observation_range(protocol, shape),
            "meaning": _meaning(shape),
        },
        **(describe_history(layout) if isinstance(layout, KerasLayout) else {}),
        "layers": [asdict(layer_record(placed, None if is_keras else checkpoint.algo)) for placed in layout.layers],
        "files": forms,
        "scores": {key: scores[key] for key in SCORES if key in scores},
        "versions": {"neurozoo": __version__, "tensorflow": tf.__version__, "keras": keras.__version__},
    }


def _meaning(shape: ObservationShape) -> str:
    if shape.stack > 1:
        return f"the last {shape.stack} planes of the episode, oldest first, zeros before the first"
    return "a vector of numbers" if shape.height == shape.width == 1 else "what is to be seen in this step"


def _serving(model, layout: Layout):
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((None, *layout.observation_shape), tf.float32, "observation")])
    def serving_default(observation):
        logits = model(observation, training=False)
        return {"logits": logits, "action": tf.argmax(logits, axis=-1)}

    return {"serving_default": serving_default}
