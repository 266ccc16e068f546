"""Draws performance profiles, aggregate scores and probabilities of improvement over games and runs.

Source: Agarwal et al. 2021, arXiv:2108.13264.
"""

import os
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from neurozoo.algorithms.agent_names import agent_name, called
from neurozoo.figures import style
from neurozoo.records.comparability import PLAYED, SETTINGS, UNKNOWN, VARIANT, fact_columns
from neurozoo.records.csv_tables import read_csv_table
from neurozoo.records.statistics import bootstrap_intervals, performance_profile
from neurozoo.records.tables import AGENT, ALL_GAMES, final_scores, human_normalised

_WIDTH = 7.5  # inches
_PROFILE = 3.2  # inches of the panel of a profile, with its axes
_MOST_PAIRS = 3  # that a caption names where they could not be compared
_BLUE, _FAINT = "#0072B2", "#9A9A9A"
_THRESHOLDS = 401  # thresholds of a profile, evenly spaced
_RESAMPLES = 2_000  # bootstrap resamples of a profile, as in rliable
_AGGREGATE_TITLES = {
    "iqm": "Interquartile mean",
    "median": "Median",
    "mean": "Mean",
    "optimality_gap": "Optimality gap (lower is better)",
}
_NO_HUMAN = "None of these games has a human score,\nso their scores cannot be pooled. See tables/scores.csv."
_NO_PAIR = "No two algorithms or networks played\nthe same game in the same way."
_UNLIKE = "Not all agents played the same games: compare with care."


def plot_performance_profile(
    metrics: pd.DataFrame,
    outputs: Sequence[str | os.PathLike],
    *,
    replications: int = _RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
) -> None:
    """Draws the share of runs above each human-normalised score, with a line per algorithm and network.

    Bands have this confidence for each score separately, and need at least two runs of every game. If no game has a
    human score, the figure says so. Equal data give equal bytes.

    Raises:
        NeurozooError: No run has a test score.
    """
    agents = {agent: runs for agent, runs in final_scores(metrics).groupby(AGENT, sort=False) if human_normalised(runs)}
    title = "Performance profile"
    if not agents:
        return _save_message(title, _NO_HUMAN, outputs)
    used = pd.concat(agents.values())
    used = used[used["game"].isin(list(human_normalised(used)))]
    scores = np.concatenate(list(human_normalised(used).values()))
    low, high = min(0.0, scores.min()), scores.max()
    margin = 0.04 * max(high - low, 0.01)  # so that lines start at 100 % and end at 0 %
    thresholds = np.linspace(low - margin, high + margin, _THRESHOLDS)

    def profile(games: Sequence[np.ndarray]) -> np.ndarray:
        return performance_profile(games, thresholds)

    parts = []
    has_several = used[PLAYED].nunique() > 1
    for (algo, model, variant, _, played), runs in agents.items():
        games = list(human_normalised(runs).values())
        low, high = bootstrap_intervals(
            games, {"": profile}, replications=replications, confidence=confidence, seed=seed
        )[""]
        label = agent_name(algo, model, variant, played if has_several else "")
        label += f" ({style.number_range([sum(map(len, games))], 'run')}, {style.number_range([len(games)], 'game')})"
        part = {"agent": label, "score": thresholds, "share": profile(games), "low": low, "high": high}
        parts.append(pd.DataFrame(part))
    curves = pd.concat(parts, ignore_index=True)
    labels = list(dict.fromkeys(curves["agent"]))
    notes = ["Share of the runs of all games that scored more; 0 is random play, 1 a professional human."]
    notes += _about_intervals(curves, "Band", confidence=confidence)
    if used.groupby(AGENT)["game"].agg(frozenset).nunique() > 1:
        notes.append(_UNLIKE)
    colours, types = style.line_styles(len(labels))
    legend = style.arrange_legend(labels, _WIDTH)
    figure = p9.ggplot(curves, p9.aes("score", "share", colour="agent", fill="agent", linetype="agent"))
    if thresholds[-1] > 1:
        figure += p9.geom_vline(xintercept=1, colour=_FAINT, size=0.5, linetype="dashed")
    ribbon = curves.dropna(subset=["low"])
    if len(ribbon):
        figure += p9.geom_ribbon(p9.aes(ymin="low", ymax="high"), ribbon, alpha=0.18, colour="none", show_legend=False)
    figure += p9.geom_step(size=0.9)
    figure += p9.scale_y_continuous(limits=(0, 1), labels=lambda shares: [f"{share:.0%}" for share in shares])
    figure += p9.scale_x_continuous(labels=style.number_labels)
    figure += style.line_scales(labels, legend, colours=colours, types=types)
    words = _words(title, notes, used, more=style.reservations(used, of="agents"))
    figure += p9.labs(**words, x="Human-normalised score", y="Share of runs", colour="", linetype="")
    figure += style.figure_theme((_WIDTH, _PROFILE + style.words_height(**words) + legend.height), has_legend=True)
    style.save_figure(figure, outputs)


