"""`python -m neurozoo filters`: the pictures of filters, by hand."""

import tempfile
from dataclasses import fields
from pathlib import Path

from neurozoo.commands.arguments import Commands, add_command, chosen
from neurozoo.filters.objectives import OBJECTIVES
from neurozoo.filters.parameterisations import PARAMETERISATIONS


def add_filter_commands(commands: Commands) -> None:
    """Adds `filters` and what stands below it."""
    summary = "show what the filters of a frozen network look for (docs/filters.md)"
    kinds = add_command(commands, "filters", None, summary).add_subparsers(required=True, metavar="picture")

    weights = _of_run(kinds, "weights", _weights, "a mosaic of a convolution's weights", rollout=False)
    weights.add_argument("--filters", type=int, help="only the first so many; default: all")

    patches = _of_run(kinds, "patches", _patches, "the parts of observations that filters respond to")
    _add_channels(patches)
    patches.add_argument("--count", type=int, default=5, help="patches of each kind (default: %(default)s)")
    patches.add_argument("--distance", type=int, default=10, help="steps between two patches (default: %(default)s)")
    patches.add_argument("--seed", type=int, default=0)

    synthetic = _of_run(kinds, "synthetic", _synthetic, "inputs made to excite channels, units or directions")
    _add_channels(synthetic)
    synthetic.add_argument("--objective", choices=OBJECTIVES, default="channel", help="default: %(default)s")
    synthetic.add_argument("--position", type=int, nargs=2, metavar=("ROW", "COLUMN"), help="of the unit")
    synthetic.add_argument(
        "--directions", type=Path, metavar="NPY", help="array (directions, channels), a picture each"
    )
    _add_ascent(synthetic, parameterisation="pixel")

    inversion = _of_run(kinds, "inversion", _inversion, "inputs that a layer takes for recorded observations")
    _add_steps(inversion, 4)
    _add_ascent(inversion, parameterisation="fourier")

    guided = _of_run(kinds, "guided", _guided, "what in observations excited filters, by guided backpropagation")
    _add_channels(guided)

    page = _of_run(
        kinds, "guided-page", _guided_page, "one page with that of all convolutions, as nvis of simple_dqn", layer=False
    )
    page.add_argument("--filters", type=int, default=4, help="of each layer (default: %(default)s)")
    page.add_argument(
        "--play",
        action="store_true",
        help="instead of a rollout: play an episode for it, 2,500 steps at most, 5 %% of the actions at random",
    )

    attribution = _of_run(
        kinds, "attribution", _attribution, "what spoke for the chosen action, by integrated gradients", layer=False
    )
    _add_steps(attribution, 6)
    attribution.add_argument("--points", type=int, default=64, help="of the path from black (default: %(default)s)")

    _of_run(kinds, "lean", _lean, "how much the first layer heeds each frame", layer=False, rollout=False)

    figure = kinds.add_parser("plot-lean", help="the leans of several runs as a figure")
    figure.set_defaults(command=_plot_lean)
    figure.add_argument("run_dirs", type=Path, nargs="+", metavar="RUN_DIR", help="with filters/lean.csv")
    figure.add_argument("--output", type=Path, nargs="+", required=True, help="such as lean.pdf lean.png")


def _of_run(kinds, name, function, summary, *, layer=True, rollout=True):
    command = add_command(kinds, name, function, summary)
    suffix = {"lean": "csv", "guided-page": "html"}.get(name, "png")
    command.set_defaults(name=name.removesuffix("-page"), suffix=suffix, layer=None)
    command.add_argument("run_dir", type=Path, help="such as results/runs/ga/frostbite/large/1, with frozen/")
    if layer:
        command.add_argument("--layer", required=True, help="such as conv1")
    if rollout:
        command.add_argument("--rollout", type=Path, help="default: RUN_DIR/rollout.npz")
    where = f"RUN_DIR/filters/{name.removesuffix('-page')}{'_LAYER' if layer else ''}"
    command.add_argument("--output", type=Path, help=f"default: {where}.{suffix}")
    return command


def _add_channels(command):
    command.add_argument(
        "--channels", type=int, nargs="+", metavar="NUMBER", help="filters or units, from 0; default: the first 16"
    )


def _add_steps(command, count):
    command.add_argument("--at", type=int, nargs="+", metavar="STEP", help="of the rollout; default: all over it")
    command.add_argument("--observations", type=int, default=count, help="without --at (default: %(default)s)")


