"""`python -m neurozoo level`, `train-generator`, `mazes` and `robustness`: small worlds, and agents in them."""

import os
import sys
from dataclasses import asdict
from pathlib import Path

from neurozoo.algorithms.quality_diversity.generator_settings import GENERATOR_PRESETS
from neurozoo.cli import arguments as args
from neurozoo.errors import NeurozooError, unknown_name


def add_commands(commands: args.Commands) -> None:
    """Adds `level`, `train-generator`, `mazes` and `robustness`."""
    summary = "let the agent play a level of the platform game or a world of an archive, and export it"
    command = args.add_command(commands, "level", _level, summary)
    option = command.add_argument
    option("source", type=Path, help="text file of a level, or folder of a run of the game mario or river_crossing")
    option("--cell", type=args.natural, help="cell of the run's archive (default: its best elite)")
    option("--text", type=Path, help="text file to write, of a platform level")
    option("--picture", type=Path, help=".png to write: the level and the agent's way")
    option("--movie", type=Path, help=".mp4 to write")
    args.add(command, "core", "json")

    summary = "train a network that makes platform levels, or continue to"
    command = args.add_command(commands, "train-generator", _train_generator, summary)
    option = command.add_argument
    option("folder", type=Path, help="where to write generator.npz, its judgement and levels.npz, which it learns from")
    option("--preset", choices=tuple(GENERATOR_PRESETS), default="laptop", help="named settings")
    args.add(command, "set")
    option("--threads", type=args.positive, default=1, help="number of threads")
    args.add(command, "core")
    args.add(command, "json", help="print the judgement as JSON")

    summary = "send an agent into random mazes, and report how many it solves"
    command = args.add_command(commands, "mazes", _mazes, summary)
    option = command.add_argument
    option("agent", help="file of a trained agent (.npz), such as the checkpoint.npz of a run, or wall_follower")
    option("--walls", type=float, nargs="+", help="probabilities of a wall (default: 0.1 to 0.5)")
    option("--mazes", type=args.positive, default=200, help="mazes per probability")
    option("--episodes", type=args.positive, default=10, help="episodes per maze")
    args.add(command, "seed", help="seed of mazes and actions")
    option("--threads", type=args.positive, default=1, help="number of threads")
    args.add(command, "core", "json")

    summary = "play fixed worlds of the river crossing task, and say why some fail"
    command = args.add_command(commands, "robustness", _robustness, summary)
    option = command.add_argument
    option("agent", help="folder of a run with frozen/, or a scripted agent: shunting, planning or random")
    option("--worlds", type=args.positive, default=10_000, help="worlds of each width")
    widths = "widths of the river (default: 0 1 2 3 4)"
    option("--widths", type=args.natural, nargs="+", default=[0, 1, 2, 3, 4], help=widths)
    option("--step-limit", type=args.positive, default=150, help="most steps in a world")
    option("--start-column", type=args.natural, default=1, help="column in which the agent starts, 0 to 13")
    output = "RUN_DIR/robustness.json; of a baseline, robustness_NAME.json in the current folder"
    option("--output", type=Path, help=f"JSON file to write, with a CSV file beside it (default: {output})")
    args.add(command, "json")


def _level(options):
    from neurozoo.environments.platformer.domain import A_STAR
    from neurozoo.environments.platformer.tiles import write_level
    from neurozoo.movies.level_movie import agent_of, describe_run, draw_run, film_level, level_of
    from neurozoo.movies.river_level_movie import is_river_run

    args.check_outputs((options.text, ".txt"), (options.picture, ".png"), (options.movie, ".mp4"))
    if is_river_run(options.source):
        return _river_level(options)
    level, (agent, is_there) = level_of(options.source, cell=options.cell), agent_of(options.source)
    if not is_there:
        print(f"The run's agent {agent} is missing or has changed, so {A_STAR} plays.", file=sys.stderr)
    choices = {"agent": agent if is_there else A_STAR, "core": options.core}
    if options.text:
        write_level(options.text, level)
    if options.picture:
        draw_run(level, options.picture, **choices)
    made = film_level(level, options.movie, **choices) if options.movie else describe_run(level, **choices)
    outcome = {1: "reaches the finish", 2: "is lost", 3: "runs out of time"}[int(made["status"])]
    counts = f"{made['ticks']} ticks, {_counted(made['jumps'], 'jump')} and {_counted(made['kills'], 'kill')}"
    text = f"The agent {choices['agent']} {outcome} after {counts}; {made['completion']:.0%} of the way."
    args.print_result(options, made, text)


