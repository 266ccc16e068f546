"""Draws probes as a table of heat maps: what layers tell of each variable, the control beside it, and what is used."""

import os
from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotnine as p9
from matplotlib.colors import LinearSegmentedColormap, to_hex

from neurozoo.errors import NeurozooError
from neurozoo.figures import style
from neurozoo.text import number_label

REMEDY = "Make it again: the rule probes."
_DECODED, _CONTROL = "Decoded: R² of a linear probe", "Control: weights shuffled"
_ACTIONS, _SCORE = "Erased: actions that change", "Score"
_CAPTION = (
    "R²: 1 is perfect, 0 no better than the mean; on episodes or blocks of time that the probe never saw. observation: "
    "the raw pixels. Control: mean of five networks with shuffled weights. Erased: what linear probes find is removed "
    "from one layer; in brackets, a label of noise is, and activations change by as much. The score is that of games "
    "without the variable in the layer that tells most of it, less that of the whole agent. * R² differs from the "
    "control, and from each of the five in the same direction; or more actions change, or more points are lost, than "
    "in brackets (intervals exclude 0, uncorrected: in a large table, some do by chance). ? not shown to be gone: on "
    "other states, a new probe finds more than half of it, or found nothing before. – not measured: nothing was "
    "decoded (or the network has a memory)."
)
_LETTERS = 165  # of a line of the caption
_BLUES, _ORANGES = (
    LinearSegmentedColormap.from_list(name, ["#F7F7F7", colour])
    for name, colour in (("blues", "#0072B2"), ("oranges", "#D55E00"))
)
_FOUND = 0.1  # R² from which a new probe has found something
_DARK = 0.65  # from which a cell is too dark for black letters


def draw_probes(probes: str | os.PathLike, outputs: Sequence[str | os.PathLike], *, agent: str) -> None:
    """Draws the table of `measure_probes`; `agent` is the name for the title.

    Raises:
        NeurozooError: The table is missing or damaged, or a suffix is unknown.
    """
    style.check_formats(outputs)
    try:
        table = pd.read_csv(probes)
        cells = _cells(table)
        facts = f"{table['states'].iloc[0]:,} states in {table['groups'].iloc[0]} episodes or blocks of time"
        if (starts := table["starts"].max()) > 0:
            facts += f"; {starts:.0f} games without each variable"
    except (OSError, KeyError, IndexError, TypeError, ValueError) as error:
        raise NeurozooError(f"{probes} is no table of probes ({type(error).__name__}: {error}). {REMEDY}") from error
    title, caption = f"What the layers of {agent} tell, and what it uses", style.wrapped(_CAPTION, _LETTERS)
    height = 0.27 * cells["variable"].nunique() + 1.1
    height += style.words_height(title=title, subtitle=facts, caption=caption)
    figure = (
        p9.ggplot(cells, p9.aes("layer", "variable", fill="colour"))
        + p9.geom_tile(colour="#FFFFFF")
        + p9.geom_text(p9.aes(label="label", colour="ink"), size=6.5)
        + p9.facet_grid(". ~ panel", scales="free_x", space="free_x")
        + p9.scale_fill_identity()
        + p9.scale_colour_identity()
        + p9.labs(title=title, subtitle=facts, caption=caption, x="", y="")
        + style.figure_theme((13.0, height), has_legend=False)
        + p9.theme(
            panel_grid_major=p9.element_blank(),
            strip_text=p9.element_text(size=8.5),
            plot_caption=p9.element_text(ha="left"),
            plot_caption_position="plot",
        )
    )
    style.save_figure(figure, outputs)


def _cells(table: pd.DataFrame) -> pd.DataFrame:
    """Returns a row for each cell: `panel`, `layer`, `variable`, `label`, `colour` and `ink`."""
    layers = list(dict.fromkeys(table["layer"]))
    largest = table["score"].abs().max() or 1
    rows = []
    for _, row in table.iterrows():
        place, is_hidden = (row["variable"], row["layer"]), row["layer"] not in (layers[0], layers[-1])
        is_better, is_worse = (row["gain_low"] > 0, row["beaten"] == 1), (row["gain_high"] < 0, row["beaten"] == 0)
        star = "*" if all(is_better) or all(is_worse) else ""
        rows.append((_DECODED, *place, f"{_two(row['r2'])}{star}", row["r2"], _BLUES))
        if row["layer"] != layers[0]:
            rows.append((_CONTROL, *place, _two(row["shuffled_weights"]), row["shuffled_weights"], _BLUES))
        if is_hidden:
            label = f"{100 * row['actions']:.0f} % ({100 * row['actions_noise']:.0f})"
            label += _marks(row, row["actions_excess_low"] > 0)
            rows.append((_ACTIONS, *place, label, row["actions"], _ORANGES))
        if np.isfinite(row["score"]):
            label = f"{_signed(row['score'])} ({_signed(row['score_noise'])})"
            label += _marks(row, row["score_excess_high"] < 0)
            rows.append((_SCORE, row["variable"], "score", label, abs(row["score"]) / largest, _ORANGES))
    cells = pd.DataFrame(rows, columns=["panel", "variable", "layer", "label", "share", "map"])
    cells["label"] = cells["label"].where(cells["share"].notna(), "–")
    cells["share"] = cells["share"].fillna(0).clip(0, 1)
    cells["colour"] = [to_hex(colours(share)) for colours, share in zip(cells["map"], cells["share"], strict=True)]
    cells["ink"] = np.where(cells["share"] > _DARK, "#FFFFFF", "#222222")
    for name, known in (("panel", None), ("layer", [*layers, "score"]), ("variable", None)):
        ordered = known or list(dict.fromkeys(cells[name]))
        cells[name] = pd.Categorical(cells[name], ordered[::-1] if name == "variable" else ordered)
    return cells


def _marks(row: pd.Series, is_used: bool) -> str:
    is_gone = row["before"] > _FOUND and abs(row["after"]) < row["before"] / 2  # not if one is NaN
    return "*" * is_used + "?" * (not is_gone)


def _two(number: float) -> str:
    return f"{number:.2f}".replace("-", "−")


def _signed(number: float) -> str:
    return f"{'+' if number > 0 else '−' if number < 0 else ''}{number_label(round(abs(number), 2))}"
