"""What is made of a finished run: corrected archive, heat map, movie, page, tables, curves, and the gallery."""

import base64
import json
import re
import shutil
from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from level_runs import trained
from neurozoo.algorithms.quality_diversity.archive_tests import archive_tests
from neurozoo.algorithms.quality_diversity.archives import make_archive
from neurozoo.algorithms.quality_diversity.correction import correct_archive
from neurozoo.algorithms.results import read_archive
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.comparison import archive_page
from neurozoo.comparison.archive_page import write_archive_page
from neurozoo.environments.level_domains import Play, get_level_domain
from neurozoo.errors import NeurozooError
from neurozoo.figures import archive_comparison, archives
from neurozoo.figures.archives import archive_curves, draw_heatmap
from neurozoo.gallery.scan import read_manifest
from neurozoo.gallery.video_facts import read_video
from neurozoo.movies import archive_movie
from neurozoo.movies.archive_movie import film_archive, replayed, shown_iterations
from neurozoo.movies.themes import colour_table
from neurozoo.plan.configuration import check_config
from neurozoo.plan.products import planned_products
from neurozoo.randomness import Purpose, generator, run_entropy
from neurozoo.records.archives import archive_table
from neurozoo.records.level_table import read_levels
from neurozoo.records.run_config import read_identity
from neurozoo.records.run_log import parse_log
from neurozoo.records.run_result import read_run_result
from neurozoo.records.stored_archive import StoredArchive, read_stored_archive
from neurozoo.records.tables import merge_metrics, read_metrics
from PIL import Image