def _river_level(options):
    from neurozoo.environments.level_domains import get_level_domain
    from neurozoo.environments.rivers.agents import make_agent
    from neurozoo.environments.rivers.simulator import play
    from neurozoo.movies.level_movie import agent_of
    from neurozoo.movies.river_level_movie import GAME, describe_walk, draw_walk, film_walk, world_of

    if options.text:
        raise NeurozooError("Text files hold platform levels, and this is a run of river_crossing. Leave --text out.")
    world, (agent, is_there) = world_of(options.source, cell=options.cell), agent_of(options.source, GAME)
    if not is_there:
        lost, agent = agent, get_level_domain(GAME).agents[0]
        print(f"The run's agent {lost} is missing or has changed, so {agent} plays.", file=sys.stderr)
    walks = play(make_agent(agent), world[None])
    if options.picture:
        draw_walk(world, walks, options.picture)
    if options.movie:
        film_walk(world, walks, options.movie)
    made = describe_walk(world, walks)
    outcome = "reaches the resource" if made["solved"] else "dies" if made["died"] else "runs out of time"
    plan = f"a planner needs {made['planned_steps']} steps" if made["planned_steps"] > 0 else "a planner has no plan"
    counts = f"{_counted(walks.steps[0], 'step')} and {_counted(made['stones_placed'], 'stone')}"
    args.print_result(options, made, f"The agent {agent} {outcome} after {counts}; {plan}.")


def _counted(count: float, what: str) -> str:
    return f"{count:g} {what}{'' if count == 1 else 's'}"


def _train_generator(options):
    from neurozoo.algorithms.quality_diversity.generator_settings import generator_settings
    from neurozoo.algorithms.quality_diversity.generator_training import make_generator
    from neurozoo.environments.platformer.corpus import kept_corpus

    settings = generator_settings(options.preset, args.read_overrides(options))
    folder, engine = options.folder, {"threads": options.threads, "core": options.core}
    corpus = kept_corpus(folder / "levels.npz", settings.corpus_seed, count=settings.corpus, **engine)
    record = make_generator(
        settings,
        corpus,
        folder / "generator.npz",
        state=folder / "state" / "state.npz",  # as workflow/rules/generators.smk has it, so that either continues
        report=lambda line: print(line, file=sys.stderr if options.json else sys.stdout, flush=True),
        **engine,
    )
    found = record["acceptance"]
    failed = [name for name, is_met in found["met"].items() if not is_met]
    verdict = f"not accepted because of {', '.join(failed)}" if failed else "accepted"
    text = f"{folder / 'generator.npz'}: {verdict}; the agent gets through {found['won']:.0%} of its levels"
    args.print_result(options, found, text)


def _mazes(options):
    from neurozoo.agents.maze_scoring import WALLS, score_in_mazes

    scores = score_in_mazes(
        options.agent,
        walls=options.walls or WALLS,
        **args.chosen(options, "core", "mazes", "episodes", "seed", "threads"),
    )
    lines = [f"{'walls':>5} {'optimal':>8} {'solved':>7}  {'95 % interval':<15} {'steps':>6}  wanted"]
    for score in scores:
        interval = f"{score.solved_low:.3f} to {score.solved_high:.3f}"
        verdict = {None: "", True: f"{score.wanted} reached", False: f"{score.wanted} not reached"}[score.is_enough]
        figures = f"{score.walls:>5} {score.optimal_length:>8.1f} {score.solved:>7.3f}"
        lines.append(f"{figures}  {interval:<15} {score.length:>6.1f}  {verdict}")
    args.print_result(options, [asdict(score) for score in scores], "\n".join(lines))


def _robustness(options):
    from neurozoo.rollouts.river_robustness import BASELINES, as_table, measure_robustness

    is_scripted = options.agent in BASELINES
    folder = Path() if is_scripted else Path(options.agent)
    args.check_outputs((options.output, ".json"))
    if os.sep not in options.agent and not folder.is_dir():
        raise unknown_name("agent", options.agent, BASELINES)
    output = options.output or folder / (f"robustness_{options.agent}.json" if is_scripted else "robustness.json")
    record = measure_robustness(
        options.agent if is_scripted else folder / "frozen",
        output,
        table=output.with_suffix(".csv"),
        **args.chosen(options, "widths", "worlds", "step_limit", "start_column"),
        progress=_say_progress if sys.stderr.isatty() else None,
    )
    args.print_result(options, record, as_table(record))


def _say_progress(done: int, total: int) -> None:
    if done % 100 == 0 or done == total:
        print(f"\r{done:,} of {total:,} worlds", end="\n" if done == total else "", file=sys.stderr, flush=True)
