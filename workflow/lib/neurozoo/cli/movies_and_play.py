"""`python -m neurozoo movie`, `generations` and `play`: shows agents in movies or in a window."""

import argparse
from dataclasses import asdict
from pathlib import Path

from neurozoo.agents.tags import FINAL
from neurozoo.cli import arguments as args
from neurozoo.errors import NeurozooError
from neurozoo.text import number_label

LOOKS = ("layout", "theme", "rows")  # of an activation movie
# What each kind of movie or of play does not use, and why.
UNUSED = {
    "--grid": ((*LOOKS, "rollout"), "which shows the screens in the rollout.npz of each folder"),
    "--game": ((*LOOKS, "fps"), "which shows the game alone, at its own speed"),
    "--landscape": (("layout", "rows", "overlay"), "which has one look, with score and step"),
    "--loop": ((*LOOKS, "fps", "max_steps", "overlay"), "which is cut out of a finished movie"),
    "--layer": (LOOKS, "which has one look"),
    "--layout classic": (("theme", "rows", "overlay"), "which has one look, with score, step and action"),
    "a movie of all layers": (("overlay",), "which always shows score, step and action"),
    "--browser": (
        ("epsilon", "sticky_probability", "manual", "games", "seed", "is_heard"),
        "which writes a page and plays nothing",
    ),
    "a level": (("browser", "epsilon", "sticky_probability", "seed"), "which you play yourself"),
}


def add_commands(commands: args.Commands) -> None:
    """Adds `movie`, `generations` and `play`."""
    summary = "make a movie of a rollout: all layers, one layer, the game alone, or several runs"
    command = args.add_command(commands, "movie", show_movie, summary)
    option = command.add_argument
    args.add_run_dir(command, nargs="+")
    option("--tag", default=FINAL, help="show the agent of this moment (default: final, the run's result)")
    kind = add_looks(command)
    kind.add_argument("--grid", action="store_true", help="show the games of several RUN_DIRs side by side")
    option("--rollout", type=Path, help="rollout to show, not with --grid (default: RUN_DIR/rollout.npz)")
    output = "activation.mp4, layer_NAME.mp4, game.mp4, landscape.mp4, loop.webp in RUN_DIR, or results/movies/GAME.mp4"
    option("--output", type=Path, help=f"file to write (default: {output})")
    args.add(command, "json", help="print frames and speed as JSON")

    summary = "make a movie of several generations of a run side by side"
    command = args.add_command(commands, "generations", _generations, summary)
    option = command.add_argument
    args.add_run_dir(command)
    option("--count", type=args.positive, default=4, help="number of generations, from first to last")
    option("--every", type=args.positive, help="show the first, every N-th and the last generation instead")
    option("--max-steps", type=args.positive, default=2500, help="longest episode in steps")
    args.add(command, "seed")
    option("--fps", type=args.positive, default=60, help="pictures per second")
    option("--output", type=Path, help="file to write (default: RUN_DIR/generations.mp4)")
    args.add(command, "json", help="print generations, scores and frames as JSON")
    args.add(command, "core", "noise")

    summary = "watch a frozen agent play, or take over the joystick (docs/play.md)"
    command = args.add_command(commands, "play", _play, summary)
    option = command.add_argument
    folder = (
        "folder of a run, such as results/runs/dqn/pong/small/1, or its frozen/; or a level to play yourself: a text "
        "file, or a run of the game mario"
    )
    option("folder", type=Path, metavar="RUN_DIR_OR_FROZEN_OR_LEVEL", help=folder)
    option("--cell", type=args.natural, help="of a run of mario: cell of its archive (default: its best elite)")
    args.add(command, "core")
    add_play_options(command)


