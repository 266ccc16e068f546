"""`python -m neurozoo train`, `resume` and `status`: trains runs and shows their progress."""

import contextlib
import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

from neurozoo.agents.tags import PUBLISHED
from neurozoo.cli.arguments import (
    Commands,
    add_command,
    add_engine,
    add_json,
    add_run_dir,
    add_settings,
    chosen,
    named_game,
    not_empty,
    positive,
    read_overrides,
)
from neurozoo.errors import NeurozooError


def add_training_commands(commands: Commands) -> None:
    """Adds `train`, `resume` and `status`."""
    train = add_command(commands, "train", _train, "train a run, or continue it")
    train.add_argument("--algo", default="ga", help="algorithm (default: %(default)s)")
    train.add_argument("--game", type=named_game, required=True, help="game id, such as frostbite")
    train.add_argument("--model", required=True, help="network, such as large")
    train.add_argument(
        "--run", type=positive, default=1, help="number of the run; part of the seed (default: %(default)s)"
    )
    train.add_argument("--preset", default="demo", help="named settings (default: %(default)s)")
    add_settings(train)
    train.add_argument(
        "--run-dir",
        type=lambda text: Path(not_empty(text)),
        help="folder to write (default: results/runs/ALGO/GAME/MODEL/RUN)",
    )
    _add_execution(train)

    resume = add_command(commands, "resume", _resume, "continue a run with its own settings")
    add_run_dir(resume)
    resume.add_argument(
        *("--budget", "--frames"),
        type=positive,
        help="another budget, above what is spent, for most algorithms in frames (default: the run's own)",
    )
    _add_execution(resume)

    status = add_command(commands, "status", _status, "show the state of every run of a configuration")
    status.add_argument(
        "--configfile", type=Path, nargs="+", default=[Path("config.yaml")], help="default: config.yaml"
    )
    status.add_argument(
        "--directory", type=Path, default=Path(), help="folder in which Snakemake was started (default: this one)"
    )
    status.add_argument(
        "--watch",
        type=float,
        nargs="?",
        const=5.0,
        metavar="SECONDS",
        help="repeat every SECONDS (5 if left out) until all runs are done",
    )
    add_json(status)


def _add_execution(command):
    command.add_argument(
        "--keep-tags",
        nargs="*",
        default=PUBLISHED,
        metavar="TAG",
        help=f"moments whose agents are kept, see docs/zoo.md (default: {' '.join(PUBLISHED)})",
    )
    command.add_argument(
        "--slots",
        type=positive,
        default=256,
        help="number of episodes at once, with --set engine=batched (default: %(default)s)",
    )
    command.add_argument(
        *("--distributed", "-d"),
        nargs="+",
        metavar="WORD",
        help="play on a Dask cluster, such as local workers=4, or slurm workers=20 threads=8 (docs/dask.md)",
    )
    command.add_argument(
        "--mpi",
        default="mpirun",
        metavar="COMMAND",
        help="starts the processes of a run with several learners or actors: mpirun, srun, or one of them with options "
        "(default: %(default)s; docs/impala.md)",
    )
    command.add_argument(
        "--tensorboard", action="store_true", help="write the reports to tensorboard/ in the run's folder, too"
    )
    add_engine(command)


def _execution(options):
    same = chosen(options, "ops", "noise", "threads", "slots", "mpi")
    return {**same, "distributed": shlex.join(options.distributed or ())}


def _train(options):
    from neurozoo.algorithms.registry import get_algorithm
    from neurozoo.algorithms.settings import resolve_settings
    from neurozoo.training import make_context, train

    get_algorithm(options.algo).check_game(options.game)
    overrides = read_overrides(options)
    run_dir = options.run_dir or Path("results", "runs", options.algo, options.game, options.model, str(options.run))
    settings = resolve_settings(options.algo, preset=options.preset, overrides=overrides)
    identity = chosen(options, "algo", "game", "model", "run")
    context = make_context(**identity, settings=asdict(settings), run_dir=run_dir, **_execution(options))
    train(context, terminal="bar", **chosen(options, "keep_tags", "tensorboard"))
    _name_results(run_dir)


def _resume(options):
    from neurozoo.training import resume

    how = {**chosen(options, "keep_tags", "tensorboard"), **_execution(options)}
    resume(options.run_dir, budget=options.budget, terminal="bar", **how)
    _name_results(options.run_dir)


def _name_results(run_dir):
    from neurozoo.records.run_result import read_run_result

    result: dict[str, Any] = read_run_result(run_dir)
    print(f"{run_dir}: {', '.join([*result['files'], 'result.json', 'log.jsonl', 'train.log'])}")


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
