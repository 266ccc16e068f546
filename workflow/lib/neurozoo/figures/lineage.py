"""Draws the family tree of a run's result."""

import os
from collections.abc import Sequence

import pandas as pd
import plotnine as p9

from neurozoo.figures.style import figure_theme, number_labels, save_figure, whole_breaks
from neurozoo.files import read_json
from neurozoo.records.lineage import ancestors, individuals, parent_ages, read_lineage

_WIDTH, _HEIGHT = 8.0, 3.2  # inches of a panel
_FAINT = "#BDBDBD"


def plot_lineage(
    lineage: str | os.PathLike, outputs: Sequence[str | os.PathLike], *, result: str | os.PathLike
) -> None:
    """Draws the ancestors of a run's result, and the ages of all parents.

    The upper panel shows all selected individuals by generation of birth and training score, each with a line to its
    parent. The ancestors of the result are coloured. The lower panel shows the age of parents: the number of
    generations between their birth and that of their children. Equal data give equal bytes.

    Raises:
        NeurozooError: A file is missing or damaged.
    """
    table = read_lineage(lineage)
    record = read_json(result, "The run writes it. Start the run again.")
    tree, ages = _tree(table, record), parent_ages(table)
    # With one generation, nobody has children.
    save_figure(tree / _ages(ages, protocol=record.get("protocol", "unknown")) if ages else tree, outputs)


def _tree(table: pd.DataFrame, record: dict) -> p9.ggplot:
    selected = individuals(table[table["is_parent"] | table["is_elite"]])
    parents = selected[["generation", "individual", "fitness"]].rename(columns=lambda name: f"parent_{name}")
    keys = ["parent_generation", "parent_individual"]
    children = selected.dropna(subset=keys).astype(dict.fromkeys(keys, "int64")).merge(parents, on=keys)
    line = ancestors(table, record.get("iteration"))
    name = "/".join(str(record[key]) for key in ("algo", "game", "model", "run") if key in record)
    return (
        p9.ggplot(mapping=p9.aes(x="generation", y="fitness"))
        + p9.geom_segment(
            p9.aes(xend="parent_generation", yend="parent_fitness"),
            children,
            colour=_FAINT,
            alpha=0.7,
            size=0.4,
            raster=True,
        )
        + p9.geom_point(data=selected, colour=_FAINT, size=1.2, stroke=0, raster=True)
        + p9.geom_path(data=line, colour="#444444", size=0.6)
        + p9.geom_point(p9.aes(colour="fitness"), line, size=2.2)
        + p9.scale_colour_continuous("viridis")
        + p9.scale_x_continuous(breaks=whole_breaks)
        + p9.scale_y_continuous(labels=number_labels)
        + p9.labs(
            title=f"Lineage: {name}",
            subtitle=(
                f"The result, selected in generation {record.get('iteration')}, and its ancestors; grey: all other "
                "selected individuals.\nTraining scores are of single episodes, and high because they were selected."
            ),
            x="Generation of birth",
            y="Training score",
            colour="",
        )
        + figure_theme((_WIDTH, 2 * _HEIGHT), has_legend=False)
    )


def _ages(ages: Sequence[int], *, protocol: str) -> p9.ggplot:
    counts = pd.Series(ages, dtype="int64").value_counts(normalize=True).sort_index()
    shares = pd.DataFrame({"age": counts.index, "share": counts.to_numpy()})
    return (
        p9.ggplot(shares, p9.aes(x="age", y="share"))
        + p9.geom_col(fill="#0072B2", width=0.8)
        + p9.scale_x_continuous(breaks=whole_breaks)
        + p9.scale_y_continuous(labels=lambda values: [f"{value:.0%}" for value in values])
        + p9.labs(
            title="Age of parents",
            x="Generations between birth and use",
            y="Share of all parents",
            caption=f"One run; protocol: {protocol}",
        )
        + figure_theme((_WIDTH, 2 * _HEIGHT), has_legend=False)
    )
