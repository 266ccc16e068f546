"""Frozen graphs from elsewhere, such as the Atari Zoo's: they become a run's folder, like a genome from elsewhere."""

import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import yaml

from neurozoo.architectures import NETWORKS, get_network
from neurozoo.environments import make_world
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Trace
from neurozoo.files import sha256_of, write_json, write_text
from neurozoo.games import Protocol, check_game, layout_of, output_names, protocol_of
from neurozoo.imports import ALGO, check_same_agent
from neurozoo.inspection.freeze import freeze
from neurozoo.networks import Layout
from neurozoo.provenance import provenance
from neurozoo.training.checkpoint import Checkpoint, write_checkpoint
from neurozoo.zoo.graph_reader import GraphReader, ReadLayer, read_graph
from neurozoo.zoo.names import game_of

CHECKED_STEPS = 300  # of the episode that the graph plays
CLOSE = 1e-4  # largest difference of the outputs, as a part of the largest of the episode


@dataclass(frozen=True)
class Form:
    """How a family of graphs names its nodes, and how its agents play.

    Attributes:
        name: What it is called.
        input_node: Where observations go in.
        output_node: Regular expression of the node with the outputs.
        scale: Largest number of an observation; ours go from 0 to 1.
        protocol: Name of the protocol; None for the game's own.
        action_set: `minimal`, or None for the protocol's own.
    """

    name: str
    input_node: str
    output_node: str
    scale: float = 1.0
    protocol: str | None = None
    action_set: str | None = None


# Source: Such et al. 2018, arXiv:1812.07069, and its model files; the toolbox froze with default names; Dopamine.
FORMS = (
    Form("es", "X_t", r"es/layer\d+/out/out"),
    Form("ga, and all graphs of ours", "X_t", r"[^/]+/out/signal"),
    Form("ga of the toolbox", "X_t", r"ga/Reshape_1"),
    Form("dqn of Dopamine", "Online/Cast", r"Online/fully_connected_1/BiasAdd", 255.0, "machado2018", "minimal"),
)


def import_graph(
    source: str | os.PathLike,
    *,
    game: str | None = None,
    model: str | None = None,
    run: int | None = None,
    protocol: str | None = None,
    action_set: str | None = None,
    observation: str | None = None,
    start_state: str | None = None,
    runs: str | os.PathLike = "results/runs",
    run_dir: str | os.PathLike | None = None,
) -> Path:
    """Makes a run's folder of a frozen graph, and proves on an episode that the agent in it acts like the graph.

    Args:
        source: The `.pb`, whose node names say what it is: `FORMS`.
        game: Game id; None takes it from a folder's name such as `SeaquestNoFrameskip-v4`.
        model: Network; None for the first of ours that has these layers.
        run: Number of the run; None takes it from a name such as `model2_final.pb`, or else 1.
        protocol: How it is to be played; None for what graphs of this form were trained with.
        action_set: As in `protocol_of`.
        observation: As in `protocol_of`.
        start_state: As in `protocol_of`.
        runs: Folder of all runs.
        run_dir: Folder of this run; None for `runs`/imported/GAME/MODEL/RUN.

    Returns:
        The folder, with `config.yaml`, `genome.json`, `checkpoint.npz` and `frozen/`.

    Raises:
        NeurozooError: The file is no such graph, or its network is none of ours, or does not fit the game; or the
            folder holds another agent.
    """
    path = Path(source)
    definition = read_graph(path)
    form, output_node = recognise(definition, path)
    game = check_game(game or game_of(path.resolve().parent.name))
    played = protocol_of(
        game,
        protocol or form.protocol,
        action_set=action_set or form.action_set,
        observation=observation,
        start_state=start_state,
    )
    reader = GraphReader(definition, input_node=form.input_node, output_node=output_node, source=path)
    layout, theta = fitted(reader.layers(scale=form.scale), game=game, model=model, protocol=played, source=path)
    trace = play(reader, layout, game=game, protocol=played, scale=form.scale)

    named = re.fullmatch(r"model([1-9]\d*)(_.*)?\.pb", path.name)
    run = run or (int(named[1]) if named else 1)
    identity = {"algo": ALGO, "game": game, "model": layout.network.name, "run": run}
    checkpoint = Checkpoint(theta=theta, protocol=played, num_actions=layout.num_actions, **identity)
    _check_same_outputs(checkpoint, trace, path)
    folder = Path(run_dir) if run_dir is not None else Path(runs, *map(str, identity.values()))
    check_same_agent(folder, checkpoint)
    freeze(checkpoint, folder / "frozen", trace=trace)  # first, because it may refuse
    facts = {
        **identity,
        **played.facts,
        "parameters": layout.parameter_count,
        "source": {"graph": path.name, "sha256": sha256_of(path), "form": form.name, "output_node": output_node},
    }
    settings = {**facts, "protocol_record": asdict(played), **provenance()}
    write_text(folder / "config.yaml", yaml.safe_dump(settings, sort_keys=False))
    write_json(folder / "genome.json", {**facts, "genome": None})
    write_checkpoint(folder / "checkpoint.npz", checkpoint)
    return folder