def _add_ascent(command, *, parameterisation):
    command.add_argument("--steps", type=int, default=256, help="default: %(default)s")
    command.add_argument("--learning-rate", type=float, help="default: one that suits the parameterisation")
    command.add_argument(
        "--parameterisation", choices=PARAMETERISATIONS, default=parameterisation, help="default: %(default)s"
    )
    command.add_argument("--frames", choices=("all", "newest"), default="all", help="default: %(default)s")
    command.add_argument("--jitter", type=int, default=3, help="pixels (default: %(default)s)")
    for name in ("total-variation", "l1", "l2"):
        command.add_argument(f"--{name}", type=float, default=0.0, metavar="WEIGHT", help="default: 0")
    command.add_argument("--seed", type=int, default=0)


def _inputs(options):
    return options.run_dir / "frozen", options.rollout or options.run_dir / "rollout.npz"


def _output(options):
    name = options.name if options.layer is None else f"{options.name}_{options.layer}"
    return options.output or options.run_dir / "filters" / f"{name}.{options.suffix}"


def _channels(options):
    return {} if options.channels is None else {"channels": options.channels}


def _ascent(options):
    from neurozoo.filters.synthetic import Ascent

    return chosen(options, *(field.name for field in fields(Ascent)))


def _weights(options):
    from neurozoo.filters.weights import draw_weights

    draw_weights(options.run_dir / "frozen", _output(options), layer=options.layer, filters=options.filters)
    print(_output(options))


def _patches(options):
    from neurozoo.filters.patches import draw_patches

    choices = {**chosen(options, "layer", "count", "distance", "seed"), **_channels(options)}
    draw_patches(*_inputs(options), _output(options), **choices)
    print(_output(options))


def _synthetic(options):
    from neurozoo.filters.synthetic import draw_synthetic, read_directions

    output = _output(options)
    made = draw_synthetic(
        *_inputs(options),
        output,
        layer=options.layer,
        objective=options.objective,
        position=options.position and tuple(options.position),
        directions=options.directions and read_directions(options.directions),
        course=output.with_suffix(".csv"),
        **_channels(options),
        **_ascent(options),
    )
    print(f"{output}: from {made.start_values.mean():.3g} to {made.values.mean():.3g} (means over the pictures)")


def _inversion(options):
    from neurozoo.filters.inversion import draw_inversion

    choices = {**chosen(options, "layer", "at", "observations"), **_ascent(options)}
    cosines = draw_inversion(*_inputs(options), _output(options), **choices)
    print(f"{_output(options)}: cosines {', '.join(f'{cosine:.2f}' for cosine in cosines)}")


def _guided(options):
    from neurozoo.filters.guided import draw_guided

    draw_guided(*_inputs(options), _output(options), layer=options.layer, **_channels(options))
    print(_output(options))


def _guided_page(options):
    from neurozoo.filters.guided_page import write_guided_page
    from neurozoo.inspection import record_rollout

    folder, rollout = _inputs(options)
    with tempfile.TemporaryDirectory() as played:
        if options.play:
            rollout = Path(played, "rollout.npz")
            made = record_rollout(folder, rollout, action_noise=0.05)
            print(f"played {made.steps} steps, score {made.scores[0]:,.0f}")
        write_guided_page(folder, rollout, _output(options), filters=options.filters)
    print(_output(options))


def _attribution(options):
    from neurozoo.filters.attribution import draw_attribution

    made = draw_attribution(*_inputs(options), _output(options), **chosen(options, "at", "observations", "points"))
    print(f"{_output(options)}: largest gap {abs(made.gaps).max():.2g}")


def _lean(options):
    from neurozoo.filters.lean import write_lean

    table = write_lean(options.run_dir / "frozen", _output(options))
    leans = ", ".join(f"{frame} {lean:.3f}" for frame, lean in zip(table["frame"], table["lean"], strict=True))
    print(f"{_output(options)}: {leans or 'none, the network sees one frame at a time'}")


def _plot_lean(options):
    from neurozoo.filters.lean import read_leans
    from neurozoo.filters.lean_plot import plot_temporal_lean

    plot_temporal_lean(read_leans([folder / "filters" / "lean.csv" for folder in options.run_dirs]), options.output)
    print(*options.output)
