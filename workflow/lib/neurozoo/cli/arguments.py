"""What commands share: their options, and how values are read from them."""

import argparse
import contextlib
import os
from pathlib import Path

from neurozoo.errors import NeurozooError

OPS = "results/native/libneurozoo_ops.so"
NOISE = "results/noise/table.f32"

Commands = argparse._SubParsersAction  # what a command is added to


def add_command(commands: Commands, name: str, function, summary: str) -> argparse.ArgumentParser:
    """Adds a command that `--help` describes in the words of its list.

    Args:
        commands: Where to.
        name: What to type.
        function: Takes the parsed options; None if there are commands below this one.
        summary: In lower case, without a full stop.

    Returns:
        The command's own parser.
    """
    command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
    command.set_defaults(command=function)
    return command


def add_run_dir(command: argparse.ArgumentParser) -> None:
    """Adds the folder of one run."""
    command.add_argument("run_dir", type=Path, help="such as results/runs/ga/frostbite/large/1")


def add_results(command: argparse.ArgumentParser, meaning: str = "") -> None:
    """Adds the folder of all results, and what it should hold if there is more to say."""
    text = f"{meaning} (default: %(default)s)" if meaning else "default: %(default)s"
    command.add_argument("--results", type=Path, default=Path("results"), help=text)


def add_protocol(command: argparse.ArgumentParser) -> None:
    """Adds what may differ from a genome's own protocol; see `protocol_choices`."""
    command.add_argument("--protocol", help="default: the genome's, or else the game's own")
    command.add_argument("--action-set", choices=("minimal", "full"), help="default: the protocol's")
    command.add_argument("--observation", help="of river_crossing: pixels, rgb, greyscale or objects")
    command.add_argument("--start-state", choices=("today", "2018"), help="RAM after a reset (default: today's)")


def add_settings(command: argparse.ArgumentParser) -> None:
    """Adds settings of an algorithm, one by one; see `read_overrides`."""
    command.add_argument(
        *("--set", "-s"), action="append", default=[], metavar="NAME=VALUE", help="a setting, such as frames=1e6"
    )


def add_engine(command: argparse.ArgumentParser, *, ops: bool = True, threads: bool = True) -> None:
    """Adds what episodes are played with; not every command needs the op library or threads."""
    if ops:
        command.add_argument("--ops", type=Path, default=OPS, help="op library (default: %(default)s)")
    command.add_argument("--noise", type=Path, default=NOISE, help="noise table (default: %(default)s)")
    if threads:
        command.add_argument("--threads", type=int, default=os.cpu_count(), help="default: all cores")


def add_json(command: argparse.ArgumentParser, what: str = "JSON") -> None:
    """Adds the choice of an answer that programs can read."""
    command.add_argument("--json", action="store_true", help=f"print {what}")


def chosen(options: argparse.Namespace, *names: str) -> dict:
    """Returns some options by name, for a function that calls them the same."""
    return {name: getattr(options, name) for name in names}


def protocol_choices(options: argparse.Namespace) -> dict:
    """Returns the options of `add_protocol`."""
    return chosen(options, "protocol", "action_set", "observation", "start_state")


def whole(text: str) -> int:
    """Reads a whole number that may have an exponent, such as 1e6.

    Raises:
        ValueError: It is none.
    """
    value = float(text)
    if not value.is_integer():
        raise ValueError(text)
    return int(value)


def read_setting(text: str) -> object:
    """Reads a setting's value as YAML, but takes 1e6 and 1e-5 for numbers, which YAML takes for words."""
    import yaml

    for kind in (whole, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return yaml.safe_load(text)


def read_overrides(options: argparse.Namespace) -> dict:
    """Reads the options of `add_settings`.

    Returns:
        Values by the settings' names.

    Raises:
        NeurozooError: One has no equals sign.
    """
    overrides = {}
    for text in options.set:
        name, equals, value = text.partition("=")
        if not equals:
            raise NeurozooError(f"A setting looks like NAME=VALUE, but {text!r} came.")
        overrides[name] = read_setting(value)
    return overrides
