"""The command line: `python -m neurozoo` calls the functions behind the Snakemake rules."""

import os
import sys

# `python -m` looks for modules in the working directory first. A results folder from elsewhere must not bring its own.
if __name__ == "__main__" and not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]

import argparse
import contextlib
from collections.abc import Sequence
from pathlib import Path

from neurozoo import __version__
from neurozoo.errors import plain_errors
from neurozoo.folders import guard

with plain_errors():  # the catalogue of networks, which users edit, is checked here
    from neurozoo.cli import (
        agents,
        benchmarks,
        cloud,
        comparing,
        filters,
        frozen_agents,
        impala_gym,
        logs,
        movies_and_play,
        results,
        simple_dqn,
        training,
        what_if,
        worlds,
        zoo,
    )
    from neurozoo.cli.arguments import Parser, check_run_dirs

GROUPS = (
    training, logs, agents, frozen_agents, worlds, movies_and_play, what_if, filters, zoo, benchmarks, cloud, comparing,
    results, simple_dqn, impala_gym,
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command, with the words of the command line, or of this process.

    Raises:
        SystemExit: Status 2 after a slip on the command line, 1 after another error that the user can fix. Standard
            error then shows one sentence.
    """
    with plain_errors():
        options, unknown = build_parser().parse_known_args(arguments)
        if unknown:
            options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")  # names the command's own --help
        _guard_named(options)
        check_run_dirs(options)
        options.command(options)


def _guard_named(options: argparse.Namespace) -> None:
    """Notes the files and folders that the command line names, but not the folder of a workflow: it is no results."""
    for name, value in vars(options).items():
        for path in value if isinstance(value, list) else [value]:
            # Some options are a path or something else, such as an agent's name.
            if name != "directory" and (isinstance(path, Path) or (isinstance(path, str) and os.path.exists(path))):
                guard(path)


def build_parser() -> argparse.ArgumentParser:
    """Returns the parser of all commands. Parsed options have the function to call in `command`."""
    parser = Parser(
        prog="python -m neurozoo",
        description="Calls the functions behind the Snakemake rules. Paths are relative to the current folder.",
    )
    parser.set_defaults(run=main)  # for commands that translate those of another program
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command")
    for group in GROUPS:
        group.add_commands(commands)
    return parser


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):  # `| head` has read enough
        main()
        sys.stdout.flush()
