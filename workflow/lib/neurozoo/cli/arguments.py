"""Options that several commands share, and functions that read their values."""

import argparse
import contextlib
import json
import math
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from neurozoo.errors import NeurozooError
from neurozoo.files.yaml import parse_yaml
from neurozoo.folders import find
from neurozoo.machine import cores
from neurozoo.native import CORE
from neurozoo.records.run_result import OF_TRAINING

NOISE = "results/noise/table.f32"
SOME_RUN = "results/runs/ga/frostbite/small/1"
RUN_FILES = ("config.yaml", "checkpoint.npz", "frozen", "rollout.npz", "train.log", "state")  # a run has one of them

Commands = argparse._SubParsersAction  # `add_command` adds commands to it


class _Help(argparse.HelpFormatter):
    """Adds the default of an option that has one, unless its help speaks of it."""

    def _get_help_string(self, action: argparse.Action) -> str:
        has_default = action.option_strings and not isinstance(action.default, bool | list | None)
        if not has_default or action.default == argparse.SUPPRESS or "default" in (action.help or ""):
            return action.help or ""
        return f"{action.help} (default: %(default)s)"


class Parser(argparse.ArgumentParser):
    """A parser that answers a slip with one sentence, instead of all options and a sentence."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"formatter_class": _Help, **settings})

    def error(self, message: str) -> NoReturn:
        """Ends the process with status 2."""
        self.exit(2, f"neurozoo: {message}. Look at: {self.prog} --help\n")


class OriginalParser(argparse.ArgumentParser):
    """Reads the options of another program; a slip is a `NeurozooError`."""

    def error(self, message: str) -> NoReturn:
        """Raises what `run_translated` shows."""
        raise NeurozooError(f"{self.prog}: {message}.")


def run_translated(options: argparse.Namespace, translate: Callable) -> None:
    """Runs the command line of another program, in `options.words`; `options.run` runs one of ours.

    `translate` returns our command lines for these words, and sentences about what is ignored.
    """
    try:
        commands, notices = translate(options.words)
    except NeurozooError as error:
        print(f"neurozoo: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    for sentence in notices:
        print(f"neurozoo: {sentence}", file=sys.stderr)
    for words in commands:
        print("python -m neurozoo", shlex.join(words), file=sys.stderr)
        options.run(words)


def add_command(commands: Commands, name: str, function, summary: str) -> argparse.ArgumentParser:
    """Adds a command whose `--help` shows the same summary as the list of commands, and returns its own parser.

    The function is called with the parsed options; it is None if the command has subcommands. The summary is one line
    in lower case, without a full stop.
    """
    command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
    command.set_defaults(command=function, parser=command)
    return command


# ---- values


def whole(text: str) -> int:
    """Reads a whole number that may have an exponent, such as 1e6."""
    with contextlib.suppress(ValueError):
        return int(text)  # a float would round a long seed
    with contextlib.suppress(ValueError):
        if (value := float(text)).is_integer():
            return int(value)
    raise argparse.ArgumentTypeError(f"should be a whole number such as 1000000 or 1e6, but is {text!r}")


def positive(text: str) -> int:
    """Reads a whole number from 1, such as how many, or which run."""
    return _at_least(1, text)


def natural(text: str) -> int:
    """Reads a whole number from 0, such as a seed."""
    return _at_least(0, text)


def _at_least(least: int, text: str) -> int:
    if (number := whole(text)) < least:
        raise argparse.ArgumentTypeError(f"should be >= {least}, but is {number}")
    return number


def inches(text: str) -> float:
    """Reads the width or height of a figure, from 1 to 100."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 1 <= number <= 100:
        raise argparse.ArgumentTypeError(f"should be from 1 to 100 inches, but is {text!r}")
    return number


def not_empty(text: str) -> str:
    """Reads a name; an empty one, as of a variable of the shell that is not set, is refused."""
    if not text:
        raise argparse.ArgumentTypeError("should be a name, but is empty")
    return text


def named_game(text: str) -> str:
    """Returns the name of a game. The module of an environment may be imported, because the user names it here."""
    from neurozoo.environments.gymnasium_games import trust_module_of

    trust_module_of(text)
    return text


# ---- options of several commands


def add_run_dir(command: argparse.ArgumentParser, **choices: Any) -> None:
    """Adds the folder of a run, which `check_run_dirs` checks; `choices` may be `nargs`, for several."""
    command.add_argument("run_dir", type=Path, help=f"folder of a run, such as {SOME_RUN}", **choices)
    command.set_defaults(needs_run=True)


