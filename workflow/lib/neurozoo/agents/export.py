"""Exports agents under the Atari Zoo's file names, so that its tools can load them, or as plain arrays of weights.

    <root>/<algo>/<Game>NoFrameskip-v4/model<run>_<tag>.pb               the frozen graph
    <root>/<algo>/<Game>NoFrameskip-v4/model<run>_<tag>_rollout.npz      its rollout, if there is one
    <root>/<algo>/checkpoints/<Game>NoFrameskip-v4_<run>.json            index of the run's tags
    <root>/<algo>/checkpoints/<Game>NoFrameskip-v4_<run>_log.json        the training log

Source: Such et al. 2018, arXiv:1812.07069, and its code.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neurozoo.agents.checkpoint import read_checkpoint
from neurozoo.agents.frozen import GRAPH_FILE, FrozenModel, open_frozen
from neurozoo.agents.graph_reader import read_graph
from neurozoo.agents.playable_agent import read_agent
from neurozoo.agents.tags import FINAL
from neurozoo.agents.weights_import import SUFFIXES
from neurozoo.agents.zoo_listing import ZooAgent, facts_of
from neurozoo.agents.zoo_names import gym_id
from neurozoo.environments.game_networks import layout_of
from neurozoo.errors import NeurozooError, needing
from neurozoo.files import copy_file, open_text, parse_json, write_json, written_whole
from neurozoo.genomes.genome import Weights, decode
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.genomes.reading import is_text
from neurozoo.records.run_log import iter_log

if TYPE_CHECKING:
    import tensorflow as tf


def export_zoo(agents: Iterable[ZooAgent], root: str | os.PathLike) -> list[Path]:
    """Writes agents under the Atari Zoo's names; files of other agents in `root` stay.

    The zoo's names do not contain the network, so each algorithm, game and run may have only one network.

    Returns:
        All files, in order.

    Raises:
        NeurozooError: There are no agents, two would have the same name, `root` has an agent of that name with another
            network, or a file is missing or damaged.
    """
    agents = list(agents)
    if not agents:
        raise NeurozooError("There is no frozen agent to export. Freeze one, or list what there is: zoo list.")
    places: dict[Path, ZooAgent] = {}
    runs: dict[tuple, ZooAgent] = {}
    for agent in agents:
        graph = Path(root, agent.algo, gym_id(agent.game), f"model{agent.run}_{agent.tag}.pb")
        first = runs.setdefault((agent.algo, agent.game, agent.run), agent)
        if graph in places or first.model != agent.model:
            raise NeurozooError(
                f"{places.get(graph, first).title} and {agent.title} would both be model{agent.run} of {agent.game}, "
                "because the Atari Zoo's names do not contain the network. Export one network at a time (--model), "
                "each into a root of its own."
            )
        places[graph] = agent
    for agent in agents:
        frozen = open_frozen(agent.frozen)
        if frozen.layers[-1].node and not (frozen.folder / GRAPH_FILE).exists():
            tag = "" if agent.tag == FINAL else f" --tag {agent.tag}"
            raise NeurozooError(
                f"{agent.title} was frozen without its graph, which the Atari Zoo needs. Make it: python -m neurozoo "
                f"freeze {agent.folder}{tag} --forms graph"
            )
    present = {identity: _read_index(agent, root) for identity, agent in runs.items()}
    files = []
    for graph, agent in places.items():
        with written_whole(graph) as temporary:
            temporary.write_bytes(zoo_graph(open_frozen(agent.frozen)).SerializeToString(deterministic=True))
        files.append(graph)
        if (rollout := agent.place / "rollout.npz").exists():
            files.append(graph.with_name(f"{graph.stem}_rollout.npz"))
            copy_file(rollout, files[-1])
    for identity, agent in runs.items():
        tags = [m for m in agents if (m.algo, m.game, m.run) == identity]
        files += _export_run(agent, tags, root, present=present[identity])
    return files


def _index(agent: ZooAgent, root: str | os.PathLike) -> Path:
    return Path(root, agent.algo, "checkpoints", f"{gym_id(agent.game)}_{agent.run}.json")


def _read_index(agent: ZooAgent, root: str | os.PathLike) -> dict[str, dict]:
    """Returns the index entries of earlier exports of a run, after checking that they are of the same network."""
    path = _index(agent, root)
    try:
        with open_text(path) as file:
            entries = {str(entry["criteria"]): dict(entry) for entry in parse_json(file.read())}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise NeurozooError(f"{path} is not an index of tags ({reason}). Delete it, or give another ROOT.") from error
    for entry in entries.values():
        if entry.get("network") != agent.model:
            raise NeurozooError(
                f"{path} should list tags of the network {agent.model!r}, but lists {entry['criteria']} of "
                f"{entry.get('network', 'a network that it does not name')!r}. The Atari Zoo's names do not contain "
                f"the network, so each network needs a root of its own. Give another ROOT than {root}."
            )
    return entries


def _export_run(
    agent: ZooAgent, tags: list[ZooAgent], root: str | os.PathLike, *, present: Mapping[str, dict]
) -> list[Path]:
    files = [_index(agent, root)]
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
    log = agent.folder / "log.jsonl"
    if log.exists():  # an imported agent has none
        files.append(files[0].with_name(f"{files[0].stem}_log.json"))
        write_json(files[1], [_log_entry(record) for record in iter_log(log)])
    return files


def _log_entry(record: Mapping) -> dict:
    """Turns a report into a record of the Atari Zoo (seconds, frames and score), with the iteration added."""
    names = {"time": "TimeElapsedTotal", "frames": "frames", "score": "score", "iteration": "Iteration"}
    return {theirs: record.get(ours) for theirs, ours in names.items()}


def zoo_graph(frozen: FrozenModel) -> "tf.compat.v1.GraphDef":
    """Returns the graph of a frozen model with the node names that the Atari Zoo uses for its algorithm.

    `model.pb` uses the names of `ga` for every algorithm. The zoo has other names for `es`: `es/layer1/Relu`,
    `es/layer1/conv1/w`, ..., `es/layer5/out/out`.

    Raises:
        NeurozooError: The graph is missing or damaged, or the network has none.
    """
    if not frozen.layers[-1].node:
        raise NeurozooError(
            f"{frozen.title} is a Keras network and has no graph, so it cannot be exported to the Atari Zoo. Use its "
            f"model.keras or saved_model/ in {frozen.folder}, or export other agents (--model)."
        )
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


def export_weights(
    source: str | os.PathLike,
    output: str | os.PathLike,
    *,
    noise: str | os.PathLike,
    game: str | None = None,
    model: str | None = None,
) -> dict[str, tuple]:
    """Writes an agent's weights as plain arrays, for programs that know nothing of genomes.

    The source is as in `read_agent`; of the folder of a run, its `checkpoint.npz` if it has one. The output has
    `conv1/w` of shape (height, width, in, out), `conv1/b`, ... in the order of the layers, and `reference` for virtual
    batch norm. They can be opened without pickle. Only weights that have to be decoded need the noise table.

    Returns:
        The arrays' shapes by name.

    Raises:
        NeurozooError: A file is missing or damaged, or `output` has none of the suffixes `SUFFIXES`.
    """
    output = Path(output)
    if output.suffix not in SUFFIXES:
        raise NeurozooError(
            f"Weights are written as {' or '.join(SUFFIXES)}, but got {output}. Give a name that ends so."
        )
    path = Path("" if is_text(source) else source)
    path = path / "checkpoint.npz" if (path / "checkpoint.npz").is_file() else path
    if not is_text(source) and path.suffix == ".npz":
        checkpoint = read_checkpoint(path)
        layout, theta, reference = checkpoint.layout, checkpoint.theta, checkpoint.reference
    else:
        agent = read_agent(source, game=game, model=model)
        layout, reference = layout_of(agent.game, agent.model, agent.protocol), agent.reference
        if isinstance(agent.genome.initial, Weights) and not agent.genome.mutations:
            theta = agent.genome.initial.theta
        else:
            theta = decode(agent.genome, noise=open_noise_table(noise), layout=layout)
    arrays: dict[str, Any] = layout.split(theta)
    if reference is not None:
        arrays["reference"] = reference
    with written_whole(output) as temporary:
        if output.suffix == ".npz":
            np.savez(temporary, **arrays)
        else:
            with needing("export", "A file .safetensors"):
                from safetensors.numpy import save_file
            save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, temporary)
    return {name: array.shape for name, array in arrays.items()}
