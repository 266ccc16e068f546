"""The tables over all runs: merged metrics, scores with intervals, and a summary for the terminal."""

import csv as csv_format
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from neurozoo.environments.games import reference_scores
from neurozoo.errors import NeurozooError, explained
from neurozoo.files import open_file, open_text, written_whole
from neurozoo.files.csv import write_csv_table
from neurozoo.records.comparability import (
    LABEL,
    PLAYED,
    SETTINGS,
    UNKNOWN,
    VARIANT,
    fact_columns,
    is_fact,
    with_names,
)
from neurozoo.records.csv_tables import check_columns, read_csv_table
from neurozoo.records.lotteries import with_lotteries
from neurozoo.records.metrics_files import (
    UnusableTableError,
    as_pandas,
    copy_rows,
    csv_line,
    find_types,
    read_narrow,
    read_table,
    write_parquet,
)
from neurozoo.records.run_config import IDENTITY
from neurozoo.records.run_log import EPISODES, STANDARD, UNITS
from neurozoo.records.statistics import AGGREGATES, Statistic, bootstrap_intervals, interquartile_mean, mean_over_games

ALL_GAMES = "all"  # stands for the game in the rows of a table that span the games

AGENT = ["algo", "model", VARIANT, SETTINGS, PLAYED]  # runs with the same values of these are repetitions
_POINTS: Mapping[str, Statistic] = {
    "score_mean": mean_over_games,
    "score_median": lambda games: np.median(games[0], axis=-1),
    "score_iqm": interquartile_mean,
}
_SCORE_COLUMNS = [
    "algo", "model", VARIANT, "protocol", "game", "games", "runs", "episodes", "frames",
    "run_scores", "lottery", *(name + end for name in (*_POINTS, *(f"human_normalised_{name}" for name in AGGREGATES))
      for end in ("", "_low", "_high")),
    SETTINGS, PLAYED,
]  # fmt: skip

_SCORE_TEXTS = ("algo", "model", VARIANT, "protocol", "game", "run_scores", "lottery", SETTINGS, PLAYED)

CURVE = (*UNITS, *STANDARD, "test_episodes")  # columns of which a run's curve is drawn
NO_LABELS: Mapping[str, str] = {}

_TYPES = {
    **dict.fromkeys(("algo", "game", "model", "protocol", SETTINGS, LABEL), "string"),
    **dict.fromkeys(("run", *UNITS, *EPISODES), "Int64"),
    **dict.fromkeys(("score", "test_score"), "Float64"),
}


def merge_metrics(
    metrics: Sequence[str | os.PathLike],
    *,
    csv: str | os.PathLike,
    parquet: str | os.PathLike,
    labels: Mapping[str, str] = NO_LABELS,
) -> None:
    """Merges the metrics of all runs into one tidy table, so that every later step reads one file.

    Args:
        metrics: The runs' `metrics.csv`; algorithms may have different columns.
        csv: The merged table: one row per report, runs in the order given, every column that any run has.
        parquet: The same table with types.
        labels: What experiments want to be called, by run, such as `ga/frostbite/large/1`; they make a column `label`.
    """
    headers = [_header(path) for path in metrics]
    if not headers:
        raise NeurozooError("There is no metrics.csv to merge; plan at least one run.")
    csv_format.field_size_limit(2**31 - 1)  # a genome of thousands of mutations is one cell
    known = {name: kind for header in headers for name, kind in _types(header).items()}
    try:
        types = find_types(metrics, types=known)
        named = {os.fspath(path): labels[run] for path in metrics if (run := _run_of(path)) in labels} if labels else {}
        types |= {LABEL: "string"} if labels else {}
        with written_whole(csv) as temporary, open(temporary, "wb") as merged:
            merged.write((csv_line(types) + "\n").encode())
            for path in metrics:
                copy_rows(path, merged, columns=list(types), label=named.get(os.fspath(path)))
        with written_whole(parquet) as temporary:
            write_parquet(metrics, temporary, types=types, labels=named)
    except UnusableTableError as error:
        raise NeurozooError(_unusable(error.path, error)) from error


def _run_of(path: str | os.PathLike) -> str:
    """Returns which run a table is about, such as `ga/frostbite/large/1`."""
    with open_text(path, newline="") as file:
        row = next(csv_format.DictReader(file), {})
    return "/".join(row.get(name) or "" for name in ("algo", "game", "model", "run"))


def read_metrics(path: str | os.PathLike) -> pd.DataFrame:
    """Reads a merged table, or one run's, with the types of the standard columns."""
    if str(path).endswith(".csv"):
        return _read_csv(path)
    return _read_parquet(path, pd.read_parquet)


def read_scores(path: str | os.PathLike) -> pd.DataFrame:
    """Reads the columns of a merged table that scores and figures need, a million rows in 200 MB.

    Those are the run, its scores, and what makes it comparable; in a `.parquet`, the latter as categories.
    """
    if str(path).endswith(".csv"):
        return _read_csv(path, is_needed=_is_needed)
    return _read_parquet(path, partial(read_narrow, is_needed=_is_needed, is_repeated=is_fact))


