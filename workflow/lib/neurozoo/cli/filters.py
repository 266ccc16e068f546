"""`python -m neurozoo filters`: draws pictures of a network's filters."""

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from neurozoo.cli import arguments as args
from neurozoo.feature_visualization.objectives import OBJECTIVES
from neurozoo.feature_visualization.parameterisations import PARAMETERISATIONS
from neurozoo.text import number_label


def add_commands(commands: args.Commands) -> None:
    """Adds `filters` and its subcommands."""
    summary = "draw what the filters of a frozen network respond to (docs/filters.md)"
    kinds = args.add_command(commands, "filters", None, summary).add_subparsers(required=True, metavar="picture")

    command = _of_run(kinds, "weights", _weights, "draw a mosaic of a convolution's weights", rollout=False)
    command.add_argument("--filters", type=args.positive, help="number of filters, from the first (default: all)")

    command = _of_run(kinds, "patches", _patches, "draw the patches of observations to which filters respond most")
    _add_channels(command)
    command.add_argument("--count", type=args.positive, default=5, help="patches of each kind")
    command.add_argument("--distance", type=args.natural, default=10, help="least steps between two patches")
    args.add(command, "seed")

    command = _of_run(kinds, "synthetic", _synthetic, "optimise inputs that excite channels, units or directions")
    _add_channels(command)
    option = command.add_argument
    option("--objective", choices=OBJECTIVES, default="channel", help="what to excite")
    option("--position", type=args.natural, nargs=2, metavar=("ROW", "COLUMN"), help="position of the unit")
    directions = "array of shape (directions, channels); draws one picture for each direction"
    option("--directions", type=Path, metavar="NPY", help=directions)
    _add_ascent(command, parameterisation="pixel")

    summary = "optimise inputs that a layer cannot tell from recorded observations"
    command = _of_run(kinds, "inversion", _inversion, summary)
    _add_steps(command, 4)
    _add_ascent(command, parameterisation="fourier")

    _add_channels(_of_run(kinds, "guided", _guided, "draw which pixels excited filters, by guided backpropagation"))

    summary = "write a page with guided backpropagation for all convolutions, like nvis in simple_dqn"
    command = _of_run(kinds, "guided-page", _guided_page, summary, layer=False)
    command.add_argument("--filters", type=args.positive, default=4, help="filters per layer")
    played = "play an episode instead of reading a rollout: at most 2,500 steps, 5 %% random actions"
    command.add_argument("--play", action="store_true", help=played)

    summary = "draw which pixels led to an action, by integrated gradients"
    command = _of_run(kinds, "attribution", _attribution, summary, layer=False)
    _add_steps(command, 6)
    command.add_argument("--points", type=args.positive, default=64, help="points on the path from a black picture")

    summary = "draw which pixels mattered for actions, by five methods that are tested"
    command = _of_run(kinds, "saliency", _saliency, summary, layer=False)
    help = "moments of the rollout at which methods are tested; with fewer than 8, all of them fail"
    command.add_argument("--moments", type=args.positive, default=32, help=help)

    _of_run(kinds, "lean", _lean, "measure how strongly the first layer weighs each frame", layer=False, rollout=False)

    option = args.add_command(kinds, "plot-lean", _plot_lean, "plot the temporal lean of several runs").add_argument
    option("run_dirs", type=Path, nargs="+", metavar="RUN_DIR", help="folders with filters/lean.csv")
    option("--output", type=Path, nargs="+", required=True, help="figures, such as lean.pdf lean.png")


def _of_run(kinds, name, function, summary, *, layer=True, rollout=True):
    command = args.add_command(kinds, name, partial(_draw, function), summary)
    suffix = {"lean": "csv", "guided-page": "html"}.get(name, "png")
    command.set_defaults(name=name.removesuffix("-page"), suffix=suffix, layer=None)
    args.add_run_dir(command)
    if layer:
        command.add_argument("--layer", required=True, help="name of a layer, such as conv1")
    if rollout:
        command.add_argument("--rollout", type=Path, help="default: RUN_DIR/rollout.npz")
    where = f"RUN_DIR/filters/{name.removesuffix('-page')}{'_LAYER' if layer else ''}"
    command.add_argument("--output", type=Path, help=f"default: {where}.{suffix}")
    return command


def _add_channels(command):
    help = "filters or units, counted from 0 (default: the first 16)"
    command.add_argument("--channels", type=args.natural, nargs="+", metavar="NUMBER", help=help)


def _add_steps(command, count):
    help = "steps of the rollout (default: evenly spaced)"
    command.add_argument("--at", type=args.natural, nargs="+", metavar="STEP", help=help)
    command.add_argument("--observations", type=args.positive, default=count, help="number of steps without --at")


