"""Draws the temporal lean of networks over runs, algorithms and games."""

import os
from collections.abc import Sequence

import pandas as pd
import plotnine as p9

from neurozoo.environments.game_titles import game_title
from neurozoo.errors import NeurozooError
from neurozoo.figures import style
from neurozoo.records.comparability import with_names
from neurozoo.records.statistics import bootstrap_intervals, mean_over_games

ALL_GAMES = "mean over games"
_RESAMPLES = 5_000


def mean_leans(leans: pd.DataFrame, *, confidence: float, seed: int) -> pd.DataFrame:
    """Averages the leans over runs, and over games if a curve has several, with a bootstrap interval over runs.

    `leans` are tables of `feature_visualization.temporal_lean` with a column `curve`, the label of the group. The
    interval is stratified by game.

    Returns:
        Rows with `game` (`ALL_GAMES` for the mean over games), `curve`, `frame`, `frames_back`, `runs`, `lean`, `low`
        and `high`. The ends of the interval are NaN if a game has a single run.
    """
    values: dict[str, dict[str, pd.DataFrame]] = {}
    for (curve, game), group in leans.groupby(["curve", "game"], sort=False):
        table = group.pivot_table(index="frames_back", columns=["algo", "model", "protocol", "run"], values="lean")
        values.setdefault(curve, {})[game] = table.sort_index(ascending=False)
    parts = []
    for curve, games in values.items():
        groups = {game: [table] for game, table in games.items()}
        if len(games) > 1 and len({tuple(table.index) for table in games.values()}) == 1:
            groups[ALL_GAMES] = list(games.values())
        for game, tables in groups.items():
            arrays = [table.to_numpy() for table in tables]
            low, high = bootstrap_intervals(
                arrays, {"": mean_over_games}, replications=_RESAMPLES, confidence=confidence, seed=seed
            )[""]
            part = {"game": game, "curve": curve, "frames_back": tables[0].index}
            found = {"runs": sum(a.shape[1] for a in arrays), "lean": mean_over_games(arrays), "low": low, "high": high}
            parts.append(pd.DataFrame(part | found))
    return pd.concat(parts, ignore_index=True).assign(frame=lambda rows: _frame_names(rows["frames_back"]))


def plot_temporal_lean(
    leans: pd.DataFrame,
    outputs: Sequence[str | os.PathLike],
    *,
    columns: int = 4,
    confidence: float = 0.95,
    seed: int = 0,
) -> None:
    """Draws the leans with a panel per game and one for the mean over games: bars for means, points for runs.

    Equal data give equal bytes.

    Raises:
        NeurozooError: No run has observations of several frames, or a format is unknown.
    """
    style.check_formats(outputs)
    if leans.empty:
        raise NeurozooError(
            "No run has observations of several frames, so there is no temporal lean to draw. Use runs of Atari games."
        )
    leans = with_names(leans)
    leans = leans.assign(curve=style.curve_labels(leans, "algo_model"))
    labels = list(dict.fromkeys(leans["curve"]))
    means = mean_leans(leans, confidence=confidence, seed=seed)
    games = sorted(means["game"].unique(), key=lambda game: (game == ALL_GAMES, game))
    columns = style.panels_per_row(len(games), most=columns)
    size = (max(5.0, 3.2 * columns), 3.0 * -(-len(games) // columns) + 1.5)
    frames = _frame_names(sorted(means["frames_back"].unique(), reverse=True))

    def ordered(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(
            curve=pd.Categorical(table["curve"], labels),
            panel=pd.Categorical(table["game"].map(game_title), [*map(game_title, games)]),
            frame=pd.Categorical(_frame_names(table["frames_back"]), frames),
        )

    beside = p9.position_dodge(width=0.8)
    figure = (
        p9.ggplot(ordered(means), p9.aes(x="frame", y="lean", fill="curve"))
        + p9.geom_col(position=beside, width=0.75)
        + p9.geom_hline(yintercept=1, linetype="dotted", colour="#6B6B6B", size=0.4)
        + p9.geom_point(data=ordered(leans), position=beside, size=1, colour="#222222", show_legend=False)
    )
    known = means.dropna(subset=["low", "high"])
    if len(known):
        bounds = p9.aes(ymin="low", ymax="high")
        figure += p9.geom_errorbar(bounds, ordered(known), position=beside, width=0.25, size=0.6, colour="#222222")
    per_game = means.loc[means["game"] != ALL_GAMES, "runs"]
    runs = style.number_range(per_game, "run")
    interval = f"; whisker: {style.percent(confidence)} bootstrap interval over runs" if len(known) else ""
    figure += p9.facet_wrap("panel", ncol=columns)
    figure += p9.scale_fill_manual(values=style.categorical_colours(len(labels)), limits=labels)
    figure += p9.labs(
        title="Temporal lean" if len(labels) > 1 else f"Temporal lean: {labels[0]}",
        subtitle=style.wrapped(
            "Mean squared weight of the first layer on each frame, divided by that on the newest. "
            f"Bar: mean over {runs} of each game{interval}; points: runs; dotted: no lean.",
            int(13 * size[0]),
        ),
        x="Frame of the observation",
        y="Lean",
        fill="",
        caption="Protocol: " + ", ".join(dict.fromkeys(leans["protocol"])),
    )
    style.save_figure(figure + style.figure_theme(size, has_legend=len(labels) > 1), outputs)


def _frame_names(frames_back: Sequence[int]) -> list[str]:
    return [f"T-{back}" if back else "Now" for back in frames_back]
