"""Describes results on a terminal: scores, and where to find what can be looked at."""

import os
from pathlib import Path

import numpy as np

from neurozoo.folders import find
from neurozoo.records.tables import ALL_GAMES, read_score_table
from neurozoo.text import aligned


def describe_results(results: str | os.PathLike) -> str:
    """Describes the results of a workflow in a few lines, for the terminal.

    Raises:
        NeurozooError: There is no table of scores yet.
    """
    results = Path(results)
    path = results / "tables" / "scores.csv"
    scores = read_score_table(path)
    heads = ("algo", "network", "game", "runs", "episodes", "frames", "test score", "interval", "human = 1", "played")
    rows: list[tuple[str, ...]] = [heads]
    for row in scores[scores["game"] != ALL_GAMES].itertuples():
        interval = "" if np.isnan(row.score_mean_low) else f"{row.score_mean_low:,.1f} to {row.score_mean_high:,.1f}"
        normalised = "" if np.isnan(row.human_normalised_mean) else f"{row.human_normalised_mean:.3f}"
        episodes = "?" if np.isnan(row.episodes) else f"{row.episodes:.0f}"
        played = "; ".join(filter(None, (row.played, row.variant)))
        score = f"{row.score_mean:,.1f}"
        of_runs = (f"{row.runs}", episodes, f"{row.frames:,}", score, interval, normalised, played)
        rows.append((row.algo, row.model, row.game, *of_runs))
    lines = [
        *aligned(rows, right=heads[3:-1]),
        "",
        "Test score: mean over runs of their last one, with its bootstrap interval; episodes: in each run's test.",
        "Played: the protocol, and what else differs; then the settings where runs of several are there.",
        "Scores in full:       " + str(path),
    ]
    movies, loops = (find(results, f"runs/*/*/*/*/{name}") for name in ("activation.mp4", "loop.webp"))
    lines += [f"Learning curves:      {figure}" for figure in find(results, "figures/learning_curves.*")]
    lines += [f"Activation movie:     {movie}" for movie in movies]
    lines += [f"Games side by side:   {movie}" for movie in find(results, "movies/*.mp4")]
    lines += [f"Loop for a README:    {loop}" for loop in loops[:1]]
    lines += ["Frozen networks and rollouts lie beside the movies; results/README.md explains every file."]
    page = results / "site" / "index.html"
    if page.exists():
        lines += ["", f"Open the gallery: {page}"]
    return "\n".join(lines)
