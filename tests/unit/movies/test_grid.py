import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.movies.grid import GAP, HEAD, TITLE, _placed, film_grid
from neurozoo.movies.screens import LINE

LENGTHS = {("ga", 1): 10, ("ga", 3): 4, ("es", 1): 7}


@pytest.fixture
def runs(frozen_folder, rollout_file, tmp_path, rewritten):
    """Folders of three runs of two algorithms, with rollouts of different lengths."""
    folders = []
    for (algo, run), steps in LENGTHS.items():
        folder = tmp_path / algo / str(run)
        shutil.copytree(frozen_folder("small"), folder / "frozen", ignore=shutil.ignore_patterns("*.pb", "*.keras"))
        record = json.loads((folder / "frozen" / "model.json").read_text())
        (folder / "frozen" / "model.json").write_text(json.dumps({**record, "algo": algo, "run": run}))
        with np.load(rollout_file("small")) as file:
            arrays = {
                key: array[10 * run : 10 * run + steps] for key, array in file.items() if array.shape[:1] == (40,)
            }
        rewritten(rollout_file("small"), folder / "rollout.npz", **{**arrays, "ep_rewards": np.array([7.0 * run])})
        folders.append(folder)
    return folders


def cell(frame, row, column):
    top, left = TITLE + row * (HEAD + 420 + 2 * LINE) + HEAD, GAP + column * (320 + GAP)
    return frame[top : top + 420, left : left + 320].astype(float)


def screen_of(folder, step):
    with np.load(folder / "rollout.npz") as file:
        return file["frames"][step].repeat(2, axis=0).repeat(2, axis=1).astype(float)


