"""From the runs' metrics to the tables that papers print."""

import csv as csv_format
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from neurozoo.errors import NeurozooError
from neurozoo.files import written_whole
from neurozoo.games import reference_scores
from neurozoo.logs import IDENTITY, STANDARD
from neurozoo.statistics import AGGREGATES, Statistic, bootstrap_intervals, mean_over_games

ALL_GAMES = "all"  # stands for the game in the rows of a table that span the games

_AGENT = ["algo", "model", "protocol"]
_POINTS: Mapping[str, Statistic] = {
    "score_mean": mean_over_games,
    "score_median": lambda games: np.median(games[0], axis=-1),
}
_SCORE_COLUMNS = [
    *_AGENT, "game", "games", "runs", "frames",
    *(name + end for name in (*_POINTS, *(f"human_normalised_{name}" for name in AGGREGATES))
      for end in ("", "_low", "_high")),
]  # fmt: skip

_TYPES = {
    **dict.fromkeys(("algo", "game", "model", "protocol"), "string"),
    **dict.fromkeys(("run", "frames"), "Int64"),
    **dict.fromkeys(("score", "test_score"), "Float64"),
}


def merge_metrics(metrics: Sequence[str | os.PathLike], *, csv: str | os.PathLike, parquet: str | os.PathLike) -> None:
    """Puts all runs into one tidy table, so that every later step reads one file.

    Args:
        metrics: The runs' `metrics.csv`; algorithms may have different columns.
        csv: The merged table: one row per report, runs in the order given, every column that any run has.
        parquet: The same table with types.

    Raises:
        NeurozooError: A file is missing or is no metrics table, or there is none.
    """
    headers = [_header(path) for path in metrics]
    if not headers:
        raise NeurozooError("There is no metrics.csv to merge; plan at least one run.")
    columns = list(dict.fromkeys(name for header in headers for name in header))
    csv_format.field_size_limit(2**31 - 1)  # a genome of thousands of mutations is one cell
    with written_whole(csv) as temporary, open(temporary, "w", encoding="utf-8", newline="") as merged:
        writer = csv_format.DictWriter(merged, columns, restval="", lineterminator="\n")
        writer.writeheader()
        for path in metrics:
            try:
                with open(path, encoding="utf-8", newline="") as file:
                    writer.writerows(csv_format.DictReader(file))
            except (ValueError, csv_format.Error) as error:
                raise NeurozooError(_unusable(path, error)) from error
    table = _read_csv(csv)
    with written_whole(parquet) as temporary:
        table.to_parquet(temporary, index=False)


def read_metrics(path: str | os.PathLike) -> pd.DataFrame:
    """Reads a merged table, or one run's, with the types of the standard columns.

    Args:
        path: A `.parquet` or `.csv`.

    Raises:
        NeurozooError: The file is missing or is no metrics table.
    """
    if str(path).endswith(".csv"):
        _header(path)
        return _read_csv(path)
    try:
        return pd.read_parquet(path)
    except FileNotFoundError as error:
        raise NeurozooError(f"{path} is missing; the rule merge_metrics makes it.") from error
    except (OSError, ValueError) as error:
        raise NeurozooError(_unusable(path, error)) from error


def _header(path: str | os.PathLike) -> list[str]:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            header = next(csv_format.reader(file), [])
    except FileNotFoundError as error:
        raise NeurozooError(f"{path} is missing; the rule parse_log makes it from the run's log.") from error
    except (UnicodeDecodeError, csv_format.Error):
        header = []
    missing = [name for name in (*IDENTITY, *STANDARD) if name not in header]
    if missing:
        raise NeurozooError(_unusable(path, f"it lacks {', '.join(missing)}"))
    return header


def _unusable(path: str | os.PathLike, reason: object) -> str:
    return f"{path} is no metrics table ({reason}). Remove it and start again, so that it is made anew."


def _read_csv(path: str | os.PathLike) -> pd.DataFrame:
    try:
        return pd.read_csv(path, dtype=_TYPES, dtype_backend="numpy_nullable", keep_default_na=False, na_values=[""])
    except ValueError as error:
        raise NeurozooError(_unusable(path, error)) from error


def final_scores(metrics: pd.DataFrame) -> pd.DataFrame:
    """Takes each run's last test score: what its agent is worth, measured on episodes that chose nothing.

    Args:
        metrics: The merged table.

    Returns:
        One row per run with the columns of `IDENTITY`, `frames` (when it was measured) and `test_score`. Runs without
        any test score are left out.
    """
    tested = metrics.dropna(subset=["test_score"])
    return tested.groupby(list(IDENTITY), sort=False)[["frames", "test_score"]].last().reset_index()


