"""`python -m neurozoo import`, `export` and `evaluate`: agents from other systems, weights for them, and scores."""

import json
from dataclasses import asdict
from pathlib import Path

from neurozoo.cli.arguments import (
    Commands,
    add_command,
    add_engine,
    add_json,
    add_protocol,
    check_outputs,
    chosen,
    named_game,
    natural,
    positive,
    protocol_choices,
)
from neurozoo.errors import NeurozooError


def add_agent_commands(commands: Commands) -> None:
    """Adds `import`, `export` and `evaluate`."""
    brought = add_command(commands, "import", _import, "import an agent from another system as a run")
    brought.add_argument(
        "source",
        metavar="FILE_OR_TEXT",
        help="a genome or a seed list, or a file that holds one; arrays of weights (.npz); or a frozen graph (.pb)",
    )
    brought.add_argument("--game", type=named_game, help="default: the game in the file")
    brought.add_argument("--model", help="network, such as large (default: the network in the file)")
    brought.add_argument("--run", type=positive, default=1, help="number of the run (default: %(default)s)")
    add_protocol(brought)
    brought.add_argument(
        "--format",
        choices=("auto", "genome", "seeds"),
        default="auto",
        help="meaning of a flat list of numbers; auto reads it as seeds for the network cshenton, else as a genome "
        "(default: %(default)s)",
    )
    brought.add_argument("--run-dir", type=Path, help="folder to write (default: results/runs/imported/GAME/MODEL/RUN)")
    add_engine(brought, ops=False, threads=False)

    export = add_command(commands, "export", _export, "write the weights of a genome or a run as plain arrays")
    export.add_argument("source", type=Path, help="genome.json, checkpoint.npz, or a run's folder")
    export.add_argument(
        "weights", type=Path, help="file to write, such as weights.npz, with arrays conv1/w, conv1/b, ..."
    )
    add_engine(export, ops=False, threads=False)

    evaluate = add_command(commands, "evaluate", _evaluate, "play episodes with a genome, and report its scores")
    evaluate.add_argument(
        "--genome", type=Path, required=True, help="folder of a run, its genome.json, or a published genome"
    )
    evaluate.add_argument("--game", type=named_game, help="default: the genome's game")
    evaluate.add_argument("--model", help="network (default: the genome's network)")
    add_protocol(evaluate)
    evaluate.add_argument("--noops", type=natural, help="no-op frames at the start of an episode (default: random)")
    evaluate.add_argument("--episodes", type=positive, default=30, help="number of episodes (default: %(default)s)")
    evaluate.add_argument("--max-frames", type=positive, help="longest episode in frames (default: the protocol's)")
    evaluate.add_argument("--seed", type=natural, default=0, help="default: %(default)s")
    add_json(evaluate)
    add_engine(evaluate)


def _import(options):
    from neurozoo.agents.agent_import import import_agent

    choices = chosen(options, "noise", "game", "model", "run", "format", "run_dir")
    folder = import_agent(options.source, **choices, **protocol_choices(options))
    print(f"{folder}: config.yaml, genome.json, checkpoint.npz")


def _export(options):
    from neurozoo.agents.export import export_weights

    check_outputs((options.weights, ".npz"))
    for name, shape in export_weights(options.source, options.weights, noise=options.noise).items():
        print(name, *shape)


def _evaluate(options):
    from neurozoo.agents.agent import play_as, read_agent
    from neurozoo.agents.scoring import score_genome, summary
    from neurozoo.networks.catalogue import get_network

    agent = read_agent(options.genome)
    model = get_network(options.model).name if options.model else agent.model
    if model != agent.model:
        raise NeurozooError(
            f"{options.genome} is a genome for {agent.model!r} and cannot be used with {model!r}. Leave --model out."
        )
    agent = play_as(agent, game=options.game, **protocol_choices(options))
    episodes = score_genome(
        agent.genome,
        game=agent.game,
        model=agent.model,
        protocol=agent.protocol,
        reference=agent.reference,
        **chosen(options, "episodes", "noops", "seed", "max_frames", "ops", "noise", "threads"),
    )
    figures = summary(episodes, agent.protocol)
    if options.json:
        print(json.dumps({"summary": figures, "episodes": [asdict(episode) for episode in episodes]}, indent=1))
        return
    for number, episode in enumerate(episodes, 1):
        print(
            f"episode {number}: score {episode.score:g}, {episode.steps} steps, {episode.frames} frames, "
            f"{episode.noops} no-ops"
        )
    error = "undefined" if figures["standard_error"] is None else f"{figures['standard_error']:.3g}"
    print(f"mean {figures['mean']:g} (standard error {error}), median {figures['median']:g}")
    if "note" in figures:
        print(figures["note"])
