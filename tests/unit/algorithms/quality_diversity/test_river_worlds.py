"""Searches through worlds of the river crossing task, and what people look at afterwards."""

import json
import re

import imageio.v3 as iio
import numpy as np
import pytest
from level_runs import trained
from neurozoo.__main__ import main
from neurozoo.algorithms.quality_diversity.presets import CMA_ME, DSAGE
from neurozoo.algorithms.registry import get_algorithm
from neurozoo.algorithms.results import read_archive
from neurozoo.comparison.archive_page import write_archive_page
from neurozoo.environments.level_domains import get_level_domain
from neurozoo.figures.archives import draw_heatmap
from neurozoo.records.level_table import read_levels

RIVER = get_level_domain("river_crossing")
SMALL = {"agent": "shunting", "num_episodes": 1, "evaluations": 40}
SHORT = {"cma_me": {"sigma0": 4}, "dsage": {"initial_solutions": 30, "train_epochs": 1, "inner_iterations": 2}}


@pytest.mark.parametrize(
    ("algo", "model"),
    [
        ("map_elites", "plain"), ("domain_randomization", "plain"),
        pytest.param("cma_me", "plain", marks=pytest.mark.long(seconds=5)),
        pytest.param("dsage", "full", marks=pytest.mark.long(seconds=10)),
    ],
)  # fmt: skip
def test_every_search_fills_an_archive_of_worlds(tmp_path, core, algo, model):
    run_dir = trained(tmp_path / "1", algo, model, game="river_crossing", core=core, **(SMALL | SHORT.get(algo, {})))
    arrays = read_archive(run_dir / "archive.npz")
    levels = read_levels(run_dir / "levels.parquet", ["objective", "stones_placed", "steps", "failed"])
    assert len(levels["objective"]) == 40
    assert not levels["failed"].any()
    assert len(set(levels["stones_placed"])) > 2
    np.testing.assert_array_equal(RIVER.decode(arrays["solutions"]), arrays["metadata_level"])
    # The page's ways place the stones and take the steps that the archive says.
    for way, level, (_, steps) in zip(
        RIVER.ways(arrays["metadata_level"], "shunting"), arrays["metadata_level"], arrays["measures"], strict=True
    ):
        assert len(way) == steps
        assert level.flat[way[-1]] == 1 or steps == 200
    assert '"river_crossing_stones_placed_steps"' in (run_dir / "result.json").read_text()


def test_a_run_has_its_page_heat_map_picture_and_movie(tmp_path, capsys):
    run_dir = trained(tmp_path / "run", "domain_randomization", game="river_crossing", **SMALL)
    write_archive_page(run_dir, tmp_path / "archive.html")
    text = re.search(r'id="data">(.*?)</script>', (tmp_path / "archive.html").read_text(), re.S)[1]
    data = json.loads(text.replace("<\\/", "</"))
    assert (data["shape"], len(data["tiles"]), data["dims"]) == ([20, 20], 6, [21, 100])
    assert all(level["way"] for level in data["levels"])
    draw_heatmap(run_dir / "archive.npz", [tmp_path / "heatmap.png"])
    assert iio.imread(tmp_path / "heatmap.png").std() > 10
    cell, picture, movie = data["cells"][0], tmp_path / "walk.png", tmp_path / "walk.mp4"
    files = ["--picture", str(picture), "--movie", str(movie)]
    main(["level", str(run_dir), "--cell", str(cell), *files, "--json"])
    said = json.loads(capsys.readouterr().out)
    stones, steps = (data["colours"][name][0] for name in ("Stones placed", "Steps"))
    assert (said["stones_placed"], said["steps"]) == (stones, steps)
    last = iio.imread(picture)
    assert last.shape == (480, 480, 3)
    corners = last[6::24, 1::24].reshape(-1, 3)  # where no line is drawn; each stone has left a bridge
    assert (corners == (0xA4, 0x71, 0x48)).all(axis=1).sum() == stones
    assert iio.imread(movie).shape == (steps + 1 + 10, 480, 480, 3)
    with pytest.raises(SystemExit):
        main(["level", str(run_dir), "--text", str(tmp_path / "world.txt")])
    assert "Leave --text out" in capsys.readouterr().err
    (run_dir / "config.yaml").unlink()  # an archive alone
    main(["level", str(run_dir), "--cell", str(cell)])
    assert capsys.readouterr().out.startswith("The agent shunting ")


def test_presets_fit_the_domain():
    for algo in ("dsage", "map_elites", "cma_me", "domain_randomization"):
        for name in ("river_crossing_laptop", "river_crossing_demo"):
            get_algorithm(algo).presets[name].check_game("river_crossing")
    assert DSAGE["river_crossing_laptop"].coarse_dims(RIVER) == (7, 25)


@pytest.mark.parametrize("agent", ["shunting", "agent.npz"])
def test_agents_play_once_however_many_episodes_are_asked_for_and_without_the_core(agent):
    settings = CMA_ME["river_crossing_laptop"].changed({"num_episodes": 20, "agent": agent})
    assert settings.describe_protocol("river_crossing")["num_episodes"] == 1
    assert settings.needs_besides("river_crossing") == ()
    assert settings.play(RIVER, core=None).core is None
