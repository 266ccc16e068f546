"""`python -m neurozoo parse`, `phases` and `panels`: tables and plots from a run's log."""

import contextlib
import sys
from pathlib import Path
from typing import Any

from neurozoo.cli import arguments as args
from neurozoo.errors import NeurozooError


def add_commands(commands: args.Commands) -> None:
    """Adds `parse`, `phases` and `panels`."""
    summary = "convert a log of Neurozoo or of the published codes to metrics.csv"
    option = args.add_command(commands, "parse", _parse, summary).add_argument
    option("log", type=Path, help="log.jsonl, or an old ga.out or log.txt")
    option("csv", type=Path, help="file to write, such as results/runs/ga/frostbite/large/1/metrics.csv")
    option("--algo", default="ga", help="algorithm")
    option("--game", type=args.named_game, required=True, help="game id, such as frostbite")
    option("--model", required=True, help="network, such as large")
    option("--run", type=args.positive, required=True, help="number of the run")
    protocol = "that of config.yaml beside the log, else the game's: uber2018 for Atari"
    option("--protocol", help=f"its protocol (default: {protocol})")
    option("--columns", nargs="+", help="published field names (default: all except the genome)")

    summary = "write a run's phases (random, train, test) as simple_dqn's CSV"
    option = args.add_command(commands, "phases", _phases, summary).add_argument
    option("source", type=Path, metavar="RUN_DIR", help="folder of a run, or its log.jsonl, or a CSV of simple_dqn")
    output = "file to write (default: RUN_DIR/phases.csv; of a CSV, NAME.phases.csv beside it)"
    option("--output", type=Path, help=output)

    summary = "plot a run's phases in panels: reward, Q-value, games, loss"
    option = args.add_command(commands, "panels", _panels, summary).add_argument
    option("source", type=Path, metavar="CSV_OR_RUN_DIR", help="a CSV of simple_dqn, or a run's folder")
    option("--fields", metavar="NAME,...", help="a panel each (default: average_reward,meanq,nr_games,meancost)")
    option("--cost-as-written", action="store_true", help="meancost as in simple_dqn: divided by the epoch's number")
    option("--width", type=args.inches, default=11.0, help="inches")
    option("--height", type=args.inches, default=6.5, help="inches")
    option("--output", type=Path, help="png, pdf or svg (default: beside the CSV, or RUN_DIR/phases.png)")


def _parse(options):
    from neurozoo.environments.protocols import protocol_of
    from neurozoo.networks.catalogue import get_network
    from neurozoo.records.comparability import protocol_facts, read_facts
    from neurozoo.records.run_config import read_identity
    from neurozoo.records.run_log import parse_log

    if options.csv.resolve() == options.log.resolve():
        raise NeurozooError(f"{options.csv} is the log itself. Give another name for the table. Nothing was written.")
    args.check_outputs((options.csv, ".csv"))
    beside = options.log.with_name("config.yaml")
    own: dict[str, Any] = {}  # what a `config.yaml` beside the log says which run it is of
    if beside.exists():
        with contextlib.suppress(NeurozooError):
            own = read_identity(beside)
    protocol = protocol_of(
        options.game, options.protocol or (own["protocol"] if own.get("game") == options.game else None)
    )
    identity = args.chosen(options, "algo", "game", "run")
    identity |= {"model": get_network(options.model).name, "protocol": protocol.name}
    if other := [name for name, value in own.items() if value != identity[name]]:
        print(
            f"neurozoo: {beside} says that the {other[0]} is {own[other[0]]}, but the table says {identity[other[0]]}.",
            file=sys.stderr,
        )
    is_recorded = own and not set(other) - {"run"}
    facts = read_facts(beside) if is_recorded else protocol_facts(protocol)
    parse_log(options.log, options.csv, identity=identity, facts=facts, columns=options.columns)
    print(options.csv)


def _phases(options):
    from neurozoo.records.run_config import config_of_run, read_run_settings
    from neurozoo.records.simple_dqn_csv import write_statistics

    source = options.source
    if not source.exists():
        raise NeurozooError(f"{source} is missing. Give the folder of a run, its log.jsonl, or a CSV of simple_dqn.")
    args.check_outputs((options.output, ".csv"))
    of_csv = source.suffix == ".csv"
    folder = source if source.is_dir() else source.parent
    output = options.output or (source.with_suffix(".phases.csv") if of_csv else folder / "phases.csv")
    settings = config_of_run(source) if source.is_dir() else source.with_name("config.yaml")
    known: dict[str, Any] = read_run_settings(settings) if settings.exists() else {}
    write_statistics(source, output, seed=known.get("seed"))
    print(output)


def _panels(options):
    from neurozoo.figures.phases import DEFAULT_FIELDS, draw_panels

    source = options.source
    output = options.output or (source / "phases.png" if source.is_dir() else source.with_suffix(".png"))
    fields = [name.strip() for name in options.fields.split(",")] if options.fields else DEFAULT_FIELDS
    draw_panels(source, [output], fields=fields, **args.chosen(options, "cost_as_written", "width", "height"))
    print(output)
