import itertools

import pytest
from neurozoo.plan.planned_runs import PlannedRun
from neurozoo.status.run_files import RunFiles
from neurozoo.status.run_state import error_line, state_of_run, status_of
from neurozoo.status.workflow_files import Job
from neurozoo.text import duration_text
from neurozoo.training.heartbeat import LastHeartbeat

NOW = 1_000_000.0
RECORD = {"unit": "frames", "progress": 600, "score": 12.5, "test_score": 9.0, "Iteration": 3, "TimeElapsedTotal": 60.0}
FACTS = {
    "host": "node7", "process": 42, "job": None, "progress": 800, "progress_per_second": 20.0, "last_news": NOW - 10,
    "ended": None, "error": None,
}  # fmt: skip


def beat(age=5.0, is_alive=None, **facts):
    return LastHeartbeat(NOW - age, FACTS | facts, is_alive)


def job(age, number=None):
    return Job(NOW - age, number)


def state_of(**evidence):
    return state_of_run(RunFiles(**evidence), budget=1000, now=NOW)[0]


FINISHED = RECORD | {"progress": 1001}
ENDED_BY_SLICE = {"ended": "slice", "job": "7", "error": "Stopped by SIGUSR1."}


@pytest.mark.parametrize(
    ("state", "evidence"),
    [
        # Nothing has happened.
        ("waiting", {}),
        ("waiting", {"record": RECORD}),
        # Results.
        ("done", {"has_results": True}),
        ("done", {"has_results": True, "record": FINISHED}),
        ("done", {"has_results": True, "record": FINISHED, "under_way": job(3), "heartbeat": beat()}),
        # A larger budget.
        ("waiting", {"has_results": True, "record": RECORD, "heartbeat": beat(900, ended="finished")}),
        ("running", {"has_results": True, "record": RECORD, "heartbeat": beat()}),
        # A job, and nothing from the training yet.
        ("queued", {"under_way": job(9999, "7")}),
        ("queued", {"submitted": job(9999, "7")}),
        ("failed", {"submitted": job(99, "7"), "failed": job(50, "7")}),  # deleted from the queue
        ("queued", {"submitted": job(20, "8"), "failed": job(50, "7")}),
        ("running", {"under_way": job(30)}),
        ("stalled", {"under_way": job(900)}),
        # Heartbeats.
        ("running", {"heartbeat": beat()}),
        ("running", {"heartbeat": beat(100)}),
        ("stalled", {"heartbeat": beat(121)}),
        ("running", {"heartbeat": beat(5, is_alive=True)}),
        ("stalled", {"heartbeat": beat(121, is_alive=True)}),
        ("stalled", {"heartbeat": beat(last_news=NOW - 3601)}),
        ("failed", {"heartbeat": beat(5, is_alive=False)}),
        ("stalled", {"heartbeat": beat(-7200)}),  # written by a clock that was ahead, and none since
        ("running", {"heartbeat": beat(5), "under_way": job(-7200, "7")}),  # the clock was put back meanwhile
        ("queued", {"under_way": job(-7200, "7")}),
        ("waiting", {"heartbeat": beat(-7200, ended="finished"), "under_way": job(99)}),
        ("running", {"heartbeat": beat(), "under_way": job(99)}),
        # Killed by a limit on another node: Snakemake reports it before the heartbeat is too old.
        ("failed", {"heartbeat": beat(50), "failed": job(20, "7")}),
        ("running", {"heartbeat": beat(5), "failed": job(20, "6")}),  # an earlier attempt
        # Lost, and submitted again.
        ("queued", {"heartbeat": beat(900), "failed": job(800, "7"), "under_way": job(799, "8")}),
        ("queued", {"heartbeat": beat(900, is_alive=False), "under_way": job(3, "8")}),
        ("running", {"heartbeat": beat(900, is_alive=False), "under_way": job(3)}),
        # The training has ended.
        ("failed", {"heartbeat": beat(900, ended="failed", error="no")}),
        ("failed", {"heartbeat": beat(2, ended="failed", error="no"), "under_way": job(99)}),  # not cleaned up yet
        ("waiting", {"heartbeat": beat(900, ended="stopped")}),
        ("waiting", {"heartbeat": beat(900, ended="stopped"), "failed": job(895)}),  # the same end, seen by Snakemake
        ("failed", {"heartbeat": beat(900, ended="stopped"), "failed": job(5)}),  # another attempt
        ("running", {"heartbeat": beat(5, ended="finished"), "under_way": job(99)}),
        ("waiting", {"heartbeat": beat(900, ended="finished"), "under_way": job(999)}),
        # Slices.
        ("queued", {"heartbeat": beat(900, **ENDED_BY_SLICE)}),
        ("waiting", {"heartbeat": beat(900, ended="slice")}),  # there was no scheduler to start it again
        ("failed", {"heartbeat": beat(900, **ENDED_BY_SLICE), "failed": job(5, "7")}),
        ("running", {"heartbeat": beat(900, **ENDED_BY_SLICE), "under_way": job(5)}),  # the next one starts
        # Failures before the training began.
        ("failed", {"complaint": (NOW - 5, "The noise table is missing.")}),
        ("failed", {"failed": job(5)}),
        ("failed", {"heartbeat": beat(900, ended="stopped"), "complaint": (NOW - 5, "The noise table is missing.")}),
        ("waiting", {"heartbeat": beat(900, ended="stopped"), "complaint": (NOW - 899, "Stopped by SIGTERM.")}),
        ("queued", {"complaint": (NOW - 50, "The noise table is missing."), "under_way": job(5, "8")}),
    ],
)
def test_what_the_files_say_becomes_one_word(state, evidence):
    assert state_of(**evidence) == state


