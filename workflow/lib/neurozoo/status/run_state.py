"""A run's state, such as `running` or `failed`, from what its files say."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from neurozoo.plan.planned_runs import PlannedRun
from neurozoo.status.run_files import RunFiles, last_lines
from neurozoo.status.workflow_files import Job
from neurozoo.text import duration_text
from neurozoo.training.heartbeat import LastHeartbeat

State = Literal["failed", "stalled", "running", "queued", "waiting", "done"]
STATES: tuple[State, ...] = ("failed", "stalled", "running", "queued", "waiting", "done")  # most urgent first

LOST = 120.0  # seconds without a heartbeat; one comes every 10 seconds, but file systems lag behind
NO_NEWS = 3600.0  # seconds without a finished episode: longer than any episode takes
STARTING = 300.0  # seconds from the start of a job to its training's first heartbeat, or to the report of its failure
ERROR_LINES = 50  # lines at the end of a log that are searched for an error
ERROR_WORDS = re.compile(
    r"^(\w+\.)*\w+(Error|Exception)\b|\bKilled\b|\bkilled\b|oom|CANCELLED|[Nn]o space left|exceeded"
)


@dataclass(frozen=True)
class RunStatus:
    """The state and progress of one run."""

    run: PlannedRun
    # `waiting` (no job has been submitted), `queued` (the scheduler has its job), `running`, `stalled` (it should be
    # running, but sends no heartbeat or finishes no episode), `failed` or `done`.
    state: State
    note: str  # the reason where it is not obvious: an error message, or what the run waits for
    job: str | None  # the scheduler's number of its job
    host: str | None  # host on which it runs or ran last
    unit: str  # what its budget counts: `frames` or `evaluations`
    progress: int  # how much of its budget is spent, in that unit
    budget: int  # its whole budget
    # Current speed, or mean speed of the whole run if it does not run now; None if unknown.
    progress_per_second: float | None
    score: float | None  # the score by which the run judged itself after the last generation
    test_score: float | None  # its test score, which selects nothing; None if there was no test yet
    generation: int  # number of finished generations
    remaining: float | None  # seconds to its end at this speed; None unless it runs
    log: Path | None  # the log that explains a failed or stalled run


def state_of_run(files: RunFiles, *, budget: int, now: float) -> tuple[State, str]:
    """Decides on the state of a run, and says the reason in words.

    The training's own heartbeat decides, unless something happened after it: a new job, or the failure of another
    attempt. `now` is in seconds since 1970.
    """
    heartbeat, job = files.heartbeat, files.under_way
    progress = (files.record or {}).get("progress")
    if files.has_results and (progress is None or progress >= budget):
        return "done", ""
    new_attempt = job if job is not None and (heartbeat is None or job.time > heartbeat.time) else None
    if new_attempt is not None and new_attempt.time > now and heartbeat is not None and _is_now(heartbeat, now):
        new_attempt = None  # the clock was put back while this job was running
    if new_attempt is not None:
        if new_attempt.number is not None:
            return "queued", ""
        if now - new_attempt.time < STARTING:
            return "running", "starting"
        return (
            "stalled",
            f"a job started {duration_text(now - new_attempt.time)} ago, but its training has sent no heartbeat",
        )
    if heartbeat is not None and heartbeat.ended is None:
        return _alive_or_not(heartbeat, files.failed, now)
    is_continued = heartbeat is not None and heartbeat.ended == "slice" and heartbeat.facts.get("job")
    if heartbeat is not None and is_continued and not _failed_since(files, heartbeat.time):
        return "queued", "waits for its next slice of time"
    later = [event.time for event in (heartbeat, files.failed) if event is not None]
    if files.submitted is not None and files.submitted.time > max(later, default=0.0):  # deleted jobs count as failed
        return "queued", ""
    if job is not None and heartbeat is not None and heartbeat.ended == "finished" and _is_now(heartbeat, now):
        return "running", "finishing"
    return _ended(files)


def _is_now(heartbeat: LastHeartbeat, now: float) -> bool:
    return abs(now - heartbeat.time) < LOST


def _alive_or_not(heartbeat: LastHeartbeat, failed: Job | None, now: float) -> tuple[State, str]:
    who = f"process {heartbeat.facts['process']} on {heartbeat.facts['host']}"
    if heartbeat.is_alive is False:
        reason = "it was killed or ran out of memory. The same command continues the run"
        return "failed", f"{who} ended without an error message: {reason}"
    if failed is not None and failed.time > heartbeat.time:
        return "failed", f"{who} ended without an error message and its job failed: it hit a limit or its node was lost"
    if (age := now - heartbeat.time) > LOST:
        return "stalled", f"{who} has sent no heartbeat for {duration_text(age)}"
    if age < -LOST:
        return "stalled", f"{who} sent its last heartbeat {duration_text(-age)} after now: a clock was ahead"
    if now - heartbeat.facts["last_news"] > NO_NEWS:
        return "stalled", f"no episode has finished for {duration_text(now - heartbeat.facts['last_news'])}"
    return "running", ""


def _failed_since(files: RunFiles, time: float) -> bool:
    return files.failed is not None and files.failed.time > time + STARTING


def _ended(files: RunFiles) -> tuple[State, str]:
    """Decides on the state of a run that has no running or submitted job."""
    heartbeat, complaint = files.heartbeat, files.complaint
    if heartbeat is not None and heartbeat.ended is not None and not _failed_since(files, heartbeat.time):
        # The log is written right after the last heartbeat.
        is_newer = complaint is not None and complaint[0] > heartbeat.time + 5.0
        if heartbeat.ended in ("slice", "stopped") and not is_newer:
            return "waiting", heartbeat.facts.get("error") or ""
        if heartbeat.ended == "failed" and not is_newer:
            return "failed", heartbeat.facts.get("error") or ""
    if complaint is not None:
        return "failed", complaint[1]
    if files.failed is not None and (heartbeat is None or files.failed.time > heartbeat.time):
        return "failed", "its job failed before the training began"
    return "waiting", ""


def status_of(run: PlannedRun, files: RunFiles, *, budget: int, unit: str, now: float) -> RunStatus:
    """Returns a run's state with its progress; arguments as in `state_of_run`, and the unit of the budget."""
    state, note = state_of_run(files, budget=budget, now=now)
    sentence = files.complaint or (files.heartbeat and files.heartbeat.facts.get("error"))
    if state == "failed" and not sentence and files.log is not None:
        line = error_line(last_lines(files.log, ERROR_LINES))
        note = f"{note}. Its log says: {line}" if line else note
    heartbeat, record = files.heartbeat, files.record or {}
    progress = int(record.get("progress") or 0)
    speed = progress / record["TimeElapsedTotal"] if progress and record.get("TimeElapsedTotal") else None
    remaining = None
    if state == "running" and heartbeat is not None and heartbeat.ended is None:
        progress = max(progress, int(heartbeat.facts["progress"]))
        speed = heartbeat.facts["progress_per_second"] or speed
        remaining = max(budget - progress, 0) / speed if speed else None
    return RunStatus(
        run=run,
        state=state,
        note=note,
        job=_job_number(files, state),
        host=heartbeat.facts["host"] if heartbeat is not None and state in ("running", "stalled", "failed") else None,
        unit=unit,
        progress=progress,
        budget=budget,
        progress_per_second=speed,
        score=record.get("score"),
        test_score=record.get("test_score"),
        generation=int(record.get("Iteration") or 0),
        remaining=remaining,
        log=files.log if state in ("failed", "stalled") else None,
    )


def error_line(lines: list[str]) -> str | None:
    """Finds the last line of a log that looks like an error of Python, the kernel or a scheduler."""
    return next((line.strip() for line in reversed(lines) if ERROR_WORDS.search(line)), None)


def _job_number(files: RunFiles, state: State) -> str | None:
    if state in ("waiting", "done"):
        return None
    heartbeat, job = files.heartbeat, files.under_way
    # A failed job is named only if the run's state is `failed`: the next job may have come within the same second.
    jobs = [job, files.submitted, files.failed if state == "failed" else None]
    known = [(found.time, found.number) for found in jobs if found is not None and found.number is not None]
    is_outdated = state != "failed" and job is not None and heartbeat is not None and job.time > heartbeat.time
    if heartbeat is not None and heartbeat.facts.get("job") and not is_outdated:
        known.append((heartbeat.time, str(heartbeat.facts["job"])))
    return max(known)[1] if known else None
