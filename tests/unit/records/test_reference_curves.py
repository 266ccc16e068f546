from pathlib import Path

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.records.curves import read_references

FOLDER = Path(__file__).parents[3] / "config" / "reference" / "simple_dqn"
GAMES = ("breakout", "pong", "seaquest", "space_invaders")


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
