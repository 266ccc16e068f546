"""`python -m neurozoo import`, `export` and `evaluate`: agents from other systems, weights for them, and scores."""

from dataclasses import asdict
from pathlib import Path

from neurozoo.cli import arguments as args
from neurozoo.errors import NeurozooError

_GENOME = "a genome or a seed list; a file that holds one, such as a log; or a run's folder"


def add_commands(commands: args.Commands) -> None:
    """Adds `import`, `export` and `evaluate`."""
    command = args.add_command(commands, "import", _import, "import an agent from another system as a run")
    option = command.add_argument
    option(
        "source",
        metavar="FILE_OR_TEXT",
        help=f"{_GENOME}; arrays of weights (.npz, .safetensors); or a frozen graph (.pb)",
    )
    _add_names(command)
    option("--run", type=args.positive, default=1, help="number of the run")
    args.add(command, *args.PROTOCOL)
    meaning = "meaning of a flat list of numbers; auto reads it as seeds for the network cshenton, else as a genome"
    option("--format", choices=("auto", "genome", "seeds"), default="auto", help=meaning)
    option("--run-dir", type=Path, help="folder to write (default: results/runs/imported/GAME/MODEL/RUN)")
    args.add(command, "noise")

    command = args.add_command(commands, "export", _export, "write the weights of a genome or a run as plain arrays")
    option = command.add_argument
    option("source", metavar="FILE_OR_TEXT", help=f"{_GENOME}; or a checkpoint.npz")
    option("weights", type=Path, help="file to write, .npz or .safetensors, with arrays conv1/w, conv1/b, ...")
    _add_names(command)
    args.add(command, "noise")

    command = args.add_command(commands, "evaluate", _evaluate, "play episodes with a genome, and report its scores")
    option = command.add_argument
    option("--genome", metavar="FILE_OR_TEXT", required=True, help=f"{_GENOME}; or a checkpoint.npz")
    _add_names(command)
    args.add(command, *args.PROTOCOL)
    option("--noops", type=args.natural, help="no-op frames at the start of an episode (default: random)")
    option("--episodes", type=args.positive, default=30, help="number of episodes")
    option("--max-frames", type=args.positive, help="longest episode in frames (default: the protocol's)")
    args.add(command, "seed", "json", "core", "noise", "threads")


def _add_names(command):
    command.add_argument("--game", type=args.named_game, help="default: the game in the file")
    command.add_argument("--model", help="network, such as large (default: the network in the file)")


def _import(options):
    from neurozoo.agents.agent_import import import_agent

    choices = args.chosen(options, "noise", "game", "model", "run", "format", "run_dir")
    folder = import_agent(options.source, **choices, **args.protocol_choices(options))
    print(f"{folder}: config.yaml, genome.json, checkpoint.npz")


def _export(options):
    from neurozoo.agents.export import SUFFIXES, export_weights

    args.check_outputs((options.weights, *SUFFIXES))
    choices = args.chosen(options, "noise", "game", "model")
    for name, shape in export_weights(options.source, options.weights, **choices).items():
        print(name, *shape)


def _evaluate(options):
    from neurozoo.agents.playable_agent import play_as, read_agent
    from neurozoo.agents.scoring import score_agent, summary
    from neurozoo.networks.catalogue import get_network

    agent = read_agent(options.genome, **args.chosen(options, "game", "model"))
    model = get_network(options.model).name if options.model else agent.model
    if model != agent.model:
        raise NeurozooError(
            f"{options.genome} is a genome for {agent.model!r} and cannot be used with {model!r}. Leave --model out."
        )
    agent = play_as(agent, game=options.game, **args.protocol_choices(options))
    choices = args.chosen(options, "episodes", "noops", "seed", "max_frames", "core", "noise", "threads")
    episodes = score_agent(agent, **choices)
    figures = summary(episodes, agent.protocol)
    lines = [
        f"episode {number}: score {episode.score:g}, {episode.steps} steps, {episode.frames} frames, "
        f"{episode.noops} no-ops"
        for number, episode in enumerate(episodes, 1)
    ]
    error = "undefined" if figures["standard_error"] is None else f"{figures['standard_error']:.3g}"
    lines.append(f"mean {figures['mean']:g} (standard error {error}), median {figures['median']:g}")
    lines += [str(figures["note"])] if "note" in figures else []
    record = {"summary": figures, "episodes": [asdict(episode) for episode in episodes]}
    args.print_result(options, record, "\n".join(lines), indent=1)
