import io
from pathlib import Path

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.plan.planned_runs import PlannedRun
from neurozoo.status import Overview, RunStatus, as_text, show
from neurozoo.status.table import as_renderable, short
from rich.console import Console


def status(number=1, state="running", **changes):
    place = {"job": "77", "host": "node7", "log": None, "note": "", "remaining": 7500.0 if state == "running" else None}
    progress = {"unit": "frames", "progress": 1_230_000, "budget": 6_000_000_000, "progress_per_second": 41_200.0}
    scores = {"score": 99.5, "test_score": 12.5, "generation": 3}
    return RunStatus(run=PlannedRun("ga", "pong", "small", number), state=state, **place | progress | scores | changes)


def drawn(overview, *, width=140, height=None):
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(as_renderable(overview, width=width, height=height))
    return console.file.getvalue()


@pytest.fixture
def failed(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("".join(f"line {number}\n" for number in range(30)))
    return status(2, "failed", note="The noise table\nis missing.", log=log)


@pytest.mark.parametrize("write", [as_text, drawn])
def test_a_table_has_a_line_for_each_run_with_everything_that_is_known(write, failed):
    text = write(Overview(0.0, (status(), failed)))
    line = next(line for line in text.splitlines() if line.startswith("ga/pong/small/1"))
    for part in ("running", "77", "1.23M of 6B", "0%", "41.2k", "12.5", "2 h 5 min", "node7"):
        assert part in line
    line = next(line for line in text.splitlines() if line.startswith("ga/pong/small/2"))
    assert "failed" in line
    assert "The noise table is missing." in line
    assert "2 runs: 1 running, 1 failed; 41.2k frames/s together; the running ones end within 2 h 5 min." in text


@pytest.mark.parametrize("write", [as_text, drawn])
def test_the_test_score_is_shown_and_the_own_score_only_without_a_test(write):
    text = write(Overview(0.0, (status(), status(2, test_score=None), status(3, test_score=None, score=None))))
    heading, *lines = [line for line in text.splitlines() if line.startswith(("run", "ga/"))]
    assert "test score" in heading
    assert "12.5" in lines[0]
    assert "99.5" not in lines[0]
    assert "own 99.5" in lines[1]
    assert "own" not in lines[2]


@pytest.mark.parametrize("write", [as_text, drawn])
def test_failed_runs_show_the_last_lines_of_their_logs(write, failed):
    text = write(Overview(0.0, (status(), failed)))
    assert "train.log" in text
    shown = [number for number in range(30) if f"line {number} " in text + " " or f"line {number}\n" in text]
    assert shown == list(range(20, 30))


def test_markup_in_notes_and_logs_is_only_text(tmp_path):
    (tmp_path / "train.log").write_text("[bold]KeyError[/wrong]\n")
    overview = Overview(0.0, (status(1, "failed", note="[/wrong] [red]x", log=tmp_path / "train.log"),))
    assert "[/wrong] [red]x" in drawn(overview)
    assert "[bold]KeyError[/wrong]" in drawn(overview)


def test_where_there_is_little_room_the_most_urgent_runs_are_shown():
    runs = [*(status(number, "done") for number in range(1, 50)), status(50, "running"), status(51, "stalled")]
    text = drawn(Overview(0.0, tuple(runs)), height=20)
    assert len(text.splitlines()) <= 20
    names = [line.split()[0].removeprefix("ga/pong/small/") for line in text.splitlines() if line.startswith("ga/")]
    assert names[:3] == ["51", "50", "1"]
    assert f"... and {51 - len(names)} more" in text


@pytest.mark.parametrize("width", [140, 110, 80])
def test_long_notes_are_cut_and_nothing_else(width):
    runs = (status(1, "failed", note="x" * 500), status(2, "waiting", note="y" * 500))
    text = drawn(Overview(0.0, runs), width=width, height=20)
    assert max(map(len, text.splitlines())) <= width
    lines = [line.split() for line in text.splitlines() if line.startswith("ga/")]
    assert [line[:2] for line in lines] == [["ga/pong/small/1", "failed"], ["ga/pong/small/2", "waiting"]]
    assert all(line[-1].endswith("…") and len(line[-1]) > 20 for line in lines)
    assert ("1.23M of 6B" in text) == (width > 80)
    assert "0%" in text


def test_a_very_narrow_terminal_cuts_names_too_and_a_single_look_shows_notes_in_full():
    overview = Overview(0.0, (status(1, "failed", note="x" * 500),))
    for width in (40, 60):
        lines = drawn(overview, width=width, height=20).splitlines()
        assert max(map(len, lines)) <= width
        assert ["failed" in line for line in lines if line.startswith("ga/pong")] == [True]
    assert drawn(overview, width=100).count("x") == 500


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (940, "940"), (12_345, "12.3k"), (999_900, "1M"), (6e9, "6B"), (1_230_000, "1.23M")]
)
def test_numbers_are_short(number, text):
    assert short(number) == text


def test_watching_into_a_file_writes_only_when_a_state_changes_and_ends_when_all_is_done():
    looks = iter(
        Overview(0.0, (status(state=state, progress=frames),))
        for state, frames in [("queued", 0), ("running", 1), ("running", 2), ("running", 3), ("done", 4)]
    )
    output = io.StringIO()
    show(lambda: next(looks), watch=0.1, output=output)
    words = [line.split()[1] for line in output.getvalue().splitlines() if line.startswith("ga/")]
    assert words == ["queued", "running", "done"]


def test_a_single_look_does_not_wait_and_looking_without_a_pause_is_refused():
    output = io.StringIO()
    show(lambda: Overview(0.0, (status(),)), output=output)
    assert "1 run: 1 running" in output.getvalue()
    with pytest.raises(NeurozooError, match="--watch is 0 seconds, but should be at least"):
        show(lambda: Overview(0.0, ()), watch=0)


def test_json_has_the_tail_of_a_failed_log(failed):
    facts = Overview(5.0, (status(), failed)).to_json()
    assert facts["states"] == {"failed": 1, "stalled": 0, "running": 1, "queued": 0, "waiting": 0, "done": 0}
    first, second = facts["runs"]
    assert (first["algo"], first["game"], first["model"], first["run"]) == ("ga", "pong", "small", 1)
    assert (first["state"], first["remaining"], first["log_tail"]) == ("running", 7500.0, [])
    assert second["log_tail"] == [f"line {number}" for number in range(20, 30)]
    assert Path(second["log"]).name == "train.log"
