"""The common style of all figures: formats, colours, theme, labels, captions, and saving."""

import copy
import math
import os
import textwrap
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9
from plotnine.composition import Compose

from neurozoo.algorithms.agent_names import called
from neurozoo.errors import unknown_name
from neurozoo.files import written_whole
from neurozoo.records.comparability import PLAYED, VARIANT, differing_facts
from neurozoo.text import number_label

COLOUR_BY = {"model": ("model",), "algo": ("algo",), "algo_model": ("algo", "model")}
FORMATS = ("pdf", "svg", "png")
WORDS = "txt"  # suffix of a file with the words of a figure, which its pictures then leave out

# Okabe and Ito 2008: distinguishable with any colour vision. Yellow is left out because it is too pale for lines.
_PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5D5D5D")
_LINE_TYPES = ("solid", "dashdot", (0, (8, 2)))  # the last: long dashes
_INK, _QUIET = "#222222", "#6B6B6B"
_DOTS_PER_INCH = 200
# Inches of a line, and of the room beside the lines, in the sizes of `figure_theme`.
_HEIGHTS = {"title": (0.24, 0.0), "subtitle": (0.17, 0.1), "caption": (0.13, 0.03)}
_LETTER, _KEY, _SIDES, _LINE, _AROUND = 0.072, 0.6, 0.8, 0.19, 0.2  # inches of a legend, in the sizes of `figure_theme`
_SHORTEST = 20  # letters of a line of a legend; narrower columns are hard to read
_MOST_DECIMALS = 6  # of a number along an axis
_TRUETYPE = 42  # fonts of PDFs; publishers refuse Type 3
_NO_DATES = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}


def check_formats(outputs: Iterable[str | os.PathLike]) -> None:
    """Checks before anything is drawn that the suffix of every file is one of `FORMATS`, or `WORDS`.

    Raises:
        NeurozooError: A suffix is unknown.
    """
    for output in outputs:
        if Path(output).suffix[1:] not in (*FORMATS, WORDS):
            raise unknown_name("figure format", Path(output).suffix[1:], FORMATS)


def curve_labels(reports: pd.DataFrame, colour_by: str) -> pd.Series:
    """Returns the label of each row of `with_names`, such as `GA, large`; runs that differ never share a curve."""
    columns = [*COLOUR_BY[colour_by]]
    columns += [name for name in ("algo", "model") if name not in columns and reports[name].nunique() > 1]
    if reports.groupby("game")[PLAYED].nunique().max() > 1:
        columns.append(PLAYED)
    columns.append(VARIANT)
    rows = list(reports[columns].astype(str).itertuples(index=False, name=None))
    names = {row: _label(dict(zip(columns, row, strict=True))) for row in dict.fromkeys(rows)}
    return pd.Series([names[row] for row in rows], reports.index, "string")


def _label(parts: dict[str, str]) -> str:
    if "algo" in parts:
        name, variant = called(parts["algo"], parts[VARIANT])
        parts = parts | {"algo": name, VARIANT: variant}
    formats = {"model": lambda model: model.replace("_", " ")}
    return ", ".join(filter(None, (formats.get(name, str)(value) for name, value in parts.items())))


def reservations(runs: pd.DataFrame, *, of: str) -> list[str]:
    """Returns sentences for a caption: which scores must not be compared.

    `runs` are rows of `with_names`, and `of` is what the figure shows side by side, such as `curves`.
    """
    ways = runs.groupby("game")[PLAYED].nunique()
    unlike = runs[runs["game"].isin(ways[ways > 1].index)]
    sentences = []
    if len(unlike):
        facts = ", ".join(differing_facts(unlike))
        sentences.append(
            f"Compare only {of} of one protocol and equal facts; here episodes were played differently ({facts})."
        )
    return sentences


def si_label(value: float) -> str:
    """Formats a number of frames: 500k, 1.5M, 4B."""
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"


def number_labels(values: Sequence[Any]) -> list[str]:
    """Formats the numbers along an axis of scores, all with as many decimals as the distance of the ticks needs."""
    ticks = np.unique([value for value in values if np.isfinite(value)])
    if len(ticks) > 1:
        exact = np.diff(ticks).min() / 100
        for decimals in range(_MOST_DECIMALS + 1):
            if np.abs(np.round(ticks, decimals) - ticks).max() <= exact:
                return [f"{round(float(value), decimals) + 0.0:,.{decimals}f}" for value in values]  # + 0: no -0
    return [number_label(value) for value in values]


