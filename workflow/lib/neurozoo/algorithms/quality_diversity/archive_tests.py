"""Statistical tests of archives: whether searches differ, and which part of DSAGE makes the difference.

Source: the published analysis (section 9 of the description of DSAGE).
"""

import itertools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurozoo.algorithms.quality_diversity.variants import VARIANTS
from neurozoo.files.csv import write_csv_table
from neurozoo.records.comparability import OF_PROTOCOL, PLAYED, SETTINGS, read_facts, short_hash, with_names
from neurozoo.records.run_config import start_hashes
from neurozoo.records.run_result import read_run_result

SCORES = ("qd_score", "coverage")
COLUMNS = (
    "game", "measures", "played", "evaluations", "score", "test", "first", "second", "runs", "difference", "statistic",
    "p", "corrected_p", "left_out",
)  # fmt: skip
_RESULT = ("game", "algo", "model", "protocol", "evaluations", *SCORES)
_ALIKE = ["measures", PLAYED, "evaluations"]  # searches that are tested against each other agree in these
# The variants of the two-way analysis: with and without each part.
_FULL, _BASIC = ("dsage", "full"), ("dsage", "basic")
_FACTORIAL = (_FULL, ("dsage", "only_ancillary"), ("dsage", "only_downsampling"), _BASIC)


def archive_tests(run_dirs: Sequence[str | os.PathLike], csv: str | os.PathLike) -> pd.DataFrame:
    """Tests final scores of finished runs, and writes a row per test, with `COLUMNS`; returns the table.

    Only searches with the same game, measures and number of evaluations are tested against each other, whose levels
    were played in the same way: with equal facts of the protocol (cells, agent, episodes ...) and equal files of agent
    and generator.

    Of all of these: one-way analysis of variance and, if each has three runs, Levene's test of equal variances. Of
    pairs: t-tests of `full` and `basic` with each search without a surrogate, and of both; p-values are corrected by
    Bonferroni's method for these pairs. Of the four variants with and without occupancy and downsampling: two-way
    analysis of variance with interaction, and t-tests of the pairs that differ in one part, corrected for these.

    `played` is the way to play, see `comparability.with_names`. `difference` is mean of the first minus mean of the
    second; `runs` is the number of runs in a test. Where all runs of two searches have one score, statistic and p are
    empty. A search that is in no test has a row without a test, in which `left_out` says why: it has a single run or
    several settings, or no other search can be compared with it.
    """
    runs = pd.DataFrame([_facts(Path(folder)) for folder in run_dirs])
    rows: list[dict[str, Any]] = []
    for game, of_game in runs.groupby("game", sort=False):
        # What is named `played` in one game says nothing about another.
        for kind, alike in with_names(of_game).groupby(_ALIKE, sort=False, dropna=False):
            common = {"game": game, **dict(zip(_ALIKE, kind, strict=True))}
            rows += [common | row for row in _of_comparable(alike)]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    write_csv_table(csv, table, digits=6)
    return table


def _facts(folder: Path) -> dict[str, Any]:
    """Returns the scores of a run and what makes it comparable, by the names of columns."""
    result: Mapping[str, Any] = read_run_result(folder)
    return {
        **read_facts(folder / "config.yaml"),
        **{OF_PROTOCOL + name: short_hash(digest) for name, digest in start_hashes(folder).items() if digest},
        **{name: result[name] for name in _RESULT},
        "measures": " / ".join(result["measures"]),
        SETTINGS: result["settings_hash"],
    }


Name = tuple[str, str]  # algorithm and variant
Groups = Mapping[Name, np.ndarray]  # scores of runs


def _of_comparable(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Returns the tests of searches that can be compared, and which of them are in no test."""
    searches = {(str(algo), str(model)): group for (algo, model), group in runs.groupby(["algo", "model"], sort=False)}
    tested = {name: group for name, group in searches.items() if len(group) > 1 and group[SETTINGS].nunique() == 1}
    rows: list[dict[str, Any]] = []
    for score in SCORES:
        arrays = {name: group[score].to_numpy(float) for name, group in tested.items()}
        rows += [{"score": score} | row for row in (*_of_all(arrays), *_of_pairs(arrays), *_of_parts(arrays))]
    for name, group in searches.items():
        if len(group) < 2:
            reason = "a single run"
        elif group[SETTINGS].nunique() > 1:
            reason = "several settings"
        elif len(tested) < 2:
            reason = (
                "no other search was played in this way for as many evaluations, in several runs with equal settings"
            )
        else:
            continue
        rows.append({"first": "/".join(name), "runs": len(group), "left_out": reason})
    return rows


def _of_all(groups: Groups) -> list[dict[str, Any]]:
    from scipy import stats

    if len(groups) < 2:
        return []
    tests = {"one-way ANOVA": stats.f_oneway}
    if min(map(len, groups.values())) > 2:  # two values always have the same distance from their median
        tests["Levene"] = stats.levene
    runs = sum(map(len, groups.values()))
    with np.errstate(all="ignore"):
        outcomes = {test: function(*groups.values()) for test, function in tests.items()}
    return [
        {"test": test, "first": "all searches", "runs": runs, "statistic": outcome.statistic, "p": outcome.pvalue}
        for test, outcome in outcomes.items()
    ]


def _of_pairs(groups: Groups) -> list[dict[str, Any]]:
    others = [name for name in groups if name[0] != "dsage"]
    return _t_tests(groups, [*itertools.product((_FULL, _BASIC), others), (_FULL, _BASIC)], "t-test")


def _of_parts(groups: Groups) -> list[dict[str, Any]]:
    if not set(_FACTORIAL) <= set(groups):
        return []
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    parts = {
        name: (VARIANTS[name[1]].predicts_occupancy, VARIANTS[name[1]].selection == "regions") for name in _FACTORIAL
    }
    table = pd.DataFrame(
        [(value, *parts[name]) for name in _FACTORIAL for value in groups[name]],
        columns=["score", "occupancy", "downsampling"],
    )
    effects = anova_lm(ols("score ~ C(occupancy) * C(downsampling)", table).fit(), typ=2)
    titles = {
        "C(occupancy)": "occupancy",
        "C(downsampling)": "downsampling",
        "C(occupancy):C(downsampling)": "occupancy x downsampling",
    }
    found: list[dict[str, Any]] = [
        {"test": "two-way ANOVA", "first": title, "runs": len(table), "statistic": effect["F"], "p": effect["PR(>F)"]}
        for title, (_, effect) in zip(titles.values(), effects.loc[list(titles)].iterrows(), strict=True)
    ]
    pairs = [
        (one, other)
        for one, other in itertools.combinations(_FACTORIAL, 2)
        if np.not_equal(parts[one], parts[other]).sum() == 1
    ]
    return found + _t_tests(groups, pairs, "t-test of one part")


def _t_tests(groups: Groups, pairs: Sequence[tuple[Name, Name]], test: str) -> list[dict[str, Any]]:
    from scipy import stats

    pairs = [pair for pair in pairs if set(pair) <= set(groups)]
    found = []
    for first, second in pairs:
        one, other = groups[first], groups[second]
        row = {"test": test, "first": "/".join(first), "second": "/".join(second), "runs": len(one) + len(other)}
        row["difference"] = one.mean() - other.mean()
        if np.ptp(one) or np.ptp(other):
            outcome = stats.ttest_ind(one, other)
            row |= {"statistic": outcome.statistic, "p": outcome.pvalue}
            row["corrected_p"] = float(np.minimum(1.0, outcome.pvalue * len(pairs)))  # which keeps NaN
        found.append(row)
    return found
