"""The command line: `python -m neurozoo` calls the functions behind the Snakemake rules."""

import os
import signal
import sys

# `python -m` looks for modules in the working directory first. A results folder from elsewhere must not bring its own.
if __name__ == "__main__" and not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]
# Ctrl-C while modules are imported ends without a traceback; commands in the background of a script ignore it.
if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse
from collections.abc import Sequence
from pathlib import Path

from neurozoo import __version__
from neurozoo.errors import plain_errors
from neurozoo.folders import guard

with plain_errors():  # the catalogue of networks, which users edit, is checked here
    from neurozoo.cli.agents import add_agent_commands
    from neurozoo.cli.arguments import Parser, check_run_dirs
    from neurozoo.cli.benchmarks import add_benchmark_commands
    from neurozoo.cli.book import add_book_command
    from neurozoo.cli.cloud import add_cloud_commands
    from neurozoo.cli.comparing import add_comparing_commands
    from neurozoo.cli.filters import add_filter_commands
    from neurozoo.cli.frozen_agents import add_frozen_agent_commands
    from neurozoo.cli.impala_gym import add_impala_gym_command
    from neurozoo.cli.levels import add_level_commands
    from neurozoo.cli.logs import add_log_commands
    from neurozoo.cli.movies_and_play import add_movie_and_play_commands
    from neurozoo.cli.results import add_result_commands
    from neurozoo.cli.river import add_river_commands
    from neurozoo.cli.settings import add_settings_command
    from neurozoo.cli.simple_dqn import add_simple_dqn_command
    from neurozoo.cli.training import add_training_commands
    from neurozoo.cli.zoo import add_zoo_commands


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command.

    Args:
        arguments: Words of the command line; None for those of this process.

    Raises:
        SystemExit: Status 2 after a slip on the command line, 1 after another error that the user can fix. Standard
            error then shows one sentence.
    """
    options, unknown = build_parser().parse_known_args(arguments)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")  # names the command's own --help
    _guard_named(options)
    with plain_errors():
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
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command")
    add_training_commands(commands)
    add_settings_command(commands)
    add_log_commands(commands)
    add_agent_commands(commands)
    add_frozen_agent_commands(commands)
    add_level_commands(commands)
    add_river_commands(commands)
    add_movie_and_play_commands(commands)
    add_filter_commands(commands)
    add_zoo_commands(commands)
    add_benchmark_commands(commands)
    add_cloud_commands(commands)
    add_comparing_commands(commands)
    add_result_commands(commands)
    add_book_command(commands)
    add_simple_dqn_command(commands, main)
    add_impala_gym_command(commands, main)
    return parser


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main()
        sys.stdout.flush()
    except KeyboardInterrupt:  # commands that write say so themselves, and leave nothing half written
        print("neurozoo: stopped", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:  # `| head` has read enough; Python would complain again when it flushes at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
