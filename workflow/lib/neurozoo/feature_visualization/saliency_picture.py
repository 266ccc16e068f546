"""The saliency of an agent as a picture: methods side by side, each with what the tests say of it."""

import os
import textwrap
from collections.abc import Sequence

import numpy as np
import pandas as pd
from PIL import Image

from neurozoo.agents.frozen import FrozenModel, open_frozen, use_one_thread
from neurozoo.environments.observations import brightest
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.layers import check_pictures
from neurozoo.feature_visualization.pictures import newest_plane
from neurozoo.feature_visualization.recordings import open_recording
from neurozoo.feature_visualization.saliency_moments import Moments, choose_moments
from neurozoo.feature_visualization.saliency_tests import CONTROL, MOST_ALIKE, SHARES, Verdict, judge
from neurozoo.files import written_whole
from neurozoo.files.csv import write_csv_table

MOMENTS = 32  # on which methods are tested
ROWS = 3  # of them in the picture
FULL = 99.5  # percentile of a map's absolute values that gets the full colour
NAMES = {
    "perturbation": "Perturbation",
    "sarfa": "SARFA",
    "integrated_gradients": "Integrated gradients",
    "guided_backpropagation": "Guided backpropagation",
    "grad_cam": "Grad-CAM",
    CONTROL: "Edge detector (control)",
}
_WIDTH, _DOTS_PER_INCH = 1.62, 200  # inches of a column
_INK, _QUIET, _GOOD, _BAD = "#222222", "#6B6B6B", "#00694B", "#B2182B"


def draw_saliency(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    table: str | os.PathLike,
    *,
    moments: int = MOMENTS,
) -> list[Verdict]:
    """Draws which pixels mattered for the preferred action at some moments of a rollout, and tests each method.

    It is tested at so many `moments`, see `choose_moments`.

    Raises:
        NeurozooError: The agent does not see pictures or has continuous actions, or the rollout comes from another
            agent.
    """
    use_one_thread()
    frozen = check_pictures(open_frozen(frozen_folder))
    if frozen.is_continuous:
        raise NeurozooError(
            f"The actions of {frozen.title} are continuous: none is ahead of others, so there is nothing to explain. "
            "Try filters guided."
        )
    with open_recording(frozen, rollout) as recording:
        chosen = choose_moments(frozen, recording, moments)
    names = [layer.name for layer in frozen.layers]
    verdicts = judge(frozen.load_keras(), chosen, layers=names, is_drawn=frozen.action_rule == "sampled")
    write_csv_table(table, pd.DataFrame([verdict.record() for verdict in verdicts]), digits=6)
    _draw(frozen, chosen, verdicts, output)
    return verdicts


