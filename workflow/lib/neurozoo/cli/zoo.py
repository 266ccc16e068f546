"""`python -m neurozoo zoo`: lists, shows, exports and imports frozen agents, including those of the Atari Zoo."""

import json
from pathlib import Path

from neurozoo.cli.arguments import (
    Commands,
    add_command,
    add_json,
    add_protocol,
    add_results,
    chosen,
    named_game,
    protocol_choices,
    run_number,
)


def add_zoo_commands(commands: Commands) -> None:
    """Adds `zoo` and its subcommands."""
    zoo = add_command(commands, "zoo", None, "list, show, export and import frozen agents")
    actions = zoo.add_subparsers(required=True, metavar="action")

    listed = add_command(actions, "list", _list, "list all frozen agents")
    _add_selection(listed)
    add_json(listed)

    shown = add_command(actions, "show", _show, "show an agent's network, inputs, outputs and scores")
    shown.add_argument("name", help="an agent, such as ga/frostbite/large/1 or ga/frostbite/large/1/human, or a folder")
    add_results(shown)

    export = add_command(actions, "export", _export, "write agents with the folders and names of the Atari Zoo")
    export.add_argument("root", type=Path, help="folder to write, such as rlzoo")
    _add_selection(export)

    brought = add_command(actions, "import", _import, "import a frozen graph, such as the Atari Zoo's, as a run")
    brought.add_argument("graph", type=Path, help="such as rlzoo/ga/SeaquestNoFrameskip-v4/model1_final.pb")
    brought.add_argument("--game", type=named_game, help="default: from the folder's name")
    brought.add_argument("--model", help="network (default: the network with these layers)")
    brought.add_argument("--run", type=run_number, help="number of the run (default: from the file's name, or 1)")
    add_protocol(brought)
    add_results(brought)
    brought.add_argument("--run-dir", type=Path, help="folder to write (default: RESULTS/runs/imported/GAME/MODEL/RUN)")


def _add_selection(command):
    add_results(command, "folder with runs/")
    for name in ("algo", "game", "model", "tag"):
        command.add_argument(f"--{name}", help=f"only agents of this {name}")
    command.add_argument("--run", type=run_number, help="only agents of this run")


def _selected(options):
    from neurozoo.agents.zoo_listing import select_models

    return select_models(options.results, **chosen(options, "algo", "game", "model", "run", "tag"))


def _list(options):
    from neurozoo.agents.zoo_listing import as_table, facts_of

    models = _selected(options)
    print(json.dumps([facts_of(model) for model in models], indent=1) if options.json else as_table(models))


def _show(options):
    from neurozoo.agents.zoo_listing import as_text, named_model

    print(as_text(named_model(options.results, options.name)))


def _export(options):
    from neurozoo.agents.export import export_zoo

    for path in export_zoo(_selected(options), options.root):
        print(path)


def _import(options):
    from neurozoo.agents.graph_import import import_graph

    choices = {**chosen(options, "game", "model", "run", "run_dir"), **protocol_choices(options)}
    folder = import_graph(options.graph, runs=options.results / "runs", **choices)
    print(f"{folder}: config.yaml, genome.json, checkpoint.npz, frozen/")
