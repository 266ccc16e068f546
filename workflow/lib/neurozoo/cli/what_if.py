"""`python -m neurozoo what-if`: plays a recorded episode on with a change, and films both side by side."""

import argparse
import re
from dataclasses import asdict
from pathlib import Path

from neurozoo.agents.tags import FINAL
from neurozoo.cli import arguments as args
from neurozoo.errors import NeurozooError
from neurozoo.text import number_label


def add_commands(commands: args.Commands) -> None:
    """Adds `what-if`."""
    summary = "change one thing at a moment of a recorded episode, and film how it goes on (docs/causal.md)"
    command = args.add_command(commands, "what-if", _what_if, summary)
    option = command.add_argument
    args.add_run_dir(command)
    option("--step", type=args.natural, help="step of the recording, from 0, at which the change begins")
    change = command.add_mutually_exclusive_group().add_argument
    change("--action", help="play this action, such as LEFT")
    change("--ram", nargs="+", metavar="ADDRESS=VALUE", help="write the console's memory, such as 49=100")
    rectangle = "show the agent another rectangle of its observation, such as 0,0,83,41=0, or =mean"
    change("--pixels", metavar="TOP,LEFT,BOTTOM,RIGHT=VALUE", help=rectangle)
    inside = "change the network: a name under interventions, or YAML such as '{layer: conv2, channels: [3]}'"
    change("--intervention", metavar="NAME_OR_YAML", help=inside)
    change("--agent", type=args.not_empty, metavar="RUN_DIR", help="let another agent of the same game play on")
    change("--grid", action="store_true", help="try every action at some moments: what_if/grid.json and .png")
    lasts = "for how many steps it lasts (default: 1 for actions and memory, else to the end)"
    option("--duration", type=args.positive, metavar="STEPS", help=lasts)
    option("--moments", type=args.positive, default=12, help="of --grid")
    option("--steps", type=args.positive, default=2500, help="longest play after the change")
    option("--before", type=args.natural, default=60, help="steps shown before the change")
    option("--tag", default=FINAL, help="the agent of this moment (default: final, the run's result)")
    recording = command.add_mutually_exclusive_group().add_argument
    recording("--rollout", type=Path, help="recording of the agent (default: RUN_DIR/rollout.npz)")
    seeded = "take the episodes of this seed, RUN_DIR/rollouts/seed_SEED.npz; they are recorded if they are not there"
    recording("--seed", type=args.natural, help=seeded)
    option("--configfile", type=Path, default=Path("config.yaml"), help="where interventions have their names")
    option("--title", default="", help="such as 'the ball flies higher' (default: the change itself)")
    option("--fps", type=args.positive, default=30, help="pictures per second")
    option("--theme", choices=("dark", "light"), default="dark", help="colours")
    option("--output", type=Path, help="file to write (default: RUN_DIR/what_if/NAME.mp4, named after what is asked)")
    args.add(command, "json", help="print the outcome as JSON")


def _what_if(options: argparse.Namespace) -> None:
    from neurozoo.agents.tagged_agents import frozen_tag_folder
    from neurozoo.interventions.change import KINDS
    from neurozoo.movies.what_if_movie import film_what_if
    from neurozoo.rollouts.rollout import record_rollout

    args.check_outputs((options.output, ".json" if options.grid else ".mp4"))
    given = {kind: value for kind in KINDS if (value := getattr(options, kind)) is not None}
    if not options.grid and (options.step is None or not given):
        raise NeurozooError(
            "A what-if needs a moment and a change, such as --step 120 --action LEFT; or --grid, which tries all "
            "actions at some moments."
        )
    folder = frozen_tag_folder(options.run_dir, options.tag)
    args.say_if_outdated(folder)
    frozen, rollout = folder / "frozen", options.rollout or folder / "rollout.npz"
    if options.seed is not None and not (rollout := folder / "rollouts" / f"seed_{options.seed}.npz").exists():
        record_rollout(frozen, rollout, seed=options.seed, table=rollout.with_suffix(".parquet"))
    if options.grid:
        _grid(options, frozen, rollout, options.output or folder / "what_if" / f"{_name(options)}.json")
        return
    interventions: dict = {}
    if (named := given.get("intervention")) is not None:
        given["intervention"], interventions = _intervention(named, options.configfile)
    change = {"step": options.step, "duration": options.duration, **given}
    output = options.output or folder / "what_if" / f"{_name(options, *given)}.mp4"
    choices = args.chosen(options, "title", "steps", "before", "fps", "theme")
    found = film_what_if(frozen, rollout, output, change, interventions=interventions, **choices)
    one, other = found.factual, found.counterfactual
    scores = (
        f"score {number_label(one.score)} in {one.steps:,} steps, with {found.change.label} {number_label(other.score)}"
    )
    args.print_result(options, asdict(found), f"{output}: {scores} in {other.steps:,}")


def _name(options: argparse.Namespace, kind: str = "grid") -> str:
    """Returns a name of what is asked, such as `120_LEFT`, `356_ram_54_60` or `grid_steps_100`."""
    value = getattr(options, kind)
    kinds = [] if kind == "action" else [kind]
    words = kinds if kind == "grid" else [options.step, *kinds, *(value if kind == "ram" else [value])]
    for name in ("duration", "moments", "steps", "rollout", "seed"):
        if (value := getattr(options, name)) != options.parser.get_default(name):
            words += [name, value]
    return re.sub(r"[^\w.-]+", "_", " ".join(map(str, words))).strip("_")


def _intervention(text: str, configfile: Path) -> tuple[object, dict]:
    """Returns an intervention, as YAML or a name, and those of the configuration, which is only read for names."""
    from neurozoo.files.yaml import parse_yaml, read_yaml

    if text.lstrip().startswith("{"):
        try:
            return parse_yaml(text), {}
        except NeurozooError as error:
            example = "'{layer: conv2, channels: [3]}'"
            raise NeurozooError(f"--intervention {text[:80]!r} is not YAML ({error}). Write {example}.") from error
    found = read_yaml(configfile, "It should name the intervention; or give one as YAML in braces.")
    return text, found.get("interventions") or {}


def _grid(options: argparse.Namespace, frozen: Path, rollout: Path, output: Path) -> None:
    from neurozoo.figures.what_if_grid import draw_grid
    from neurozoo.rollouts.what_if_grid import measure_grid

    duration = 1 if options.duration is None else options.duration
    record = measure_grid(frozen, rollout, output, duration=duration, **args.chosen(options, "moments", "steps"))
    draw_grid(output, [output.with_suffix(".png")])
    args.print_result(options, record, f"{output}: {len(record['moments'])} moments, {len(record['actions'])} actions")
