"""Agents in the folders and under the names of the Atari Zoo, so that its tools find, load and show them.

    <root>/<algo>/<Game>NoFrameskip-v4/model<run>_<tag>.pb               the frozen graph
    <root>/<algo>/<Game>NoFrameskip-v4/model<run>_<tag>_rollout.npz      its rollout, if there is one
    <root>/<algo>/checkpoints/<Game>NoFrameskip-v4_<run>.json            which tags there are
    <root>/<algo>/checkpoints/<Game>NoFrameskip-v4_<run>_log.json        the training log

Source: Such et al. 2018, arXiv:1812.07069, and its code.
"""

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from neurozoo.errors import NeurozooError
from neurozoo.files import write_json, written_whole
from neurozoo.inspection.frozen import GRAPH_FILE, FrozenModel, open_frozen
from neurozoo.logs import read_log
from neurozoo.tags import FINAL
from neurozoo.zoo.graph_reader import read_graph
from neurozoo.zoo.listing import facts_of
from neurozoo.zoo.models import ZooModel
from neurozoo.zoo.names import gym_id

if TYPE_CHECKING:
    import tensorflow as tf


def export_zoo(models: Iterable[ZooModel], root: str | os.PathLike) -> list[Path]:
    """Writes agents under the Atari Zoo's names; what lies there already of other agents stays.

    Args:
        models: Agents of one network for each algorithm, game and run: the zoo's names do not tell networks apart.
        root: The folder of the zoo.

    Returns:
        All files, in order.

    Raises:
        NeurozooError: There are no agents, two would have one name, `root` has one of that name with another network,
            or a file is missing or damaged.
    """
    models = list(models)
    if not models:
        raise NeurozooError("There is no frozen agent to export; freeze one, or look what there is: zoo list.")
    places: dict[Path, ZooModel] = {}
    runs: dict[tuple, ZooModel] = {}
    for model in models:
        graph = _folder(model, root) / f"model{model.run}_{model.tag}.pb"
        first = runs.setdefault((model.algo, model.game, model.run), model)
        if graph in places or first.model != model.model:
            raise NeurozooError(
                f"{places.get(graph, first).title} and {model.title} would both be model{model.run} of {model.game}, "
                "because the Atari Zoo's names do not say the network. Export one network at a time (--model), each "
                "into a root of its own."
            )
        places[graph] = model
    present = {identity: _read_index(model, root) for identity, model in runs.items()}
    files = []
    for graph, model in places.items():
        files += _export_model(model, graph)
    for identity, model in runs.items():
        tags = [m for m in models if (m.algo, m.game, m.run) == identity]
        files += _export_run(model, tags, root, present=present[identity])
    return files


def _folder(model: ZooModel, root: str | os.PathLike) -> Path:
    return Path(root, model.algo, gym_id(model.game))


def _export_model(model: ZooModel, graph: Path) -> list[Path]:
    files = [graph]
    definition = zoo_graph(open_frozen(model.frozen))
    with written_whole(graph) as temporary:
        temporary.write_bytes(definition.SerializeToString(deterministic=True))
    rollout = model.place / "rollout.npz"
    if rollout.exists():
        files.append(graph.with_name(f"{graph.stem}_rollout.npz"))
        with written_whole(files[-1]) as temporary:
            shutil.copyfile(rollout, temporary)
    return files


def _index(model: ZooModel, root: str | os.PathLike) -> Path:
    return Path(root, model.algo, "checkpoints", f"{gym_id(model.game)}_{model.run}.json")


def _read_index(model: ZooModel, root: str | os.PathLike) -> dict[str, dict]:
    """Returns what earlier exports of a run say of its tags, which have to be of the same network."""
    path = _index(model, root)
    try:
        entries = {entry["criteria"]: entry for entry in json.loads(path.read_text(encoding="utf-8"))}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise NeurozooError(f"{path} is no index of tags ({reason}). Delete it, or name another ROOT.") from error
    for entry in entries.values():
        if entry.get("network") != model.model:
            raise NeurozooError(
                f"{path} should list tags of the network {model.model!r}, but lists {entry['criteria']} of "
                f"{entry.get('network', 'one that it does not name')!r}, because the Atari Zoo's names do not say the "
                f"network. Name another ROOT than {root}: networks are exported each into a root of its own."
            )
    return entries


def _export_run(
    model: ZooModel, tags: list[ZooModel], root: str | os.PathLike, *, present: Mapping[str, dict]
) -> list[Path]:
    files = [_index(model, root)]
    entries = {
        each.tag: {
            "criteria": each.tag,
            "best_checkpoint": f"model{each.run}_{each.tag}.pb",
            "network": each.model,
            **{key: value for key, value in facts_of(each).items() if key in ("frames", "score", "protocol")},
        }
        for each in tags
    }
    merged = {**present, **entries}
    write_json(files[0], [merged[tag] for tag in sorted(merged, key=lambda tag: (tag != FINAL, tag))])
    log = model.folder / "log.jsonl"
    if log.exists():  # an imported agent has none
        files.append(files[0].with_name(f"{files[0].stem}_log.json"))
        write_json(files[1], [_log_entry(record) for record in read_log(log)])
    return files


def _log_entry(record: Mapping) -> dict:
    """Turns a report into a record of the Atari Zoo: seconds, frames and score, and the iteration besides."""
    names = {"time": "TimeElapsedTotal", "frames": "frames", "score": "score", "iteration": "Iteration"}
    return {theirs: record.get(ours) for theirs, ours in names.items()}


def zoo_graph(frozen: FrozenModel) -> "tf.compat.v1.GraphDef":
    """Returns the graph of a frozen model with the nodes' names that the Atari Zoo has for its algorithm.

    `model.pb` has those of `ga` for every algorithm; `es` has names of its own: `es/layer1/Relu`, `es/layer1/conv1/w`,
    ..., `es/layer5/out/out`.

    Raises:
        NeurozooError: The graph is missing or damaged.
    """
    definition = read_graph(frozen.folder / GRAPH_FILE)
    if frozen.algo != "es":
        return definition
    renamed = {}
    for number, layer in enumerate(frozen.layers, 1):
        scope, is_last = f"es/layer{number}", number == len(frozen.layers)
        renamed[layer.node] = f"{scope}/out/out" if is_last else f"{scope}/Relu"
        own = f"conv{number}" if layer.kind == "conv" else layer.name
        renamed[layer.weight_node] = f"{scope}/{own}/w"
    for node in definition.node:
        node.name = renamed.get(node.name, node.name)
        for index, tensor in enumerate(node.input):
            name, colon, output = tensor.partition(":")
            node.input[index] = renamed.get(name, name) + colon + output
    return definition