def _draw(frozen: FrozenModel, moments: Moments, verdicts: Sequence[Verdict], output: str | os.PathLike) -> None:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = _unlike(moments)
    aspect = moments.screens.shape[1] / moments.screens.shape[2]
    columns, picture = 1 + len(verdicts), _WIDTH * aspect
    width, curves, captions = columns * _WIDTH + 0.5, 1.2, 1.1
    note = textwrap.wrap(_note(frozen, moments), int(15 * width))
    words = 0.72 + 0.155 * len(note)
    height = words + ROWS * (picture + 0.1) + curves + captions
    with rc_context({"font.family": "DejaVu Sans", "text.parse_math": False, "font.size": 8, "axes.linewidth": 0.5}):
        figure = Figure(figsize=(width, height), dpi=_DOTS_PER_INCH)

        def place(row: float, column: int, *, tall: float, wide: float = _WIDTH - 0.1, left: float = 0.4):
            """Adds axes below so many inches of rows; coordinates of a figure are shares of it."""
            x, y = left + column * _WIDTH, height - words - row - tall
            return figure.add_axes((x / width, y / height, wide / width, tall / height))

        figure.text(0.1 / width, 1 - 0.1 / height, f"What {frozen.title} looks at, and whether to believe it",
                    fontsize=13, weight="bold", color=_INK, va="top")  # fmt: skip
        figure.text(0.1 / width, 1 - 0.4 / height, "\n".join(note), fontsize=8,
                    color=_QUIET, va="top", linespacing=1.35)  # fmt: skip
        for row, at in enumerate(shown):
            top = row * (picture + 0.1)
            axes = place(top, 0, tall=picture)
            axes.imshow(moments.screens[at], aspect="auto")
            _bare(axes)
            axes.set_ylabel(f"step {moments.steps[at]}: {frozen.actions[moments.actions[at]]}", color=_INK, labelpad=3)
            if row == 0:
                axes.set_title("Screen", fontsize=8.5, color=_INK, pad=3)
            for column, verdict in enumerate(verdicts, 1):
                axes = place(top, column, tall=picture)
                axes.imshow(_overlaid(frozen, moments.observations[at], verdict.maps[at]), aspect="auto",
                            interpolation="nearest")  # fmt: skip
                _bare(axes)
                if row == 0:
                    axes.set_title(NAMES[verdict.method], fontsize=8.5, color=_INK, pad=3)
        bottom = ROWS * (picture + 0.1) + 0.1
        for column, verdict in enumerate(verdicts, 1):
            axes = place(bottom, column, tall=curves - 0.35, wide=_WIDTH - 0.3)
            axes.plot(
                100 * SHARES, verdict.random_deletion.mean(axis=0), color=_QUIET, linestyle=(0, (3, 2)), linewidth=1
            )
            axes.plot(100 * SHARES, verdict.deletion.mean(axis=0), color=_INK, linewidth=1.4)
            limits = [curve.mean(axis=0) for each in verdicts for curve in (each.deletion, each.random_deletion)]
            axes.set(xlim=(0, 100), ylim=(min(0, np.min(limits)), 1.05 * np.max(limits)), xticks=[0, 50, 100])
            axes.tick_params(labelsize=6.5, colors=_QUIET, length=2, pad=1, labelleft=column == 1)
            axes.spines[["top", "right"]].set_visible(False)
            axes.set_xlabel("% of pixels removed", fontsize=6.5, color=_QUIET, labelpad=1)
            says = f"fails: {'; '.join(verdict.failures)}" if verdict.failures else "passes"
            x, y = 0.4 + column * _WIDTH, height - words - bottom - curves
            figure.text(x / width, y / height, textwrap.fill(says, 21), fontsize=8, va="top", weight="bold",
                        color=_BAD if verdict.failures else _GOOD, linespacing=1.25)  # fmt: skip
        key = "Black: the chosen action's lead, most salient pixels removed first. Dashed: in random order."
        figure.text(
            0.4 / width, (height - words - bottom) / height, textwrap.fill(key, 23), fontsize=7, color=_QUIET, va="top"
        )
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
    with written_whole(output) as temporary:
        Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3]).save(temporary, format="PNG")


def _note(frozen: FrozenModel, moments: Moments) -> str:
    lead = "probability" if frozen.action_rule == "sampled" else "value minus the mean of the others"
    return (
        "Red: pixels that matter for the action that the network prefers (blue: that speak against it), over the "
        f"newest frame; full colour is the strongest {100 - FULL:g} % of each map. Every method is tested at "
        f"{len(moments.steps)} moments of the recording; the rows show some of them. It passes if removing what it "
        f"marks lowers the action's lead ({lead}) faster than removing pixels at random (signed-rank test, corrected "
        "for the number of methods), and if its maps change when all weights are shuffled (|ρ| at most "
        f"{MOST_ALIKE:g}). The edge detector knows nothing of the network and has to fail."
    )


def _overlaid(frozen: FrozenModel, observation: np.ndarray, salient: np.ndarray) -> np.ndarray:
    """Colours the newest frame by a map, red for positive and blue for negative: float, shape (height, width, 3)."""
    newest = newest_plane(observation, frozen.shape, brightest(frozen.protocol)).mean(axis=-1, keepdims=True) / 255
    pale = 0.45 + 0.5 * np.repeat(newest, 3, axis=-1)
    full = float(np.percentile(np.abs(salient), FULL)) or float(np.abs(salient).max()) or 1.0
    strength = np.clip(np.abs(salient) / full, 0, 1)[..., None]
    colour = np.where(salient[..., None] > 0, [0.78, 0.0, 0.06], [0.05, 0.25, 0.75])
    return pale + 0.85 * strength * (colour - pale)


def _unlike(moments: Moments) -> list[int]:
    """Chooses moments that show different things, from the half whose actions are furthest ahead, in their order."""
    half = np.argsort(-moments.leads)[: max(ROWS, len(moments.steps) // 2)]
    seen = moments.observations[half]
    chosen, distances = [0], np.full(len(half), np.inf)
    while len(chosen) < min(ROWS, len(half)):
        distances = np.minimum(distances, np.abs(seen - seen[chosen[-1]]).mean(axis=(1, 2, 3)))
        chosen.append(int(distances.argmax()))
    return sorted(half[chosen].tolist())


def _bare(axes) -> None:
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
