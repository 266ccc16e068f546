"""`python -m neurozoo movie`, `generations` and `play`: agents to look at, on film or in a window."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from neurozoo.commands.arguments import Commands, add_command, add_engine, add_json, add_run_dir, chosen
from neurozoo.errors import NeurozooError
from neurozoo.tags import FINAL


def add_watching_commands(commands: Commands) -> None:
    """Adds what films agents, or shows them at play."""
    movie = add_command(
        commands, "movie", _movie, "film a rollout: with all layers, with one, the game alone, or several"
    )
    movie.add_argument("run_dir", type=Path, nargs="+", help="such as results/runs/ga/frostbite/large/1")
    movie.add_argument("--tag", default=FINAL, help="of this moment of the run, or the runs; final is the result")
    kind = movie.add_mutually_exclusive_group()
    kind.add_argument("--layer", metavar="NAME", help="one layer of model.json beside the game, such as conv1")
    kind.add_argument("--game", action="store_true", help="the game alone, every frame of it, with sound if it has any")
    kind.add_argument("--grid", action="store_true", help="the games of several RUN_DIRs side by side")
    movie.add_argument("--rollout", type=Path, help="another than RUN_DIR/rollout.npz, but not of a grid")
    movie.add_argument("--fps", type=int, help="default: 60; --game has its own")
    movie.add_argument("--max-steps", type=int, default=0, help="default: all")
    movie.add_argument("--no-overlay", dest="overlay", action="store_false", help="no score, step and action")
    movie.add_argument(
        "--output",
        type=Path,
        help="default: activation.mp4, layer_NAME.mp4 or game.mp4 in RUN_DIR; a grid's is results/movies/GAME.mp4",
    )
    add_json(movie, "frames and speed as JSON")

    series = add_command(commands, "generations", _generations, "film some generations of a run side by side")
    add_run_dir(series)
    series.add_argument("--count", type=int, default=4, help="first, last and some between (default: %(default)s)")
    series.add_argument("--every", type=int, help="instead of a count: the first, every so many-th, and the last")
    series.add_argument("--max-steps", type=int, default=2500, help="default: %(default)s")
    series.add_argument("--seed", type=int, default=0)
    series.add_argument("--fps", type=int, default=60, help="default: %(default)s")
    series.add_argument("--output", type=Path, help="default: RUN_DIR/generations.mp4")
    add_json(series, "generations, scores and frames as JSON")
    add_engine(series, threads=False)

    play = add_command(
        commands, "play", _play, "watch a frozen agent play, and take the joystick from it (docs/play.md)"
    )
    play.add_argument("folder", type=Path, metavar="RUN_DIR_OR_FROZEN", help="such as results/runs/dqn/pong/small/1")
    play.add_argument("--terminal", action="store_true", help="draw into this terminal instead of a window")
    play.add_argument("--epsilon", type=float, help="chance of a random action (default: 0.05)")
    play.add_argument("--sticky-probability", type=float, help="chance per frame of the action before")
    play.add_argument("--manual", action="store_true", help="you play; key m gives the joystick to the agent and back")
    play.add_argument("--games", type=int, default=1, help="default: %(default)s")
    play.add_argument("--seed", type=int, default=0)
    play.add_argument("--no-sound", dest="is_heard", action="store_false", help="a window without sound")


def _movie(options):
    from neurozoo.inspection import film_game, film_grid, render_activation_movie, render_layer_movie
    from neurozoo.inspection.frozen import open_frozen
    from neurozoo.inspection.tagged import frozen_tag_folder, tag_folder

    if options.grid:  # which shows those that have come so far, and names the others
        folders = [tag_folder(run_dir, options.tag) for run_dir in options.run_dir]
    if not options.grid or not any((each / "frozen" / "model.json").exists() for each in folders):
        folders = [frozen_tag_folder(run_dir, options.tag) for run_dir in options.run_dir]
    folder, *others = folders
    if others and not options.grid:
        raise NeurozooError(f"A movie of several runs, here {folder} and {others[0]}, is a grid: add --grid.")
    if options.game and options.fps:
        raise NeurozooError("--game plays as fast as the game itself; leave --fps away.")
    if options.grid and options.rollout:
        raise NeurozooError("A grid shows the rollout.npz of each folder; leave --rollout away.")
    frozen, rollout = folder / "frozen", options.rollout or folder / "rollout.npz"
    given = {"max_steps": options.max_steps, **({} if options.game else {"fps": options.fps or 60})}
    if options.grid:
        whole = next((each for each in folders if (each / "frozen" / "model.json").exists()), folder)
        output = options.output or Path("results", "movies", f"{open_frozen(whole / 'frozen').game}.mp4")
        movie = film_grid(folders, output, overlay=options.overlay, **given)
    elif options.game:
        output = options.output or folder / "game.mp4"
        movie = film_game(frozen, rollout, output, overlay=options.overlay, **given)
    elif options.layer:
        output = options.output or folder / f"layer_{options.layer}.mp4"
        movie = render_layer_movie(frozen, rollout, output, layer=options.layer, overlay=options.overlay, **given)
    else:
        output = options.output or folder / "activation.mp4"
        movie = render_activation_movie(frozen, rollout, output, **given)
    print(json.dumps(asdict(movie)) if options.json else f"{output}: {movie.frames} frames")


def _generations(options):
    from neurozoo.inspection import film_generations

    output = options.output or options.run_dir / "generations.mp4"
    choices = chosen(options, "ops", "noise", "count", "every", "max_steps", "seed", "fps")
    movie = film_generations(options.run_dir, output, **choices)
    if options.json:
        print(json.dumps(asdict(movie)))
    else:
        numbers = ", ".join(map(str, movie.generations))
        print(f"{output}: generations {numbers}, {movie.frames} frames")


def _play(options):
    from neurozoo.inspection.frozen import RECORD_FILE, open_frozen, outdated
    from neurozoo.play import TerminalDisplay, WindowDisplay, play_games

    folder = options.folder if (options.folder / RECORD_FILE).exists() else options.folder / "frozen"
    title = open_frozen(folder).title
    if complaint := outdated(folder.parent):
        print(f"neurozoo: {complaint}", file=sys.stderr)
    choices = chosen(options, "games", "epsilon", "sticky_probability", "seed")
    with TerminalDisplay() if options.terminal else WindowDisplay(title, is_heard=options.is_heard) as display:
        games = play_games(folder, display, is_manual=options.manual, **choices)
    for number, game in enumerate(games, start=1):
        end = "" if game.is_finished else ", not finished"
        print(f"game {number}: score {game.score:,.0f} in {game.steps:,} steps{end}")
