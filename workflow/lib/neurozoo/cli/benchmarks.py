"""`python -m neurozoo bench`, `bench-learner` and `profile`: measures the speed of this machine."""

import itertools
import json
import sys
from pathlib import Path

from neurozoo.cli import arguments as args
from neurozoo.errors import NeurozooError
from neurozoo.machine import cores


def add_commands(commands: args.Commands) -> None:
    """Adds `bench`, `bench-learner` and `profile`."""
    summary = "measure frames per second and core, and the cost of each part"
    command = args.add_command(commands, "bench", _bench, summary)
    option = command.add_argument
    option("--networks", nargs="+", help="default: large, small, recurrent_large")
    option("--games", nargs="+", help="default: frostbite, pong, riverraid")
    counts = "numbers of threads (default: 1, 2, 4, ... up to the physical cores)"
    option("--threads", nargs="+", type=args.positive, help=counts)
    option("--seconds", type=float, default=5.0, help="duration of each measurement")
    option("--engine", choices=("native", "batched"), default="native", help="batched is described in docs/gpu.md")
    option("--slots", nargs="+", type=args.positive, help="slots of the batched engine (default: 256)")
    torch = "a Python with PyTorch and EnvPool to compare with (make bench-page makes one; default: none)"
    option("--torch", type=Path, metavar="PYTHON", help=torch)
    args.add(command, "json", "save")
    option("--load", type=Path, metavar="FILE", help="measure nothing; show a file written by --save")
    option("--write", type=Path, metavar="PAGE", help="replace the measurements on PAGE, such as docs/benchmarks.md")
    args.add(command, "core", "noise")

    summary = "compare the speed of a learner with PyTorch and the machine's limit"
    command = args.add_command(commands, "bench-learner", _bench_learner, summary)
    option = command.add_argument
    option("--algo", choices=("dqn", "impala"), default="dqn", help="algorithm")
    option("--game", type=args.named_game, default="pong", help="game")
    option("--model", help="network (default: nature, or impala_shallow)")
    torch = "a Python with PyTorch (make bench-learner makes one; default: none)"
    option("--torch", type=Path, metavar="PYTHON", help=torch)
    option("--steps", type=args.positive, help="steps of each side in a turn (default: 400, or 6,400 of impala)")
    option("--repeats", type=args.positive, default=7, help="number of turns")
    option("--threads", type=args.positive, help="threads of each side (default: physical cores)")
    args.add(command, "core", "json", "save")

    summary = "measure the parts of a learner: emulator, prediction, training"
    command = args.add_command(commands, "profile", _profile, summary)
    option = command.add_argument
    option("--algo", default="dqn", help="algorithm")
    option("--game", type=args.named_game, default="pong", help="game")
    option("--model", default="nature", help="network")
    option("--preset", default="nature", help="named settings")
    args.add(command, "set")
    option("--steps", type=args.positive, default=1000, help="steps of each part")
    args.add(command, "threads", "core")
    option("--flames", type=Path, metavar="HTML", help="also write a flame graph of training to HTML")
    args.add(command, "json")


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
        choices = args.chosen(options, "networks", "games", "threads", "seconds", "core", "noise")
        choices = {name: value for name, value in choices.items() if value is not None}
        report = run_benchmark(**choices, torch_python=options.torch)
    if options.save:
        write_json(options.save, report)
    if options.write:
        write_page(options.write, report)
    args.print_result(options, report, as_text(report), indent=1)


def _bench_batched(options):
    from neurozoo.compute.gpus import claim_gpus

    print(claim_gpus(cpu_allowed=True).reason, file=sys.stderr)  # before TensorFlow or JAX see them
    from neurozoo.benchmark.speed import measure_batched

    choices = options.networks or ["large"], options.games or ["frostbite"], options.threads or [cores()]
    for network, game, threads, slots in itertools.product(*choices, options.slots or [256]):
        given = {"threads": threads, "slots": slots, "seconds": options.seconds}
        speed = measure_batched(network, game, **given, core=options.core, noise=options.noise)
        print(json.dumps(speed), flush=True)


def _bench_learner(options):
    from neurozoo.benchmark.side_by_side import as_table, compare
    from neurozoo.files import write_json

    choices = args.chosen(options, "algo", "game", "model", "steps", "repeats", "threads", "core")
    report = compare(**choices, torch_python=options.torch)
    if options.save:
        write_json(options.save, report)
    args.print_result(options, report, as_table(report).as_text(), indent=1)


def _profile(options):
    from neurozoo.benchmark.learning_parts import as_table, profile_learning

    choices = args.chosen(options, "algo", "game", "model", "preset", "steps", "threads", "flames", "core")
    report = profile_learning(**choices, overrides=args.read_overrides(options))
    args.print_result(options, report, as_table(report).as_text(), indent=1)
    if options.flames:
        print(options.flames, file=sys.stderr)
