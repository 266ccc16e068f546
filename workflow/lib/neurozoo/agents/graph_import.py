"""Imports frozen TensorFlow graphs, such as the Atari Zoo's: each becomes a run's folder with a checkpoint."""

import os
import re
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import numpy as np

from neurozoo.agents.checkpoint import Checkpoint
from neurozoo.agents.freeze import freeze
from neurozoo.agents.frozen_check import stacked
from neurozoo.agents.graph_reader import GraphReader, ReadLayer, read_graph
from neurozoo.agents.imported_run import ImportChoices, choose_folder, write_imported
from neurozoo.agents.playable_agent import IMPORTED
from neurozoo.agents.zoo_names import game_of
from neurozoo.environments import make_world
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.games import check_game
from neurozoo.environments.observations import observation_shape
from neurozoo.environments.protocols import Protocol, output_names, protocol_of
from neurozoo.errors import NeurozooError, naming
from neurozoo.evaluation import Trace
from neurozoo.files import sha256_of
from neurozoo.networks.catalogue import NETWORKS, get_network
from neurozoo.networks.chains import Layout

CHECKED_STEPS = 300  # longest episode that the graph plays for the check
CLOSE = 1e-4  # largest error of an output, as a fraction of the episode's largest absolute output


@dataclass(frozen=True)
class Form:
    """A family of graphs: the names of its nodes, and how its agents play."""

    name: str  # name of the family
    input_node: str  # node that takes the observations
    output_node: str  # regular expression for the node with the outputs
    scale: float = 1.0  # largest number of an observation; ours go from 0 to 1
    protocol: str | None = None  # name of the protocol; None for the game's default
    action_set: str | None = None  # `minimal`, or None for the protocol's default


# Sources: Such et al. 2018, arXiv:1812.07069, and its model files; the Deep Neuroevolution Toolbox, which froze its
# graphs with TensorFlow's default names; Dopamine.
FORMS = (
    Form("es", "X_t", r"es/layer\d+/out/out"),
    Form("ga, and all graphs of ours", "X_t", r"[^/]+/out/signal"),
    Form("ga of the toolbox", "X_t", r"ga/Reshape_1"),
    Form("dqn of Dopamine", "Online/Cast", r"Online/fully_connected_1/BiasAdd", 255.0, "machado2018", "minimal"),
)


def import_graph(source: str | os.PathLike, **choices: Unpack[ImportChoices]) -> Path:
    """Imports a frozen graph as a run's folder, and checks on an episode that the new agent acts like the graph.

    Args:
        source: The `.pb`; its node names decide which of `FORMS` it has.
        **choices: See `ImportChoices`. What is left out comes from the file: the game from the name of its folder, such
            as `SeaquestNoFrameskip-v4`, the run from a name such as `model2_final.pb`, or else 1, the network from the
            layers, and the protocol from the form.

    Returns:
        The folder, with `config.yaml`, `genome.json`, `checkpoint.npz` and `frozen/`.

    Raises:
        NeurozooError: The file is not such a graph, its network is not one of ours or does not fit the game, or the
            folder holds another agent.
    """
    path = Path(source)
    with naming(path):
        definition = read_graph(path)
        form, output_node = recognise(definition, path)
        game = check_game(choices.get("game") or game_of(path.resolve().parent.name))
        protocol = protocol_of(
            game,
            choices.get("protocol") or form.protocol,
            action_set=choices.get("action_set") or form.action_set,
            observation=choices.get("observation"),
            start_state=choices.get("start_state"),
        )
        reader = GraphReader(definition, input_node=form.input_node, output_node=output_node, source=path)
        scale = 255.0 if reader.takes_bytes else form.scale
        model, layers = choices.get("model"), reader.layers(scale=scale)
        layout, theta = fitted(layers, game=game, model=model, protocol=protocol, source=path)
        trace = play(reader, layout, game=game, protocol=protocol, scale=scale)

        named = re.fullmatch(r"model([1-9]\d*)(_.*)?\.pb", path.name)
        run = choices.get("run") or (int(named[1]) if named else 1)
        checkpoint = Checkpoint(theta, IMPORTED, game, layout.network.name, run, protocol, layout.num_actions)
        _check_same_outputs(checkpoint, trace, path)
        folder = choose_folder(checkpoint, choices)
        freeze(checkpoint, folder / "frozen", trace=trace)  # first, because it may refuse
        graph = {"graph": path.name, "sha256": sha256_of(path), "form": form.name, "output_node": output_node}
        write_imported(folder, checkpoint, source=graph, solution={"genome": None})
        return folder


def recognise(definition, source: str | os.PathLike) -> tuple[Form, str]:
    """Finds the form of a graph and the name of its output node.

    Raises:
        NeurozooError: No form fits, or several do.
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
        got = (
            f"{found[0][1]} and {found[1][1]}"
            if found
            else f"{len(names)} other nodes, {', '.join(names[:4])[:160]} ..."
        )
        raise NeurozooError(
            f"{source} should have exactly one input and one output with these names: {known}; but it has {got}"
        )
    return found[0]


def fitted(
    layers: list[ReadLayer], *, game: str, model: str | None, protocol: Protocol, source: str | os.PathLike
) -> tuple[Layout, np.ndarray]:
    """Finds the one of our networks that has these layers, and returns it with the weights in its order.

    Raises:
        NeurozooError: None has these layers, `model` does not, or the game has another number of actions.
    """
    actions = len(output_names(game, protocol))
    if len(layers[-1].bias) != actions:
        raise NeurozooError(
            f"{source} has {len(layers[-1].bias)} outputs, but {game!r} has {actions} actions under {protocol.name!r} "
            f"with the action set {protocol.action_set!r}. Give the game and action set that it was trained with."
        )
    names = [get_network(model).name] if model else list(NETWORKS)
    for name in names:
        try:
            layout = layout_of(game, name, protocol)
        except NeurozooError:
            continue
        if _has_layers(layout, layers):
            return layout, np.concatenate([part.ravel() for read in layers for part in (read.weights, read.bias)])
    which = f"The network {model!r} does not have" if model else "None of our networks has"
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
    """Plays an episode of at most `CHECKED_STEPS` with the graph itself."""
    outputs_of = reader.function(layout.observation_shape)
    planes: list[np.ndarray] = []
    logits: list[np.ndarray] = []
    rewards: list[float] = []
    with closing(make_world(game, protocol)) as world:
        observation = world.reset(noops=min(1, protocol.max_noops))
        while not world.is_done and len(planes) < CHECKED_STEPS:
            planes.append(world.plane)
            logits.append(outputs_of(observation * np.float32(scale)))
            observation, reward, _ = world.act(logits[-1])
            rewards.append(reward)
    return Trace(np.array(planes), np.array(logits), np.array(rewards, np.float32))


def _check_same_outputs(checkpoint: Checkpoint, trace: Trace, source: Path) -> None:
    """Compares outputs of the first 16 steps, so that a misread graph fails with a clear message."""
    model = checkpoint.layout.keras_model(checkpoint.theta)
    (first, *_) = stacked(trace.planes[:16], 16, observation_shape(checkpoint.game, checkpoint.protocol))
    outputs = model(first, training=False).numpy()
    error = np.abs(outputs - trace.logits[:16]).max()
    if error > CLOSE * np.abs(trace.logits).max():
        raise NeurozooError(
            f"{source} computes other outputs than the chain of layers that was read from it (they differ by "
            f"{error:.3g}). Its network cannot be imported."
        )
