"""`python -m neurozoo zoo`: frozen agents by their names, and those of the Atari Zoo."""

import json
from pathlib import Path

from neurozoo.commands.arguments import (
    Commands,
    add_command,
    add_json,
    add_protocol,
    add_results,
    chosen,
    protocol_choices,
)


def add_zoo_commands(commands: Commands) -> None:
    """Adds `zoo` and what stands below it."""
    zoo = add_command(commands, "zoo", None, "list, show, export and import frozen agents")
    actions = zoo.add_subparsers(required=True, metavar="action")

    listed = add_command(actions, "list", _list, "list all frozen agents")
    _add_selection(listed)
    add_json(listed)

    shown = add_command(actions, "show", _show, "say what an agent is, how to feed it, and what it scored")
    shown.add_argument("name", help="such as ga/frostbite/large/1, ga/frostbite/large/1/human, or a folder")
    add_results(shown)

    export = add_command(actions, "export", _export, "write agents in the Atari Zoo's folders, under its names")
    export.add_argument("root", type=Path, help="folder of the zoo, such as rlzoo")
    _add_selection(export)

    brought = add_command(actions, "import", _import, "make a run's folder of a frozen graph, such as the Atari Zoo's")
    brought.add_argument("graph", type=Path, help="such as rlzoo/ga/SeaquestNoFrameskip-v4/model1_final.pb")
    brought.add_argument("--game", help="default: what the folder's name says")
    brought.add_argument("--model", help="network; default: the one that has these layers")
    brought.add_argument("--run", type=int, help="number of the run; default: what the file's name says, or 1")
    add_protocol(brought)
    add_results(brought)
    brought.add_argument("--run-dir", type=Path, help="default: RESULTS/runs/imported/GAME/MODEL/RUN")


def _add_selection(command):
    add_results(command, "folder with runs/")
    for name in ("algo", "game", "model", "tag"):
        command.add_argument(f"--{name}", help="only of this one")
    command.add_argument("--run", type=int, help="only of this number")


def _selected(options):
    from neurozoo.zoo.listing import select_models

    return select_models(options.results, **chosen(options, "algo", "game", "model", "run", "tag"))


def _list(options):
    from neurozoo.zoo.listing import as_table, facts_of

    models = _selected(options)
    print(json.dumps([facts_of(model) for model in models], indent=1) if options.json else as_table(models))


def _show(options):
    from neurozoo.zoo.listing import as_text, named_model

    print(as_text(named_model(options.results, options.name)))


def _export(options):
    from neurozoo.zoo.export import export_zoo

    for path in export_zoo(_selected(options), options.root):
        print(path)


def _import(options):
    from neurozoo.zoo.graph_import import import_graph

    choices = {**chosen(options, "game", "model", "run", "run_dir"), **protocol_choices(options)}
    folder = import_graph(options.graph, runs=options.results / "runs", **choices)
    print(f"{folder}: config.yaml, genome.json, checkpoint.npz, frozen/")
