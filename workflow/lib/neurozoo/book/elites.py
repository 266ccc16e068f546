"""Compares the scores by which elites were chosen with their tests, over all claims."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from neurozoo.algorithms.agent_names import agent_name
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.book.formatting import NOTHING, RESTORE, ResultTable, score_text, variants_of, with_interval
from neurozoo.book.record import Record
from neurozoo.environments.game_titles import game_title
from neurozoo.environments.games import reference_scores
from neurozoo.figures.style import number_range
from neurozoo.records.csv_tables import read_csv_table
from neurozoo.records.statistics import bootstrap_intervals

_COLUMNS = ("game", "source", "reported", "tested")


def read_elites(path: Path) -> pd.DataFrame:
    """Reads rows with `game`, `source`, `reported` and `tested`: scores of elites.

    The table is a `metrics.csv` of one run, or that of docs/studies.md, whose rows of the published rule count.
    """
    columns = pd.read_csv(path, nrows=0).columns
    if "true_mean" in columns:
        table = read_csv_table(path, numbers=("reported_score", "true_mean"), texts=("game", "rule"), remedy=RESTORE)
        table = table[table["rule"] == "validated"]
        table = table.assign(source=[game_title(game) for game in table["game"]])
        return table.rename(columns={"reported_score": "reported", "true_mean": "tested"})[list(_COLUMNS)]
    names = ("algo", "game", "model")
    last = read_csv_table(path, numbers=("score", "test_score"), texts=names, remedy=RESTORE).iloc[-1:]
    last = last.assign(source=[_source(row.game, row.algo, row.model) for row in last.itertuples()])
    return last.rename(columns={"score": "reported", "test_score": "tested"})[list(_COLUMNS)]


def elites_of_records(records: Mapping[str, Record]) -> pd.DataFrame:
    """Returns the reported and the tested scores of all runs whose own score was the best of many.

    `episodes` is the number of validation episodes behind a reported score. Runs of one claim with different settings
    are different sources.

    Two kinds of runs do not count: those with a test of a single episode, as in the hard maze, where every episode is
    the same, and those in stages, whose own score is from the stages they had reached, but the test from all. If
    several claims share a run, it counts for the first of them.
    """
    rows: dict[tuple, tuple] = {}  # by what is the same only in the same run
    for name, record in records.items():
        variants = variants_of(record)
        for run in record.runs:
            if (
                run.algo in ALGORITHMS
                and ALGORITHMS[run.algo].chooses
                and run.score is not None
                and run.test_score is not None
                and (run.test_episodes or 0) > 1
                and record.facts[run.facts].get("settings_stage_threshold", "none") == "none"
            ):
                source = f"{_source(run.game, run.algo, run.model, variants[run.name])} ({name})"
                same = (run.name, run.facts, run.progress, run.score, run.test_score)
                rows.setdefault(same, (run.game, source, run.score, run.test_score, run.score_episodes))
    return pd.DataFrame(rows.values(), columns=[*_COLUMNS, "episodes"])


def elite_table(elites: pd.DataFrame) -> ResultTable:
    """Compares reported with tested scores, per source and over sources with equally many validation episodes.

    The excess of a source is how far its mean reported score is above its mean test score, in points and as a share of
    the latter. The share is unknown where random play scores less than zero, as in Pong, because no score means nothing
    there, and where an agent may have scored nothing. Over several sources, the share is their mean. Runs are resampled
    within their sources. As long as others have several runs, a source with one run has no part in the mean of all: how
    far other runs would spread there is unknown, and the interval would be, too.
    """
    sources = {str(source): runs for source, runs in elites.groupby("source", sort=False)}
    rows = []
    for source, runs in sources.items():
        means = (score_text(runs["reported"].mean()), score_text(runs["tested"].mean()))
        share = _share_text([runs]) if _has_share(runs) else NOTHING
        rows.append((source, str(len(runs)), *means, _points_text(runs), share))
    known = {source: runs for source, runs in sources.items() if _has_share(runs)}
    counted = {source: runs for source, runs in known.items() if len(runs) > 1} or known
    brief = []
    for episodes, group in _by_episodes(list(counted.values())):
        count, of_group = sum(map(len, group)), _share_text(group)
        after = "" if episodes is None else f" after {number_range([episodes], 'validation episode')}"
        brief.append(f"reported {of_group} above the test{after}, {number_range([count], 'run')}")
        rows.append((f"all{after}", str(count), "", "", "", of_group))
    left_out = "; ".join(source for source in sources if source not in counted)
    title = "Reported and tested scores of elites" + (f", all of them without {left_out}" if left_out else "")
    head = (
        "of",
        "runs",
        "reported, mean",
        "tested, mean",
        "reported above tested [95 %] or (runs)",
        "share of tested [95 %]",
    )
    return ResultTable(title, head, rows, brief)


def _source(game: str, algo: str, model: str, variant: str = "") -> str:
    return f"{game_title(game)}, {agent_name(algo, model, variant)}"


def _has_share(runs: pd.DataFrame) -> bool:
    """Says whether a difference is a share of the tested score, whatever runs are drawn from these."""
    random_scores = [reference_scores().get(game, (0.0, 0.0))[0] for game in runs["game"]]
    return min(random_scores) >= 0 and bool((runs["tested"] > 0).all())


def _by_episodes(sources: Sequence[pd.DataFrame]) -> Iterator[tuple[int | None, list[pd.DataFrame]]]:
    """Groups sources by the smallest number of validation episodes of their runs, the fewest first; None if unknown."""
    groups: dict[int | None, list[pd.DataFrame]] = {}
    for runs in sources:
        found = runs["episodes"].min() if "episodes" in runs else None
        groups.setdefault(None if found is None or pd.isna(found) else int(found), []).append(runs)
    yield from sorted(groups.items(), key=lambda group: (group[0] is None, group[0] or 0))


def _points_text(runs: pd.DataFrame) -> str:
    """Words by how many points the reported scores of a source are above the tested ones."""
    above = (runs["reported"] - runs["tested"]).to_numpy(float)
    low, high = bootstrap_intervals([above], {"": lambda drawn: drawn[0].mean(axis=-1)})[""]
    return with_interval(float(above.mean()), float(low), float(high), runs=list(above))


def _share_text(sources: Sequence[pd.DataFrame]) -> str:
    """Words by which share the reported scores are above the tested ones, over some sources with at least one run."""
    scores = [(runs["reported"].to_numpy(float), runs["tested"].to_numpy(float)) for runs in sources]

    def share(drawn: Sequence[np.ndarray]) -> np.ndarray:
        shares = []
        for (reported, tested), runs in zip(scores, drawn, strict=True):
            mean = tested[runs].mean(axis=-1)
            shares.append(reported[runs].mean(axis=-1) / mean - 1)
        return np.asarray(np.mean(shares, axis=0))

    runs = [np.arange(len(each)) for each in sources]  # resampled, so that a run keeps its two scores
    value = float(share(runs))
    low, high = bootstrap_intervals(runs, {"": share})[""]
    ends = f"{low:+.1%}", f"{high:+.1%}"
    has_interval = np.isfinite([low, high]).all() and ends[0] != ends[1]
    return f"{value:+.1%} [{', '.join(ends)}]" if has_interval else f"{value:+.1%}"