def percent(share: float) -> str:
    """Returns a share as percent, such as 95 %, which no line break splits."""
    return f"{100 * share:g}\N{NO-BREAK SPACE}%"


def number_range(numbers: Iterable[int], noun: str) -> str:
    """Formats a count or a range of counts: `1 run`, `2 runs`, `2 to 5 runs`."""
    fewest, most = min(numbers), max(numbers)
    plural = noun if most == 1 else f"{noun}s"
    return f"{most:,} {plural}" if fewest == most else f"{fewest:,} to {most:,} {plural}"


def mean_of(episodes: Iterable[int], *, of: str) -> str:
    """Returns a sentence for a caption: of how many episodes, NA if unknown, such scores are means."""
    numbers = pd.Series(episodes, dtype="Int64")
    known = numbers.dropna()
    counted = number_range(known, "episode") if len(known) else "an unknown number of episodes"
    also = ", for some an unknown number" if 0 < len(known) < len(numbers) else ""
    return f"{of[0].upper()}{of[1:]} is the mean of {counted}{also}."


def whole_breaks(limits: tuple[float, float]) -> list[int]:
    """Chooses about ten whole numbers between two limits, as breaks of an axis with counts."""
    first, last = math.ceil(limits[0]), math.floor(limits[1])
    step = max(1, round((last - first) / 10))
    return list(range(first + -first % step, last + 1, step))


