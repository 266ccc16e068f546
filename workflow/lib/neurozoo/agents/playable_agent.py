"""An agent that can play: its genome or weights, and the game, network and protocol that they belong to."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from neurozoo.agents.checkpoint import Checkpoint, read_checkpoint
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.games import check_game
from neurozoo.environments.protocols import Protocol, protocol_of
from neurozoo.errors import NeurozooError, naming
from neurozoo.genomes.cshenton import NETWORK as CSHENTON
from neurozoo.genomes.cshenton import PROTOCOL as CSHENTON_PROTOCOL
from neurozoo.genomes.cshenton import decode_seeds
from neurozoo.genomes.genome import Genome, Weights
from neurozoo.genomes.reading import GenomeRecord, check_parameters, is_text, read_genome
from neurozoo.networks.chains import Layout

IMPORTED = "imported"  # the folder of imported runs, beside those of the algorithms


@dataclass(frozen=True)
class PlayableAgent:
    """Everything that is needed to play an agent's episodes, wherever its weights come from."""

    genome: Genome  # a recipe for weights, or the weights themselves
    game: str  # game id
    model: str  # network name
    protocol: Protocol  # how its episodes are played
    reference: np.ndarray | None = None  # reference observations of virtual batch norm; None for networks without it
    # Whether the agent's file says the protocol; if not, it is the default of network or game
    is_protocol_known: bool = True


def read_agent(source: str | os.PathLike, *, game: str | None = None, model: str | None = None) -> PlayableAgent:
    """Reads an agent: a genome from anywhere, or weights. The arguments are those of `read_genome`.

    A source may also be a `checkpoint.npz`. Without a genome, the one beside a `genome.json` supplies the weights.
    Networks with virtual batch norm also take their reference observations from it.

    Raises:
        NeurozooError: A file is missing or damaged.
    """
    if is_text(source):
        return _agent_of_genome(read_genome(source, game=game, model=model), folder=None)
    path = Path(source)
    if path.is_dir():
        has_weights_only = not (path / "genome.json").exists() and (path / "checkpoint.npz").exists()
        path /= "checkpoint.npz" if has_weights_only else "genome.json"
    with naming(path):
        if path.suffix != ".npz":
            return _agent_of_genome(read_genome(path, game=game, model=model), folder=path.parent)
        found = read_checkpoint(path)
        return PlayableAgent(Genome(Weights.of(found.theta)), found.game, found.model, found.protocol, found.reference)


def _agent_of_genome(record: GenomeRecord, *, folder: Path | None) -> PlayableAgent:
    protocol = chosen_protocol(record, {})
    layout = layout_of(record.game, record.model, protocol)
    genome = record.genome if not layout.needs_reference else None
    if genome is None and record.seeds is not None:
        genome = Genome(Weights.of(weights_of_seeds(record, layout)))
    if genome is not None:
        check_parameters(record, layout)
        is_known = record.protocol is not None
        return PlayableAgent(genome, record.game, record.model, protocol, is_protocol_known=is_known)
    if folder is None or not (folder / "checkpoint.npz").exists():
        raise NeurozooError(
            "The genome does not contain the agent's weights, and the checkpoint.npz that should is missing beside it. "
            "Copy both files from the same run."
        )
    checkpoint = read_checkpoint(folder / "checkpoint.npz")
    check_same_run(folder, record, checkpoint)
    genome = record.genome or Genome(Weights.of(checkpoint.theta))
    return PlayableAgent(genome, record.game, record.model, checkpoint.protocol, checkpoint.reference)


def check_same_run(run_dir: Path, genome: GenomeRecord | PlayableAgent, checkpoint: Checkpoint) -> None:
    """Refuses a folder whose genome and weights are of different agents.

    Raises:
        NeurozooError: They belong to another game or network.
    """
    if (genome.game, genome.model) != (checkpoint.game, checkpoint.model):
        raise NeurozooError(
            f"{run_dir} holds a genome for {genome.game}/{genome.model}, but weights for "
            f"{checkpoint.game}/{checkpoint.model}. Copy both files from the same run, or train it again."
        )


def play_as(
    agent: PlayableAgent, *, game: str | None = None, protocol: str | None = None, **choices: str | None
) -> PlayableAgent:
    """Returns the agent with another game or protocol to play.

    Args:
        agent: The agent.
        game: Game id; None for the agent's own.
        protocol: Protocol name; None for the agent's own, or for the game's default if the game is another one.
        choices: `action_set`, `observation` and `start_state` as in `protocol_of`. In its own game, the agent keeps its
            actions and observations under another protocol, unless they are given.

    Raises:
        NeurozooError: There is no such game or protocol, or the agent's network does not fit its observations and
            actions. That of a genome would be another network, with the same seeds.
    """
    own = agent.protocol if game in (None, agent.game) else None
    game = check_game(game or agent.game)
    if own is not None and agent.is_protocol_known and protocol not in (None, own.name):
        kept = {name: getattr(own, name) or None for name in ("action_set", "observation")}
        choices = kept | {name: value for name, value in choices.items() if value is not None}
    choices = {**choices, "protocol": protocol}
    played = chosen_protocol(GenomeRecord(agent.genome, game, agent.model, protocol=own), choices)
    initial = agent.genome.initial
    needed = layout_of(game, agent.model, played).parameter_count
    if isinstance(initial, Weights):
        count = len(initial.theta)
    elif agent.is_protocol_known:
        count = layout_of(agent.game, agent.model, agent.protocol).parameter_count
    else:
        count = needed
    if count != needed:
        raise NeurozooError(
            f"The agent has {count:,} weights, but {agent.model!r} needs {needed:,} to play {game!r} "
            f"under {played.name!r}. Leave out game, protocol and action set to play what it was trained for."
        )
    return replace(agent, game=game, protocol=played)


def weights_of_seeds(record: GenomeRecord, layout: Layout) -> np.ndarray:
    """Decodes the seeds of a cshenton genome: float32, shape (parameters,).

    Raises:
        NeurozooError: The network is not `cshenton`, or the game's observations have another size.
    """
    if record.model != CSHENTON:
        raise NeurozooError(
            f"Seeds are genomes of the network {CSHENTON!r}, but the network is {record.model!r}. Use {CSHENTON!r}."
        )
    assert record.seeds is not None  # callers have checked that it is such a genome
    theta = decode_seeds(record.seeds, layout.num_actions)
    if len(theta) != layout.parameter_count:
        raise NeurozooError(
            f"The seeds give {len(theta):,} weights for observations of 210 x 160 x 3, but {record.game!r} under this "
            f"protocol needs {layout.parameter_count:,}. Use the protocol {CSHENTON_PROTOCOL!r}, under which they were "
            "evolved, and a game with screens of this size."
        )
    return theta


def chosen_protocol(record: GenomeRecord, choices: Mapping[str, Any]) -> Protocol:
    """Picks the protocol: the requested one, else the one in the agent's file, else the network's or game's default.

    `choices` may have `protocol`, and `action_set`, `observation` and `start_state` as in `protocol_of`.
    """
    names, name = ("action_set", "observation", "start_state"), choices.get("protocol")
    given: dict[str, Any] = {key: choices[key] for key in names if choices.get(key) is not None}
    if record.protocol is not None and name in (None, record.protocol.name):
        kept = {key: getattr(record.protocol, key) or None for key in names}
        protocol_of(record.game, record.protocol.name, **kept | given)  # refuses what does not fit
        return replace(record.protocol, **given)  # keeps the random starts of its settings
    if name is None and record.seeds is not None:
        name = CSHENTON_PROTOCOL
    return protocol_of(record.game, name, **given)
