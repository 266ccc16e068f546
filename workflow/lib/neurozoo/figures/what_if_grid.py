"""Draws a grid of what-ifs: how score and length of an episode change by other actions at some of its moments."""

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import plotnine as p9

from neurozoo.errors import NeurozooError
from neurozoo.figures import style
from neurozoo.files import read_json
from neurozoo.text import number_label

REMEDY = "Make it again: python -m neurozoo what-if RUN_DIR --grid."
_CAPTION = (
    "Each cell is one episode: one other action, then the agent again, with the same random numbers. One continuation "
    "each, so there is no interval, and a difference may be luck: any other action also changes what the game does "
    "later. ○ what the agent did; = the game came back to its recorded state; + cut off before its end. The moments "
    "are those where the agent hesitated most: the smallest difference between its two best outputs in each of equal "
    "parts of the episode."
)
_LETTERS = 150  # of a line of the caption
_COLOURS = ("#B2182B", "#F7F7F7", "#2166AC")  # worse, equal, better
_DARK = 0.6  # share of the largest change from which a cell is too dark for black letters


def draw_grid(grid: str | os.PathLike, outputs: Sequence[str | os.PathLike]) -> None:
    """Draws the record of `measure_grid` as two heat maps, of score and length, with a row for each action.

    Raises:
        NeurozooError: The record is missing or damaged, or a suffix is unknown.
    """
    style.check_formats(outputs)
    record = read_json(grid, REMEDY)
    try:
        cells, title = _cells(record), f"What if: one other action in {record['agent']}"
        steps = "one step" if record["duration"] == 1 else f"{record['duration']} steps"
        as_it_was = f"As it was: score {number_label(record['score'])}, {record['steps']:,} steps"
    except (KeyError, TypeError, ValueError) as error:
        raise NeurozooError(
            f"{Path(grid)} is no grid of what-ifs ({type(error).__name__}: {error}). {REMEDY}"
        ) from error
    subtitle = f"{as_it_was}. Changes of the whole episode if another action is played for {steps}"
    caption = style.wrapped(_CAPTION, _LETTERS)
    height = (
        0.25 * cells["action"].nunique() + 1.2 + style.words_height(title=title, subtitle=subtitle, caption=caption)
    )
    figure = (
        p9.ggplot(cells, p9.aes("step", "action", fill="share"))
        + p9.geom_tile(colour="#FFFFFF")
        + p9.geom_text(p9.aes(label="label", colour="is_dark"), size=5.5)
        + p9.facet_wrap("panel", ncol=2)
        + p9.scale_fill_gradientn(colors=_COLOURS, limits=(-1, 1))
        + p9.scale_colour_manual(values={False: "#222222", True: "#FFFFFF"})
        + p9.labs(title=title, subtitle=subtitle, caption=caption, x="Step at which the action is played", y="")
        + style.figure_theme((12.0, height), has_legend=False)
        + p9.theme(panel_grid_major=p9.element_blank(), axis_text_x=p9.element_text(size=7))
    )
    style.save_figure(figure, outputs)


def _cells(record: dict) -> pd.DataFrame:
    """Returns a row for each cell: `panel`, `step`, `action`, `share` of the panel's largest change, and `label`."""
    rows = []
    for key, panel in (("score", "Score"), ("steps", "Length in steps")):
        for moment in record["moments"]:
            for action, outcome in zip(record["actions"], moment["outcomes"], strict=True):
                change = outcome[key] - moment["as_it_was"][key]
                sign = "+" if change > 0 else "−" if change < 0 else ""
                label = f"{sign}{number_label(abs(change))}{' +' if outcome['is_cut'] else ''}"
                label = "=" if outcome["rejoins"] is not None else label
                label = "○" if action == moment["action"] and not change else label
                rows.append((panel, f"{moment['step']:,}", action, change, label))
    cells = pd.DataFrame(rows, columns=["panel", "step", "action", "change", "label"])
    largest = cells.groupby("panel")["change"].transform(lambda changes: changes.abs().max() or 1)
    cells["share"] = cells["change"] / largest
    cells["is_dark"] = cells["share"].abs() > _DARK
    for name in ("panel", "step"):
        cells[name] = pd.Categorical(cells[name], list(dict.fromkeys(cells[name])))
    cells["action"] = pd.Categorical(cells["action"], list(reversed(record["actions"])))
    return cells
