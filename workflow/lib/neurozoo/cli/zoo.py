"""`python -m neurozoo zoo`: trained agents that come with the project, and the frozen agents of a folder of results.

It lists, shows, plays and films the former, and lists, shows, exports and imports the latter, also the Atari Zoo's.
"""

import argparse
from pathlib import Path

from neurozoo.agents.tags import FINAL
from neurozoo.cli import arguments as args
from neurozoo.cli.movies_and_play import (
    add_looks,
    add_play_options,
    check_movie_options,
    check_play_options,
    show_movie,
    show_play,
)

INDEX = Path("config", "agents", "index.yaml")


def add_commands(commands: args.Commands) -> None:
    """Adds `zoo` and its subcommands."""
    summary = "list the trained agents that come with the project; list, show, play and film agents"
    command = args.add_command(commands, "zoo", _trained, summary)
    _add_index(command, default=INDEX)
    args.add(command, "json")
    actions = command.add_subparsers(metavar="action", help="without one, the trained agents are listed")

    summary = "watch a trained agent play, or take over the joystick (docs/play.md)"
    command = args.add_command(actions, "play", _play, summary)
    _add_trained(command)
    add_play_options(command)

    summary = "make a movie of a trained agent: all layers, one layer, or the game"
    command = args.add_command(actions, "movie", _movie, summary)
    _add_trained(command)
    args.add(command, "seed", help="of the episode that it shows")
    command.add_argument("--output", type=Path, help="file to write (default: in the agent's folder)")
    add_looks(command)
    command.set_defaults(run_dir=[], tag=FINAL, grid=False, rollout=None)  # as `movie` has them
    args.add(command, "json", help="print frames and speed as JSON")

    summary = "make a run's folder of a trained agent, for all other commands"
    _add_trained(args.add_command(actions, "unpack", _unpack, summary))

    command = args.add_command(actions, "list", _list, "list all frozen agents of a folder of results")
    _add_selection(command)
    args.add(command, "json")

    command = args.add_command(actions, "show", _show, "show an agent's network, inputs, outputs and scores")
    name = "an agent, such as ga/frostbite/large/1 or ga/frostbite/large/1/human, a folder, or a trained agent"
    command.add_argument("name", help=name)
    args.add(command, "results")
    _add_index(command)

    command = args.add_command(actions, "export", _export, "write agents with the folders and names of the Atari Zoo")
    command.add_argument("root", type=Path, help="folder to write, such as rlzoo")
    _add_selection(command)

    command = args.add_command(
        actions, "import", _import, "import an agent, such as a graph of the Atari Zoo, as a run"
    )
    option = command.add_argument
    graph = "such as rlzoo/ga/SeaquestNoFrameskip-v4/model1_final.pb; or what `python -m neurozoo import` takes"
    option("source", metavar="FILE_OR_TEXT", help=graph)
    option("--game", type=args.named_game, help="default: from the folder's name of a graph, or from the file")
    option("--model", help="network (default: the network with a graph's layers, or from the file)")
    option("--run", type=args.positive, help="number of the run (default: from a graph's name, or 1)")
    args.add(command, *args.PROTOCOL, "results", "noise")
    option("--run-dir", type=Path, help="folder to write (default: RESULTS/runs/imported/GAME/MODEL/RUN)")


def _add_index(command, *, default=argparse.SUPPRESS):
    """Adds the index; in an action, without a default, which would hide what stands before the action."""
    command.add_argument("--index", type=Path, default=default, help=f"the trained agents (default: {INDEX})")


def _add_trained(command):
    command.add_argument("name", help="a trained agent, as `python -m neurozoo zoo` lists it")
    _add_index(command)
    command.add_argument("--results", type=Path, default=Path("results", "zoo"), help="where its folder goes")
    args.add(command, "core", "noise")


def _add_selection(command):
    args.add(command, "results", help="folder with runs/")
    for name in ("algo", "game", "model", "tag"):
        command.add_argument(f"--{name}", help=f"only agents of this {name}")
    command.add_argument("--run", type=args.positive, help="only agents of this run")


def _trained(options):
    from neurozoo.agents.bundled_agents import as_table, read_index

    agents = read_index(options.index)
    record = {name: agent.model_dump() for name, agent in agents.items()}
    args.print_result(options, record, as_table(agents, options.index), indent=1)


def _unpacked(options: argparse.Namespace) -> Path:
    from neurozoo.agents.bundled_agents import unpack_agent

    return unpack_agent(options.name, **args.chosen(options, "core", "noise", "index", "results"))


def _unpack(options):
    print(_unpacked(options))


def _play(options):
    check_play_options(options)
    options.folder = _unpacked(options)
    show_play(options)


def _movie(options):
    from neurozoo.movies.activation_movie import render_activation_movie
    from neurozoo.rollouts.rollout import record_rollout

    check_movie_options(options)
    folder = _unpacked(options)
    # Not `rollouts/seed_N.npz`, which `rollout` may have made with noise.
    options.rollout = folder / "rollouts" / "zoo" / f"seed_{options.seed}.npz"
    if not options.rollout.exists():
        record_rollout(folder / "frozen", options.rollout, seed=options.seed, episodes=1, max_steps=2500)
    movie = options.rollout.with_suffix(".mp4")  # each seed has its own
    if options.loop and not movie.exists():
        render_activation_movie(folder / "frozen", options.rollout, movie)
    options.run_dir = [folder]
    show_movie(options, movie=movie)


def _selected(options):
    from neurozoo.agents.zoo_listing import select_agents

    return select_agents(options.results, **args.chosen(options, "algo", "game", "model", "run", "tag"))


def _list(options):
    from neurozoo.agents.zoo_listing import as_table, facts_of

    models = _selected(options)
    args.print_result(options, [facts_of(model) for model in models], as_table(models), indent=1)


def _show(options):
    from neurozoo.agents.bundled_agents import as_text as as_text_of_bundled
    from neurozoo.agents.bundled_agents import read_index
    from neurozoo.agents.zoo_listing import as_text, named_agent

    is_default = options.index == INDEX  # which is missing outside of the project's folder
    agents = {} if is_default and not INDEX.exists() else read_index(options.index)
    if options.name in agents:
        print(as_text_of_bundled(options.name, agents[options.name]))
    else:
        print(as_text(named_agent(options.results, options.name)))


def _export(options):
    from neurozoo.agents.export import export_zoo

    for path in export_zoo(_selected(options), options.root):
        print(path)


def _import(options):
    from neurozoo.agents.agent_import import import_agent

    choices = {**args.chosen(options, "noise", "game", "model", "run_dir"), **args.protocol_choices(options)}
    choices |= {} if options.run is None else {"run": options.run}
    print(import_agent(options.source, runs=options.results / "runs", **choices))
