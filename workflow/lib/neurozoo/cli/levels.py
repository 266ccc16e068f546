"""`python -m neurozoo level`, `train-generator` and `mazes`: levels, what makes them, and agents in mazes."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from neurozoo.cli.arguments import (
    OPS,
    Commands,
    add_command,
    add_json,
    add_settings,
    check_outputs,
    natural,
    positive,
    read_overrides,
)


def add_level_commands(commands: Commands) -> None:
    """Adds `level`, `train-generator` and `mazes`."""
    command = add_command(commands, "level", _level, "let the agent play a level of the platform game, and export it")
    command.add_argument("source", type=Path, help="text file of a level, or folder of a run of the game mario")
    command.add_argument("--cell", type=natural, help="cell of the run's archive (default: its best elite)")
    command.add_argument("--text", type=Path, help="text file to write")
    command.add_argument("--picture", type=Path, help=".png to write: the level and the agent's way")
    command.add_argument("--movie", type=Path, help=".mp4 to write")
    command.add_argument("--ops", default=OPS, help="the op library (default: %(default)s)")
    add_json(command)
    _add_generator(commands)
    _add_mazes(commands)


def _level(options):
    from neurozoo.environments.platformer.domain import A_STAR
    from neurozoo.environments.platformer.tiles import write_level
    from neurozoo.movies.level_movie import agent_of, describe_run, draw_run, film_level, level_of

    check_outputs((options.text, ".txt"), (options.picture, ".png"), (options.movie, ".mp4"))
    level, (agent, is_there) = level_of(options.source, cell=options.cell), agent_of(options.source)
    if not is_there:
        print(f"The run's agent {agent} is missing or has changed, so {A_STAR} plays.", file=sys.stderr)
    choices = {"agent": agent if is_there else A_STAR, "ops": options.ops}
    if options.text:
        write_level(options.text, level)
    if options.picture:
        draw_run(level, options.picture, **choices)
    made = film_level(level, options.movie, **choices) if options.movie else describe_run(level, **choices)
    if options.json:
        print(json.dumps(made))
        return
    outcome = {1: "reaches the finish", 2: "is lost", 3: "runs out of time"}[int(made["status"])]
    counts = f"{made['ticks']} ticks, {_counted(made['jumps'], 'jump')} and {_counted(made['kills'], 'kill')}"
    print(f"The agent {choices['agent']} {outcome} after {counts}; {made['completion']:.0%} of the way.")


def _counted(count: float, what: str) -> str:
    return f"{count:g} {what}{'' if count == 1 else 's'}"


def _add_generator(commands: Commands) -> None:
    from neurozoo.algorithms.quality_diversity.generator_settings import GENERATOR_PRESETS

    command = add_command(
        commands, "train-generator", _train_generator, "train a network that makes platform levels, or continue to"
    )
    command.add_argument(
        "folder", type=Path, help="where to write generator.npz, its judgement and levels.npz, which it learns from"
    )
    command.add_argument("--preset", choices=tuple(GENERATOR_PRESETS), default="laptop", help="default: %(default)s")
    add_settings(command)
    command.add_argument("--threads", type=positive, default=1, help="number of threads (default: %(default)s)")
    command.add_argument("--ops", default=OPS, help="the op library (default: %(default)s)")
    add_json(command, "the judgement as JSON")


def _train_generator(options):
    from neurozoo.algorithms.quality_diversity.generator_settings import generator_settings
    from neurozoo.algorithms.quality_diversity.generator_training import make_generator
    from neurozoo.environments.platformer.corpus import kept_corpus

    settings = generator_settings(options.preset, read_overrides(options))
    folder, engine = options.folder, {"threads": options.threads, "ops": options.ops}
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
    if options.json:
        print(json.dumps(found))
        return
    failed = [name for name, is_met in found["met"].items() if not is_met]
    verdict = f"not accepted because of {', '.join(failed)}" if failed else "accepted"
    print(f"{folder / 'generator.npz'}: {verdict}; the agent gets through {found['won']:.0%} of its levels")


def _add_mazes(commands: Commands) -> None:
    command = add_command(commands, "mazes", _mazes, "send an agent into random mazes, and report how many it solves")
    command.add_argument(
        "agent", help="file of a trained agent (.npz), such as the checkpoint.npz of a run, or wall_follower"
    )
    command.add_argument("--walls", type=float, nargs="+", help="probabilities of a wall (default: 0.1 to 0.5)")
    command.add_argument("--mazes", type=positive, default=200, help="mazes per probability (default: %(default)s)")
    command.add_argument("--episodes", type=positive, default=10, help="episodes per maze (default: %(default)s)")
    command.add_argument("--seed", type=natural, default=0, help="seed of mazes and actions (default: %(default)s)")
    command.add_argument("--threads", type=positive, default=1, help="number of threads (default: %(default)s)")
    command.add_argument("--ops", default=OPS, help="the op library (default: %(default)s)")
    add_json(command)


def _mazes(options):
    from neurozoo.agents.maze_scoring import WALLS, score_in_mazes

    scores = score_in_mazes(
        options.agent,
        ops=options.ops,
        walls=options.walls or WALLS,
        mazes=options.mazes,
        episodes=options.episodes,
        seed=options.seed,
        threads=options.threads,
    )
    if options.json:
        print(json.dumps([asdict(score) for score in scores]))
        return
    print(f"{'walls':>5} {'optimal':>8} {'solved':>7}  {'95 % interval':<15} {'steps':>6}  wanted")
    for score in scores:
        interval = f"{score.solved_low:.3f} to {score.solved_high:.3f}"
        verdict = {None: "", True: f"{score.wanted} reached", False: f"{score.wanted} not reached"}[score.is_enough]
        print(
            f"{score.walls:>5} {score.optimal_length:>8.1f} {score.solved:>7.3f}  {interval:<15} {score.length:>6.1f}  "
            f"{verdict}"
        )
