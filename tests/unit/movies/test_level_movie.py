"""A movie of the agent in a level has a frame per tick, and says how the game ended."""

import json

import imageio.v3 as iio
import numpy as np
import pytest
import yaml
from neurozoo.__main__ import main
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.platformer.evolved_runner import GAME
from neurozoo.environments.platformer.tiles import from_text, read_level, write_level
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.files import sha256_of
from neurozoo.movies.level_movie import draw_run, film_level, level_of
from neurozoo.records.run_config import IDENTITY


def flat() -> np.ndarray:
    return from_text("\n".join(["-" * 56] * 14 + ["X" * 56] * 2))


def test_a_movie_shows_the_run_to_its_end(tmp_path, core):
    facts = film_level(flat(), tmp_path / "run.mp4", core=core)
    assert facts == {"status": 1, "completion": 1.0, "jumps": 0, "kills": 0, "ticks": 89}
    frames = iio.imread(tmp_path / "run.mp4")
    assert frames.shape == (90, 256, 896, 3)
    dark = [np.flatnonzero((frame[211:224].astype(int).sum(axis=2) < 200).any(axis=0)) for frame in frames[[0, 45, 89]]]
    assert [bool(columns.max() < 20) for columns in dark] == [True, False, False]  # the runner's outlines
    assert dark[2].max() > 870 > dark[1].max() > 300


def test_a_movie_of_a_hopeless_level_ends(tmp_path, core, monkeypatch):
    monkeypatch.setattr("neurozoo.movies.level_movie.BUDGET", 5)
    monkeypatch.setattr("neurozoo.movies.level_movie.MOST_FRAMES", 10)
    level = flat()
    level[:14, 3] = 11
    facts = film_level(level, tmp_path / "run.mp4", core=core)
    assert (facts["status"], facts["ticks"]) == (3, 666)
    assert len(iio.imread(tmp_path / "run.mp4")) == 10


@pytest.fixture
def run_dir(tmp_path):
    """A folder with an archive of two levels, in the cells 5 and 9; the second is better."""
    levels = np.stack([flat(), flat()])
    levels[0, 3, 20], levels[1, 3, 30] = 7, 7
    cells = {"metadata_level": levels, "metadata_cell": np.array([5, 9])}
    np.savez(tmp_path / "archive.npz", solutions=np.zeros((2, 32)), objectives=np.array([0.5, 1.0]), **cells)
    return tmp_path


def test_a_level_is_taken_from_an_archive_by_its_cell(run_dir, monkeypatch):
    monkeypatch.setattr("neurozoo.movies.level_movie.read_archive", lambda path: dict(np.load(path)))
    assert level_of(run_dir)[3, 30] == 7
    assert level_of(run_dir, cell=5)[3, 20] == 7
    with pytest.raises(NeurozooError, match=r"Cell 6 of .* is empty. The nearest one with a level is 5"):
        level_of(run_dir, cell=6)
    arrays = dict(np.load(run_dir / "archive.npz"))
    arrays.pop("metadata_cell")
    np.savez(run_dir / "archive.npz", **arrays)
    with pytest.raises(NeurozooError, match=r"Cell 6 of .* is empty\. The archive's page shows all"):
        level_of(run_dir, cell=6)


def test_a_file_has_no_cells(tmp_path):
    write_level(tmp_path / "level.txt", flat())
    with pytest.raises(NeurozooError, match="has no cell 3"):
        level_of(tmp_path / "level.txt", cell=3)


def test_a_picture_shows_the_way(tmp_path, core):
    draw_run(flat(), tmp_path / "way.png", core=core)
    assert iio.imread(tmp_path / "way.png").shape == (256, 896, 3)


def test_the_command_plays_and_exports_a_level(tmp_path, core, capsys):
    level = flat()
    level[10, 20] = 7
    write_level(tmp_path / "level.txt", level)
    main(["level", str(tmp_path / "level.txt"), "--text", str(tmp_path / "again.txt"), "--core", str(core)])
    assert capsys.readouterr().out == (
        "The agent a_star reaches the finish after 89 ticks, 0 jumps and 0 kills; 100% of the way.\n"
    )
    np.testing.assert_array_equal(read_level(tmp_path / "again.txt"), level)


def test_the_agent_of_a_run_plays_its_levels(run_dir, core, capsys, monkeypatch):
    monkeypatch.setattr("neurozoo.movies.level_movie.read_archive", lambda path: dict(np.load(path)))
    runner = run_dir / "runner.npz"

    def said(sha256):
        settings = {"format": 1, **dict.fromkeys(IDENTITY, "x"), "run": 1, "agent": str(runner), "agent_sha256": sha256}
        (run_dir / "config.yaml").write_text(yaml.safe_dump(settings))
        main(["level", str(run_dir), "--core", str(core)])
        return capsys.readouterr()

    lost = said("0")
    assert lost.out.startswith("The agent a_star reaches the finish after 89 ticks")
    assert lost.err == f"The run's agent {runner} is missing or has changed, so a_star plays.\n"
    weights = np.zeros(layout_of(GAME, "simple", protocol_of(GAME)).parameter_count, np.float32)
    about = {"game": GAME, "model": "simple", "num_actions": 8}
    np.savez(runner, theta=weights, about=np.array(json.dumps(about)))
    assert said(sha256_of(runner)) == (  # the first of equal actions is to do nothing
        f"The agent {runner} runs out of time after 666 ticks, 0 jumps and 0 kills; 1% of the way.\n",
        "",
    )


def test_files_with_another_ending_are_refused_and_left_alone(tmp_path, core):
    level = tmp_path / "level.txt"
    level.write_text("mine")
    with pytest.raises(NeurozooError, match=r"should be written to a .png, but the file is .*level.txt"):
        draw_run(flat(), level, core=core)
    with pytest.raises(NeurozooError, match=r"should be written to an .mp4, but the file is .*run.gif"):
        film_level(flat(), tmp_path / "run.gif", core=core)
    assert [path.name for path in tmp_path.iterdir()] == ["level.txt"]
    assert level.read_text() == "mine"
