"""`python -m neurozoo bench`, `bench-learner` and `profile`: measures the speed of this machine."""

import itertools
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from neurozoo.cli.arguments import (
    OPS,
    Commands,
    add_command,
    add_engine,
    add_json,
    add_settings,
    chosen,
    named_game,
    positive,
    read_overrides,
)
from neurozoo.errors import NeurozooError


def add_benchmark_commands(commands: Commands) -> None:
    """Adds `bench`, `bench-learner` and `profile`."""
    bench = add_command(commands, "bench", _bench, "measure frames per second and core, and the cost of each part")
    bench.add_argument("--networks", nargs="+", help="default: large, small, recurrent_large")
    bench.add_argument("--games", nargs="+", help="default: frostbite, pong, riverraid")
    bench.add_argument(
        "--threads",
        nargs="+",
        type=positive,
        help="numbers of threads (default: 1, 2, 4, ... up to the physical cores)",
    )
    bench.add_argument("--seconds", type=float, default=5.0, help="duration of each measurement (default: %(default)s)")
    bench.add_argument(
        "--engine", choices=("native", "batched"), default="native", help="batched is described in docs/gpu.md"
    )
    bench.add_argument("--slots", nargs="+", type=positive, help="slots of the batched engine (default: 256)")
    add_json(bench)
    bench.add_argument("--save", type=Path, metavar="FILE", help="also write the JSON to FILE")
    bench.add_argument("--load", type=Path, metavar="FILE", help="measure nothing; show a file written by --save")
    bench.add_argument(
        "--write", type=Path, metavar="PAGE", help="replace the measurements on PAGE, such as docs/benchmarks.md"
    )
    add_engine(bench, threads=False)

    beside = add_command(
        commands, "bench-learner", _bench_learner, "compare the speed of a learner with PyTorch and the machine's limit"
    )
    beside.add_argument("--algo", choices=("dqn", "impala"), default="dqn", help="default: %(default)s")
    beside.add_argument("--game", type=named_game, default="pong", help="default: %(default)s")
    beside.add_argument("--model", help="network (default: nature, or impala_shallow)")
    beside.add_argument(
        "--torch",
        type=Path,
        metavar="PYTHON",
        help="a Python with PyTorch (make bench-learner makes one; default: none)",
    )
    beside.add_argument(
        "--steps", type=positive, help="steps of each side in a turn (default: 400, or 6,400 of impala)"
    )
    beside.add_argument("--repeats", type=positive, default=7, help="number of turns (default: %(default)s)")
    beside.add_argument("--threads", type=positive, help="threads of each side (default: physical cores)")
    beside.add_argument("--ops", type=Path, default=OPS, help="op library (default: %(default)s)")
    add_json(beside)
    beside.add_argument("--save", type=Path, metavar="FILE", help="also write the JSON to FILE")

    profile = add_command(
        commands, "profile", _profile, "measure the parts of a learner: emulator, prediction, training"
    )
    profile.add_argument("--algo", default="dqn", help="algorithm (default: %(default)s)")
    profile.add_argument("--game", type=named_game, default="pong", help="default: %(default)s")
    profile.add_argument("--model", default="nature", help="network (default: %(default)s)")
    profile.add_argument("--preset", default="nature", help="named settings (default: %(default)s)")
    add_settings(profile)
    profile.add_argument("--steps", type=positive, default=1000, help="steps of each part (default: %(default)s)")
    profile.add_argument(
        "--threads", type=positive, default=os.cpu_count(), help="number of threads (default: all cores)"
    )
    profile.add_argument("--ops", type=Path, default=OPS, help="op library (default: %(default)s)")
    profile.add_argument("--flames", type=Path, metavar="HTML", help="also write a flame graph of training to HTML")
    add_json(profile)


def _bench(options):
    from neurozoo.benchmark import as_text, run_benchmark, write_page
    from neurozoo.files import read_json, write_json

    if options.engine == "batched":
        return _bench_batched(options)
    if options.slots:
        raise NeurozooError("--slots is for the batched engine: give --engine batched, too.")
    if options.load:
        if given := [name for name in ("networks", "games", "threads") if getattr(options, name)]:
            raise NeurozooError(f"--load shows all that is in the file: leave out --{given[0]}.")
        report = read_json(options.load, "Measure: python -m neurozoo bench --save FILE")
    else:
        choices = chosen(options, "networks", "games", "threads", "seconds", "ops", "noise")
        report = run_benchmark(**{name: value for name, value in choices.items() if value is not None})
    if options.save:
        write_json(options.save, report)
    if options.write:
        write_page(options.write, report)
    print(json.dumps(report, indent=1) if options.json else as_text(report))


def _bench_batched(options):
    from neurozoo.compute.gpus import claim_gpus

    print(claim_gpus(cpu_allowed=True).reason, file=sys.stderr)  # before TensorFlow or JAX see them
    from neurozoo.benchmark.speed import measure_batched

    choices = options.networks or ["large"], options.games or ["frostbite"], options.threads or [os.cpu_count()]
    for network, game, threads, slots in itertools.product(*choices, options.slots or [256]):
        given = {"threads": threads, "slots": slots, "seconds": options.seconds}
        speed = measure_batched(network, game, **given, ops=options.ops, noise=options.noise)
        print(json.dumps(asdict(speed)), flush=True)


def _bench_learner(options):
    from neurozoo.benchmark.side_by_side import as_table, compare
    from neurozoo.files import write_json

    choices = chosen(options, "algo", "game", "model", "steps", "repeats", "threads", "ops")
    report = compare(**choices, torch_python=options.torch)
    if options.save:
        write_json(options.save, report)
    print(json.dumps(report, indent=1) if options.json else as_table(report).as_text())


def _profile(options):
    from neurozoo.benchmark.learning_parts import as_table, profile_learning

    choices = chosen(options, "algo", "game", "model", "preset", "steps", "threads", "flames", "ops")
    report = profile_learning(**choices, overrides=read_overrides(options))
    print(json.dumps(report, indent=1) if options.json else as_table(report).as_text())
    if options.flames:
        print(options.flames, file=sys.stderr)