def plot_aggregates(
    scores: str | os.PathLike, outputs: Sequence[str | os.PathLike], *, confidence: float = 0.95
) -> None:
    """Draws interquartile mean, median, mean and optimality gap of the human-normalised scores over all games.

    `confidence` is that of the intervals in the table, `scores.csv`. If no game has a human score, the figure says so.

    Raises:
        NeurozooError: The table is missing or has other columns.
    """
    needs = ("human_normalised_iqm", "human_normalised_mean", "episodes")
    table = _read_rows(scores, needs=needs, names=(VARIANT, PLAYED, SETTINGS))
    title = "Scores over all games"
    if table.empty:
        return _save_message(title, _NO_HUMAN, outputs)
    has_several = table[PLAYED].nunique() > 1
    labels = [
        _lines(
            *_agent_and_rest(row.algo, row.model, row.variant),
            row.played if has_several else "",
            f"({style.number_range([row.runs], 'run')}, {style.number_range([row.games], 'game')})",
        )
        for row in table.itertuples()
    ]
    parts = []
    for name, panel in _AGGREGATE_TITLES.items():
        columns = [f"human_normalised_{name}{end}" for end in ("", "_low", "_high")]
        part = table[columns].set_axis(["value", "low", "high"], axis=1)
        parts.append(part.assign(panel=panel, agent=labels))
    points = pd.concat(parts, ignore_index=True)
    points["panel"] = pd.Categorical(points["panel"], list(_AGGREGATE_TITLES.values()))
    notes = ["Human-normalised test scores: 0 is random play, 1 a professional human."]
    notes += _about_intervals(points, "Line", confidence=confidence)
    if table["games"].nunique() > 1:
        notes.append(_UNLIKE)
    figure = _dots(points, labels) + p9.facet_wrap("panel", ncol=2, scales="free_x")
    figure += p9.scale_x_continuous(labels=style.number_labels)
    figure += p9.expand_limits(x=0)  # without the 0, noise looked decisive
    used = table.rename(columns={"episodes": "test_episodes"})
    used[fact_columns(used)] = used[fact_columns(used)].replace(UNKNOWN, None)
    words = _words(title, notes, used, more=style.reservations(used, of="agents"))
    figure += p9.labs(**words, x="", y="")
    height = 1.6 + 0.35 * _count_lines(labels) + style.words_height(**words)
    figure += style.figure_theme((_WIDTH, height), has_legend=False)
    style.save_figure(figure, outputs)


def plot_improvement(
    comparison: str | os.PathLike, outputs: Sequence[str | os.PathLike], *, confidence: float = 0.95
) -> None:
    """Draws for each pair of agents the probability that a run of the first scores more than one of the second.

    `confidence` is that of the intervals in the table, `comparison.csv`. If there is no pair, the figure says so.

    Raises:
        NeurozooError: The table is missing or has other columns.
    """
    names = (VARIANT, f"other_{VARIANT}", "left_out")
    pairs = _read_rows(comparison, needs=("probability", "runs", "other_runs", "other_episodes"), names=names)
    title = "Probability of improvement"
    table = pairs[pairs["probability"].notna()]
    if table.empty:
        return _save_message(title, "\n".join([_NO_PAIR, *_left_out(pairs)]), outputs)
    labels = [
        _lines(
            *_pair_of(row),
            f"({row.runs:.0f} against {style.number_range([int(row.other_runs)], 'run')}, "
            f"{style.number_range([row.games], 'game')})",
        )
        for row in table.itertuples()
    ]
    points = table.rename(columns={"probability": "value", "probability_low": "low", "probability_high": "high"})
    notes = [
        "Probability that a run of the first scores more than one of the second. Ties count half; all games weigh the "
        "same."
    ]
    notes += _about_intervals(points, "Line", confidence=confidence)
    others = table[["protocol", "other_episodes"]].rename(columns={"other_episodes": "episodes"})
    used = pd.concat([table, others]).rename(columns={"episodes": "test_episodes"})
    figure = _dots(points.assign(agent=labels), labels)
    figure += p9.geom_vline(xintercept=0.5, colour=_FAINT, size=0.5, linetype="dashed")
    figure += p9.scale_x_continuous(limits=(0, 1))
    words = _words(title, notes, used, more=_left_out(pairs))
    figure += p9.labs(**words, x="P(first > second)", y="")
    height = 0.8 + 0.25 * _count_lines(labels) + style.words_height(**words)
    figure += style.figure_theme((_WIDTH, height), has_legend=False)
    style.save_figure(figure, outputs)


