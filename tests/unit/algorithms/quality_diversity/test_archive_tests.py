import json

import numpy as np
import pandas as pd
import pytest
import yaml
from neurozoo.algorithms.quality_diversity import archive_tests as module
from neurozoo.algorithms.quality_diversity.archive_tests import COLUMNS, archive_tests

SCORES = {
    "dsage/full": [16400.0, 16500, 16450, 16420], "dsage/only_ancillary": [14500.0, 14600, 14300, 14700],
    "dsage/only_downsampling": [14200.0, 14250, 14180, 14190], "dsage/basic": [11700.0, 11800, 11740, 11650],
    "map_elites/plain": [10400.0, 10500, 10600, 10300], "domain_randomization/plain": [5200.0, 5200, 5200, 5200],
}  # fmt: skip
NOTHING = {}
ALONE = "no other search was played in this way for as many evaluations, in several runs with equal settings"


@pytest.fixture
def tests_of(tmp_path, monkeypatch):
    """Writes the results of runs, and returns their tests: `tests_of(scores)`.

    `evaluations` and `cells` are those of searches that have other ones.
    """
    monkeypatch.setattr(module, "read_run_result", lambda folder: json.loads((folder / "result.json").read_text()))

    def make(scores, settings_hash="same", *, evaluations=NOTHING, cells=NOTHING):
        folders = []
        for search, values in scores.items():
            algo, model = search.split("/")
            for run, value in enumerate(values):
                folder = tmp_path / search / str(run)
                folder.mkdir(parents=True)
                facts = {"game": "maze", "measures": ["walls", "path_length"], "algo": algo, "model": model}
                hash = settings_hash if isinstance(settings_hash, str) else settings_hash[search][run]
                facts |= {"qd_score": value, "coverage": value / 41472, "settings_hash": hash, "protocol": "levels"}
                (folder / "result.json").write_text(
                    json.dumps(facts | {"evaluations": evaluations.get(search, [2000] * len(values))[run]})
                )
                identity = (
                    {"format": 1} | {name: facts[name] for name in ("algo", "game", "model", "protocol")} | {"run": run}
                )
                protocol = {"name": "levels", "cells": cells.get(search, [256, 162])}
                (folder / "config.yaml").write_text(yaml.safe_dump(identity | {"protocol_record": protocol}))
                folders.append(folder)
        table = archive_tests(folders, tmp_path / "tests.csv")
        assert list(pd.read_csv(tmp_path / "tests.csv").columns) == list(COLUMNS)
        return table

    return make


def one(table, **wanted):
    for name, value in wanted.items():
        table = table[table[name] == value]
    assert len(table) == 1
    return table.iloc[0]


def test_pairs_are_those_of_the_paper_and_corrected_for_their_number(tests_of):
    table = tests_of(SCORES)
    pairs = table[(table["test"] == "t-test") & (table["score"] == "qd_score")]
    assert set(zip(pairs["first"], pairs["second"], strict=True)) == {
        ("dsage/full", "map_elites/plain"), ("dsage/full", "domain_randomization/plain"),
        ("dsage/basic", "map_elites/plain"), ("dsage/basic", "domain_randomization/plain"),
        ("dsage/full", "dsage/basic"),
    }  # fmt: skip
    row = one(pairs, first="dsage/full", second="map_elites/plain")
    first, second = (np.array(SCORES[name]) for name in ("dsage/full", "map_elites/plain"))
    pooled = (first.var(ddof=1) + second.var(ddof=1)) / 2
    assert row["difference"] == first.mean() - second.mean()
    assert row["statistic"] == pytest.approx((first.mean() - second.mean()) / np.sqrt(pooled / 2))
    assert row["corrected_p"] == pytest.approx(5 * row["p"])
    assert row["p"] < 1e-6


