"""`python -m neurozoo filters`: draws pictures of a network's filters."""

import argparse
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

from neurozoo.cli.arguments import Commands, add_command, add_run_dir, chosen, natural, positive
from neurozoo.feature_visualization.objectives import OBJECTIVES
from neurozoo.feature_visualization.parameterisations import PARAMETERISATIONS
from neurozoo.number_text import number_label


def add_filter_commands(commands: Commands) -> None:
    """Adds `filters` and its subcommands."""
    summary = "draw what the filters of a frozen network respond to (docs/filters.md)"
    kinds = add_command(commands, "filters", None, summary).add_subparsers(required=True, metavar="picture")

    weights = _of_run(kinds, "weights", _weights, "draw a mosaic of a convolution's weights", rollout=False)
    weights.add_argument("--filters", type=positive, help="number of filters, from the first (default: all)")

    patches = _of_run(kinds, "patches", _patches, "draw the patches of observations to which filters respond most")
    _add_channels(patches)
    patches.add_argument("--count", type=positive, default=5, help="patches of each kind (default: %(default)s)")
    patches.add_argument(
        "--distance", type=natural, default=10, help="least steps between two patches (default: %(default)s)"
    )
    patches.add_argument("--seed", type=natural, default=0, help="default: %(default)s")

    synthetic = _of_run(kinds, "synthetic", _synthetic, "optimise inputs that excite channels, units or directions")
    _add_channels(synthetic)
    synthetic.add_argument("--objective", choices=OBJECTIVES, default="channel", help="default: %(default)s")
    synthetic.add_argument("--position", type=natural, nargs=2, metavar=("ROW", "COLUMN"), help="position of the unit")
    synthetic.add_argument(
        "--directions",
        type=Path,
        metavar="NPY",
        help="array of shape (directions, channels); draws one picture for each direction",
    )
    _add_ascent(synthetic, parameterisation="pixel")

    inversion = _of_run(
        kinds, "inversion", _inversion, "optimise inputs that a layer cannot tell from recorded observations"
    )
    _add_steps(inversion, 4)
    _add_ascent(inversion, parameterisation="fourier")

    guided = _of_run(kinds, "guided", _guided, "draw which pixels excited filters, by guided backpropagation")
    _add_channels(guided)

    page = _of_run(
        kinds,
        "guided-page",
        _guided_page,
        "write a page with guided backpropagation for all convolutions, like nvis in simple_dqn",
        layer=False,
    )
    page.add_argument("--filters", type=positive, default=4, help="filters per layer (default: %(default)s)")
    page.add_argument(
        "--play",
        action="store_true",
        help="play an episode instead of reading a rollout: at most 2,500 steps, 5 %% random actions",
    )

    attribution = _of_run(
        kinds, "attribution", _attribution, "draw which pixels led to an action, by integrated gradients", layer=False
    )
    _add_steps(attribution, 6)
    attribution.add_argument(
        "--points", type=positive, default=64, help="points on the path from a black picture (default: %(default)s)"
    )

    _of_run(kinds, "lean", _lean, "measure how strongly the first layer weighs each frame", layer=False, rollout=False)

    figure = add_command(kinds, "plot-lean", _plot_lean, "plot the temporal lean of several runs")
    figure.add_argument("run_dirs", type=Path, nargs="+", metavar="RUN_DIR", help="folders with filters/lean.csv")
    figure.add_argument("--output", type=Path, nargs="+", required=True, help="figures, such as lean.pdf lean.png")


def _of_run(kinds, name, function, summary, *, layer=True, rollout=True):
    command = add_command(kinds, name, function, summary)
    suffix = {"lean": "csv", "guided-page": "html"}.get(name, "png")
    command.set_defaults(name=name.removesuffix("-page"), suffix=suffix, layer=None)
    add_run_dir(command)
    if layer:
        command.add_argument("--layer", required=True, help="name of a layer, such as conv1")
    if rollout:
        command.add_argument("--rollout", type=Path, help="default: RUN_DIR/rollout.npz")
    where = f"RUN_DIR/filters/{name.removesuffix('-page')}{'_LAYER' if layer else ''}"
    command.add_argument("--output", type=Path, help=f"default: {where}.{suffix}")
    return command


def _add_channels(command):
    command.add_argument(
        "--channels",
        type=natural,
        nargs="+",
        metavar="NUMBER",
        help="filters or units, counted from 0 (default: the first 16)",
    )


def _add_steps(command, count):
    command.add_argument(
        "--at", type=natural, nargs="+", metavar="STEP", help="steps of the rollout (default: evenly spaced)"
    )
    command.add_argument(
        "--observations", type=positive, default=count, help="number of steps without --at (default: %(default)s)"
    )