def panels_per_row(panels: int, *, most: int) -> int:
    """Returns how many panels stand in a row, so that rows are even: five make three and two, not four and one."""
    rows = -(-panels // most)
    return -(-panels // rows)


def line_styles(count: int) -> tuple[list[str], list[Any]]:
    """Returns colours and line types of `count` lines, which differ together with any colour vision, up to 21 lines.

    No line has short dashes or dots, as the best runs and the levels of learning curves have.
    """
    if count > len(_PALETTE) * len(_LINE_TYPES):
        return categorical_colours(count), ["solid"] * count
    each = range(count)
    return [_PALETTE[i % len(_PALETTE)] for i in each], [_LINE_TYPES[i // len(_PALETTE)] for i in each]


def categorical_colours(count: int) -> list[str]:
    """Returns `count` different colours; up to seven are distinguishable with any colour vision."""
    if count <= len(_PALETTE):
        return list(_PALETTE[:count])
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["viridis"](share)) for share in np.linspace(0, 0.95, count)]


def figure_theme(size: tuple[float, float], *, has_legend: bool) -> p9.theme:
    """Returns the theme that all figures share; `size` is (width, height) in inches."""
    return p9.theme_minimal(base_size=9, base_family="DejaVu Sans") + p9.theme(
        figure_size=size,
        legend_position="top" if has_legend else "none",
        legend_justification_top=0,
        legend_title=p9.element_blank(),
        legend_key_width=26,
        legend_text=p9.element_text(size=9, colour=_INK, ma="left"),
        plot_title_position="plot",
        plot_title=p9.element_text(size=13, weight="bold", colour=_INK, ha="left"),
        plot_subtitle=p9.element_text(
            size=8.5, colour=_QUIET, ha="left", linespacing=1.4, margin={"b": 8, "unit": "pt"}
        ),
        plot_caption=p9.element_text(size=7.5, colour=_QUIET, ha="right"),
        strip_text=p9.element_text(size=10, weight="bold", colour=_INK, ha="left", ma="left"),
        axis_title=p9.element_text(size=9, colour=_INK),
        axis_text=p9.element_text(size=8, colour=_QUIET),
        panel_grid_minor=p9.element_blank(),
        panel_grid_major=p9.element_line(colour="#E6E6E6", size=0.5),
        panel_spacing_x=0.15 / size[0],
        panel_spacing_y=0.25 / size[1],
        plot_margin=0.1 / size[0],
    )


@dataclass(frozen=True)
class Legend:
    """The entries of a legend, arranged."""

    labels: tuple[str, ...]  # with line breaks
    columns: int
    height: float  # inches


def arrange_legend(labels: Sequence[str], width: float) -> Legend:
    """Arranges a legend above a figure of this width (inches) in few lines; a single entry needs no height.

    Long names are broken and not cut, because their ends may be what differs.
    """
    found = [_in_columns(labels, columns, width) for columns in range(1, len(labels) + 1)]
    return min(filter(None, found), key=lambda legend: legend.height)


def _in_columns(labels: Sequence[str], columns: int, width: float) -> Legend | None:
    """Returns the legend in so many columns, from top to bottom; None if they would be too narrow for their names."""
    letters = int(((width - _SIDES) / columns - _KEY) / _LETTER)
    if columns > 1 and letters < min(_SHORTEST, max(map(len, labels))):
        return None
    texts = tuple(textwrap.fill(label, max(_SHORTEST, letters)) for label in labels)
    rows = -(-len(texts) // columns)
    lines = sum(max(text.count("\n") + 1 for text in texts[row::rows]) for row in range(rows))
    return Legend(texts, columns, _LINE * lines + _AROUND if len(texts) > 1 else 0.0)


def line_scales(entries: Sequence[str], legend: Legend, *, colours: Sequence[str], types: Sequence[Any]) -> list:
    """Returns the scales of lines and of their ribbons, with one legend for colours and line types."""
    named: dict[str, Any] = {"limits": entries, "labels": legend.labels}
    return [
        p9.scale_colour_manual(values=colours, **named),
        p9.scale_linetype_manual(values=types, **named),
        p9.scale_fill_manual(values=colours, limits=entries, guide=None),
        legend_guides("colour", "linetype", columns=legend.columns),
    ]


def legend_guides(*aesthetics: str, columns: int) -> p9.guides:
    """Returns guides that merge to one legend if the scales of the aesthetics have equal names and labels."""
    return p9.guides(**{aesthetic: p9.guide_legend(ncol=columns) for aesthetic in aesthetics})


def words_height(*, title: str = "", subtitle: str = "", caption: str = "") -> float:
    """Returns the inches that the words of a figure need, all with their line breaks."""
    texts = {"title": title, "subtitle": subtitle, "caption": caption}
    return sum(line * (texts[name].count("\n") + 1) + room for name, (line, room) in _HEIGHTS.items() if texts[name])


def wrapped(text: str, letters: int) -> str:
    """Breaks a text of a figure into lines; between words only, so that `without_words` can join them again."""
    return textwrap.fill(text, letters, break_on_hyphens=False)


def without_words(figure: p9.ggplot) -> tuple[p9.ggplot, str]:
    """Takes title, explanation and caption out of a figure, for papers, which have them in their own text.

    The figure is then lower by the height of its words, which are returned in paragraphs.
    """
    figure = copy.deepcopy(figure)
    width, height = figure.theme.getp("figure_size")
    texts = {name: text for name in _HEIGHTS if (text := getattr(figure.labels, name))}
    for name in texts:
        setattr(figure.labels, name, None)
    figure += p9.theme(figure_size=(width, max(1.0, height - words_height(**texts))))
    return figure, "\n\n".join(text.replace("\n", " ") for text in texts.values()) + "\n"


def save_figure(figure: p9.ggplot | Compose, outputs: Iterable[str | os.PathLike]) -> None:
    """Draws a figure once and writes all formats, without dates or random ids: equal figures give equal bytes.

    If one of the files is a `.txt`, it gets the words of the figure, a `ggplot`: title, explanation and caption. The
    pictures then have none, and are lower.
    """
    import matplotlib
    from matplotlib import pyplot

    pictures = [path for path in map(Path, outputs) if path.suffix[1:] != WORDS]
    for output in (path for path in map(Path, outputs) if path not in pictures):
        assert isinstance(figure, p9.ggplot), "the words of a composition stay inside"
        figure, words = without_words(figure)
        with written_whole(output) as temporary:
            temporary.write_text(words, encoding="utf-8")

    # In a label, a $ is a dollar.
    looks = matplotlib.rc_context({"svg.hashsalt": "neurozoo", "text.parse_math": False, "pdf.fonttype": _TRUETYPE})
    with warnings.catch_warnings(), looks:
        warnings.simplefilter("ignore", p9.exceptions.PlotnineWarning)
        drawn = figure.draw(show=False)
        try:
            for output in pictures:
                format = output.suffix[1:]
                with written_whole(output) as temporary:
                    drawn.savefig(temporary, format=format, dpi=_DOTS_PER_INCH, metadata=_NO_DATES[format])
        finally:
            pyplot.close(drawn)
