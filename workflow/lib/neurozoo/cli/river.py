"""`python -m neurozoo robustness`: how many worlds of the river crossing task an agent solves."""

import json
import sys
from pathlib import Path

from neurozoo.cli.arguments import Commands, add_command, add_json, natural, positive


def add_river_commands(commands: Commands) -> None:
    """Adds `robustness`."""
    command = add_command(
        commands, "robustness", _robustness, "play fixed worlds of the river crossing task, and say why some fail"
    )
    command.add_argument(
        "agent", help="folder of a run with frozen/, or a scripted agent: shunting, planning or random"
    )
    command.add_argument("--worlds", type=positive, default=10_000, help="worlds of each width (default: %(default)s)")
    command.add_argument(
        "--widths", type=natural, nargs="+", default=[0, 1, 2, 3, 4], help="widths of the river (default: 0 1 2 3 4)"
    )
    command.add_argument(
        "--step-limit", type=positive, default=150, help="most steps in a world (default: %(default)s)"
    )
    command.add_argument(
        "--output",
        type=Path,
        help="JSON file to write, with a CSV file beside it (default: RUN_DIR/robustness.json; of a baseline, "
        "robustness_NAME.json in the current folder)",
    )
    add_json(command)


def _robustness(options):
    from neurozoo.rollouts.river_robustness import BASELINES, as_table, measure_robustness

    is_scripted = options.agent in BASELINES
    folder = Path() if is_scripted else Path(options.agent)
    output = options.output or folder / (f"robustness_{options.agent}.json" if is_scripted else "robustness.json")
    record = measure_robustness(
        options.agent if is_scripted else folder / "frozen",
        output,
        table=output.with_suffix(".csv"),
        widths=options.widths,
        worlds=options.worlds,
        step_limit=options.step_limit,
        progress=_say_progress if sys.stderr.isatty() else None,
    )
    print(json.dumps(record) if options.json else as_table(record))


def _say_progress(done: int, total: int) -> None:
    if done % 100 == 0 or done == total:
        print(f"\r{done:,} of {total:,} worlds", end="\n" if done == total else "", file=sys.stderr, flush=True)