def _add_ascent(command, *, parameterisation):
    command.add_argument("--steps", type=positive, default=256, help="gradient steps (default: %(default)s)")
    command.add_argument("--learning-rate", type=float, help="default: depends on the parameterisation")
    command.add_argument(
        "--parameterisation", choices=PARAMETERISATIONS, default=parameterisation, help="default: %(default)s"
    )
    command.add_argument(
        "--frames", choices=("all", "newest"), default="all", help="frames to optimise (default: %(default)s)"
    )
    command.add_argument("--jitter", type=natural, default=3, help="random shift in pixels (default: %(default)s)")
    for name in ("total-variation", "l1", "l2"):
        command.add_argument(
            f"--{name}", type=float, default=0.0, metavar="WEIGHT", help="weight of this penalty (default: 0)"
        )
    command.add_argument("--seed", type=natural, default=0, help="default: %(default)s")


def _inputs(options: argparse.Namespace) -> tuple[Path, Path]:
    return options.run_dir / "frozen", options.rollout or options.run_dir / "rollout.npz"


def _output(options: argparse.Namespace) -> Path:
    name = options.name if options.layer is None else f"{options.name}_{options.layer}"
    return options.output or options.run_dir / "filters" / f"{name}.{options.suffix}"


def _channels(options: argparse.Namespace) -> dict[str, Any]:
    return {} if options.channels is None else {"channels": options.channels}


def _ascent(options: argparse.Namespace) -> dict[str, Any]:
    from neurozoo.feature_visualization.synthetic import Ascent

    return chosen(options, *(field.name for field in fields(Ascent)))


def _weights(options):
    from neurozoo.feature_visualization.weights import draw_weights

    draw_weights(options.run_dir / "frozen", _output(options), layer=options.layer, filters=options.filters)
    print(_output(options))


def _patches(options):
    from neurozoo.feature_visualization.patches import draw_patches

    choices = {**chosen(options, "layer", "count", "distance", "seed"), **_channels(options)}
    draw_patches(*_inputs(options), _output(options), **choices)
    print(_output(options))


def _synthetic(options):
    from neurozoo.feature_visualization.synthetic import draw_synthetic, read_directions

    output = _output(options)
    choices = {
        **chosen(options, "layer", "objective"),
        "position": options.position and tuple(options.position),
        "directions": options.directions and read_directions(options.directions),
        "course": output.with_suffix(".csv"),
        **_channels(options),
        **_ascent(options),
    }
    made = draw_synthetic(*_inputs(options), output, **choices)
    print(f"{output}: objective from {made.start_values.mean():.3g} to {made.values.mean():.3g} (means over pictures)")


def _inversion(options):
    from neurozoo.feature_visualization.inversion import draw_inversion

    choices = {**chosen(options, "layer", "at", "observations"), **_ascent(options)}
    cosines = draw_inversion(*_inputs(options), _output(options), **choices)
    print(f"{_output(options)}: cosine similarities {', '.join(f'{cosine:.2f}' for cosine in cosines)}")


def _guided(options):
    from neurozoo.feature_visualization.guided import draw_guided

    draw_guided(*_inputs(options), _output(options), layer=options.layer, **_channels(options))
    print(_output(options))


def _guided_page(options):
    from neurozoo.feature_visualization.guided_page import write_guided_page
    from neurozoo.rollouts.rollout import record_rollout

    folder, rollout = _inputs(options)
    with tempfile.TemporaryDirectory() as played:
        if options.play:
            rollout = Path(played, "rollout.npz")
            made = record_rollout(folder, rollout, action_noise=0.05)
            print(f"played {made.steps} steps, score {number_label(made.scores[0])}")
        write_guided_page(folder, rollout, _output(options), filters=options.filters)
    print(_output(options))


def _attribution(options):
    from neurozoo.feature_visualization.attribution import draw_attribution

    made = draw_attribution(*_inputs(options), _output(options), **chosen(options, "at", "observations", "points"))
    print(f"{_output(options)}: largest completeness gap {abs(made.gaps).max():.2g}")


def _lean(options):
    from neurozoo.feature_visualization.lean import write_lean

    table = write_lean(options.run_dir / "frozen", _output(options))
    leans = ", ".join(f"{frame} {lean:.3f}" for frame, lean in zip(table["frame"], table["lean"], strict=True))
    print(f"{_output(options)}: {leans or 'no lean, because the network sees only one frame'}")


def _plot_lean(options):
    from neurozoo.feature_visualization.lean import read_leans
    from neurozoo.figures.temporal_lean import plot_temporal_lean

    plot_temporal_lean(read_leans([folder / "filters" / "lean.csv" for folder in options.run_dirs]), options.output)
    print(*options.output)