def read_curve(csv: str | os.PathLike) -> pd.DataFrame:
    """Reads the columns `CURVE` of one run's metrics."""
    return _read_csv(csv, is_needed=(*IDENTITY, *CURVE).__contains__).reindex(columns=list(CURVE))


def _is_needed(name: str) -> bool:
    return name in _TYPES or is_fact(name)


def _read_parquet(path: str | os.PathLike, read: Callable[[BinaryIO], pd.DataFrame]) -> pd.DataFrame:
    try:
        with open_file(path) as file:
            table = read(file)
    except FileNotFoundError as error:
        raise NeurozooError(f"{path} is missing; the rule merge_metrics makes it.") from error
    except Exception as error:  # Arrow has its own kinds
        raise NeurozooError(_unusable(path, f"{type(error).__name__}: {error}"[:200])) from error
    _check_columns(path, table.columns)
    return _checked(path, table)


def _header(path: str | os.PathLike) -> list[str]:
    try:
        with open_text(path, newline="") as file:
            header = next(csv_format.reader(file), [])
    except FileNotFoundError as error:
        raise NeurozooError(f"{path} is missing; the rule parse_log makes it from the run's log.") from error
    except OSError as error:
        raise explained(error, path) from error
    except (UnicodeDecodeError, csv_format.Error):
        header = []
    _check_columns(path, header)
    return header


def _check_columns(path: str | os.PathLike, columns: Collection[str]) -> None:
    missing = [name for name in (*IDENTITY, *STANDARD) if name not in columns]
    if not set(UNITS) & set(columns):
        missing.append(" or ".join(UNITS))
    if missing:
        raise NeurozooError(_unusable(path, f"it lacks {', '.join(missing)}"))


def _unusable(path: str | os.PathLike, reason: object) -> str:
    if os.path.isdir(path):
        return f"{path} is a folder. Give a metrics.csv or metrics.parquet, such as {Path(path) / 'metrics.csv'}."
    return (
        f"{path} is not a metrics table ({reason}). Give a metrics.csv or metrics.parquet, such as "
        "results/tables/metrics.parquet. If Snakemake made it as one, it is damaged: delete it and start again."
    )


def _types(header: Iterable[str]) -> dict[str, str]:
    """Returns the types that are known of a table's columns."""
    return {name: _TYPES.get(name, "string") for name in header if name in _TYPES or is_fact(name)}


def _read_csv(path: str | os.PathLike, *, is_needed: Callable[[str], bool] | None = None) -> pd.DataFrame:
    header = _header(path)
    chosen = None if is_needed is None else {name for name in header if is_needed(name)}
    try:
        table = as_pandas(read_table(path, types=_types(header), columns=chosen))
    except (ValueError, OverflowError) as error:
        raise NeurozooError(_unusable(path, str(error)[:200])) from error
    return _checked(path, table)


def _checked(path: str | os.PathLike, table: pd.DataFrame) -> pd.DataFrame:
    """Returns a table, of which later steps rely on the types of the standard columns, as far as it has them."""
    numbers = [name for name in ("run", *STANDARD) if name in table]
    texts = [name for name in IDENTITY if name != "run" and name in table]
    try:
        if len(set(table)) < table.shape[1]:
            raise ValueError("two columns have the same name")
        others = {name: kind for name, kind in _types(table).items() if not _has_type(table[name], kind)}
        table = table.astype(others) if others else table
        check_columns(table, numbers=numbers, texts=texts, more_numbers=(*UNITS, *EPISODES))
        if "run" in table and table["run"].isna().any():
            raise ValueError("run has empty cells")
        if infinite := [name for name in STANDARD if name in table and np.isinf(table[name].astype(float)).any()]:
            raise ValueError(f"{' and '.join(infinite)} should be finite or empty")
    except Exception as error:  # Arrow and pandas have their own kinds
        raise NeurozooError(_unusable(path, f"{type(error).__name__}: {error}"[:200])) from error
    return table


def _has_type(column: pd.Series, kind: str) -> bool:
    """Says whether a column needs no conversion, which would take memory; categories of texts are texts."""
    return str(column.dtype) == kind or isinstance(column.dtype, pd.CategoricalDtype)


def final_scores(metrics: pd.DataFrame) -> pd.DataFrame:
    """Returns each run's last test score, which comes from episodes that selected nothing.

    Returns:
        One row per run with the columns of `IDENTITY`, `frames` (when it was measured), `test_score`, `test_episodes`
        (its number of episodes; both are empty if the log does not have them) and what `with_names` and
        `with_lotteries` add. Runs without any test score are left out; some have to have one.
    """
    tested = metrics.dropna(subset=["test_score"]).reset_index(drop=True)
    if tested.empty:
        raise NeurozooError("No run has a test_score, so there is nothing to show. Let a run reach its first report.")
    unit = next(unit for unit in UNITS if unit in tested)
    ordered = tested.sort_values(unit, kind="stable", na_position="first")
    for name in {"frames", "test_episodes"} - set(tested):  # of a metrics.csv from elsewhere
        ordered = ordered.assign(**{name: pd.array([pd.NA] * len(tested), "Int64")})
    last = ordered.groupby(list(IDENTITY), sort=False).tail(1).sort_index()
    facts = [name for name in last if is_fact(name)]
    scores = with_names(last[[*IDENTITY, "frames", "test_score", "test_episodes", *facts]].reset_index(drop=True))
    return with_lotteries(scores, ordered, AGENT)


