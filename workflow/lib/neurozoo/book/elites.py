"""Compares the scores by which elites were chosen with their tests, over all claims."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.book.record import Record
from neurozoo.book.wording import NOTHING, RESTORE, Shown, score_text
from neurozoo.environments.game_titles import game_title
from neurozoo.figures.style import agent_name
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

    Two kinds of runs do not count: those with a test of a single episode, as in the hard maze, where every episode is
    the same, and those in stages, whose own score is from the stages they had reached, but the test from all. If
    several claims share a run, it counts for the first of them.
    """
    rows: dict[tuple, tuple] = {}  # by what is the same only in the same run
    for name, record in records.items():
        for run in record.runs:
            if (
                run.algo in ALGORITHMS
                and ALGORITHMS[run.algo].score_is_selected
                and run.score is not None
                and run.test_score is not None
                and (run.test_episodes or 0) > 1
                and record.facts[run.facts].get("settings_stage_threshold", "none") == "none"
            ):
                source = f"{game_title(run.game)}, {agent_name(run.algo, run.model)} ({name})"
                same = (run.name, run.facts, run.progress, run.score, run.test_score)
                rows.setdefault(same, (source, run.score, run.test_score))
    return pd.DataFrame(rows.values(), columns=["source", "reported", "tested"])


def shown_elites(elites: pd.DataFrame) -> Shown:
    """Compares reported with tested scores, per source and over all sources.

    The excess of a source is how far its mean reported score is above its mean test score, relative to the absolute
    value of the latter: a run whose test score is near 0 neither drops out nor decides alone. Over all sources it is
    their mean. Runs are resampled within their sources.

    Args:
        elites: Rows with `source`, `reported` and `tested`. A source whose runs have a mean test score of 0 has no
            excess. As long as others have several runs, a source with one run has no part in the mean of all: how far
            other runs would spread there is unknown, and the interval would be, too.
    """
    sources = {str(source): runs for source, runs in elites.groupby("source", sort=False)}
    rows = []
    for source, runs in sources.items():
        means = (score_text(runs["reported"].mean()), score_text(runs["tested"].mean()))
        rows.append((source, str(len(runs)), *means, _excess([runs]) if runs["tested"].mean() else NOTHING))
    known = [runs for runs in sources.values() if runs["tested"].mean() != 0]
    repeated = [runs for runs in known if len(runs) > 1]
    counted = repeated or known
    brief = []
    if counted:
        count = sum(map(len, counted))
        of_all = _excess(counted)
        brief = [f"reported {of_all} above the test, {'one run' if count == 1 else f'{count} runs'}"]
        name = "all" if len(counted) == len(known) else "all with several runs"
        rows.append((name, str(count), "", "", of_all))
    head = ("of", "runs", "reported, mean", "tested, mean", "reported above tested, share of the latter [95 %]")
    return Shown("Reported and tested scores of elites", head, rows, brief)


def _excess(sources: Sequence[pd.DataFrame]) -> str:
    """Returns by how much the reported scores are above the tested ones, over some sources with at least one run.

    Where all scores that were drawn of a source are 0, it has no part in the mean of that draw.
    """
    scores = [(runs["reported"].to_numpy(float), runs["tested"].to_numpy(float)) for runs in sources]

    def excess(drawn: Sequence[np.ndarray]) -> np.ndarray:
        ratios = []
        with np.errstate(divide="ignore", invalid="ignore"):  # all drawn runs may have a test score of 0
            for (reported, tested), runs in zip(scores, drawn, strict=True):
                mean = tested[runs].mean(axis=-1)
                ratios.append((reported[runs].mean(axis=-1) - mean) / np.abs(mean))
            known = (~np.isnan(ratios)).sum(axis=0)
            return np.asarray(np.nansum(ratios, axis=0) / known)

    runs = [np.arange(len(each)) for each in sources]  # resampled, so that a run keeps its two scores
    value = float(excess(runs))
    low, high = bootstrap_intervals(runs, {"": excess})[""]
    return f"{value:+.1%} [{low:+.1%}, {high:+.1%}]" if np.isfinite([low, high]).all() else f"{value:+.1%}"