def score_table(
    metrics: pd.DataFrame,
    csv: str | os.PathLike,
    *,
    replications: int = 50_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> None:
    """Says how good each algorithm became, and how sure that is.

    Args:
        metrics: The merged table.
        csv: The table to write. Per algorithm, network and protocol it has one row for each game, and one with the
            game `all` over those games that have a human score: `runs` counts runs, `frames` is the shortest run's
            length, `score_...` are game points, `human_normalised_...` are (score - random) / (human - random).
            `..._low` and `..._high` are bootstrap intervals, empty where a game has a single run.
        replications: Bootstrap resamples.
        confidence: Of the intervals.
        seed: Of the bootstrap.

    Raises:
        NeurozooError: No run has a test score.
    """
    scores = final_scores(metrics)
    if scores.empty:
        raise NeurozooError(
            "No run has a test_score, so there is nothing to tabulate. Let a run reach its first report."
        )

    def described(games: Sequence[np.ndarray], statistics: Mapping[str, Statistic]) -> dict[str, float]:
        intervals = bootstrap_intervals(games, statistics, replications=replications, confidence=confidence, seed=seed)
        row = {}
        for name, statistic in statistics.items():
            row |= {name: statistic(games), f"{name}_low": intervals[name][0], f"{name}_high": intervals[name][1]}
        return row

    rows = []
    for agent, runs in scores.groupby(_AGENT, sort=False):
        normalised = []
        for game, group in runs.groupby("game", sort=False):
            points = group["test_score"].to_numpy(float)
            row = {"game": game, "games": 1, "runs": len(group), "frames": group["frames"].min()}
            row |= described([points], _POINTS)
            if game in reference_scores():
                random, human = reference_scores()[game]
                normalised.append((points - random) / (human - random))
                row |= described(normalised[-1:], {"human_normalised_mean": mean_over_games})
            rows.append(dict(zip(_AGENT, agent, strict=True)) | row)
        if normalised:
            known = runs[runs["game"].isin(list(reference_scores()))]
            row = {"game": ALL_GAMES, "games": len(normalised), "runs": len(known), "frames": known["frames"].min()}
            row |= described(normalised, {f"human_normalised_{name}": take for name, take in AGGREGATES.items()})
            rows.append(dict(zip(_AGENT, agent, strict=True)) | row)
    with written_whole(csv) as temporary:
        table = pd.DataFrame(rows, columns=_SCORE_COLUMNS)
        table.to_csv(temporary, index=False, lineterminator="\n", float_format="%.8g")


def describe_results(results: str | os.PathLike) -> str:
    """Says in a few lines what a workflow has made, for people who look at the terminal.

    Args:
        results: The folder `results/`.

    Returns:
        A table of scores with intervals, and the paths of figures and movies.

    Raises:
        NeurozooError: There is no table of scores yet.
    """
    results = Path(results)
    path = results / "tables" / "scores.csv"
    if not path.exists():
        raise NeurozooError(f"{path} is missing. Make it: snakemake --profile profiles/local")
    scores = pd.read_csv(path)
    heads = ("algo", "network", "game", "runs", "frames", "score", "95 % interval", "human = 1")
    lines = ["{:6}{:18}{:20}{:>4}  {:>13}  {:>10}  {:>23}  {:>9}".format(*heads)]
    for row in scores[scores["game"] != ALL_GAMES].itertuples():
        interval = "" if np.isnan(row.score_mean_low) else f"{row.score_mean_low:,.1f} to {row.score_mean_high:,.1f}"
        normalised = "" if np.isnan(row.human_normalised_mean) else f"{row.human_normalised_mean:.3f}"
        lines.append(
            f"{row.algo:6}{row.model:18}{row.game:20}{row.runs:4}  {row.frames:13,}  {row.score_mean:10,.1f}  "
            f"{interval:>23}  {normalised:>9}"
        )
    lines += ["", "Scores in full:       " + str(path)]
    lines += [f"Learning curves:      {figure}" for figure in sorted((results / "figures").glob("learning_curves.*"))]
    lines += [f"Activation movie:     {movie}" for movie in sorted(results.glob("runs/*/*/*/*/activation.mp4"))]
    lines += ["Frozen networks and rollouts lie beside the movies; results/README.md explains every file."]
    return "\n".join(lines)
