"""Draws the phases (random play, training, tests) of a run that learns in epochs, with a panel per column.

Source: `plot.py` of simple_dqn (tambetm). Deviations: a run may lack the random phase. A value that a phase does not
have (tests have no cost) is left out instead of drawn as 0.
"""

import math
import os
from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotnine as p9

from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.figures import style
from neurozoo.records.simple_dqn_csv import PHASES, read_statistics
from neurozoo.text import number_label

# The columns that can be drawn, with the titles of the original.
FIELDS = {
    "steps": "Number of steps",
    "nr_games": "Number of games",
    "average_reward": "Average reward",
    "min_game_reward": "Min. game reward",
    "max_game_reward": "Max. game reward",
    "last_exploration_rate": "Exploration rate",
    "total_train_steps": "Exploration steps",
    "replay_memory_count": "Replay memory size",
    "meanq": "Average Q-value",
    "meancost": "Average loss",
    "weight_updates": "Number of weight updates",
    "total_time": "Total time elapsed",
    "epoch_time": "Phase time",
    "steps_per_second": "Number of steps per second",
}
DEFAULT_FIELDS = ("average_reward", "meanq", "nr_games", "meancost")
_OF_TRAINING = ("meancost",)  # 0 in the other phases, which do not learn
_CAPTION = (
    "Average loss: the mean over the phase's updates. A CSV of simple_dqn has it divided by the number of the epoch; "
    "here it is multiplied back."
)
_SIZE = (11.0, 6.5)  # inches


def draw_panels(
    statistics: str | os.PathLike,
    outputs: Sequence[str | os.PathLike],
    *,
    fields: Sequence[str] = DEFAULT_FIELDS,
    cost_as_written: bool = False,
    title: str | None = None,
    width: float = _SIZE[0],
    height: float = _SIZE[1],
) -> None:
    """Draws a panel for each field, with a line for each phase. Equal data give equal bytes.

    `statistics` is a CSV, a log or a run's folder, see `read_statistics`; its path is the default `title`. With
    `cost_as_written`, `meancost` is drawn as by the original: the mean cost divided by the number of the epoch. `width`
    and `height` are inches.

    Raises:
        NeurozooError: A field is unknown, or the file is missing, damaged or without phases.
    """
    style.check_formats(outputs)
    if not fields:
        raise NeurozooError(f"At least one field is needed, but got none. Known: {', '.join(FIELDS)}.")
    for field in fields:
        if field not in FIELDS:
            raise unknown_name("field", field, FIELDS)
    table = read_statistics(statistics)
    titles = FIELDS | ({"meancost": "Average loss, divided by epoch"} if cost_as_written else {})
    if not cost_as_written:
        table = table.assign(meancost=table["true_meancost"])
    points = pd.concat([_points(table, field, titles[field]) for field in dict.fromkeys(fields)], ignore_index=True)
    caption = "" if cost_as_written or "meancost" not in fields else _CAPTION
    style.save_figure(_figure(points, title=title or str(statistics), caption=caption, size=(width, height)), outputs)


def _points(table: pd.DataFrame, field: str, title: str) -> pd.DataFrame:
    """Returns rows with `panel`, `phase`, `epoch` and `value`."""
    rows = table[table["phase"] == "train"] if field in _OF_TRAINING else table
    return pd.DataFrame({"panel": title, "phase": rows["phase"], "epoch": rows["epoch"], "value": rows[field]})


def _figure(points: pd.DataFrame, *, title: str, caption: str, size: tuple[float, float]) -> p9.ggplot:
    panels = list(dict.fromkeys(points["panel"]))
    names = [phase.title() for phase in PHASES]
    drawn = [name for name in names if (points["phase"].str.title() == name).any()]
    first, second, *_, grey = style.categorical_colours(7)
    colours = dict(zip(names, (grey, first, second), strict=True))
    points = points.dropna(subset=["value"]).assign(
        panel=lambda rows: pd.Categorical(rows["panel"], panels),
        phase=lambda rows: pd.Categorical(rows["phase"].str.title(), names),
    )
    is_random = points["phase"] == names[0]
    curves = points[~is_random]
    figure = p9.ggplot(curves, p9.aes(x="epoch", y="value", colour="phase"))
    if is_random.any():
        figure += p9.geom_hline(p9.aes(yintercept="value", colour="phase"), points[is_random], size=0.7)
    counts = curves.groupby(["panel", "phase"], observed=True)["value"].transform("size")
    if (counts == 1).any():
        figure += p9.geom_point(data=curves[counts == 1], size=1.6)
    return (
        figure
        + p9.geom_line(size=0.7)
        + p9.facet_wrap("panel", ncol=math.ceil(math.sqrt(len(panels))), scales="free_y")
        + p9.scale_x_continuous(breaks=style.whole_breaks)
        + p9.scale_y_continuous(labels=_labels)
        + p9.scale_colour_manual(values=colours, limits=drawn)
        + p9.labs(title=title, caption=caption, x="Epoch", y="", colour="")
        + style.figure_theme(size, has_legend=True)
    )


def _labels(values: Sequence[Any]) -> list[str]:
    return [style.si_label(value) if abs(value) >= 10_000 else number_label(value) for value in values]
