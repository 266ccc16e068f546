"""`python -m neurozoo train`, `resume`, `settings` and `status`: trains runs and shows their progress."""

import contextlib
import json
import shlex
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Any

from neurozoo.agents.tags import PUBLISHED
from neurozoo.cli import arguments as args
from neurozoo.errors import NeurozooError

WIDTH = 110  # letters of a line of `settings`


def add_commands(commands: args.Commands) -> None:
    """Adds `train`, `resume`, `settings` and `status`."""
    command = args.add_command(commands, "train", _train, "train a run, or continue it")
    option = command.add_argument
    option("--algo", default="ga", help="algorithm")
    option("--game", type=args.named_game, required=True, help="game id, such as frostbite")
    option("--model", required=True, help="network, such as large")
    option("--run", type=args.positive, default=1, help="number of the run; part of the seed")
    option("--preset", help="named settings (default: demo, as the game and the network need it)")
    args.add(command, "set")
    folder = "folder to write (default: results/runs/ALGO/GAME/MODEL/RUN)"
    option("--run-dir", type=lambda text: Path(args.not_empty(text)), help=folder)
    _add_execution(command)

    command = args.add_command(commands, "resume", _resume, "continue a run with its own settings")
    args.add_run_dir(command)
    budget = "another budget, above what is spent, for most algorithms in frames (default: the run's own)"
    command.add_argument("--budget", "--frames", type=args.positive, help=budget)
    _add_execution(command)

    command = args.add_command(commands, "settings", _settings, "list the settings of an algorithm, and what they mean")
    option = command.add_argument
    option("algo", nargs="?", help="such as dqn; default: list the algorithms and their presets")
    option("--preset", help="show the values of a preset in the place of the defaults")
    args.add(command, "json", help="print the JSON schema, or the values of the preset")

    command = args.add_command(commands, "status", _status, "show the state of every run of a configuration")
    option = command.add_argument
    option("--configfile", type=Path, nargs="+", default=[Path("config.yaml")], help="default: config.yaml")
    option("--directory", type=Path, default=Path(), help="folder in which Snakemake was started (default: this one)")
    watch = "repeat every SECONDS (5 if left out) until all runs are done"
    option("--watch", type=float, nargs="?", const=5.0, metavar="SECONDS", help=watch)
    args.add(command, "json")


def _add_execution(command):
    option = command.add_argument
    tags = f"moments whose agents are kept, see docs/zoo.md (default: {' '.join(PUBLISHED)})"
    option("--keep-tags", nargs="*", default=PUBLISHED, metavar="TAG", help=tags)
    option("--slots", type=args.positive, default=256, help="number of episodes at once, with --set engine=batched")
    cluster = "play on a Dask cluster, such as local workers=4, or slurm workers=20 threads=8 (docs/dask.md)"
    option("--distributed", "-d", nargs="+", metavar="WORD", help=cluster)
    launcher = (
        "starts the processes of a run with several learners or actors: mpirun, srun, or one of them with options "
        "(default: %(default)s; docs/impala.md)"
    )
    option("--mpi", default="mpirun", metavar="COMMAND", help=launcher)
    option("--tensorboard", action="store_true", help="write the reports to tensorboard/ in the run's folder, too")
    args.add(command, "core", "noise", "threads")


def _execution(options):
    same = args.chosen(options, "core", "noise", "threads", "slots", "mpi")
    return {**same, "distributed": shlex.join(options.distributed or ())}


def _train(options):
    from neurozoo.algorithms.registry import get_algorithm
    from neurozoo.algorithms.settings import fitting_settings, resolve_settings
    from neurozoo.training import make_context, train

    get_algorithm(options.algo).check_game(options.game)
    overrides = args.read_overrides(options)
    run_dir = options.run_dir or Path("results", "runs", options.algo, options.game, options.model, str(options.run))
    if options.preset is not None:
        settings = resolve_settings(options.algo, preset=options.preset, overrides=overrides)
    else:
        names = args.chosen(options, "algo", "game", "model")
        settings = fitting_settings(**names, preset="demo", overrides=overrides)
    identity = args.chosen(options, "algo", "game", "model", "run")
    context = make_context(**identity, settings=asdict(settings), run_dir=run_dir, **_execution(options))
    train(context, terminal="bar", **args.chosen(options, "keep_tags", "tensorboard"))
    _name_results(run_dir)


def _resume(options):
    from neurozoo.training import resume

    how = {**args.chosen(options, "keep_tags", "tensorboard"), **_execution(options)}
    resume(options.run_dir, budget=options.budget, terminal="bar", **how)
    _name_results(options.run_dir)


def _name_results(run_dir):
    from neurozoo.records.run_result import read_run_result

    result: dict[str, Any] = read_run_result(run_dir)
    print(f"{run_dir}: {', '.join([*result['files'], 'result.json', 'log.jsonl', 'train.log'])}")


def _settings(options):
    from neurozoo.algorithms.registry import ALGORITHMS, get_algorithm
    from neurozoo.algorithms.run_settings import Settings
    from neurozoo.algorithms.settings import resolve_settings
    from neurozoo.plan.catalogue_pages import as_yaml
    from neurozoo.plan.reference_pages import entries

    if options.algo is None and options.preset:
        raise NeurozooError(
            f"--preset {options.preset} needs an algorithm, because presets belong to one. Name it: "
            f"python -m neurozoo settings ALGO --preset {options.preset}"
        )
    if options.algo is None:
        for name, spec in ALGORITHMS.items():
            print(f"{name}: {spec.title}. Presets: {', '.join(spec.presets)}")
        return
    kind: type[Settings] = get_algorithm(options.algo).settings
    schema = kind.schema()
    values = asdict(resolve_settings(options.algo, preset=options.preset)) if options.preset else {}
    if options.json:
        print(json.dumps(values or schema, indent=1))
        return
    for entry in entries(schema):
        value = as_yaml(values[entry.name]) if values else entry.default.strip("`")
        print(f"{entry.name} = {value}")
        limits = f"{entry.type}, {entry.bounds}" if entry.bounds else entry.type
        indent = " " * 4
        print(textwrap.fill(f"{entry.description} ({limits})", WIDTH, initial_indent=indent, subsequent_indent=indent))


def _status(options):
    from neurozoo.status import read_overview, show

    def read():
        return read_overview(options.configfile, workdir=options.directory)

    if options.json:
        if options.watch is not None:
            raise NeurozooError("--json prints one overview, so it cannot be used with --watch. Leave one of them out.")
        print(json.dumps(read().to_json(), indent=1))
        return
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C ends watching
        show(read, watch=options.watch)
