"""`python -m neurozoo`: the functions behind the rules, by hand."""

import argparse
import contextlib
import itertools
import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from neurozoo import __version__
from neurozoo.errors import NeurozooError, plain_errors
from neurozoo.filters.commands import add_filter_commands
from neurozoo.tags import PUBLISHED

OPS = "results/native/libneurozoo_ops.so"
NOISE = "results/noise/table.f32"


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command.

    Args:
        arguments: Words of the command line; None takes the process's own.

    Raises:
        SystemExit: Status 1 after an error that the user can mend, which is one sentence on standard error.
    """
    options = _parser().parse_args(arguments)
    with plain_errors():
        options.command(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m neurozoo", description="The functions behind the rules, by hand. Paths are relative to here."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command")

    train = _command(commands, "train", _train, "train a run, or continue it")
    train.add_argument("--algo", default="ga", help="algorithm (default: %(default)s)")
    train.add_argument("--game", required=True)
    train.add_argument("--model", required=True, help="network, such as large")
    train.add_argument("--run", type=int, default=1, help="number of the run, part of the seed (default: %(default)s)")
    train.add_argument("--preset", default="demo", help="named settings (default: %(default)s)")
    _add_settings(train)
    train.add_argument("--run-dir", type=Path, help="default: results/runs/ALGO/GAME/MODEL/RUN")
    _add_training(train)

    resume = _command(commands, "resume", _resume, "continue a run with its own settings")
    _add_run_dir(resume)
    resume.add_argument("--frames", type=_whole, help="a larger budget; default: the run's own")
    _add_training(resume)

    parse = _command(commands, "parse", _parse, "turn a log, ours or one of the published codes, into metrics.csv")
    parse.add_argument("log", type=Path, help="log.jsonl, or an old ga.out or log.txt")
    parse.add_argument("csv", type=Path, help="such as results/runs/ga/frostbite/large/1/metrics.csv")
    parse.add_argument("--algo", default="ga", help="default: %(default)s")
    parse.add_argument("--game", required=True)
    parse.add_argument("--model", required=True, help="network, such as large")
    parse.add_argument("--run", type=int, required=True)
    parse.add_argument("--protocol", default="uber2018", help="default: %(default)s")
    parse.add_argument("--columns", nargs="+", help="published field names; default: all but the genome")

    phases = _command(commands, "phases", _phases, "write a run's phases (random, train, test) as simple_dqn's CSV")
    phases.add_argument("source", type=Path, metavar="RUN_DIR", help="or log.jsonl, or a CSV of simple_dqn")
    phases.add_argument("--output", type=Path, help="default: RUN_DIR/phases.csv")

    panels = _command(commands, "panels", _panels, "draw a run's phases, a panel each: reward, Q-value, games, loss")
    panels.add_argument("source", type=Path, metavar="CSV_OR_RUN_DIR", help="a CSV of simple_dqn's, or a run's folder")
    panels.add_argument("--fields", metavar="NAME,...", help="default: average_reward,meanq,nr_games,meancost")
    panels.add_argument(
        "--cost-as-written", action="store_true", help="meancost as simple_dqn has it: divided by the epoch's number"
    )
    panels.add_argument("--width", type=float, default=11.0, help="inches (default: %(default)s)")
    panels.add_argument("--height", type=float, default=6.5, help="inches (default: %(default)s)")
    panels.add_argument("--output", type=Path, help="png, pdf or svg; default: beside the CSV, or RUN_DIR/phases.png")

    brought = _command(commands, "import", _import, "make a run's folder of a genome from elsewhere")
    brought.add_argument("source", metavar="FILE_OR_TEXT", help="a genome or a seed list, or a file with one")
    brought.add_argument("--game", help="default: what the genome's file says")
    brought.add_argument("--model", help="network, such as large; default: what the genome's file says")
    brought.add_argument("--run", type=int, default=1, help="number of the run (default: %(default)s)")
    _add_protocol(brought)
    brought.add_argument(
        "--format",
        choices=("auto", "genome", "seeds"),
        default="auto",
        help="what a flat list of numbers is (default: seeds for the network cshenton, else a genome)",
    )
    brought.add_argument("--run-dir", type=Path, help="default: results/runs/imported/GAME/MODEL/RUN")
    _add_engine(brought, ops=False, threads=False)

    export = _command(commands, "export", _export, "write the weights of a genome or a run as plain arrays")
    export.add_argument("source", type=Path, help="genome.json, checkpoint.npz, or a run's folder")
    export.add_argument("weights", type=Path, help="such as weights.npz, with arrays conv1/w, conv1/b, ...")
    _add_engine(export, ops=False, threads=False)

    freeze = _command(commands, "freeze", _freeze, "turn a run's best genome into Keras, SavedModel and graph files")
    _add_run_dir(freeze)
    earlier = freeze.add_mutually_exclusive_group()
    earlier.add_argument("--generation", type=int, help="freeze the elite of this one instead of the run's result")
    earlier.add_argument("--snapshot", type=_whole, metavar="FRAMES", help="freeze snapshots/FRAMES.npz instead")
    earlier.add_argument("--tag", help="freeze the best at this moment, such as initial, human, 400M or 2HR")
    _add_engine(freeze, threads=False)

    rollout = _command(commands, "rollout", _rollout, "let a frozen agent play, and record every step")
    _add_run_dir(rollout)
    rollout.add_argument("--tag", help="of this moment, once frozen (python -m neurozoo freeze RUN_DIR --tag TAG)")
    rollout.add_argument("--episodes", type=int, default=1)
    rollout.add_argument("--max-steps", type=int, default=2500, help="default: %(default)s")
    rollout.add_argument("--min-steps", type=int, default=0, help="play more episodes until there are so many steps")
    seeds = rollout.add_mutually_exclusive_group()
    seeds.add_argument("--seed", type=int, default=0)
    seeds.add_argument("--seeds", type=int, nargs="+", help="one rollout each, as RUN_DIR/rollouts/seed_SEED.npz")
    rollout.add_argument("--noops", type=int, help="frames without action at the start; default: drawn")
    noise = "standard deviation of Gaussian noise on"
    rollout.add_argument("--observation-noise", type=float, default=0.0, help=f"{noise} what the agent sees")
    rollout.add_argument("--parameter-noise", type=float, default=0.0, help=f"{noise} the convolutions' kernels")
    rollout.add_argument("--action-noise", type=float, default=0.0, help="chance of a random action")
    rollout.add_argument("--sticky-probability", type=float, help="chance per frame of the action before")
    rollout.add_argument("--streamlined", action="store_true", help="record scores only, no pictures and no RAM")
    rollout.add_argument("--output", type=Path, help="default: RUN_DIR/rollout.npz")
    rollout.add_argument("--table", type=Path, help="default: the output's name with .parquet: one row per step")
    rollout.add_argument("--json", action="store_true", help="print steps, scores and speed as JSON")

    test = _command(
        commands, "test", _test, "let an agent play with a random action now and then, and count its scores"
    )
    _add_run_dir(test)
    kept = test.add_mutually_exclusive_group()
    kept.add_argument("--snapshot", type=_whole, metavar="FRAMES", help="of snapshots/FRAMES.npz instead of the result")
    kept.add_argument("--tag", help="of this moment, such as human")
    test.add_argument("--epsilon", type=float, default=0.05, help="chance of a random action (default: %(default)s)")
    test.add_argument(
        "--protocol", nargs="+", default=[], metavar="NAME", help="such as machado2018; default: the agent's own"
    )
    test.add_argument("--sticky-probability", type=float, help="chance per frame of the action before")
    extent = test.add_mutually_exclusive_group()
    extent.add_argument("--episodes", type=_whole, default=30, help="of each protocol (default: %(default)s)")
    extent.add_argument("--steps", type=_whole, help="whole episodes until there are so many steps")
    test.add_argument("--seed", type=int, default=0)
    test.add_argument("--output", type=Path, help="JSON; default: test.json beside frozen/")
    test.add_argument("--json", action="store_true", help="print JSON")
    _add_engine(test, threads=False)

    movie = _command(commands, "movie", _movie, "film a rollout: with all layers, with one, the game alone, or several")
    movie.add_argument("run_dir", type=Path, nargs="+", help="such as results/runs/ga/frostbite/large/1")
    movie.add_argument("--tag", help="of this moment of the run, or the runs; final is the result")
    kind = movie.add_mutually_exclusive_group()
    kind.add_argument("--layer", metavar="NAME", help="one layer of model.json beside the game, such as conv1")
    kind.add_argument("--game", action="store_true", help="the game alone, every frame of it, with sound if it has any")
    kind.add_argument("--grid", action="store_true", help="the games of several RUN_DIRs side by side")
    movie.add_argument("--rollout", type=Path, help="another than RUN_DIR/rollout.npz, but not of a grid")
    movie.add_argument("--fps", type=int, help="default: 60; --game has its own")
    movie.add_argument("--max-steps", type=int, default=0, help="default: all")
    movie.add_argument("--no-overlay", dest="overlay", action="store_false", help="no score, step and action")
    movie.add_argument(
        "--output",
        type=Path,
        help="default: activation.mp4, layer_NAME.mp4 or game.mp4 in RUN_DIR; a grid's is results/movies/GAME.mp4",
    )
    movie.add_argument("--json", action="store_true", help="print frames and speed as JSON")

    series = _command(commands, "generations", _generations, "film some generations of a run side by side")
    _add_run_dir(series)
    series.add_argument("--count", type=int, default=4, help="first, last and some between (default: %(default)s)")
    series.add_argument("--every", type=int, help="instead of a count: the first, every so many-th, and the last")
    series.add_argument("--max-steps", type=int, default=2500, help="default: %(default)s")
    series.add_argument("--seed", type=int, default=0)
    series.add_argument("--fps", type=int, default=60, help="default: %(default)s")
    series.add_argument("--output", type=Path, help="default: RUN_DIR/generations.mp4")
    series.add_argument("--json", action="store_true", help="print generations, scores and frames as JSON")
    _add_engine(series, threads=False)

    play = _command(commands, "play", _play, "watch a frozen agent play, and take the joystick from it (docs/play.md)")
    play.add_argument("folder", type=Path, metavar="RUN_DIR_OR_FROZEN", help="such as results/runs/dqn/pong/small/1")
    play.add_argument("--terminal", action="store_true", help="draw into this terminal instead of a window")
    play.add_argument("--epsilon", type=float, help="chance of a random action (default: 0.05)")
    play.add_argument("--sticky-probability", type=float, help="chance per frame of the action before")
    play.add_argument("--manual", action="store_true", help="you play; key m gives the joystick to the agent and back")
    play.add_argument("--games", type=int, default=1, help="default: %(default)s")
    play.add_argument("--seed", type=int, default=0)
    play.add_argument("--no-sound", dest="is_heard", action="store_false", help="a window without sound")

    add_filter_commands(commands)
    _add_zoo(_command(commands, "zoo", None, "list, show, export and import frozen agents"))

    evaluate = _command(commands, "evaluate", _evaluate, "play episodes of a genome")
    evaluate.add_argument("--genome", type=Path, required=True, help="genome.json of a run, or a published one")
    evaluate.add_argument("--game", help="default: the genome's")
    evaluate.add_argument("--model", help="network; default: the genome's")
    _add_protocol(evaluate)
    evaluate.add_argument("--noops", type=int, help="frames without action at the start; default: drawn")
    evaluate.add_argument("--episodes", type=int, default=30, help="default: %(default)s")
    evaluate.add_argument("--max-frames", type=_whole, help="longest episode; default: the protocol's")
    evaluate.add_argument("--seed", type=int, default=0)
    evaluate.add_argument("--json", action="store_true", help="print JSON")
    _add_engine(evaluate)

    bench = _command(commands, "bench", _bench, "measure frames per second and core, and what they consist of")
    bench.add_argument("--networks", nargs="+", help="default: large, small, recurrent_large")
    bench.add_argument("--games", nargs="+", help="default: frostbite, pong, riverraid")
    bench.add_argument("--threads", nargs="+", type=int, help="default: 1, 2, 4, ... to the physical cores")
    bench.add_argument("--seconds", type=float, default=5.0, help="of each measurement (default: %(default)s)")
    bench.add_argument("--engine", choices=("native", "batched"), default="native", help="batched: see docs/gpu.md")
    bench.add_argument("--slots", nargs="+", type=int, default=[256], help="of the batched engine (default: 256)")
    bench.add_argument("--json", action="store_true", help="print JSON")
    bench.add_argument("--save", type=Path, metavar="FILE", help="keep the JSON, too")
    bench.add_argument("--load", type=Path, metavar="FILE", help="measure nothing; show what --save kept")
    bench.add_argument("--write", type=Path, metavar="PAGE", help="replace what is measured in docs/benchmarks.md")
    _add_engine(bench, threads=False)

    beside = _command(
        commands, "bench-dqn", _bench_dqn, "measure deep Q-learning beside PyTorch and the machine's floor"
    )
    beside.add_argument("--game", default="pong", help="default: %(default)s")
    beside.add_argument("--model", default="nature", help="network (default: %(default)s)")
    beside.add_argument(
        "--torch", type=Path, metavar="PYTHON", help="one with PyTorch (make bench-dqn makes it); default: without"
    )
    beside.add_argument("--steps", type=_whole, default=400, help="of each side in a turn (default: %(default)s)")
    beside.add_argument("--repeats", type=_whole, default=7, help="turns (default: %(default)s)")
    beside.add_argument("--threads", type=int, help="of each side (default: physical cores)")
    beside.add_argument("--ops", type=Path, default=OPS, help="op library (default: %(default)s)")
    beside.add_argument("--json", action="store_true", help="print JSON")
    beside.add_argument("--save", type=Path, metavar="FILE", help="keep the JSON, too")

    profile = _command(commands, "profile", _profile, "measure the parts of a learner: emulator, prediction, training")
    profile.add_argument("--algo", default="dqn", help="default: %(default)s")
    profile.add_argument("--game", default="pong", help="default: %(default)s")
    profile.add_argument("--model", default="nature", help="network (default: %(default)s)")
    profile.add_argument("--preset", default="nature", help="named settings (default: %(default)s)")
    _add_settings(profile)
    profile.add_argument("--steps", type=_whole, default=1000, help="of each part (default: %(default)s)")
    profile.add_argument("--threads", type=int, default=os.cpu_count(), help="default: all cores")
    profile.add_argument("--flames", type=Path, metavar="HTML", help="trace a training run, too, into a flame graph")
    profile.add_argument("--json", action="store_true", help="print JSON")

    status = _command(commands, "status", _status, "say what every run of a configuration is doing, from its files")
    status.add_argument(
        "--configfile", type=Path, nargs="+", default=[Path("config.yaml")], help="default: config.yaml"
    )
    status.add_argument("--directory", type=Path, default=Path(), help="where Snakemake was started (default: here)")
    status.add_argument(
        "--watch", type=float, nargs="?", const=5.0, metavar="SECONDS", help="again and again, until all runs are done"
    )
    status.add_argument("--json", action="store_true", help="print JSON")

    site = _command(commands, "site", _site, "write the gallery: pages of all that lies in a folder of results")
    site.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    site.add_argument(
        "--bundle", type=Path, metavar="FOLDER_OR_ZIP", help="a copy with all that is shown, to be passed on"
    )

    origins = _command(commands, "provenance", _provenance, "say which versions and settings results come from")
    origins.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    origins.add_argument("--build", type=Path, help="build.json of the op library")
    compare = _command(
        commands, "compare", None, "set runs beside each other: statistics, embeddings of states, who made a state"
    )
    compared = compare.add_subparsers(title="what", metavar="WHAT", required=True)
    statistics = _command(compared, "statistics", _compare_statistics, "scores with intervals, who beats whom, figures")
    statistics.add_argument("metrics", type=Path, help="metrics of all runs: tables/metrics.parquet or a .csv")
    statistics.add_argument("--output", type=Path, default=Path("statistics"), help="folder (default: %(default)s)")
    statistics.add_argument("--replications", type=_whole, default=50_000, help="default: %(default)s")
    statistics.add_argument("--confidence", type=float, default=0.95, help="default: %(default)s")
    statistics.add_argument("--seed", type=int, default=0)

    embed = _command(compared, "embed", _compare_embed, "put the states of several runs of a game into one plane")
    _add_run_dirs(embed)
    embed.add_argument(
        "--keys", nargs="+", default=["ram", "representation"], help="also ram_bits (default: the others)"
    )
    embed.add_argument("--methods", nargs="+", default=["pca", "pca_tsne", "umap"], help="default: pca pca_tsne umap")
    embed.add_argument("--max-points", type=_whole, default=6000, help="default: %(default)s")
    embed.add_argument("--seed", type=int, default=0)

    classify = _command(compared, "classify", _compare_classify, "test whether states say who made them")
    _add_run_dirs(classify)
    classify.add_argument("--by", default="algo", help="algo, model or run (default: %(default)s)")
    classify.add_argument("--source", default="observations", help="or frames, the screens (default: %(default)s)")
    classify.add_argument("--epochs", type=_whole, default=3, help="default: %(default)s")
    classify.add_argument("--seed", type=int, default=0)
    classify.add_argument("--json", action="store_true", help="print the facts as JSON")

    original = _command(commands, "simple_dqn", _simple_dqn, "understand a command line of tambetm/simple_dqn")
    original.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="such as: train pong --epochs 5")

    show = _command(commands, "show", _show, "say what a finished workflow has made, and where it is")
    show.add_argument("--results", type=Path, default=Path("results"))
    return parser


def _add_training(command):
    command.add_argument(
        "--keep-tags", nargs="*", default=PUBLISHED, metavar="TAG", help=f"default: {' '.join(PUBLISHED)} (docs/zoo.md)"
    )
    command.add_argument("--slots", type=int, default=256, help="episodes at once, with --set engine=batched")
    command.add_argument(
        *("--distributed", "-d"),
        nargs="+",
        metavar="WORD",
        help="play on a Dask cluster, such as: local workers=4, or: slurm workers=20 threads=8 (docs/dask.md)",
    )
    _add_engine(command)


def _add_zoo(zoo):
    actions = zoo.add_subparsers(required=True, metavar="action")

    listed = _command(actions, "list", _zoo_list, "list all frozen agents")
    _add_selection(listed)
    listed.add_argument("--json", action="store_true", help="print JSON")

    shown = _command(actions, "show", _zoo_show, "say what an agent is, how to feed it, and what it scored")
    shown.add_argument("name", help="such as ga/frostbite/large/1, ga/frostbite/large/1/human, or a folder")
    shown.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")

    export = _command(actions, "export", _zoo_export, "write agents in the Atari Zoo's folders, under its names")
    export.add_argument("root", type=Path, help="folder of the zoo, such as rlzoo")
    _add_selection(export)

    brought = _command(actions, "import", _zoo_import, "make a run's folder of a frozen graph, such as the Atari Zoo's")
    brought.add_argument("graph", type=Path, help="such as rlzoo/ga/SeaquestNoFrameskip-v4/model1_final.pb")
    brought.add_argument("--game", help="default: what the folder's name says")
    brought.add_argument("--model", help="network; default: the one that has these layers")
    brought.add_argument("--run", type=int, help="number of the run; default: what the file's name says, or 1")
    _add_protocol(brought)
    brought.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    brought.add_argument("--run-dir", type=Path, help="default: RESULTS/runs/imported/GAME/MODEL/RUN")


def _add_selection(command):
    command.add_argument(
        "--results", type=Path, default=Path("results"), help="folder with runs/ (default: %(default)s)"
    )
    for name in ("algo", "game", "model", "tag"):
        command.add_argument(f"--{name}", help="only of this one")
    command.add_argument("--run", type=int, help="only of this number")


def _command(commands, name, function, summary):
    command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
    command.set_defaults(command=function)
    return command


def _add_run_dir(command):
    command.add_argument("run_dir", type=Path, help="such as results/runs/ga/frostbite/large/1")


def _add_run_dirs(command):
    command.add_argument("run_dirs", type=Path, nargs="+", help="of one game, each with frozen/ and rollout.npz")
    command.add_argument("--output", type=Path, default=Path("comparison"), help="folder (default: %(default)s)")


def _add_protocol(command):
    command.add_argument("--protocol", help="default: the genome's, or else the game's own")
    command.add_argument("--action-set", choices=("minimal", "full"), help="default: the protocol's")
    command.add_argument("--observation", help="of river_crossing: pixels, rgb, greyscale or objects")
    command.add_argument("--start-state", choices=("today", "2018"), help="RAM after a reset (default: today's)")


def _add_settings(command):
    command.add_argument(
        *("--set", "-s"), action="append", default=[], metavar="NAME=VALUE", help="a setting, such as frames=1e6"
    )


def _add_engine(command, *, ops=True, threads=True):
    if ops:
        command.add_argument("--ops", type=Path, default=OPS, help="op library (default: %(default)s)")
    command.add_argument("--noise", type=Path, default=NOISE, help="noise table (default: %(default)s)")
    if threads:
        command.add_argument("--threads", type=int, default=os.cpu_count(), help="default: all cores")


def _whole(text: str) -> int:
    value = float(text)
    if not value.is_integer():
        raise ValueError(text)
    return int(value)


def _setting(text: str) -> object:
    import yaml

    for kind in (_whole, float):  # YAML takes 1e6 and 1e-5 for words
        with contextlib.suppress(ValueError):
            return kind(text)
    return yaml.safe_load(text)


def _overrides(options):
    overrides = {}
    for text in options.set:
        name, equals, value = text.partition("=")
        if not equals:
            raise NeurozooError(f"A setting looks like NAME=VALUE, but {text!r} came.")
        overrides[name] = _setting(value)
    return overrides


def _train(options):
    from neurozoo.algorithms.settings import resolve_settings
    from neurozoo.training import train

    overrides = _overrides(options)
    run_dir = options.run_dir or Path("results", "runs", options.algo, options.game, options.model, str(options.run))
    train(
        algo=options.algo,
        game=options.game,
        model=options.model,
        run=options.run,
        settings=asdict(resolve_settings(options.algo, preset=options.preset, overrides=overrides)),
        ops=options.ops,
        noise=options.noise,
        run_dir=run_dir,
        threads=options.threads,
        slots=options.slots,
        terminal="bar",
        distributed=shlex.join(options.distributed or ()),
        keep_tags=options.keep_tags,
    )
    print(f"{run_dir}: checkpoint.npz, genome.json, log.jsonl, train.log")


def _resume(options):
    from neurozoo.training import resume

    names = ("ops", "noise", "frames", "threads", "slots", "keep_tags")
    chosen = {name: getattr(options, name) for name in names}
    resume(options.run_dir, **chosen, terminal="bar", distributed=shlex.join(options.distributed or ()))
    print(f"{options.run_dir}: checkpoint.npz, genome.json, log.jsonl, train.log")


def _parse(options):
    from neurozoo.architectures import get_network
    from neurozoo.games import check_game, get_protocol
    from neurozoo.logs import parse_log

    identity = {
        "algo": options.algo,
        "game": check_game(options.game),
        "model": get_network(options.model).name,
        "run": options.run,
        "protocol": get_protocol(options.protocol).name,
    }
    parse_log(options.log, options.csv, identity=identity, columns=options.columns)
    print(options.csv)


def _phases(options):
    from neurozoo.algorithms.dqn.statistics_csv import write_statistics
    from neurozoo.logs import read_run_settings

    source = options.source
    output = options.output or (source if source.is_dir() else source.parent) / "phases.csv"
    settings = source / "config.yaml" if source.is_dir() else source.with_name("config.yaml")
    write_statistics(source, output, seed=read_run_settings(settings).get("seed") if settings.exists() else None)
    print(output)


def _panels(options):
    from neurozoo.phase_panels import DEFAULT_FIELDS, draw_panels

    source = options.source
    output = options.output or (source / "phases.png" if source.is_dir() else source.with_suffix(".png"))
    draw_panels(
        source,
        [output],
        fields=[name.strip() for name in options.fields.split(",")] if options.fields else DEFAULT_FIELDS,
        **{name: getattr(options, name) for name in ("cost_as_written", "width", "height")},
    )
    print(output)


def _import(options):
    from neurozoo.imports import import_genome

    folder = import_genome(
        options.source,
        noise=options.noise,
        game=options.game,
        model=options.model,
        run=options.run,
        format=options.format,
        run_dir=options.run_dir,
        **_protocol_choices(options),
    )
    print(f"{folder}: config.yaml, genome.json, checkpoint.npz")


def _protocol_choices(options):
    return {key: getattr(options, key) for key in ("protocol", "action_set", "observation", "start_state")}


def _export(options):
    from neurozoo.imports import export_weights

    for name, shape in export_weights(options.source, options.weights, noise=options.noise).items():
        print(name, *shape)


def _freeze(options):
    from neurozoo.inspection import freeze_run

    names = ("ops", "noise", "generation", "snapshot", "tag")
    check = freeze_run(options.run_dir, **{name: getattr(options, name) for name in names})
    print(json.dumps(check))


def _rollout(options):
    from neurozoo.inspection import record_rollout

    folder = _tagged(options.run_dir, options.tag)
    names = ("episodes", "max_steps", "min_steps", "noops", "observation_noise", "parameter_noise", "action_noise")
    chosen = {name: getattr(options, name) for name in (*names, "sticky_probability", "streamlined")}
    outputs = {options.seed: options.output or folder / "rollout.npz"}
    if options.seeds:
        if options.output or options.table:
            raise NeurozooError("With --seeds the names of the files are given; leave --output and --table out.")
        outputs = {seed: folder / "rollouts" / f"seed_{seed}.npz" for seed in options.seeds}
    for seed, output in outputs.items():
        table = options.table or output.with_suffix(".parquet")
        rollout = record_rollout(folder / "frozen", output, seed=seed, table=table, **chosen)
        if options.json:
            print(json.dumps(asdict(rollout)))
        else:
            print(f"{output}: {rollout.steps} steps, scores {', '.join(f'{score:g}' for score in rollout.scores)}")


def _test(options):
    from neurozoo.inspection import freeze_run, play_epsilon_greedily
    from neurozoo.inspection.epsilon_greedy import as_table
    from neurozoo.inspection.tagged import tag_folder
    from neurozoo.training.results import snapshot_path

    folder = options.run_dir
    if options.snapshot is not None:
        folder = snapshot_path(folder, options.snapshot).with_suffix("")
    elif options.tag is not None:
        folder = tag_folder(folder, options.tag)
    if not (folder / "frozen" / "model.json").exists():
        moment = {"snapshot": options.snapshot, "tag": None if folder == options.run_dir else options.tag}
        freeze_run(options.run_dir, ops=options.ops, noise=options.noise, **moment)
    names = ("epsilon", "sticky_probability", "episodes", "steps", "seed")
    record = play_epsilon_greedily(
        folder / "frozen",
        options.output or folder / "test.json",
        protocols=options.protocol,
        **{name: getattr(options, name) for name in names},
    )
    print(json.dumps(record) if options.json else as_table(record))


def _simple_dqn(options):
    from neurozoo.simple_dqn import translate

    try:
        commands = translate(options.words)
    except NeurozooError as error:
        print(f"neurozoo: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    for words in commands:
        print("python -m neurozoo", shlex.join(words), file=sys.stderr)
        main(words)


def _tagged(run_dir, tag):
    from neurozoo.inspection.tagged import frozen_tag_folder

    return run_dir if tag is None else frozen_tag_folder(run_dir, tag)


def _play(options):
    from neurozoo.inspection.frozen import RECORD_FILE, open_frozen
    from neurozoo.play import TerminalDisplay, WindowDisplay, play_games

    folder = options.folder if (options.folder / RECORD_FILE).exists() else options.folder / "frozen"
    title = open_frozen(folder).title
    with TerminalDisplay() if options.terminal else WindowDisplay(title, is_heard=options.is_heard) as display:
        games = play_games(
            folder,
            display,
            games=options.games,
            epsilon=options.epsilon,
            sticky_probability=options.sticky_probability,
            is_manual=options.manual,
            seed=options.seed,
        )
    for number, game in enumerate(games, start=1):
        end = "" if game.is_finished else ", not finished"
        print(f"game {number}: score {game.score:,.0f} in {game.steps:,} steps{end}")


def _movie(options):
    from neurozoo.inspection import film_game, film_grid, render_activation_movie, render_layer_movie
    from neurozoo.inspection.frozen import open_frozen
    from neurozoo.inspection.tagged import tag_folder

    if options.grid and options.tag:  # which shows those that have come so far, and names the others
        folders = [tag_folder(run_dir, options.tag) for run_dir in options.run_dir]
    if not (options.grid and options.tag) or not any((each / "frozen" / "model.json").exists() for each in folders):
        folders = [_tagged(run_dir, options.tag) for run_dir in options.run_dir]
    folder, *others = folders
    if others and not options.grid:
        raise NeurozooError(f"A movie of several runs, here {folder} and {others[0]}, is a grid: add --grid.")
    if options.game and options.fps:
        raise NeurozooError("--game plays as fast as the game itself; leave --fps away.")
    if options.grid and options.rollout:
        raise NeurozooError("A grid shows the rollout.npz of each folder; leave --rollout away.")
    frozen, rollout = folder / "frozen", options.rollout or folder / "rollout.npz"
    given = {"max_steps": options.max_steps, **({} if options.game else {"fps": options.fps or 60})}
    if options.grid:
        whole = next((each for each in folders if (each / "frozen" / "model.json").exists()), folder)
        output = options.output or Path("results", "movies", f"{open_frozen(whole / 'frozen').game}.mp4")
        movie = film_grid(folders, output, overlay=options.overlay, **given)
    elif options.game:
        output = options.output or folder / "game.mp4"
        movie = film_game(frozen, rollout, output, overlay=options.overlay, **given)
    elif options.layer:
        output = options.output or folder / f"layer_{options.layer}.mp4"
        movie = render_layer_movie(frozen, rollout, output, layer=options.layer, overlay=options.overlay, **given)
    else:
        output = options.output or folder / "activation.mp4"
        movie = render_activation_movie(frozen, rollout, output, **given)
    if options.json:
        print(json.dumps(asdict(movie)))
    else:
        print(f"{output}: {movie.frames} frames")


def _generations(options):
    from neurozoo.inspection import film_generations

    output = options.output or options.run_dir / "generations.mp4"
    names = ("ops", "noise", "count", "every", "max_steps", "seed", "fps")
    movie = film_generations(options.run_dir, output, **{name: getattr(options, name) for name in names})
    if options.json:
        print(json.dumps(asdict(movie)))
    else:
        numbers = ", ".join(map(str, movie.generations))
        print(f"{output}: generations {numbers}, {movie.frames} frames")


def _selected(options):
    from neurozoo.zoo.listing import select_models

    names = ("algo", "game", "model", "run", "tag")
    return select_models(options.results, **{name: getattr(options, name) for name in names})


def _zoo_list(options):
    from neurozoo.zoo.listing import as_table, facts_of

    models = _selected(options)
    print(json.dumps([facts_of(model) for model in models], indent=1) if options.json else as_table(models))


def _zoo_show(options):
    from neurozoo.zoo.listing import as_text, named_model

    print(as_text(named_model(options.results, options.name)))


def _zoo_export(options):
    from neurozoo.zoo.export import export_zoo

    for path in export_zoo(_selected(options), options.root):
        print(path)


def _zoo_import(options):
    from neurozoo.zoo.graph_import import import_graph

    folder = import_graph(
        options.graph,
        game=options.game,
        model=options.model,
        run=options.run,
        runs=options.results / "runs",
        run_dir=options.run_dir,
        **_protocol_choices(options),
    )
    print(f"{folder}: config.yaml, genome.json, checkpoint.npz, frozen/")


def _evaluate(options):
    from neurozoo.architectures import get_network
    from neurozoo.imports import play_as, read_agent
    from neurozoo.scoring import score_genome, summary

    agent = read_agent(options.genome)
    model = get_network(options.model).name if options.model else agent.model
    if model != agent.model:
        raise NeurozooError(f"{options.genome} is a genome for {agent.model!r}; it means nothing for {model!r}.")
    agent = play_as(agent, game=options.game, **_protocol_choices(options))
    episodes = score_genome(
        agent.genome,
        game=agent.game,
        model=agent.model,
        protocol=agent.protocol,
        reference=agent.reference,
        episodes=options.episodes,
        noops=options.noops,
        seed=options.seed,
        max_frames=options.max_frames,
        ops=options.ops,
        noise=options.noise,
        threads=options.threads,
    )
    figures = summary(episodes)
    if options.json:
        print(json.dumps({"summary": figures, "episodes": [asdict(episode) for episode in episodes]}, indent=1))
        return
    for number, episode in enumerate(episodes, 1):
        print(
            f"episode {number}: score {episode.score:g}, {episode.steps} steps, {episode.frames} frames, "
            f"{episode.noops} no-ops"
        )
    print(f"mean {figures['mean']:g} (standard error {figures['standard_error']:.3g}), median {figures['median']:g}")


def _bench(options):
    from neurozoo.benchmark import as_text, run_benchmark, write_page
    from neurozoo.files import read_json, write_json

    if options.engine == "batched":
        return _bench_batched(options)
    if options.load:
        report = read_json(options.load, "Measure: python -m neurozoo bench --save FILE")
    else:
        names = ("networks", "games", "threads", "seconds", "ops", "noise")
        given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
        report = run_benchmark(**given)
    if options.save:
        write_json(options.save, report)
    if options.write:
        write_page(options.write, report)
    print(json.dumps(report, indent=1) if options.json else as_text(report))


def _bench_dqn(options):
    from neurozoo.benchmark.side_by_side import as_table, compare
    from neurozoo.files import write_json

    names = ("game", "model", "steps", "repeats", "threads", "ops")
    report = compare(**{name: getattr(options, name) for name in names}, torch_python=options.torch)
    if options.save:
        write_json(options.save, report)
    print(json.dumps(report, indent=1) if options.json else as_table(report).as_text())


def _profile(options):
    from neurozoo.benchmark.learning_parts import as_table, profile_learning

    names = ("algo", "game", "model", "preset", "steps", "threads", "flames")
    report = profile_learning(**{name: getattr(options, name) for name in names}, overrides=_overrides(options))
    print(json.dumps(report, indent=1) if options.json else as_table(report).as_text())
    if options.flames:
        print(options.flames, file=sys.stderr)


def _bench_batched(options):
    from neurozoo.clusters.gpus import claim_gpus

    print(claim_gpus(cpu_allowed=True).reason, file=sys.stderr)  # before TensorFlow or JAX see them
    from neurozoo.benchmark.batched import measure_batched

    choices = options.networks or ["large"], options.games or ["frostbite"], options.threads or [os.cpu_count()]
    for network, game, threads, slots in itertools.product(*choices, options.slots):
        given = {"threads": threads, "slots": slots, "seconds": options.seconds}
        speed = measure_batched(network, game, **given, ops=options.ops, noise=options.noise)
        print(json.dumps(asdict(speed)), flush=True)


def _status(options):
    from neurozoo.status import read_overview, show

    def read():
        return read_overview(options.configfile, workdir=options.directory)

    if options.json:
        print(json.dumps(read().to_json(), indent=1))
        return
    with contextlib.suppress(KeyboardInterrupt):  # how watching ends
        show(read, watch=options.watch)


def _site(options):
    from neurozoo.site.pages import build_site, bundle_site

    if options.bundle:
        manifest, page = bundle_site(options.results, options.bundle), options.bundle
    else:
        manifest, page = build_site(options.results), options.results / "site" / "index.html"
    damaged = sum(entry.is_damaged for entry in manifest.missing)
    print(f"{page}: {len(manifest.runs)} runs, {damaged} damaged files, {len(manifest.missing) - damaged} to come")


def _provenance(options):
    from neurozoo.site.origins import find_settings, write_provenance

    page = options.results / "provenance.html"
    write_provenance(find_settings(options.results), html=page, json=page.with_suffix(".json"), build=options.build)
    print(page)


def _compare_statistics(options):
    from neurozoo.aggregate_plots import plot_aggregates, plot_improvement, plot_performance_profile
    from neurozoo.improvement import comparison_table
    from neurozoo.plots import FORMATS
    from neurozoo.tables import read_metrics, score_table

    if options.replications < 1 or not 0 < options.confidence < 1:
        raise NeurozooError("There should be at least 1 replication, and a confidence between 0 and 1.")
    metrics = read_metrics(options.metrics)
    scores, comparison = options.output / "scores.csv", options.output / "comparison.csv"
    bootstrap = {name: getattr(options, name) for name in ("replications", "confidence", "seed")}
    score_table(metrics, scores, **bootstrap)
    comparison_table(metrics, comparison, **bootstrap)

    def figures(name):
        return [options.output / f"{name}.{format}" for format in FORMATS]

    plot_performance_profile(metrics, figures("performance_profile"), confidence=options.confidence, seed=options.seed)
    plot_aggregates(scores, figures("aggregates"), confidence=options.confidence)
    plot_improvement(comparison, figures("probability_of_improvement"), confidence=options.confidence)
    print(f"{options.output}: scores.csv, comparison.csv, and figures")


def _compare_embed(options):
    from neurozoo.comparing import embed_states, write_embedding_page

    embedding, page = options.output / "embedding.npz", options.output / "embedding.html"
    names = ("keys", "methods", "max_points", "seed")
    left_out = embed_states(options.run_dirs, embedding, **{name: getattr(options, name) for name in names})
    for name, reason in left_out.items():
        print(f"left out {name}: {reason}", file=sys.stderr)
    write_embedding_page(embedding, options.run_dirs, page)
    print(f"{page}: open it in a browser; the numbers are in {embedding}")


def _compare_classify(options):
    from neurozoo.comparing import classify_states
    from neurozoo.files import read_json

    facts, csv, figure = (options.output / f"classification.{end}" for end in ("json", "csv", "png"))
    names = ("by", "source", "epochs", "seed")
    choices = {name: getattr(options, name) for name in names}
    result = classify_states(options.run_dirs, facts=facts, csv=csv, figures=[figure], **choices)
    if options.json:
        print(json.dumps(read_json(facts, "")))
    else:
        low, high = result.interval
        print(f"{csv}: accuracy {result.accuracy:.3f} ({low:.3f} to {high:.3f}), guessing {result.chance:.3f}")


def _show(options):
    from neurozoo.tables import describe_results

    print(describe_results(options.results))


if __name__ == "__main__":
    main()
