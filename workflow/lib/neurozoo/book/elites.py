"""Compares the scores by which elites were chosen with their tests, over all claims."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.book.record import Record
from neurozoo.book.wording import NOTHING, RESTORE, Shown, score_text
from neurozoo.environments.game_titles import game_title
from neurozoo.figures.style import agent_name, number_range
from neurozoo.records.csv_tables import read_csv_table
from neurozoo.records.statistics import bootstrap_intervals


def read_elites(path: Path) -> pd.DataFrame:
    """Reads the reported and the tested scores of the elites in a table.

    Args:
        path: A `metrics.csv` of one run, or the table of `benchmarks/elite_rules.py`, a row per run, of which the
            published elite rule counts.

    Returns:
        Rows with `source`, `reported` and `tested`.

    Raises:
        NeurozooError: The table is damaged.
    """
    columns = pd.read_csv(path, nrows=0).columns
    if "true_mean" in columns:
        table = read_csv_table(path, numbers=("reported_score", "true_mean"), texts=("game", "rule"), remedy=RESTORE)
        table = table[table["rule"] == "validated"]
        sources = [game_title(game) for game in table["game"]]
        return pd.DataFrame({"source": sources, "reported": table["reported_score"], "tested": table["true_mean"]})
    names = ("algo", "game", "model")
    last = read_csv_table(path, numbers=("score", "test_score"), texts=names, remedy=RESTORE).iloc[-1:]
    sources = [f"{game_title(row.game)}, {agent_name(row.algo, row.model)}" for row in last.itertuples()]
    return pd.DataFrame({"source": sources, "reported": last["score"], "tested": last["test_score"]})


def elites_of_records(records: Mapping[str, Record]) -> pd.DataFrame:
    """Returns the reported and the tested scores of all runs whose own score was the best of many.

    `episodes` is the number of validation episodes behind a reported score.

    Two kinds of runs do not count: those with a test of a single episode, as in the hard maze, where every episode is
    the same, and those in stages, whose own score is from the stages they had reached, but the test from all. If
    several claims share a run, it counts for the first of them.
    """
    rows: dict[tuple, tuple] = {}  # by what is the same only in the same run
    for name, record in records.items():
        for run in record.runs:
            if (
                run.algo in ALGORITHMS
                and (ALGORITHMS[run.algo].score_is_selected or ALGORITHMS[run.algo].keeps_best)
                and run.score is not None
                and run.test_score is not None
                and (run.test_episodes or 0) > 1
                and record.facts[run.facts].get("settings_stage_threshold", "none") == "none"
            ):
                source = f"{game_title(run.game)}, {agent_name(run.algo, run.model)} ({name})"
                same = (run.name, run.facts, run.progress, run.score, run.test_score)
                rows.setdefault(same, (source, run.score, run.test_score, run.score_episodes))
    return pd.DataFrame(rows.values(), columns=["source", "reported", "tested", "episodes"])


def shown_elites(elites: pd.DataFrame) -> Shown:
    """Compares reported with tested scores, per source and over sources with equally many validation episodes.

    The excess of a source is how far its mean reported score is above its mean test score, relative to the absolute
    value of the latter. It is not known where scores are 0 or have both signs, as in Pong. Over several sources it is
    their mean. Runs are resampled within their sources.

    Args:
        elites: Rows with `source`, `reported`, `tested` and perhaps `episodes`. As long as others have several runs, a
            source with one run has no part in the mean of all: how far other runs would spread there is unknown, and
            the interval would be, too.
    """
    sources = {str(source): runs for source, runs in elites.groupby("source", sort=False)}
    rows = []
    for source, runs in sources.items():
        means = (score_text(runs["reported"].mean()), score_text(runs["tested"].mean()))
        rows.append((source, str(len(runs)), *means, _excess([runs]) if _is_known(runs) else NOTHING))
    known = {source: runs for source, runs in sources.items() if _is_known(runs)}
    counted = {source: runs for source, runs in known.items() if len(runs) > 1} or known
    brief = []
    for episodes, group in _by_episodes(list(counted.values())):
        count, of_group = sum(map(len, group)), _excess(group)
        after = "" if episodes is None else f" after {number_range([episodes], 'validation episode')}"
        brief.append(f"reported {of_group} above the test{after}, {number_range([count], 'run')}")
        rows.append((f"all{after}", str(count), "", "", of_group))
    left_out = "; ".join(source for source in sources if source not in counted)
    title = "Reported and tested scores of elites" + (f", all of them without {left_out}" if left_out else "")
    head = ("of", "runs", "reported, mean", "tested, mean", "reported above tested, share of the latter [95 %]")
    return Shown(title, head, rows, brief)


def _is_known(runs: pd.DataFrame) -> bool:
    """Says whether all scores of a source have the same sign, so that one can be related to another."""
    scores = runs[["reported", "tested"]].to_numpy(float)
    return bool((scores > 0).all() or (scores < 0).all())


def _by_episodes(sources: Sequence[pd.DataFrame]) -> Iterator[tuple[int | None, list[pd.DataFrame]]]:
    """Groups sources by the smallest number of validation episodes of their runs, the fewest first; None if unknown."""
    groups: dict[int | None, list[pd.DataFrame]] = {}
    for runs in sources:
        found = runs["episodes"].min() if "episodes" in runs else None
        groups.setdefault(None if found is None or pd.isna(found) else int(found), []).append(runs)
    yield from sorted(groups.items(), key=lambda group: (group[0] is None, group[0] or 0))


def _excess(sources: Sequence[pd.DataFrame]) -> str:
    """Returns by how much the reported scores are above the tested ones, over some sources with at least one run."""
    scores = [(runs["reported"].to_numpy(float), runs["tested"].to_numpy(float)) for runs in sources]

    def excess(drawn: Sequence[np.ndarray]) -> np.ndarray:
        ratios = []
        for (reported, tested), runs in zip(scores, drawn, strict=True):
            mean = tested[runs].mean(axis=-1)
            ratios.append((reported[runs].mean(axis=-1) - mean) / np.abs(mean))
        return np.asarray(np.mean(ratios, axis=0))

    runs = [np.arange(len(each)) for each in sources]  # resampled, so that a run keeps its two scores
    value = float(excess(runs))
    low, high = bootstrap_intervals(runs, {"": excess})[""]
    return f"{value:+.1%} [{low:+.1%}, {high:+.1%}]" if np.isfinite([low, high]).all() else f"{value:+.1%}"