def human_normalised(scores: pd.DataFrame) -> dict[str, np.ndarray]:
    """Puts the scores of different games on one scale: 0 is random play, 1 a professional human.

    For each game that has a human score, (score - random) / (human - random) of its runs, shape (runs,).
    """
    normalised = {}
    for game, group in scores.groupby("game", sort=False):
        if game in reference_scores():
            random, human = reference_scores()[game]
            normalised[game] = (group["test_score"].to_numpy(float) - random) / (human - random)
    return normalised


def score_table(
    metrics: pd.DataFrame,
    csv: str | os.PathLike,
    *,
    replications: int = 50_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> None:
    """Writes the scores of each algorithm, with bootstrap intervals.

    Only runs with equal settings that were played in the same way are pooled; `variant` names the settings where there
    are several, and `played` the way, see `comparability.with_names`. Per algorithm, network, settings and way the
    table has one row for each game, and one with the game `all` over those games that have a human score: `runs` counts
    runs, `episodes` is the smallest number of test episodes of a run (empty if unknown), `frames` the smallest number
    of frames after which a run had its last test, `run_scores` the runs and their test scores, such as `1:7.5 2:9`,
    `lottery` whether chance decides whole games (see `records.lotteries`), `score_...` are game points,
    `human_normalised_...` are (score - random) / (human - random). `..._low` and `..._high` are bootstrap intervals,
    empty where a game has fewer than five runs. `settings` is the hash of the settings. The last columns are the facts
    of how the episodes were played. Both are `unknown` for logs of the published codes.

    Raises:
        NeurozooError: No run has a test score.
    """
    scores = final_scores(metrics)
    facts = fact_columns(scores)

    def described(games: Sequence[np.ndarray], statistics: Mapping[str, Statistic]) -> dict[str, Any]:
        intervals = bootstrap_intervals(games, statistics, replications=replications, confidence=confidence, seed=seed)
        row: dict[str, Any] = {}
        for name, statistic in statistics.items():
            row |= {name: statistic(games), f"{name}_low": intervals[name][0], f"{name}_high": intervals[name][1]}
        return row

    rows = []
    for agent, runs in scores.groupby(AGENT, sort=False):
        normalised = human_normalised(runs)
        about = dict(zip(AGENT, agent, strict=True)) | {"protocol": " / ".join(dict.fromkeys(runs["protocol"]))}
        about |= runs[facts].fillna(UNKNOWN).iloc[0].to_dict()
        for game, group in runs.groupby("game", sort=False):
            row = {"game": game, "games": 1, **extent(group), "lottery": "yes" if group["lottery"].any() else ""}
            row["run_scores"] = " ".join(
                f"{run}:{score:.8g}" for run, score in zip(group["run"], group["test_score"], strict=True)
            )
            row |= described([group["test_score"].to_numpy(float)], _POINTS)
            if game in normalised:
                row |= described([normalised[game]], {"human_normalised_mean": mean_over_games})
            rows.append(about | row)
        if normalised:
            row = {"game": ALL_GAMES, "games": len(normalised), **extent(runs[runs["game"].isin(list(normalised))])}
            aggregates = {f"human_normalised_{name}": take for name, take in AGGREGATES.items()}
            row |= described(list(normalised.values()), aggregates)
            rows.append(about | row)
    write_csv_table(csv, pd.DataFrame(rows, columns=[*_SCORE_COLUMNS, *facts]), digits=8)


def extent(scores: pd.DataFrame) -> dict[str, int]:
    """Returns the number of `runs`, and the smallest `episodes` (NA if any is unknown) and `frames` of their tests."""
    episodes = scores["test_episodes"].min(skipna=False)
    return {"runs": len(scores), "episodes": episodes, "frames": scores["frames"].min()}


def read_score_table(csv: str | os.PathLike) -> pd.DataFrame:
    """Reads a table of `score_table`."""
    if not Path(csv).exists():
        raise NeurozooError(f"{csv} is missing. Make it: snakemake --profile profiles/local")
    scores = read_csv_table(
        csv,
        numbers=("runs", "frames", "score_mean"),
        texts=("algo", "model", "game"),
        more_numbers=[name for name in _SCORE_COLUMNS if name not in _SCORE_TEXTS],
        more_texts=_SCORE_TEXTS,
        remedy="Delete it and make it again: snakemake --profile profiles/local",
    ).reindex(columns=_SCORE_COLUMNS)
    return scores.assign(**{name: scores[name].astype("string").fillna("") for name in (VARIANT, SETTINGS, PLAYED)})
