from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.records.curves import best_so_far, common_grid, median_curves, read_references, reference_levels

FOLDER = Path(__file__).parents[3] / "config" / "reference" / "simple_dqn"
GAMES = ("breakout", "pong", "seaquest", "space_invaders")


def run_of(frames, scores, *, run=1):
    names = {"algo": "ga", "game": "pong", "model": "large", "protocol": "uber2018", "curve": "x"}
    return pd.DataFrame(names | {"run": run, "frames": frames, "score": scores})


def test_runs_are_interpolated_on_a_grid_that_ends_with_the_shortest():
    frames, scores = common_grid(
        [(np.array([0.0, 10.0]), np.array([0.0, 100.0])), (np.array([2.0, 6.0, 8.0]), np.array([5.0, 5.0, 7.0]))],
        points=4,
    )
    assert frames.tolist() == [2, 4, 6, 8]
    assert scores.tolist() == [[20, 5], [40, 5], [60, 5], [80, 7]]


def test_runs_without_common_frames_give_one_point():
    frames, scores = common_grid([(np.array([5.0]), np.array([1.0])), (np.array([6.0]), np.array([3.0]))])
    assert frames.tolist() == [5]
    assert scores.tolist() == [[1, 3]]


def test_a_curve_is_the_median_and_its_ribbon_the_interval_of_the_chosen_statistic():
    runs = [run_of([0.0, 10.0], [score, score], run=run) for run, score in enumerate((1, 2, 2, 9, 9), start=1)]
    table = pd.concat(runs)
    curve = median_curves(table, interval="mean", confidence=0.95, seed=0)
    assert (curve["median"] == 2).all()
    assert (curve["low"] < 4.6).all()
    assert (curve["high"] > 4.6).all()
    narrow = median_curves(table, interval="mean", confidence=0.1, seed=0)
    assert narrow["low"].iloc[0] == pytest.approx(4.6, abs=1)  # around the mean, far from the median
    assert median_curves(table, interval="median", confidence=0.1, seed=0)["high"].iloc[0] == 2
    assert median_curves(table, interval="none", confidence=0.95, seed=0)["low"].isna().all()


def test_the_best_is_the_maximum_over_all_runs_so_far_to_the_end_of_the_longest():
    table = pd.concat([run_of([1.0, 3.0, 5.0], [4, 2, 9]), run_of([2.0, 4.0, 8.0], [6, 5, 1], run=2)])
    best = best_so_far(table)
    assert best[["frames", "best"]].to_numpy().tolist() == [[1, 4], [2, 4], [2, 6], [3, 6], [5, 9], [8, 9]]


def test_no_median_is_above_the_best():
    rng = np.random.default_rng(0)
    runs = [run_of(np.sort(rng.random(n)), rng.random(n), run=n) for n in (2, 5, 9)]
    for some in (runs[:1], runs):
        table = pd.concat(some)
        best, median = best_so_far(table), median_curves(table, interval="none", confidence=0.95, seed=0)
        assert (np.interp(median["frames"], best["frames"], best["best"]) >= median["median"] - 1e-12).all()


def test_a_curve_is_judged_by_random_play_and_by_a_human_who_is_not_too_far_above():
    # Pong: -20.7 at random, 14.6 by a human. Frostbite: 65.2 and 4,334.7.
    scores = pd.DataFrame(
        [("pong", -3.0), ("pong", 0.0), ("frostbite", 300.0), ("river_crossing", 1.0)], columns=["game", "score"]
    )
    assert reference_levels(scores).values.tolist() == [
        ["frostbite", "random", 65.2],
        ["pong", "random", -20.7],
        ["pong", "human", 14.6],
    ]


def test_curves_that_come_with_the_repository_say_what_was_published():
    curves = read_references({"simple_dqn": {game: FOLDER / f"{game}.csv" for game in GAMES}}, phase="test")
    assert curves.columns.tolist() == ["game", "curve", "frames", "score"]
    assert curves["curve"].unique().tolist() == ["simple_dqn (test)"]
    best = curves.loc[curves.groupby("game")["score"].idxmax()].set_index("game")
    # The best test averages and their epochs, of 250,000 steps after 50,000 random ones.
    published = {
        "breakout": (319.84, 77),
        "pong": (19.82, 141),
        "seaquest": (2173.3, 178),
        "space_invaders": (1125.4, 126),
    }
    for game, (score, epoch) in published.items():
        assert best.loc[game, "score"] == pytest.approx(score, abs=0.06)
        assert best.loc[game, "frames"] == 4 * (50_000 + 250_000 * epoch)
    assert curves.groupby("game").size().to_dict() == {
        "breakout": 200, "pong": 200, "seaquest": 199, "space_invaders": 200
    }  # fmt: skip


def test_without_files_there_are_no_curves():
    assert read_references({}).empty
    assert read_references({"simple_dqn": {}}).columns.tolist() == ["game", "curve", "frames", "score"]


def test_a_missing_file_is_named():
    with pytest.raises(NeurozooError, match=r"nothing\.csv is missing"):
        read_references({"simple_dqn": {"pong": "nothing.csv"}})