MAZE = get_level_domain("maze")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two runs of random levels, with their tables and corrected archives."""
    results = tmp_path_factory.mktemp("results")
    for run in (1, 2):
        folder = results / f"runs/domain_randomization/maze/plain/{run}"
        run_dir = trained(folder, "domain_randomization", run=run, num_episodes=15)
        parse_log(run_dir / "log.jsonl", run_dir / "metrics.csv", identity=read_identity(run_dir / "config.yaml"))
        correct_archive(run_dir, run_dir / "corrected.json")
    return results


@pytest.fixture
def run_dir(results):
    return results / "runs/domain_randomization/maze/plain/1"


def test_every_elite_is_evaluated_again_with_other_random_numbers(run_dir):
    arrays, record = read_archive(run_dir / "archive.npz"), json.loads((run_dir / "corrected.json").read_text())
    entropy = run_entropy(seed=0, run=1, algo="domain_randomization", game="maze", model="plain")
    cells = []
    for number, solution in enumerate(arrays["solutions"]):
        rng = generator(entropy, Purpose.LEVEL_EPISODE_AGAIN, number)
        found = MAZE.evaluate(MAZE.decode(solution), Play(agent="wall_follower", num_episodes=15), [rng]).values
        cells.append(int(found["walls"][0]) * 162 + min(int(found["path_length"][0] / 4), 161))
    assert record["replayed"]["cell"] == cells
    assert record["elites"] == record["qd_score"] == len(set(cells))
    assert record["moved"] == pytest.approx(np.mean(np.array(cells) != arrays["metadata_cell"]))
    assert 0 < record["moved"] < 1
    assert record["reported_qd_score"] == len(arrays["solutions"])


def test_the_table_has_means_intervals_and_standard_errors(results, tmp_path):
    folders = sorted(results.glob("runs/*/*/*/*"))
    table = archive_table(folders, tmp_path / "archives.csv", replications=200)
    (row,) = pd.read_csv(tmp_path / "archives.csv").to_dict("records")
    scores = [len(read_archive(folder / "archive.npz")["objectives"]) for folder in folders]
    assert (row["runs"], row["evaluations"], len(table)) == (2, 50, 1)
    assert row["qd_score"] == np.mean(scores)
    assert row["qd_score_error"] == pytest.approx(abs(scores[0] - scores[1]) / 2)
    assert np.isnan(row["qd_score_low"])
    assert row["corrected_qd_score"] <= row["qd_score"]


def test_runs_of_two_agents_or_budgets_under_one_name_are_not_pooled(results, tmp_path):
    shutil.copytree(results, tmp_path / "results")
    folders = sorted((tmp_path / "results").glob("runs/*/*/*/*"))
    result = read_run_result(folders[1])
    (folders[1] / "result.json").write_text(json.dumps(result | {"evaluations": 1000}))
    table = archive_table(folders, tmp_path / "archives.csv", replications=200)
    assert sorted(zip(table["evaluations"], table["runs"], strict=True)) == [(50, 1), (1000, 1)]
    names = archive_comparison._search_names([read_run_result(folder) for folder in folders], folders)
    assert names == ["Domain randomization, plain, 50 evaluations", "Domain randomization, plain, 1,000 evaluations"]
    (folders[1] / "result.json").write_text(json.dumps(result))
    for folder, digest in zip(folders, ("aa", "bb"), strict=True):
        with (folder / "config.yaml").open("a") as file:
            file.write(f"agent_sha256: {digest}\n")
    table = archive_table(folders, tmp_path / "archives.csv", replications=200)
    assert sorted(zip(table["agent_sha256"], table["runs"], strict=True)) == [("aa", 1), ("bb", 1)]
    names = archive_comparison._search_names([read_run_result(folder) for folder in folders], folders)
    assert names == ["Domain randomization, plain, agent aa", "Domain randomization, plain, agent bb"]
    tests = archive_tests(folders, tmp_path / "tests.csv")
    assert tests[["played", "left_out"]].to_numpy().tolist() == [
        ["maze_walls_path_length, agent sha256 aa", "a single run"],
        ["maze_walls_path_length, agent sha256 bb", "a single run"],
    ]


def test_levels_lie_where_the_archive_has_them(tmp_path):
    """The shares 0.5, 0.75 and 0.16 lie on borders of cells of 0.01, which doubles cannot hold."""
    settings = resolve_settings("map_elites", preset="demo", overrides={"measures": ["walls", "explored"]})
    archive = make_archive(MAZE, settings)
    shares = [top / bottom for bottom in range(1, 201) for top in range(bottom + 1)]
    measures = np.stack([np.arange(len(shares)) % 257, shares], axis=1).astype(np.float32)
    stored = StoredArchive({}, (256, 100), np.array([[0.0, 256], [0, 1]]), np.zeros(0, int), np.zeros(0), np.zeros(0))
    expected = np.stack(np.unravel_index(archive.index_of(measures), (256, 100)), axis=1)
    np.testing.assert_array_equal(stored.places(measures), expected)


def test_the_movie_and_its_poster_end_with_the_archive(run_dir, tmp_path):
    stored = read_stored_archive(run_dir / "archive.npz")
    levels = read_levels(run_dir / "levels.parquet", ["iteration", "objective", "failed", *stored.measures])
    assert shown_iterations(levels["iteration"]) == [1, 2, 3, 4]
    frames = list(replayed(stored, levels, [1, 2, 4]))
    np.testing.assert_array_equal(frames[-1], stored.grid(stored.objectives))
    np.testing.assert_array_equal(frames[0], stored.grid(stored.objectives, stored.iterations < 1))
    assert film_archive(run_dir / "archive.npz", run_dir / "levels.parquet", tmp_path / "a.mp4") == 4
    assert read_video(tmp_path / "a.mp4").frames == 4 * 30 + 2 * 20  # few iterations make no short movie
    with Image.open(tmp_path / "a.poster.png") as poster:
        shown = np.asarray(poster.convert("RGB"), int)
    bright = shown[57 : shown.shape[0] - 50, 50 : shown.shape[1] - 22].max(axis=2) > 60
    assert bright.mean() == pytest.approx(len(stored.cells) / np.prod(stored.dims), rel=0.2)


@pytest.mark.parametrize("dims", [(25, 150), (150, 25), (256, 162)])
def test_the_movie_has_room_for_its_words_whatever_the_measures(run_dir, dims):
    stored = replace(read_stored_archive(run_dir / "archive.npz"), dims=dims)
    canvas = archive_movie._Canvas(stored)
    grid = np.full(dims, np.nan)
    grid[-1, -1] = 1.0  # the upper right corner
    height, width = (side.stop - side.start for side in canvas.cells)
    assert 600 <= width <= 900
    assert 400 <= height <= 600
    cells = canvas.draw(grid, 1)[canvas.cells]
    assert (cells != cells[-1, 0]).sum() == width // dims[0] * (height // dims[1])
    assert cells[0, -1] != cells[-1, 0]


def test_a_long_movie_holds_one_picture_at_a_time():
    numbers = shown_iterations(np.arange(1000))
    assert (numbers[0], numbers[-1], len(numbers)) == (1, 1000, 250)
    facts = {"measures": ["walls", "path_length"]}
    stored = StoredArchive(facts, (2, 3), np.array([[0.0, 2], [0, 3]]), np.zeros(0, int), np.zeros(0), np.zeros(0))
    levels = {"iteration": np.arange(1000), "objective": np.linspace(0, 1, 1000), "failed": np.zeros(1000, bool)}
    levels |= dict.fromkeys(stored.measures, np.zeros(1000))
    frames = replayed(stored, levels, numbers)
    assert next(frames)[0, 0] == 0
    assert list(frames)[-1][0, 0] == 1


def test_cells_share_pixels_where_there_are_too_many(run_dir, tmp_path):
    dims = (4001, 10)
    stored = replace(read_stored_archive(run_dir / "archive.npz"), dims=dims)
    canvas = archive_movie._Canvas(stored)
    grid = np.full(dims, np.nan)
    grid[4, 0], grid[5, 0], grid[-1, -1] = 0.25, 1.0, 0.5
    cells = canvas.draw(grid, 1)[canvas.cells]
    assert cells.shape == (400, 1334)  # three cells share a pixel
    assert (cells != cells[-1, 0]).sum() == 2 * 40
    assert cells[-1, 1] == colour_table("viridis")[255]
    assert cells[0, -1] == colour_table("viridis")[127]


def test_the_heat_map_is_the_same_every_time(run_dir, tmp_path):
    for name in ("a.png", "b.png"):
        draw_heatmap(run_dir / "archive.npz", [tmp_path / name])
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_the_page_holds_the_level_of_every_cell(run_dir, tmp_path):
    counts = write_archive_page(run_dir, tmp_path / "archive.html")
    assert counts["elites"] == counts["levels"] > 30
    text = (tmp_path / "archive.html").read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1].replace("<\\/", "</"))
    arrays = read_archive(run_dir / "archive.npz")
    assert data["cells"] == arrays["metadata_cell"].tolist()
    assert data["titles"] == ["Walls", "Mean path length of the agent (steps)"]
    for number in (0, len(data["levels"]) - 1):
        level = np.frombuffer(base64.b64decode(data["levels"][number]["level"]), np.uint8)
        np.testing.assert_array_equal(level, arrays["metadata_level"][number].reshape(256))
        way = np.frombuffer(base64.b64decode(data["levels"][number]["way"]), np.uint16)
        assert level[way[0]] == 2  # it begins at the start
        if len(way) < 648:
            beside = level.reshape(16, 16)[max(way[-1] // 16 - 1, 0) : way[-1] // 16 + 2, :]
            assert 3 in beside  # and ends beside the goal
    with mock.patch.object(archive_page, "MOST_LEVELS", 10):
        few = write_archive_page(run_dir, tmp_path / "few.html")
    assert few["levels"] <= 10 < few["elites"]


def test_a_page_in_a_browser_shows_a_level_and_its_way(run_dir, tmp_path, browser, monkeypatch):
    write_archive_page(run_dir, tmp_path / "archive.html")
    browser.get((tmp_path / "archive.html").as_uri())
    before = browser.find_element("id", "details").text
    assert "Mean path length of the agent" in before
    assert not browser.complaints()
    heat = browser.find_element("id", "heat")
    heat.click()
    heat.send_keys("\ue014")  # arrow right: the next filled cell
    assert browser.find_element("id", "details").text != before
    steps = browser.find_element("id", "count").text
    browser.find_element("id", "play").click()
    assert steps.split(" / ")[0] == steps.split(" / ")[1]  # the whole way
    assert browser.find_element("id", "count").text != steps
    monkeypatch.setattr(archive_page, "agent_of_run", lambda *_: ("it", False))
    write_archive_page(run_dir, tmp_path / "archive.html")
    browser.get((tmp_path / "archive.html").as_uri())
    assert "none, because it is missing" in browser.find_element("id", "details").text
    assert not browser.find_element("id", "player").is_displayed()
    assert not browser.complaints()


def test_curves_are_means_over_runs_by_evaluations(results, tmp_path):
    folders = sorted(results.glob("runs/*/*/*/*"))
    merge_metrics(
        [folder / "metrics.csv" for folder in folders], csv=tmp_path / "m.csv", parquet=tmp_path / "m.parquet"
    )
    curves = archive_curves(read_metrics(tmp_path / "m.parquet"), confidence=0.95, seed=0)
    scores = curves[curves["panel"] == "QD score"]
    assert (scores["evaluations"].min(), scores["evaluations"].max()) == (16, 50)
    assert scores["mean"].iloc[-1] == np.mean([len(read_archive(f / "archive.npz")["objectives"]) for f in folders])
    assert set(scores["runs"]) == {2}
    with pytest.raises(NeurozooError, match="No run has an archive"):
        archive_curves(read_metrics(tmp_path / "m.parquet").drop(columns="coverage"), confidence=0.95, seed=0)


@pytest.mark.parametrize(
    ("runs", "subtitle"),
    [
        ((1,), "One run."),
        ((1, 1), "One run each."),
        ((2,), "Mean of 2 runs."),
        ((1, 6), "Mean of 1 to 6 runs. Band: its 95 % bootstrap interval, from five runs on."),
    ],
)
def test_the_figure_speaks_only_of_bands_that_it_has(tmp_path, runs, subtitle):
    scores = np.random.default_rng(0).random((7, 10))
    names = {"game": "maze", "model": "plain", "protocol": "maze", "settings": "5e77"}
    rows = [
        names | {"algo": algo, "run": run, "evaluations": 100 * i, "score": score, "qd_score": score, "coverage": score}
        for algo, count in zip(("cma_me", "map_elites"), runs, strict=False)
        for run in range(1, count + 1)
        for i, score in enumerate(scores[run], 1)
    ]
    with mock.patch.object(archives.style, "save_figure") as save:
        archives.draw_archive_curves(pd.DataFrame(rows), [tmp_path / "curves.png"])
    assert " ".join(save.call_args.args[0].labels.subtitle.split()) == subtitle


def test_the_gallery_counts_evaluations_and_misses_no_network(results, run_dir):
    write_archive_page(run_dir, run_dir / "archive.html")
    manifest = read_manifest(results, results / "site", replications=100)
    run = manifest.runs[0]
    assert (run.is_finished, run.unit, run.frames) == (True, "evaluations", 50)
    assert run.curve[0] == (16.0, 32.0, 48.0, 50.0)
    assert "Archive: the level in every cell, interactive" in [file.title for file in run.files]
    missing = {entry.path.split("/")[-1] for entry in manifest.missing if run.id in entry.path}
    assert "heatmap.png" in missing
    assert not missing & {"rollout.npz", "activation.mp4", "model.json", "checkpoint.npz", "archive.html"}


def test_a_damaged_archive_gets_a_sentence(tmp_path, run_dir):
    with pytest.raises(NeurozooError, match="is missing"):
        read_stored_archive(tmp_path / "archive.npz")
    (tmp_path / "archive.npz").write_bytes((run_dir / "archive.npz").read_bytes()[:900])
    with pytest.raises(NeurozooError, match="is no archive of two measures"):
        read_stored_archive(tmp_path / "archive.npz")
    arrays = dict(np.load(run_dir / "archive.npz"))
    np.savez(tmp_path / "archive.npz", **(arrays | {"metadata_cell": arrays["metadata_cell"] + 10**6}))
    with pytest.raises(NeurozooError, match="a cell outside of the archive"):
        read_stored_archive(tmp_path / "archive.npz")


def test_a_configuration_plans_what_shows_archives():
    experiment = {"algo": "dsage", "games": ["maze"], "models": ["full"], "runs": 1, "preset": "demo"}
    files = planned_products(check_config({"experiments": {"levels": experiment}}))
    run = "<results>/runs/dsage/maze/full/1"
    assert {f"{run}/{name}" for name in ("corrected.json", "heatmap.png", "archive.mp4", "archive.html")} < set(files)
    names = ("archives", "archive_rows", "archive_histograms", "predictions")
    figures = {f"<results>/figures/{name}.png" for name in names}
    assert {"<results>/tables/archives.csv", "<results>/tables/archive_tests.csv", *figures} < set(files)
    assert not [file for file in files if "frozen" in file or "learning_curves" in file or "scores" in file]
    configuration = {"experiments": {"levels": experiment}, "figures": {"words": "beside"}}
    texts = set(planned_products(check_config(configuration))) - set(files)
    assert texts == {f"<results>/figures/{name}.txt" for name in names}
    experiment |= {"algo": "map_elites", "models": ["plain"]}
    assert not [file for file in planned_products(check_config({"experiments": {"e": experiment}})) if "pred" in file]


def test_curves_are_only_of_runs_that_were_played_alike_for_as_long(tmp_path):
    rows = [
        {"algo": algo, "game": "maze", "model": "plain", "run": run, "protocol": "maze", "settings": algo,
         "protocol_cells": cells, "evaluations": evaluations, "qd_score": 1.0, "coverage": 0.1}
        for algo, run, cells, last in (
            ("cma_me", 1, "16, 18", 50), ("map_elites", 1, "256, 162", 50), ("map_elites", 2, "256, 162", 1000)
        )
        for evaluations in (10, last)
    ]  # fmt: skip
    curves = archive_curves(pd.DataFrame(rows), confidence=0.95, seed=0)
    assert curves.groupby("curve")["evaluations"].max().to_dict() == {
        "CMA-ME, plain, maze, cells 16, 18": 50,
        "MAP-Elites, plain, maze, cells 256, 162, 50 evaluations": 50,
        "MAP-Elites, plain, maze, cells 256, 162, 1,000 evaluations": 1000,
    }
    with mock.patch.object(archives.style, "save_figure") as save:
        archives.draw_archive_curves(pd.DataFrame(rows), [tmp_path / "curves.png"])
    assert "here episodes were played differently (cells)" in save.call_args.args[0].labels.caption


def test_settings_of_one_game_say_nothing_about_another(tmp_path, monkeypatch):
    """Otherwise DSAGE would have two colours and all of its settings in the legend. A single report is a point."""
    rows = [
        {"algo": "dsage", "game": game, "model": "full", "run": 1, "protocol": game, "settings": game,
         "settings_num_episodes": str(number), "evaluations": evaluations, "qd_score": 1.0 * evaluations,
         "coverage": 0.1}
        for number, game in enumerate(("maze", "mario"))
        for evaluations in ((100, 200) if game == "maze" else (100,))
    ]  # fmt: skip
    curves = archive_curves(pd.DataFrame(rows), confidence=0.95, seed=0)
    assert set(curves["curve"]) == {"DSAGE, full"}
    figures = []
    monkeypatch.setattr(archives.style, "save_figure", lambda figure, outputs: figures.append(figure))
    archives.draw_archive_curves(pd.DataFrame(rows), [tmp_path / "curves.png"])
    layer = next(each for each in figures[0].layers if type(each.geom).__name__ == "geom_point")
    points = layer._data(figures[0].data)
    assert points[["game", "panel"]].to_numpy().tolist() == [
        ["mario", "QD score, mario"], ["mario", "Coverage of the archive, mario"]
    ]  # fmt: skip
    assert figures[0].theme.getp("figure_size") == (9.5, pytest.approx(2 * 3.0, abs=1))
