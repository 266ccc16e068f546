import re

import pytest
from neurozoo.algorithms.session import Report
from neurozoo.genomes.genome import Genome
from neurozoo.records.published_log import GA_FIELDS
from neurozoo.training import reporting
from neurozoo.training.reporting import RunReporter

STAMP = r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d [AP]M "


@pytest.fixture
def paths(tmp_path):
    (tmp_path / "state").mkdir()
    return {"kept": tmp_path / "state" / "train.log", "shown": tmp_path / "train.log"}


def reporter(paths, **changes):
    usual = {"budget": 1000, "unit": "frames", "progress": 0, "title": "ga/pong/small/1", "terminal": "log"}
    return RunReporter(fields=GA_FIELDS, report_name="generation", **paths, **usual | changes)


def record(**changes):
    facts = dict.fromkeys(GA_FIELDS, 1.0) | {
        "Iteration": 7,
        "TimestepsSoFar": 331_234,
        "TruncatedPopulationEliteSeeds": [1, *([10**6 + i, 0.002] for i in range(9))],
        "score": 12.5,
        "frames": 500,
        "test_score": 3.0,
    }
    return facts | changes


def reported(**changes):
    """A log's record, and the report that it is made from."""
    made = record(**changes)
    text = Genome.from_json(made["TruncatedPopulationEliteSeeds"]).to_text()
    report = Report(
        iteration=made["Iteration"],
        progress=made["frames"],
        score=made["score"],
        test_score=made["test_score"],
        fields=made,
        printed={"TruncatedPopulationEliteSeeds": text},
        notes=[f"Current elite: {text}"],
    )
    return made, report


def test_every_message_goes_to_both_logs_at_once_with_the_date_before_it(paths):
    log = reporter(paths)
    log.say("Hello")
    assert re.fullmatch(f"{STAMP}Hello\n", paths["shown"].read_text())
    assert paths["kept"].read_text() == paths["shown"].read_text()
    log.close()


def test_a_generation_is_reported_in_the_published_layout_with_its_whole_genome(paths):
    log = reporter(paths)
    log.report(*reported())
    log.close()
    text = paths["shown"].read_text()
    assert re.search(rf"{STAMP}\|  Iteration  +\|  7 {{7}} +\|", text)
    assert re.search(r"\|  TimestepsSoFar  +\|  3.31e\+05 +\|", text)
    genome = "(1, " + ", ".join(f"({10**6 + i}, 0.002)" for i in range(9)) + ")"
    assert f"Current elite: {genome}\n" in text
    rows = [line for line in text.splitlines() if "|" in line]
    assert len(rows) == len(GA_FIELDS)
    shown = [row.split("|")[1].strip() for row in rows]
    assert [name if len(name) <= 33 else "..." + name[-30:] for name in GA_FIELDS] == shown


def test_a_run_that_continues_keeps_the_log_that_snakemake_has_deleted(paths):
    log = reporter(paths)
    log.say("first")
    log.close()
    paths["shown"].unlink()
    log = reporter(paths)
    log.say("second")
    log.close()
    assert [line.split()[-1] for line in paths["shown"].read_text().splitlines()] == ["first", "second"]
    assert paths["kept"].read_text() == paths["shown"].read_text()


def test_a_run_that_begins_does_not_keep_the_log_of_another(paths):
    paths["shown"].write_text("of a run with other settings\n")
    log = reporter(paths)
    log.say("Hello")
    log.close()
    assert "other settings" not in paths["shown"].read_text()


def test_progress_is_a_line_every_few_seconds(paths, monkeypatch):
    clock = [0.0]  # threads of other tests may read it, too
    monkeypatch.setattr(reporting.time, "monotonic", lambda: clock[0])
    log = reporter(paths)
    for done, clock[0] in ((1, 1.0), (2, 6.0), (3, 7.0), (4, 12.0)):
        log.progress(40, steps=10 * done, seconds=2.0 * done, done=done, total=4)
    monkeypatch.undo()
    log.close()
    lines = [re.sub(STAMP, "", line) for line in paths["shown"].read_text().splitlines()]
    assert lines == [
        "Num timesteps: 20 per second: 5 num episodes finished: 2/4",
        "Num timesteps: 40 per second: 5 num episodes finished: 4/4",
    ]


def test_a_bar_starts_where_the_run_continues_and_never_goes_beyond_its_end(paths, capsys, monkeypatch):
    monkeypatch.setattr(reporting.sys.stderr, "isatty", lambda: True)
    log = reporter(paths, terminal="bar", progress=400)
    for _ in range(3):
        log.progress(300, steps=1, seconds=1.0, done=1, total=2)
    log.report(*reported())
    log.close()
    shown = capsys.readouterr().err
    assert "ga/pong/small/1" in shown
    assert "1.00k/1.00k" in shown
    assert "100%" in shown
    assert "generation 7, test score 3" in shown
    assert "PopulationEpRewMax" not in shown  # the table is for the log


@pytest.mark.parametrize("terminal", ["lines", "bar"])
def test_where_there_is_no_terminal_a_generation_is_a_line(paths, capsys, terminal):
    log = reporter(paths, terminal=terminal)
    log.progress(300, steps=1, seconds=1.0, done=1, total=2)
    log.report(*reported())
    log.close()
    assert capsys.readouterr().err == "ga/pong/small/1:  50%, generation 7, test score 3\n"


def test_many_generations_are_a_line_per_tenth_of_the_budget(paths, capsys):
    log = reporter(paths, terminal="lines")
    for generation in range(1, 101):
        log.report(*reported(frames=10 * generation, Iteration=generation))
    log.close()
    shares = [int(line.split(":")[1].partition("%")[0]) for line in capsys.readouterr().err.splitlines()]
    assert shares == [1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]


def test_the_whole_log_can_go_to_the_terminal(paths, capsys):
    log = reporter(paths, terminal="log")
    log.report(*reported())
    log.say("Hello")
    log.close()
    assert capsys.readouterr().err == paths["shown"].read_text()


def test_a_full_disk_is_explained(small_disk):
    outcome = small_disk(
        """
import json
from pathlib import Path
from neurozoo.training.reporting import RunReporter

folder = Path(sys.argv[1])
def start():
    return RunReporter(
        kept=folder / "kept.log", shown=folder / "shown.log", budget=1, unit="frames", progress=0, title="", fields=(),
        report_name="", terminal="lines",
    )
log = start()
log.say("first")
fill()
def fill_up():
    for _ in range(1000):
        log.say("x" * 100)
messages = [refusal(fill_up)]
log.close()
(folder / "shown.log").unlink()
free()
fill(0)
messages.append(refusal(start))
print(json.dumps(messages))
"""
    )
    assert all("could not be written: no space left on device" in message for message in outcome)
