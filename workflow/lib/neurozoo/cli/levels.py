"""`python -m neurozoo level`: levels of the platform game as text, pictures and movies."""

import json
from pathlib import Path

from neurozoo.cli.arguments import OPS, Commands, add_command, add_json


def add_level_commands(commands: Commands) -> None:
    """Adds `level`."""
    command = add_command(commands, "level", _level, "let the agent play a level of the platform game, and export it")
    command.add_argument("source", type=Path, help="text file of a level, or folder of a run of the game mario")
    command.add_argument("--cell", type=int, help="cell of the run's archive (default: its best elite)")
    command.add_argument("--text", type=Path, help="text file to write")
    command.add_argument("--picture", type=Path, help=".png to write: the level and the agent's way")
    command.add_argument("--movie", type=Path, help=".mp4 to write")
    command.add_argument("--ops", default=OPS, help="the op library (default: %(default)s)")
    add_json(command)


def _level(options):
    from neurozoo.environments.platformer.tiles import write_level
    from neurozoo.movies.level_movie import describe_run, draw_run, film_level, level_of

    level = level_of(options.source, cell=options.cell)
    if options.text:
        write_level(options.text, level)
    if options.picture:
        draw_run(level, options.picture, ops=options.ops)
    made = film_level(level, options.movie, ops=options.ops) if options.movie else describe_run(level, ops=options.ops)
    outcomes = {1: "The agent reaches the finish", 2: "The agent is lost", 3: "The agent's time is out"}
    sentence = (
        f"{outcomes[int(made['status'])]} after {made['ticks']} ticks, {made['jumps']} jumps and {made['kills']} kills"
    )
    print(json.dumps(made) if options.json else f"{sentence}; {made['completion']:.0%} of the way.")