def _read_rows(path: str | os.PathLike, *, needs: Sequence[str], names: Sequence[str]) -> pd.DataFrame:
    """Reads the rows over all games."""
    remedy = f"Delete it and make it again: snakemake --cores all {shlex.quote(str(path))}"
    names = ("protocol", *names)
    table = read_csv_table(path, numbers=needs, texts=("algo", "model", "game"), more_texts=names, remedy=remedy)
    table = table.assign(**{name: table[name].fillna("") if name in table else "" for name in names})
    return table[table["game"] == ALL_GAMES].copy()


def _pair_of(row: Any) -> tuple[str, ...]:
    """Returns the names of a pair in one line, or in two where their settings are named."""
    first = agent_name(row.algo, row.model, row.variant)
    second = agent_name(row.other_algo, row.other_model, row.other_variant)
    return (f"{first} over", second) if row.variant or row.other_variant else (f"{first} over {second}",)


def _agent_and_rest(algo: str, model: str, variant: str) -> tuple[str, str]:
    """Returns the name of an agent, and what else its variant says."""
    _, rest = called(algo, variant)
    return agent_name(algo, model, variant).removesuffix(f", {rest}"), rest


def _lines(*parts: str) -> str:
    return "\n".join(filter(None, parts))


def _count_lines(labels: Sequence[str]) -> int:
    """Returns the number of lines of all labels if each has as many as the longest."""
    return len(labels) * max(label.count("\n") + 1 for label in labels)


def _left_out(pairs: pd.DataFrame) -> list[str]:
    """Returns the sentences about what could not be compared, each with the pairs that it is about."""
    about: dict[str, list[str]] = {}
    for row in pairs[pairs["left_out"] != ""].itertuples():
        about.setdefault(row.left_out.rstrip("."), []).append(" ".join(_pair_of(row)).replace(" over ", " and "))
    sentences = []
    for sentence, names in about.items():
        left = len(names) - _MOST_PAIRS
        shown = [*names[:_MOST_PAIRS], *([f"{left} more pairs (tables/comparison.csv)"] if left > 0 else [])]
        sentences.append(f"{sentence}: {'; '.join(shown)}.")
    return sentences


def _about_intervals(points: pd.DataFrame, mark: str, *, confidence: float) -> list[str]:
    """Explains the intervals in a figure: what they are, and why some are missing."""
    notes = []
    if points["low"].notna().any():
        notes.append(f"{mark}: {style.percent(confidence)} stratified bootstrap interval over runs.")
    if points["low"].isna().any():
        notes.append(f"No {mark.lower()} if a game has fewer than five runs, or all resamples are alike.")
    return notes


def _dots(points: pd.DataFrame, labels: Sequence[str]) -> p9.ggplot:
    """Draws a dot for each `value` and a line from `low` to `high`, a row per `agent`, the first one on top."""
    points = points.assign(agent=pd.Categorical(points["agent"], list(reversed(labels))))
    figure = p9.ggplot(points, p9.aes("value", "agent"))
    known = points.dropna(subset=["low"])
    if len(known):
        figure += p9.geom_segment(p9.aes(x="low", xend="high", yend="agent"), known, colour=_BLUE, size=1.6, alpha=0.45)
    return figure + p9.geom_point(colour=_BLUE, size=2.6)


def _words(title: str, notes: Sequence[str], used: pd.DataFrame, *, more: Sequence[str] = ()) -> dict[str, str]:
    protocols = f"Protocol: {', '.join(dict.fromkeys(used['protocol']))}."
    caption = [protocols, style.mean_of(used["test_episodes"], of="each run's test score"), *more]
    return {
        "title": title,
        "subtitle": style.wrapped(" ".join(notes), int(11 * _WIDTH)),
        "caption": style.wrapped(" ".join(caption), int(16 * _WIDTH)),
    }


def _save_message(title: str, message: str, outputs: Sequence[str | os.PathLike]) -> None:
    """Writes a figure that says why there is nothing to draw, so that rules that need the file can go on."""
    figure = p9.ggplot(pd.DataFrame({"x": [0], "y": [0], "message": [message]}), p9.aes("x", "y", label="message"))
    figure += p9.geom_text(size=10, colour="#444444")
    figure += p9.labs(title=title, x="", y="")
    figure += style.figure_theme((_WIDTH, 2.5), has_legend=False)
    figure += p9.theme(axis_text=p9.element_blank(), panel_grid_major=p9.element_blank())
    style.save_figure(figure, outputs)