def test_the_analyses_of_variance_are_those_worked_out_by_hand(tests_of):
    table = tests_of(SCORES)
    groups = [np.array(values) for values in SCORES.values()]
    mean = np.concatenate(groups).mean()
    between = sum(len(each) * (each.mean() - mean) ** 2 for each in groups) / 5
    within = sum(((each - each.mean()) ** 2).sum() for each in groups) / (24 - 6)
    assert one(table, test="one-way ANOVA", score="qd_score")["statistic"] == pytest.approx(between / within)
    distances = [np.abs(each - np.median(each)) for each in groups]
    spread = np.concatenate(distances).mean()
    between = sum(len(each) * (each.mean() - spread) ** 2 for each in distances) / 5
    within = sum(((each - each.mean()) ** 2).sum() for each in distances) / (24 - 6)
    assert one(table, test="Levene", score="qd_score")["statistic"] == pytest.approx(between / within)
    full, ancillary, coarse, basic = groups[:4]
    error = sum(((each - each.mean()) ** 2).sum() for each in groups[:4]) / (16 - 4)
    contrasts = {
        "occupancy": full.mean() + ancillary.mean() - coarse.mean() - basic.mean(),
        "downsampling": full.mean() + coarse.mean() - ancillary.mean() - basic.mean(),
        "occupancy x downsampling": full.mean() + basic.mean() - ancillary.mean() - coarse.mean(),
    }
    for effect, contrast in contrasts.items():
        row = one(table, test="two-way ANOVA", score="qd_score", first=effect)
        assert row["statistic"] == pytest.approx(contrast**2 / error)  # 4 runs in each of 4 groups
    parts = table[(table["test"] == "t-test of one part") & (table["score"] == "qd_score")]
    assert set(zip(parts["first"], parts["second"], strict=True)) == {
        ("dsage/full", "dsage/only_ancillary"), ("dsage/full", "dsage/only_downsampling"),
        ("dsage/only_ancillary", "dsage/basic"), ("dsage/only_downsampling", "dsage/basic"),
    }  # fmt: skip


def test_searches_with_one_run_or_several_settings_are_left_out(tests_of):
    scores = {"dsage/full": [5.0, 6], "map_elites/plain": [3.0], "domain_randomization/plain": [1.0, 2]}
    hashes = {name: [str(run) for run in range(2)] if "random" in name else ["same"] * 2 for name in scores}
    table = tests_of(scores, hashes)
    assert table["test"].isna().all()
    assert dict(zip(table["first"], table["left_out"], strict=True)) == {
        "dsage/full": ALONE, "map_elites/plain": "a single run", "domain_randomization/plain": "several settings"
    }  # fmt: skip


def test_only_searches_that_were_played_alike_for_as_long_are_tested_against_each_other(tests_of):
    scores = {
        "dsage/full": [5.0, 6, 5], "dsage/basic": [4.0, 3, 4], "map_elites/plain": [3.0, 3, 9, 9],
        "domain_randomization/plain": [1.0, 2], "cma_me/plain": [8.0, 7],
    }  # fmt: skip
    evaluations = {"map_elites/plain": [2000, 2000, 9000, 9000], "cma_me/plain": [9000, 9000]}
    table = tests_of(scores, evaluations=evaluations, cells={"domain_randomization/plain": [16, 18]})
    analyses = table[(table["test"] == "one-way ANOVA") & (table["score"] == "qd_score")]
    assert analyses[["played", "evaluations", "runs"]].to_numpy().tolist() == [
        ["levels, cells 256, 162", 2000, 8], ["levels, cells 256, 162", 9000, 4]
    ]  # fmt: skip
    row = one(table, test="t-test", score="qd_score", second="map_elites/plain", first="dsage/full")
    assert (row["difference"], row["evaluations"]) == (pytest.approx(16 / 3 - 3), 2000)
    row = one(table, left_out=ALONE)
    assert (row["first"], row["runs"], row["played"]) == ("domain_randomization/plain", 2, "levels, cells 16, 18")


def test_searches_without_any_spread_get_no_test_but_a_difference(tests_of):
    table = tests_of({"dsage/basic": [7.0, 7], "map_elites/plain": [5.0, 5]})
    row = one(table, test="t-test", score="qd_score")
    assert row["difference"] == 2
    assert np.isnan(row["p"])
    assert "Levene" not in set(table["test"])  # of two runs
