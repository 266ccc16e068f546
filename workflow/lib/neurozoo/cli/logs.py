"""`python -m neurozoo parse`, `phases` and `panels`: tables and plots from a run's log."""

import sys
from pathlib import Path
from typing import Any

from neurozoo.cli.arguments import Commands, add_command, check_outputs, chosen, inches, named_game, positive
from neurozoo.errors import NeurozooError


def add_log_commands(commands: Commands) -> None:
    """Adds `parse`, `phases` and `panels`."""
    parse = add_command(commands, "parse", _parse, "convert a log of Neurozoo or of the published codes to metrics.csv")
    parse.add_argument("log", type=Path, help="log.jsonl, or an old ga.out or log.txt")
    parse.add_argument("csv", type=Path, help="file to write, such as results/runs/ga/frostbite/large/1/metrics.csv")
    parse.add_argument("--algo", default="ga", help="algorithm (default: %(default)s)")
    parse.add_argument("--game", type=named_game, required=True, help="game id, such as frostbite")
    parse.add_argument("--model", required=True, help="network, such as large")
    parse.add_argument("--run", type=positive, required=True, help="number of the run")
    parse.add_argument(
        "--protocol",
        help="its protocol (default: that of config.yaml beside the log, else the game's: uber2018 for Atari)",
    )
    parse.add_argument("--columns", nargs="+", help="published field names (default: all except the genome)")

    phases = add_command(commands, "phases", _phases, "write a run's phases (random, train, test) as simple_dqn's CSV")
    phases.add_argument(
        "source", type=Path, metavar="RUN_DIR", help="folder of a run, or its log.jsonl, or a CSV of simple_dqn"
    )
    phases.add_argument(
        "--output", type=Path, help="file to write (default: RUN_DIR/phases.csv; of a CSV, NAME.phases.csv beside it)"
    )

    panels = add_command(commands, "panels", _panels, "plot a run's phases in panels: reward, Q-value, games, loss")
    panels.add_argument("source", type=Path, metavar="CSV_OR_RUN_DIR", help="a CSV of simple_dqn, or a run's folder")
    panels.add_argument(
        "--fields", metavar="NAME,...", help="a panel each (default: average_reward,meanq,nr_games,meancost)"
    )
    panels.add_argument(
        "--cost-as-written", action="store_true", help="meancost as in simple_dqn: divided by the epoch's number"
    )
    panels.add_argument("--width", type=inches, default=11.0, help="inches (default: %(default)s)")
    panels.add_argument("--height", type=inches, default=6.5, help="inches (default: %(default)s)")
    panels.add_argument("--output", type=Path, help="png, pdf or svg (default: beside the CSV, or RUN_DIR/phases.png)")


def _parse(options):
    from neurozoo.environments.protocols import protocol_of
    from neurozoo.networks.catalogue import get_network
    from neurozoo.records.comparability import protocol_facts, read_facts
    from neurozoo.records.run_log import parse_log

    if options.csv.resolve() == options.log.resolve():
        raise NeurozooError(f"{options.csv} is the log itself. Give another name for the table. Nothing was written.")
    check_outputs((options.csv, ".csv"))
    beside = options.log.with_name("config.yaml")
    own = _named(beside) if beside.exists() else {}
    protocol = protocol_of(
        options.game, options.protocol or (own["protocol"] if own.get("game") == options.game else None)
    )
    identity = {
        "algo": options.algo,
        "game": options.game,
        "model": get_network(options.model).name,
        "run": options.run,
        "protocol": protocol.name,
    }
    if other := [name for name, value in own.items() if value != identity[name]]:
        print(
            f"neurozoo: {beside} says that the {other[0]} is {own[other[0]]}, but the table says {identity[other[0]]}.",
            file=sys.stderr,
        )
    is_recorded = own and not set(other) - {"run"}
    facts = read_facts(beside) if is_recorded else protocol_facts(protocol)
    parse_log(options.log, options.csv, identity=identity, facts=facts, columns=options.columns)
    print(options.csv)


def _named(config):
    """Returns which run the log beside a `config.yaml` is of; empty if it does not say so."""
    from neurozoo.records.run_config import read_identity

    try:
        return read_identity(config)
    except NeurozooError:
        return {}


def _phases(options):
    from neurozoo.records.run_config import read_run_settings
    from neurozoo.records.simple_dqn_csv import write_statistics

    source = options.source
    if not source.exists():
        raise NeurozooError(f"{source} is missing. Give the folder of a run, its log.jsonl, or a CSV of simple_dqn.")
    check_outputs((options.output, ".csv"))
    of_csv = source.suffix == ".csv"
    folder = source if source.is_dir() else source.parent
    output = options.output or (source.with_suffix(".phases.csv") if of_csv else folder / "phases.csv")
    settings = source / "config.yaml" if source.is_dir() else source.with_name("config.yaml")
    known: dict[str, Any] = read_run_settings(settings) if settings.exists() else {}
    write_statistics(source, output, seed=known.get("seed"))
    print(output)


def _panels(options):
    from neurozoo.figures.phases import DEFAULT_FIELDS, draw_panels

    source = options.source
    output = options.output or (source / "phases.png" if source.is_dir() else source.with_suffix(".png"))
    fields = [name.strip() for name in options.fields.split(",")] if options.fields else DEFAULT_FIELDS
    draw_panels(source, [output], fields=fields, **chosen(options, "cost_as_written", "width", "height"))
    print(output)