def test_every_combination_of_evidence_gets_an_answer():
    ends = [None, "finished", "slice", "stopped", "failed"]
    beats = [None, *(beat(age, alive, ended=end) for age in (5, 900) for alive in (True, False, None) for end in ends)]
    jobs = [None, job(3), job(3, "7"), job(9999), job(9999, "7")]
    for has_results, one, way, submitted, failed, complaint in itertools.product(
        (False, True), beats, jobs, jobs, jobs, (None, (NOW - 20, "no"))
    ):
        evidence = RunFiles(has_results, RECORD, one, way, submitted, failed, complaint)
        status = status_of(PlannedRun("ga", "pong", "small", 1), evidence, budget=1000, unit="frames", now=NOW)
        assert status.state in ("waiting", "queued", "running", "stalled", "failed")
        assert status.note or status.state in ("waiting", "queued", "running", "failed")


def test_the_reason_says_who_was_lost_and_since_when():
    note = state_of_run(RunFiles(heartbeat=beat(7300)), budget=1000, now=NOW)[1]
    assert note == "process 42 on node7 has sent no heartbeat for 2 h 1 min"
    note = state_of_run(RunFiles(heartbeat=beat(-7300)), budget=1000, now=NOW)[1]
    assert note == "process 42 on node7 sent its last heartbeat 2 h 1 min after now: a clock was ahead"
    note = state_of_run(RunFiles(heartbeat=beat(5, is_alive=False)), budget=1000, now=NOW)[1]
    assert note.startswith("process 42 on node7 ended without an error message")
    assert state_of_run(RunFiles(complaint=(NOW, "Game 'pnog'")), budget=1000, now=NOW) == ("failed", "Game 'pnog'")


def status(**evidence):
    return status_of(PlannedRun("ga", "pong", "small", 1), RunFiles(**evidence), budget=1000, unit="frames", now=NOW)


def test_a_running_run_is_as_far_as_its_last_sign_says():
    running = status(record=RECORD, heartbeat=beat(job="7"))
    assert (running.progress, running.progress_per_second, running.remaining) == (800, 20.0, 10.0)
    assert (running.score, running.test_score, running.generation) == (12.5, 9.0, 3)
    assert (running.host, running.job) == ("node7", "7")


def test_a_run_that_does_not_run_is_as_far_as_its_last_report_and_has_no_end_in_sight():
    stopped = status(record=RECORD, heartbeat=beat(900, ended="stopped", job="7"))
    assert (stopped.progress, stopped.progress_per_second, stopped.remaining) == (600, 10.0, None)
    assert (stopped.host, stopped.job) == (None, None)


def test_before_the_first_episodes_the_speed_is_that_of_the_run_so_far():
    assert status(record=RECORD, heartbeat=beat(progress=600, progress_per_second=0.0)).remaining == pytest.approx(40)
    assert status(heartbeat=beat(progress=0, progress_per_second=0.0)).remaining is None


def test_the_newest_job_is_named():
    assert status(heartbeat=beat(900, job="7"), under_way=job(3, "8")).job == "8"
    assert status(heartbeat=beat(5, job="8"), under_way=job(99), submitted=job(99, "7")).job == "8"
    assert status(heartbeat=beat(900, job="7"), failed=job(8, "7")).job == "7"


def test_the_job_of_an_attempt_that_failed_is_not_that_of_the_next_one():
    # Noticed after the next was submitted.
    before = {"heartbeat": beat(40, ended="stopped", job="7"), "failed": job(2, "7")}
    queued = status(**before, under_way=job(3, "8"))
    assert (queued.state, queued.job) == ("queued", "8")
    starts = status(**before, under_way=job(1))  # Slurm's job reports its number only once it trains
    assert (starts.state, starts.job) == ("running", None)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.4, "59 s"), (60, "1 min"), (3599, "59 min"), (7500, "2 h 5 min"), (273_600, "3 d 4 h")],
)
def test_a_time_for_people(seconds, text):
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    "line",
    [
        "ModuleNotFoundError: No module named 'tensorflow'",
        "numpy.exceptions.AxisError: axis 3",
        "bash: line 1: 4711 Killed    python train.py",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=5.0.",
        "slurmstepd: error: *** JOB 5 ON node1 CANCELLED AT 2026-11-21T15:00:00 DUE TO TIME LIMIT ***",
        "OSError: [Errno 28] No space left on device",
    ],
)
def test_the_line_with_the_error_is_found_among_others(line, tmp_path):
    shown = f"  {line}" if "Error" not in line else line
    lines = ["Error is a word", "ValueError: an earlier one", shown, "Shutting down"]
    assert error_line(lines) == line
    (tmp_path / "train.sge-7.log").write_text("\n".join(lines))
    failed = status(failed=job(5, "7"), log=tmp_path / "train.sge-7.log")
    assert (failed.state, failed.log) == ("failed", tmp_path / "train.sge-7.log")
    assert failed.note == f"its job failed before the training began. Its log says: {line}"


def test_a_log_without_an_error_adds_nothing(tmp_path):
    (tmp_path / "train.log").write_text("all is well\n")
    assert status(failed=job(5), log=tmp_path / "train.log").note == "its job failed before the training began"
    assert status(failed=job(5), log=tmp_path / "gone.log").note == "its job failed before the training began"