def _add_ascent(command, *, parameterisation):
    option = command.add_argument
    option("--steps", type=args.positive, default=256, help="gradient steps")
    option("--learning-rate", type=float, help="default: depends on the parameterisation")
    option("--parameterisation", choices=PARAMETERISATIONS, default=parameterisation, help="form of the pictures")
    option("--frames", choices=("all", "newest"), default="all", help="frames to optimise")
    option("--jitter", type=args.natural, default=3, help="random shift in pixels")
    for name in ("total-variation", "l1", "l2"):
        option(f"--{name}", type=float, default=0.0, metavar="WEIGHT", help="weight of this penalty (default: 0)")
    args.add(command, "seed")


def _draw(function: Callable, options: argparse.Namespace) -> None:
    """Calls the function of a picture with its inputs and its output, and prints what it says."""
    name = options.name if options.layer is None else f"{options.name}_{options.layer}"
    output = options.output or options.run_dir / "filters" / f"{name}.{options.suffix}"
    rollout = getattr(options, "rollout", None) or options.run_dir / "rollout.npz"
    said = function(options, options.run_dir / "frozen", rollout, output)
    print(f"{output}: {said}" if said else output)


def _channels(options: argparse.Namespace) -> dict[str, Any]:
    return {} if options.channels is None else {"channels": options.channels}


def _ascent(options: argparse.Namespace) -> dict[str, Any]:
    from neurozoo.feature_visualization.synthetic import Ascent

    return args.chosen(options, *(field.name for field in fields(Ascent)))


def _weights(options, frozen, _, output):
    from neurozoo.feature_visualization.weights import draw_weights

    draw_weights(frozen, output, layer=options.layer, filters=options.filters)


def _patches(options, frozen, rollout, output):
    from neurozoo.feature_visualization.patches import draw_patches

    choices = args.chosen(options, "layer", "count", "distance", "seed")
    draw_patches(frozen, rollout, output, **choices, **_channels(options))


def _synthetic(options, frozen, rollout, output):
    from neurozoo.feature_visualization.synthetic import draw_synthetic, read_directions

    choices = {
        **args.chosen(options, "layer", "objective"),
        "position": options.position and tuple(options.position),
        "directions": options.directions and read_directions(options.directions),
        "course": output.with_suffix(".csv"),
    }
    made = draw_synthetic(frozen, rollout, output, **choices, **_channels(options), **_ascent(options))
    return f"objective from {made.start_values.mean():.3g} to {made.values.mean():.3g} (means over pictures)"


def _inversion(options, frozen, rollout, output):
    from neurozoo.feature_visualization.inversion import draw_inversion

    choices = args.chosen(options, "layer", "at", "observations")
    cosines = draw_inversion(frozen, rollout, output, **choices, **_ascent(options))
    return f"cosine similarities {', '.join(f'{cosine:.2f}' for cosine in cosines)}"


def _guided(options, frozen, rollout, output):
    from neurozoo.feature_visualization.guided import draw_guided

    draw_guided(frozen, rollout, output, layer=options.layer, **_channels(options))


def _guided_page(options, frozen, rollout, output):
    from neurozoo.feature_visualization.guided_page import write_guided_page
    from neurozoo.rollouts.rollout import record_rollout

    with tempfile.TemporaryDirectory() as played:
        if options.play:
            rollout = Path(played, "rollout.npz")
            made = record_rollout(frozen, rollout, action_noise=0.05)
            print(f"played {made.steps} steps, score {number_label(made.scores[0])}")
        write_guided_page(frozen, rollout, output, filters=options.filters)


def _attribution(options, frozen, rollout, output):
    from neurozoo.feature_visualization.attribution import draw_attribution

    made = draw_attribution(frozen, rollout, output, **args.chosen(options, "at", "observations", "points"))
    return f"largest completeness gap {abs(made.gaps).max():.2g}"


def _saliency(options, frozen, rollout, output):
    from neurozoo.feature_visualization.saliency_picture import draw_saliency

    verdicts = draw_saliency(frozen, rollout, output, output.with_suffix(".csv"), moments=options.moments)
    return "passes: " + (", ".join(verdict.method for verdict in verdicts if not verdict.failures) or "none")


def _lean(options, frozen, _, output):
    from neurozoo.feature_visualization.temporal_lean import write_lean

    table = write_lean(frozen, output)
    leans = ", ".join(f"{frame} {lean:.3f}" for frame, lean in zip(table["frame"], table["lean"], strict=True))
    return leans or "no lean, because the network sees only one frame"


def _plot_lean(options):
    from neurozoo.feature_visualization.temporal_lean import read_leans
    from neurozoo.figures.temporal_lean import plot_temporal_lean

    plot_temporal_lean(read_leans([folder / "filters" / "lean.csv" for folder in options.run_dirs]), options.output)
    print(*options.output)