def add_looks(command: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """Adds what a movie of one agent shows and how; returns the group of its kinds."""
    kind = command.add_mutually_exclusive_group()
    layer = "show one layer of model.json beside the game, such as conv1"
    kind.add_argument("--layer", type=args.not_empty, metavar="NAME", help=layer)
    game = "show only the game, with every frame, and with sound if it has any"
    kind.add_argument("--game", action="store_true", help=game)
    landscape = "show how the landscape of a modular agent spreads, cycle by cycle (docs/river_crossing.md)"
    kind.add_argument("--landscape", action="store_true", help=landscape)
    loop = "cut ten seconds that repeat out of activation.mp4, below 2 MB, as WebP"
    kind.add_argument("--loop", action="store_true", help=loop)
    option = command.add_argument
    option("--layout", choices=("wide", "classic"), help="of all layers (default: wide, 16:9)")
    option("--theme", choices=("dark", "light"), help="colours of a wide movie (default: dark)")
    option("--rows", type=int, choices=(720, 1080), help="height of a wide movie (default: 720)")
    option("--fps", type=args.positive, help="pictures per second, not with --game (default: 60, of --landscape 30)")
    option("--max-steps", type=args.natural, default=0, help="number of steps to show, not with --loop (default: all)")
    overlay = "do not show score, step and action: with --layer, --game or --grid"
    option("--no-overlay", dest="overlay", action="store_false", help=overlay)
    return kind


def add_play_options(command: argparse.ArgumentParser) -> None:
    """Adds how an agent plays for people who watch it."""
    option, place = command.add_argument, command.add_mutually_exclusive_group()
    place.add_argument("--terminal", action="store_true", help="draw into this terminal instead of a window")
    page = "write play.html, on which a modular agent plays in any browser (docs/river_crossing.md)"
    place.add_argument("--browser", action="store_true", help=page)
    args.add(command, "epsilon", "sticky-probability")
    option("--manual", action="store_true", help="play yourself; key m switches between you and the agent")
    option("--games", type=args.positive, default=1, help="number of games")
    args.add(command, "seed")
    option("--no-sound", dest="is_heard", action="store_false", help="play without sound")


def check_movie_options(options: argparse.Namespace) -> None:
    """Refuses what does not go together, before anything is played or drawn; says what to leave out."""
    if len(options.run_dir) > 1 and not options.grid:
        first, second, *_ = options.run_dir
        raise NeurozooError(f"Several runs, here {first} and {second}, need --grid. Add it, or name one run.")
    if options.loop:
        args.check_outputs((options.output, ".webp"))
    kind = next((f"--{name}" for name in ("grid", "game", "landscape", "loop", "layer") if getattr(options, name)), "")
    kind = kind or ("--layout classic" if options.layout == "classic" else "a movie of all layers")
    _refuse_unused(options, kind)


def check_play_options(options: argparse.Namespace) -> None:
    """Refuses what a page does not use, before an agent is unpacked."""
    if options.browser:
        _refuse_unused(options, "--browser")


def _refuse_unused(options, kind):
    names, reason = UNUSED[kind]
    for action in options.parser._actions:
        if action.dest in names and getattr(options, action.dest) != action.default:
            given = action.option_strings[-1]
            raise NeurozooError(f"{given} cannot be used with {kind}, {reason}. Leave {given} out.")


def show_movie(options: argparse.Namespace, *, movie: Path | None = None) -> None:
    """Makes a movie; see `python -m neurozoo movie --help`. A loop is cut out of `movie`, if it is given."""
    from neurozoo.agents.frozen import open_frozen
    from neurozoo.agents.tagged_agents import frozen_tag_folder, tag_folder
    from neurozoo.movies.activation_movie import Movie, render_activation_movie, render_layer_movie
    from neurozoo.movies.game_movie import GameMovie, film_game
    from neurozoo.movies.grid import GridMovie, film_grid
    from neurozoo.movies.landscape_movie import render_landscape_movie
    from neurozoo.movies.looping_clip import make_loop

    check_movie_options(options)
    if options.grid:  # a grid shows the runs that are frozen already, and names the others
        folders = [tag_folder(run_dir, options.tag) for run_dir in options.run_dir]
    if not options.grid or not any((each / "frozen" / "model.json").exists() for each in folders):
        folders = [frozen_tag_folder(run_dir, options.tag) for run_dir in options.run_dir]
    args.say_if_outdated(*folders)
    folder = folders[0]
    frozen, rollout = folder / "frozen", options.rollout or folder / "rollout.npz"
    given = {
        "max_steps": options.max_steps,
        **({} if options.game else {"fps": 60 if options.fps is None else options.fps}),
    }
    made: GridMovie | GameMovie | Movie
    if options.grid:
        whole = next((each for each in folders if (each / "frozen" / "model.json").exists()), folder)
        output = options.output or Path("results", "movies", f"{open_frozen(whole / 'frozen').game}.mp4")
        made = film_grid(folders, output, overlay=options.overlay, **given)
    elif options.game:
        output = options.output or folder / "game.mp4"
        made = film_game(frozen, rollout, output, overlay=options.overlay, **given)
    elif options.landscape:
        output = options.output or folder / "landscape.mp4"
        chosen = {key: value for key in ("fps", "theme", "max_steps") if (value := getattr(options, key)) is not None}
        made = render_landscape_movie(frozen, rollout, output, **chosen)
    elif options.loop:
        output = options.output or (movie.with_suffix(".webp") if movie else folder / "loop.webp")
        loop = make_loop(movie or folder / "activation.mp4", rollout, output)
        args.print_result(options, asdict(loop), f"{loop.pictures} pictures, {loop.size:,} bytes")
        return
    elif options.layer:
        output = options.output or folder / f"layer_{options.layer}.mp4"
        made = render_layer_movie(frozen, rollout, output, layer=options.layer, overlay=options.overlay, **given)
    else:
        output = options.output or folder / "activation.mp4"
        looks = {key: value for key in LOOKS if (value := getattr(options, key)) is not None}
        made = render_activation_movie(frozen, rollout, output, **given, **looks)
    args.print_result(options, asdict(made), f"{output}: {made.frames} frames")


def _generations(options):
    from neurozoo.movies.generations import film_generations

    output = options.output or options.run_dir / "generations.mp4"
    choices = args.chosen(options, "core", "noise", "count", "every", "max_steps", "seed", "fps")
    movie = film_generations(options.run_dir, output, **choices)
    numbers = ", ".join(map(str, movie.generations))
    args.print_result(options, asdict(movie), f"{output}: generations {numbers}, {movie.frames} frames")


def _play(options):
    if options.folder.is_file() or options.cell is not None or (options.folder / "archive.npz").exists():
        _refuse_unused(options, "a level")
        _play_level(options)
    elif not options.folder.is_dir():
        raise NeurozooError(f"{options.folder} does not exist. Give the folder of a run or a level (docs/play.md).")
    else:
        check_play_options(options)
        show_play(options)


def _play_level(options):
    from neurozoo.movies.level_movie import level_of
    from neurozoo.play import TerminalDisplay, WindowDisplay, play_level

    level = level_of(options.folder, cell=options.cell)
    with TerminalDisplay() if options.terminal else WindowDisplay(str(options.folder), is_heard=False) as display:
        games = play_level(level, display, games=options.games, core=options.core)
    for number, game in enumerate(games, start=1):
        print(f"game {number}: {game.outcome} after {game.ticks} ticks, {game.completion:.0%} of the way")


def show_play(options: argparse.Namespace) -> None:
    """Lets an agent play; see `python -m neurozoo play --help`."""
    from neurozoo.agents.frozen import RECORD_FILE, open_frozen
    from neurozoo.play import TerminalDisplay, WindowDisplay, play_games
    from neurozoo.play.page import write_play_page

    folder = options.folder if (options.folder / RECORD_FILE).exists() else options.folder / "frozen"
    if options.browser:
        checkpoint = folder.parent / "checkpoint.npz"
        if folder == options.folder and not checkpoint.exists():
            raise NeurozooError(f"{checkpoint} is missing, and --browser needs it. Give the folder of a run.")
        write_play_page(checkpoint, page := checkpoint.with_name("play.html"))
        print(f"{page}: open it in a browser")
        return
    title = open_frozen(folder).title
    args.say_if_outdated(folder.parent)
    choices = args.chosen(options, "games", "epsilon", "sticky_probability", "seed")
    with TerminalDisplay() if options.terminal else WindowDisplay(title, is_heard=options.is_heard) as display:
        games = play_games(folder, display, is_manual=options.manual, **choices)
    for number, game in enumerate(games, start=1):
        end = "" if game.is_finished else ", not finished"
        print(f"game {number}: score {number_label(game.score)} in {game.steps:,} steps{end}")
