"""`episodes.csv` has the games of all reports, one after the other."""

import json

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.records.episodes import write_episodes
from neurozoo.records.run_log import parse_log

HEADER = "time_s,frames,learner,actor,environment,score,clipped_return,steps,games"
FIRST = [[400, 0, 0, 3, -21.0, -21.0, 100, 1], [480, 0, 0, 1, 7.5, 1.0, 60, 1]]
SECOND = [[2000, 1, 3, 40, 1.0, 1.0, 9, 2]]


def report(iteration, **fields):
    standard = {"format": 1, "frames": 1000 * iteration, "score": 1, "test_score": None, "Iteration": iteration}
    return standard | {"TimeElapsedTotal": 2.5 * iteration} | fields


def written(folder, *reports):
    log = folder / "log.jsonl"
    log.write_text("".join(json.dumps(each) + "\n" for each in reports))
    write_episodes(log, folder / "episodes.csv")
    return (folder / "episodes.csv").read_text().splitlines()


def test_each_game_is_a_row_with_the_time_of_its_report(tmp_path):
    assert written(tmp_path, report(1, Episodes=FIRST), report(2, Episodes=[]), report(3, Episodes=SECOND)) == [
        HEADER,
        "2.5,400,0,0,3,-21.0,-21.0,100,1",
        "2.5,480,0,0,1,7.5,1.0,60,1",
        "7.5,2000,1,3,40,1.0,1.0,9,2",
    ]


@pytest.mark.parametrize(
    "rows", [5, {}, [5], [FIRST[0][:-1]], [["400", *FIRST[0][1:]]], [[None, *FIRST[0][1:]]], [[*FIRST[0], 1]]]
)
def test_damaged_rows_are_named(tmp_path, rows):
    with pytest.raises(NeurozooError, match=r"log\.jsonl is damaged: a row of its Episodes should be the numbers"):
        written(tmp_path, report(1, Episodes=rows), report(2))
    assert not (tmp_path / "episodes.csv").exists()


def test_metrics_leave_the_games_out(tmp_path):
    written(tmp_path, report(1, Episodes=FIRST, games=2))
    identity = {"algo": "impala", "game": "pong", "model": "impala_shallow", "run": 1, "protocol": "machado2018"}
    parse_log(tmp_path / "log.jsonl", tmp_path / "metrics.csv", identity=identity)
    header = (tmp_path / "metrics.csv").read_text().splitlines()[0].split(",")
    assert "games" in header
    assert "Episodes" not in header
