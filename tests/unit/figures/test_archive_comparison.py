import json

import numpy as np
import pandas as pd
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.figures import archive_comparison
from neurozoo.figures.archive_comparison import (
    draw_archive_rows,
    draw_objective_histograms,
    draw_predictions,
    histogram,
    prediction_points,
)
from neurozoo.records.level_table import write_levels
from neurozoo.records.stored_archive import StoredArchive


def archive(folder, algo="dsage", model="full", objectives=(0.005, 1.0, 1.0), **more):
    """A small archive of 4 x 2 cells; returns its file."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = {
        "format": 1,
        "game": "maze",
        "measures": ["walls", "path_length"],
        "algo": algo,
        "model": model,
        "run": 1,
        **more,
    }
    count = len(objectives)
    np.savez(
        folder / "archive.npz",
        facts=json.dumps(facts | more),
        objectives=np.array(objectives),
        measures=np.zeros((count, 2)),
        ranges=np.array([[0.0, 256], [0, 648]]),
        metadata_cell=np.arange(count),
        metadata_dims=np.array([4, 2]),
        metadata_iteration=np.zeros(count, int),
    )
    return folder / "archive.npz"


@pytest.fixture
def run_dirs(tmp_path, monkeypatch):
    """Two runs with predictions, and one without."""
    folders = []
    for number, algo in enumerate(("dsage", "dsage", "map_elites")):
        folder = archive(tmp_path / str(number), algo, "full" if algo == "dsage" else "plain").parent
        predicted = np.full((3, 3), np.nan, np.float32)
        if algo == "dsage":
            predicted[1:] = [[1, 70 + number, 100], [1, 100, 400]]
        columns = {"predicted": predicted, "walls": np.float32([1, 63, 130]), "path_length": np.float32([5, 10, 648])}
        write_levels(folder / "levels.parquet", columns)
        folders.append(folder)

    def result(folder):
        algo, model = ("map_elites", "plain") if folder.name == "2" else ("dsage", "full")
        return {"game": "maze", "algo": algo, "model": model}

    monkeypatch.setattr(archive_comparison, "read_run_result", result)
    return folders


def test_predictions_are_averaged_over_the_levels_of_a_cell(run_dirs):
    points = prediction_points(run_dirs)
    assert set(points["search"]) == {"DSAGE, full"}
    walls = points[points["measure"] == "walls"]
    assert walls["true"].tolist() == [32, 160]  # cells of 64 walls: 63 is in the first, 130 in the third
    assert walls["predicted"].tolist() == [70.5, 100]
    assert walls["levels"].tolist() == [2, 2]
    assert walls["error"].iloc[0] == pytest.approx((7 + 8 + 30 + 30) / 4)
    lengths = points[points["measure"] == "path_length"]
    assert lengths["true"].tolist() == [162, 486]  # the upper end belongs to the last cell
    assert lengths["predicted"].tolist() == [100, 400]


def test_a_histogram_is_the_mean_over_runs():
    def stored(*objectives):
        return StoredArchive({}, (4, 2), np.zeros((2, 2)), np.arange(len(objectives)), np.array(objectives), None)

    bars = histogram([stored(0.005, 1.0, 1.0), stored(1.0)])
    assert len(bars) == 100
    assert bars["elites"].iloc[0] == 0.5
    assert bars["elites"].iloc[-1] == 1.5  # 1 belongs to the last bin
    assert bars["elites"].sum() == 2
    pd.testing.assert_series_equal(bars["objective"], pd.Series(np.arange(100) / 100 + 0.005, name="objective"))


def test_figures_of_all_searches_are_drawn(tmp_path, run_dirs):
    draw_objective_histograms([folder / "archive.npz" for folder in run_dirs], [tmp_path / "histograms.svg"])
    draw_predictions(run_dirs, [tmp_path / "predictions.svg"])
    assert "Objectives of the elites" in (tmp_path / "histograms.svg").read_text()
    assert "Predictions of the surrogate" in (tmp_path / "predictions.svg").read_text()


def test_runs_with_other_settings_are_not_pooled(tmp_path):
    hashes = ("aaaaaa111111", "aaaaaa111111", "bbbbbb222222")
    paths = [archive(tmp_path / str(number), settings_hash=digest) for number, digest in enumerate(hashes)]
    paths.append(archive(tmp_path / "other", "map_elites", "plain", settings_hash="cccccc333333"))
    # Other measures are told apart by their names already.
    paths.append(archive(tmp_path / "measures", settings_hash="dddddd444444", measures=["walls", "kills"]))
    found = archive_comparison._by_search(paths)
    assert {name: len(stored) for (_, _, name), stored in found.items()} == {
        "DSAGE, full, settings aaaaaa": 2,
        "DSAGE, full, settings bbbbbb": 1,
        "MAP-Elites, plain": 1,
        "DSAGE, full": 1,
    }


def test_without_predictions_there_is_a_sentence(run_dirs):
    with pytest.raises(NeurozooError, match="No run has predictions of levels"):
        prediction_points(run_dirs[2:])
    with pytest.raises(NeurozooError, match="no archive to show"):
        draw_archive_rows([], ["rows.png"])


def test_archives_of_several_games_have_short_lines_above_panels_with_the_whole_range(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(archive_comparison, "save_figure", lambda figure, outputs: drawn.append(figure))
    mario = {"game": "mario", "measures": ["sky_tiles", "jumps"]}
    paths = [archive(tmp_path / "0"), archive(tmp_path / "1", **mario), archive(tmp_path / "2", "map_elites", "plain")]
    draw_archive_rows(paths, [tmp_path / "rows.png"])
    panels = drawn[0].data["search"].cat.categories.tolist()
    assert [panel.splitlines()[0] for panel in panels] == ["DSAGE, full", "MAP-Elites, plain", "DSAGE, full"]
    assert panels[1].splitlines()[1].startswith("maze: Walls / ")
    assert max(len(line) for panel in panels for line in panel.splitlines()) <= 30
    for axes in drawn[0].draw().axes:
        assert (axes.get_xlim(), axes.get_ylim()) == (pytest.approx((0, 256)), pytest.approx((0, 648)))


def test_predictions_of_several_games_name_the_game(run_dirs, monkeypatch):
    read = archive_comparison.read_run_result
    games = {"0": "maze", "1": "mario"}
    monkeypatch.setattr(
        archive_comparison, "read_run_result", lambda folder: read(folder) | {"game": games.get(folder.name, "maze")}
    )
    titles = [panel.splitlines()[0] for panel in dict.fromkeys(prediction_points(run_dirs)["panel"])]
    assert "DSAGE, full, maze: walls" in titles
    assert "DSAGE, full, mario: walls" in titles
