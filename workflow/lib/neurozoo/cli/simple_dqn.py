"""`python -m neurozoo simple_dqn`: translates command lines of tambetm/simple_dqn, and runs them."""

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence

from neurozoo.cli.arguments import Commands, add_command
from neurozoo.errors import NeurozooError


def add_simple_dqn_command(commands: Commands, run: Callable[[Sequence[str]], None]) -> None:
    """Adds `simple_dqn`.

    Args:
        commands: The commands of the main program.
        run: Runs one of our commands; gets its words.
    """
    original = add_command(commands, "simple_dqn", _simple_dqn, "run a command line of tambetm/simple_dqn")
    original.set_defaults(run=run)
    original.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="such as: train pong --epochs 5")


def _simple_dqn(options):
    from neurozoo.cli.simple_dqn_commands import translate

    try:
        commands = translate(options.words)
    except NeurozooError as error:
        print(f"neurozoo: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    for words in commands:
        print("python -m neurozoo", shlex.join(words), file=sys.stderr)
        options.run(words)
