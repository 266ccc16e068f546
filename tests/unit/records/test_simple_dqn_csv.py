import json

import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.records.simple_dqn_csv import ADDITIONS, COLUMNS, read_reference, read_statistics, write_statistics

# The first rows of the original's pong.csv, and the row of its seaquest.csv in which no game ended.
ORIGINAL = """\
epoch,phase,steps,nr_games,average_reward,min_game_reward,max_game_reward,last_exploration_rate,total_train_steps,\
replay_memory_count,meanq,meancost,weight_updates,total_time,epoch_time,steps_per_second
0,random,50000,53,-20.5,-21,-19,1,0,50903,0.0001053,0,0,46.943894,46.94385,1065.1
1,train,250000,263,-20.25,-21,-16,0.775,250000,305715,-0.098,0.0108,62500,1049.6,1002.6,249.3
1,test,125000,150,-21.0,-21,-21,0.05,250000,433351,-0.098,0,62500,1400.0,350.1,357.0
2,train,250000,280,-20.0,-21,-15,0.55,500000,690000,-0.1,0.006,125000,2400.0,1000.0,250.0
2,test,125000,1,0,9223372036854775807,-9223372036854775808,0.05,500000,1000000,0.639986,0,125000,2900.0,464.4,269.1
"""


@pytest.fixture
def original(tmp_path):
    path = tmp_path / "pong.csv"
    path.write_text(ORIGINAL)
    return path


def phase(**values):
    names = ("steps", "nr_games", "average_reward", "min_game_reward", "max_game_reward", "last_exploration_rate",
             "total_train_steps", "replay_memory_count", "meanq", "meancost", "weight_updates", "epoch_time",
             "steps_per_second", "nr_lives_games")  # fmt: skip
    return dict.fromkeys(names, 0) | values


def record(iteration, *, frames, wall_time, **phases):
    columns = {f"{name}_{key}": value for name, values in phases.items() for key, value in phase(**values).items()}
    scores = {"format": 1, "frames": frames, "score": 1.0, "test_score": None}
    return scores | {"Iteration": iteration, "wall_time": wall_time} | columns


@pytest.fixture
def log(tmp_path):
    """A run of two epochs; in the second no test game ended."""
    records = [
        record(
            1,
            frames=6000,
            wall_time=10.0,
            random={"steps": 500, "nr_games": 2, "average_reward": -21.0, "total_train_steps": 1000, "meanq": 5},
            train={"steps": 1000, "nr_games": 3, "nr_lives_games": 7, "average_reward": -20.0, "meancost": 0.5},
            test={"steps": 300, "nr_games": 1, "average_reward": -19.0},
        ),
        record(
            2,
            frames=10000,
            wall_time=20.0,
            train={"steps": 1000, "nr_games": 4, "average_reward": -18.0, "meancost": 0.25},
            test={"steps": 300, "average_reward": None, "min_game_reward": None, "max_game_reward": None},
        ),
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return path


def test_original_is_read_with_its_cost_undone_and_its_largest_integers_gone(original):
    table = read_statistics(original)
    assert [*table.columns] == [*COLUMNS, *ADDITIONS]
    assert table["phase"].tolist() == ["random", "train", "test", "train", "test"]
    assert table["true_meancost"].tolist() == [0, 0.0108, 0, 0.012, 0]
    assert table["min_game_reward"].tolist()[:4] == [-21, -21, -21, -21]
    assert table.loc[4, ["min_game_reward", "max_game_reward"]].isna().all()
    assert table["wall_time"].isna().all()


def test_log_becomes_the_original_s_rows_with_additions_at_the_end(log, tmp_path):
    write_statistics(log, tmp_path / "phases.csv", seed=7)
    header, *rows = (tmp_path / "phases.csv").read_text().splitlines()
    assert header.startswith(ORIGINAL.splitlines()[0] + ",")
    assert header.removeprefix(ORIGINAL.splitlines()[0] + ",") == ",".join(ADDITIONS)
    rows = [dict(zip(header.split(","), row.split(","), strict=True)) for row in rows]
    assert [(row["epoch"], row["phase"]) for row in rows] == [
        ("0", "random"), ("1", "train"), ("1", "test"), ("2", "train"), ("2", "test")
    ]  # fmt: skip
    assert [float(row["meancost"]) for row in rows] == [0, 0.5, 0, 0.125, 0]
    assert [float(row["true_meancost"]) for row in rows] == [0, 0.5, 0, 0.25, 0]
    assert {name: rows[4][name] for name in ("average_reward", "min_game_reward", "max_game_reward")} == {
        "average_reward": "nan",
        "min_game_reward": "nan",
        "max_game_reward": "nan",
    }
    assert [row["frames"] for row in rows[1:]] == ["6000"] * 2 + ["10000"] * 2
    assert [float(row["total_time"]) for row in rows[1:]] == [10] * 2 + [20] * 2
    # The first report has the values at the end of the first epoch, not at the end of the random phase.
    assert [rows[0][name] for name in ("frames", "total_time", "meanq", "replay_memory_count")] == ["nan"] * 4
    assert [rows[0][name] for name in ("total_train_steps", "weight_updates", "steps")] == ["0", "0", "500"]
    assert rows[1]["nr_games"] == "3"
    assert rows[1]["nr_lives_games"] == "7"
    assert {row["seed"] for row in rows} == {"7"}


def test_what_was_written_is_read_back(log, tmp_path):
    write_statistics(log, tmp_path / "phases.csv")
    from pandas.testing import assert_frame_equal

    assert_frame_equal(read_statistics(tmp_path / "phases.csv"), read_statistics(log), check_dtype=False)


def test_folder_of_a_run_is_as_good_as_its_log_finished_or_not(log, tmp_path):
    finished = read_statistics(tmp_path)
    (tmp_path / "state").mkdir()
    log.rename(tmp_path / "state" / "log.jsonl")
    assert read_statistics(tmp_path).equals(finished)


def test_reference_counts_frames_from_the_first_random_step(original):
    curve = read_reference(original)
    assert curve["frames"].tolist() == [4 * 300_000, 4 * 550_000]
    assert curve["score"].tolist() == [-20.25, -20.0]
    test = read_reference(original, phase="test")
    assert test["score"].tolist() == [-21.0]  # in the other no game ended
    assert np.issubdtype(test["frames"].dtype, np.floating)


def test_a_file_without_phases_is_refused(original, tmp_path):
    def text(content):
        (tmp_path / "other").write_text(content)
        return tmp_path / "other"

    with pytest.raises(NeurozooError, match=r"nothing\.csv is missing\. Expected a CSV of simple_dqn, or a run's log"):
        read_statistics(tmp_path / "nothing.csv")
    with pytest.raises(NeurozooError, match="lacks steps, nr_games"):
        read_statistics(text("epoch,phase\n1,train\n"))
    with pytest.raises(NeurozooError, match="has no phases"):
        read_statistics(text('{"format": 1, "frames": 1, "score": 1, "test_score": 1}\n'))
    with pytest.raises(NeurozooError, match="is damaged"):
        read_statistics(text("epoch,phase\n1,train,3\n1,2,3,4\n"))
    with pytest.raises(NeurozooError, match=r"finished games in the phase 'play', but has none\. Its phases: random"):
        read_reference(original, phase="play")