SHARED: dict[str, dict[str, Any]] = {
    "core": {"type": Path, "default": CORE, "help": "native core"},
    "noise": {"type": Path, "default": NOISE, "help": "noise table"},
    "threads": {"type": positive, "default": cores(), "help": "number of threads (default: all usable cores)"},
    "seed": {"type": natural, "default": 0, "help": "seed"},
    "set": {
        "action": "append",
        "default": [],
        "metavar": "NAME=VALUE",
        "help": "a setting, such as frames=1e6; may be repeated",
    },
    "protocol": {"help": "evaluation protocol (default: the genome's, or else the game's)"},
    "action-set": {"choices": ("minimal", "full"), "help": "default: the protocol's"},
    "observation": {"help": "of river_crossing only: pixels, rgb, greyscale or objects"},
    "start-state": {"choices": ("today", "2018"), "help": "RAM after a reset (default: today)"},
    "sticky-probability": {"type": float, "help": "probability per frame that the previous action is repeated"},
    "epsilon": {
        "type": float,
        "help": "probability of a random action (default: 0.05, or 0 for agents that draw their actions)",
    },
    "results": {"type": Path, "default": Path("results"), "help": "folder of all results"},
    "json": {"action": "store_true", "help": "print JSON"},
    "save": {"type": Path, "metavar": "FILE", "help": "also write the JSON to FILE"},
}
PROTOCOL = ("protocol", "action-set", "observation", "start-state")  # may differ from a genome's own


def add(command: argparse._ActionsContainer, *names: str, **changes: Any) -> None:
    """Adds options that several commands share; `changes` may be other words for `--help`."""
    for name in names:
        flags = ("--set", "-s") if name == "set" else (f"--{name}",)
        command.add_argument(*flags, **SHARED[name] | changes)


# ---- what was given


def chosen(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Returns some options by name, as keyword arguments for a function."""
    return {name: getattr(options, name) for name in names}


def protocol_choices(options: argparse.Namespace) -> dict[str, Any]:
    """Returns the options `PROTOCOL`."""
    return chosen(options, *(name.replace("-", "_") for name in PROTOCOL))


def read_setting(text: str) -> object:
    """Reads a setting's value as YAML, but reads 1e6 and 1e-5 as numbers; YAML reads them as strings."""
    for kind in (whole, float):
        with contextlib.suppress(ValueError, argparse.ArgumentTypeError):
            return kind(text)
    return parse_yaml(text)


def read_overrides(options: argparse.Namespace) -> dict[str, Any]:
    """Returns what `--set` says: values by the settings' names."""
    overrides = {}
    for text in options.set:
        name, equals, value = text.partition("=")
        if not equals:
            raise NeurozooError(f"--set {text!r} has no value. Write NAME=VALUE, such as --set frames=1e6.")
        try:
            overrides[name] = read_setting(value)
        except NeurozooError as error:
            raise NeurozooError(f"--set {text[:80]!r} has a value that is not YAML ({error}).") from error
    return overrides


def check_outputs(*files: tuple[Path | None, *tuple[str, ...]]) -> None:
    """Checks that files to write, if they are wanted, may be what will be in them, before any of them is written.

    Raises:
        NeurozooError: A file has another ending, and may be something else, or is the result of a run.
    """
    for file, *endings in files:
        if file is None:
            continue
        if file.suffix not in endings:
            raise NeurozooError(f"{file} should end in {' or '.join(endings)}. Nothing was written.")
        if file.name in OF_TRAINING and file.exists() and (file.parent / "config.yaml").exists():
            raise NeurozooError(f"{file} is the result of a training. Give another name. Nothing was written.")


def check_run_dirs(options: argparse.Namespace) -> None:
    """Checks that the option of `add_run_dir`, if there is one, names folders of runs."""
    if getattr(options, "needs_run", False):
        for folder in options.run_dir if isinstance(options.run_dir, list) else [options.run_dir]:
            _check_is_run(folder)


def _check_is_run(folder: Path) -> None:
    from neurozoo.agents.zoo_listing import is_run_number

    if not folder.is_dir():
        reason = "is a file" if folder.exists() else "does not exist"
        raise NeurozooError(
            f"{folder} {reason}. Give the folder of a run, such as {SOME_RUN}; python -m neurozoo import makes one of "
            "a genome."
        )
    if any((folder / name).exists() for name in RUN_FILES):
        return
    runs = sorted((each for each in find(folder, "*") if is_run_number(each.name)), key=lambda each: int(each.name))
    if runs:
        held = "the run" if len(runs) == 1 else f"{len(runs)} runs. Name one, such as"
        raise NeurozooError(f"{folder} is not the folder of a run, but holds {held} {runs[0]}.")
    raise NeurozooError(
        f"{folder} is not the folder of a run: it has neither a config.yaml nor a checkpoint. Give one, such as "
        f"{SOME_RUN}."
    )


# ---- what is said


def print_result(options: argparse.Namespace, record: object, text: str, *, indent: int | None = None) -> None:
    """Prints a result as JSON if `--json` says so, and else as text."""
    print(json.dumps(record, indent=indent) if options.json else text)


def say_if_outdated(*folders: Path) -> None:
    """Says on standard error which frozen agents are earlier ones of their runs; damaged ones are left to others."""
    from neurozoo.agents.frozen import outdated

    for folder in folders:
        with contextlib.suppress(NeurozooError):
            if complaint := outdated(folder):
                print(f"neurozoo: {complaint}", file=sys.stderr)
