"""`python -m neurozoo`: the functions behind the rules, by hand."""

import argparse
from collections.abc import Sequence

from neurozoo import __version__
from neurozoo.commands.agents import add_agent_commands
from neurozoo.commands.comparing import add_comparing_commands
from neurozoo.commands.filters import add_filter_commands
from neurozoo.commands.inspection import add_inspection_commands
from neurozoo.commands.logs import add_log_commands
from neurozoo.commands.measuring import add_measuring_commands
from neurozoo.commands.results import add_result_commands
from neurozoo.commands.simple_dqn import add_simple_dqn_command
from neurozoo.commands.training import add_training_commands
from neurozoo.commands.watching import add_watching_commands
from neurozoo.commands.zoo import add_zoo_commands
from neurozoo.errors import plain_errors


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command.

    Args:
        arguments: Words of the command line; None takes the process's own.

    Raises:
        SystemExit: Status 1 after an error that the user can mend, which is one sentence on standard error.
    """
    options = build_parser().parse_args(arguments)
    with plain_errors():
        options.command(options)


def build_parser() -> argparse.ArgumentParser:
    """Returns the parser of all commands; what it has parsed holds the function to call, `command`."""
    parser = argparse.ArgumentParser(
        prog="python -m neurozoo", description="The functions behind the rules, by hand. Paths are relative to here."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command")
    add_training_commands(commands)
    add_log_commands(commands)
    add_agent_commands(commands)
    add_inspection_commands(commands)
    add_watching_commands(commands)
    add_filter_commands(commands)
    add_zoo_commands(commands)
    add_measuring_commands(commands)
    add_comparing_commands(commands)
    add_result_commands(commands)
    add_simple_dqn_command(commands, main)
    return parser


if __name__ == "__main__":
    main()