def recognise(definition, source: str | os.PathLike) -> tuple[Form, str]:
    """Finds out of which form a graph is, and its output node.

    Raises:
        NeurozooError: It is of none, or of several.
    """
    names = [node.name for node in definition.node]
    found = [
        (form, name)
        for form in FORMS
        if form.input_node in names
        for name in names
        if re.fullmatch(form.output_node, name)
    ]
    if len(found) != 1:
        known = "; ".join(f"{form.input_node} to {form.output_node} ({form.name})" for form in FORMS)
        came = f"{found[0][1]} and {found[1][1]}" if found else f"{len(names)} other nodes, {', '.join(names[:4])} ..."
        raise NeurozooError(f"{source} should have one input and one output by these names: {known}; but it has {came}")
    return found[0]


def fitted(
    layers: list[ReadLayer], *, game: str, model: str | None, protocol: Protocol, source: str | os.PathLike
) -> tuple[Layout, np.ndarray]:
    """Finds the network of ours that has these layers, and their weights in its order.

    Raises:
        NeurozooError: There is none, it is not the one that was asked for, or the game has other actions.
    """
    actions = len(output_names(game, protocol))
    if len(layers[-1].bias) != actions:
        raise NeurozooError(
            f"{source} has {len(layers[-1].bias)} outputs, but {game!r} has {actions} actions under {protocol.name!r} "
            f"with the action set {protocol.action_set!r}. Give the game and the action set that it was trained with."
        )
    names = [get_network(model).name] if model else list(NETWORKS)
    for name in names:
        try:
            layout = layout_of(game, name, protocol)
        except NeurozooError:
            continue
        if _has_layers(layout, layers):
            return layout, np.concatenate([part.ravel() for read in layers for part in (read.weights, read.bias)])
    which = f"The network {model!r} has not" if model else "No network of ours has"
    raise NeurozooError(f"{which} the layers of {source}: {'; '.join(map(str, layers))}. See docs/networks.md.")


def _has_layers(layout: Layout, layers: list[ReadLayer]) -> bool:
    is_plain = all(p.layer.parts == ("w", "b") and p.layer.gain == 1 for p in layout.layers)
    return (is_plain and len(layout.layers) == len(layers)) and all(
        (placed.layer.kind, placed.weight_shape, placed.layer.activation)
        == (read.kind, read.weights.shape, read.activation)
        and (read.kind == "dense" or (placed.layer.stride, placed.layer.padding) == (read.stride, read.padding))
        for placed, read in zip(layout.layers, layers, strict=True)
    )


def play(reader: GraphReader, layout: Layout, *, game: str, protocol: Protocol, scale: float) -> Trace:
    """Lets the graph itself play an episode, as long as `CHECKED_STEPS`."""
    outputs_of = reader.function(layout.observation_shape)
    world = make_world(game, protocol)
    observation = world.reset(noops=min(1, protocol.max_noops))
    planes, logits, rewards = [], [], []
    while not world.is_done and len(planes) < CHECKED_STEPS:
        planes.append(world.plane)
        logits.append(outputs_of(observation * np.float32(scale)))
        observation, reward, _ = world.act(logits[-1])
        rewards.append(reward)
    return Trace(np.array(planes), np.array(logits), np.array(rewards, np.float32))


def _check_same_outputs(checkpoint: Checkpoint, trace: Trace, source: Path) -> None:
    """Compares the first observation's outputs: what is left of a misread graph fails here, with a plain word."""
    from neurozoo.inspection.freeze import stacked

    model = checkpoint.layout.keras_model(checkpoint.theta)
    (first, *_) = stacked(trace.planes[:16], 16, checkpoint.layout.observation_shape[-1] // trace.planes.shape[-1])
    outputs = model(first, training=False).numpy()
    error = np.abs(outputs - trace.logits[:16]).max()
    if error > CLOSE * np.abs(trace.logits).max():
        raise NeurozooError(
            f"{source} computes something else than the chain of layers that was read from it (outputs differ by "
            f"{error:.3g}). Its network cannot be imported."
        )