def test_algorithms_are_rows_and_runs_are_columns(runs, tmp_path, decode):
    movie = film_grid(runs, tmp_path / "x.mp4")
    frames, facts = decode(tmp_path / "x.mp4")
    assert movie.frames == len(frames) == max(LENGTHS.values())
    assert movie.scores == {"es/breakout/small/1": 7, "ga/breakout/small/1": 7, "ga/breakout/small/3": 21}
    assert movie.problems == ()
    assert facts["fps"] == 60
    assert frames.shape[1:] == (TITLE + 2 * (HEAD + 420 + 2 * LINE) + GAP // 2 + 1, GAP + 2 * (320 + GAP), 3)
    ga1, ga3, es1 = runs
    for step in (0, 3):
        for folder, place in ((es1, (0, 0)), (ga1, (1, 0)), (ga3, (1, 1))):
            assert np.abs(cell(frames[step], *place) - screen_of(folder, step)).mean() < 8
    empty = cell(frames[0], 0, 1)
    assert empty.min() > 240  # there is no run 3 of es


def agent(algo, model, run):
    return SimpleNamespace(algo=algo, game="pong", model=model, run=run, generation=None, title=f"{algo}/{run}")


@pytest.mark.parametrize(
    ("agents", "lines"), [(1, [1]), (2, [2]), (3, [3]), (4, [2, 2]), (5, [3, 2]), (6, [3, 3]), (10, [4, 3, 3])]
)
@pytest.mark.parametrize("step", [0, 1, -1])
def test_a_single_run_of_each_fills_even_rows_whatever_its_number(agents, lines, step):
    frozen = [agent(f"algo{n:02}", "small", 50 + n * step) for n in range(agents)]
    places = [(entry.row, entry.column) for entry in _placed(frozen)]
    assert places == [(row, column) for row, count in enumerate(lines) for column in range(count)]


def test_agents_have_the_names_that_they_have_in_figures():
    agents = [agent(algo, "small_layer_norm", run) for algo, run in (("ga_ns", 3), ("impala", 3), ("impala", 11))]
    labels = {"impala/pong/small_layer_norm/11": "PQN, slow"}
    assert [(entry.label, entry.note, entry.row) for entry in _placed(agents, labels)] == [
        ("GA-NS, small layer norm", "run 3", 0),
        ("IMPALA, small layer norm", "run 3", 0),
        ("PQN, small layer norm, slow", "run 11", 0),
    ]


def test_a_finished_rollout_shows_its_last_screen_darker_until_the_others_end(runs, tmp_path, decode):
    film_grid(runs, tmp_path / "x.mp4")
    frames, _ = decode(tmp_path / "x.mp4")
    for step in (4, 9):
        assert np.abs(cell(frames[step], 1, 1) - screen_of(runs[1], 3) // 2).mean() < 8
        assert np.abs(cell(frames[step], 1, 0) - screen_of(runs[0], step)).mean() < 8


def test_a_grid_can_be_shorter_and_without_overlay(runs, tmp_path, decode):
    movie = film_grid(runs, tmp_path / "x.mp4", overlay=False, max_steps=5, fps=15)
    frames, facts = decode(tmp_path / "x.mp4")
    assert movie.frames == len(frames) == 5
    assert facts["fps"] == 15
    assert frames.shape[1] == TITLE + 2 * (HEAD + 420) + GAP // 2 + 1
    with np.load(runs[0] / "rollout.npz") as file:
        assert movie.scores["ga/breakout/small/1"] == file["score"][4]  # its end is not shown


def test_many_screens_are_shown_small(runs, tmp_path, decode):
    for run in range(4, 9):
        shutil.copytree(runs[0], tmp_path / "more" / str(run))
        path = tmp_path / "more" / str(run) / "frozen" / "model.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "run": run}))
    film_grid([*runs, *(tmp_path / "more").iterdir()], tmp_path / "x.mp4", max_steps=1)
    frames, _ = decode(tmp_path / "x.mp4")
    assert frames.shape[2] == GAP + 7 * (160 + GAP)


def test_damaged_rollouts_are_named_and_the_others_are_shown(runs, tmp_path, decode):
    ga1, ga3, es1 = runs
    ga3.joinpath("rollout.npz").unlink()
    data = bytearray(es1.joinpath("rollout.npz").read_bytes())
    end = data.find(b"PK\x03\x04", data.find(b"frames.npy"))  # its shape can be read, but its screens cannot
    data[end - 300 : end] = bytes(300)
    es1.joinpath("rollout.npz").write_bytes(data)
    missing = tmp_path / "none"
    movie = film_grid([*runs, missing], tmp_path / "x.mp4", log=tmp_path / "log")
    frames, _ = decode(tmp_path / "x.mp4")
    assert movie.frames == len(frames) == 10
    assert np.abs(cell(frames[9], 1, 0) - screen_of(ga1, 9)).mean() < 8
    assert len(movie.problems) == 3
    log = (tmp_path / "log").read_text()
    for words in (f"{ga3}/rollout.npz is missing", f"{es1}/rollout.npz is damaged", f"{missing}/frozen/model.json"):
        assert words in log
        assert words in " ".join(movie.problems)


def test_a_grid_without_any_rollout_is_refused_and_says_why(runs, tmp_path):
    for folder in runs:
        (folder / "rollout.npz").unlink()
    with pytest.raises(NeurozooError, match=r"No rollout can be shown\. .*ga/1/rollout\.npz is missing.*es/1"):
        film_grid(runs, tmp_path / "x.mp4")
    with pytest.raises(NeurozooError, match=r"No rollout can be shown\. .*none/frozen/model.json is missing"):
        film_grid([tmp_path / "none"], tmp_path / "x.mp4")


def test_a_grid_of_two_games_is_refused(runs, frozen_folder, tmp_path):
    with pytest.raises(NeurozooError, match="one game, but es/breakout/small/1 and ga/frostbite/large/1 play two"):
        film_grid([*runs, frozen_folder("large").parent], tmp_path / "x.mp4")


def test_two_folders_of_one_agent_are_refused(runs, tmp_path):
    with pytest.raises(NeurozooError, match="are both ga/breakout/small/1"):
        film_grid([*runs, runs[0]], tmp_path / "x.mp4")
