"""From what files say about a run to one word."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from neurozoo.configuration import PlannedRun
from neurozoo.status.evidence import Evidence, last_lines

State = Literal["failed", "stalled", "running", "queued", "waiting", "done"]
STATES: tuple[State, ...] = ("failed", "stalled", "running", "queued", "waiting", "done")  # most urgent first

LOST = 120.0  # seconds without a sign of life; a sign comes every 10 seconds, but file systems lag behind
NO_NEWS = 3600.0  # seconds in which no episode has finished: longer than any episode takes
STARTING = 300.0  # seconds from the start of a job to the first sign of its training, or to the report of its failure
ERROR_LINES = 50  # of a log's end in which an error is looked for
ERROR_WORDS = re.compile(
    r"^(\w+\.)*\w+(Error|Exception)\b|\bKilled\b|\bkilled\b|oom|CANCELLED|[Nn]o space left|exceeded"
)


@dataclass(frozen=True)
class RunStatus:
    """What has become of one run.

    Attributes:
        run: Which one.
        state: `waiting` (nothing has been submitted), `queued` (the scheduler has it), `running`, `stalled` (it runs,
            but gives no signs), `failed` or `done`.
        note: Why, where that is not obvious: an error's sentence, or what it waits for.
        job: The scheduler's number of its job.
        host: Where it runs or ran last.
        frames: Frames so far.
        budget: Frames that it shall have.
        frames_per_second: Now, or of the whole run if it does not run now; None if nothing is known.
        score: Score of the last generation.
        generation: Finished generations.
        remaining: Seconds to its end at this speed, if it runs.
        log: The log of a failure.
    """

    run: PlannedRun
    state: State
    note: str
    job: str | None
    host: str | None
    frames: int
    budget: int
    frames_per_second: float | None
    score: float | None
    generation: int
    remaining: float | None
    log: Path | None


def judge(evidence: Evidence, *, budget: int, now: float) -> tuple[State, str]:
    """Decides what a run is doing.

    What its training has said itself decides as long as nothing happened since: no new job, no failure of another
    attempt.

    Args:
        evidence: As gathered.
        budget: Frames that the run shall have.
        now: Seconds since 1970.

    Returns:
        The state, and the reason for people.
    """
    sign, job = evidence.sign, evidence.under_way
    record_frames = (evidence.record or {}).get("frames")
    if evidence.has_results and (record_frames is None or record_frames >= budget):
        return "done", ""
    is_new_attempt = job is not None and (sign is None or job.time > sign.time)
    if sign is not None and sign.ended is None and not is_new_attempt:
        return _alive_or_not(evidence, now)
    if is_new_attempt:
        if job.number is not None:
            return "queued", ""
        if now - job.time < STARTING:
            return "running", "starts"
        return "stalled", f"a job was started {ago(now - job.time)} ago, but its training has given no sign of life"
    if sign is not None and sign.ended == "slice" and sign.facts.get("job") and not _failed_since(evidence, sign.time):
        return "queued", "waits for its next slice of time"
    if _waits_in_queue(evidence):
        return "queued", ""
    if job is not None and sign.ended == "finished" and now - sign.time < LOST:
        return "running", "is being completed"
    return _ended(evidence)


def _alive_or_not(evidence: Evidence, now: float) -> tuple[State, str]:
    sign = evidence.sign
    who = f"process {sign.facts['process']} on {sign.facts['host']}"
    if sign.is_alive is False:
        return "failed", f"{who} ended without a word: it was killed, or had no memory left. The same command continues"
    if evidence.failed is not None and evidence.failed.time > sign.time:
        return "failed", f"{who} ended without a word, and the job failed: a limit, or a lost node"
    if now - sign.time > LOST:
        return "stalled", f"{who} has given no sign of life for {ago(now - sign.time)}"
    if now - sign.facts["last_news"] > NO_NEWS:
        return "stalled", f"no episode has finished for {ago(now - sign.facts['last_news'])}"
    return "running", ""


def _waits_in_queue(evidence: Evidence) -> bool:
    """Says whether the newest job of Grid Engine has neither begun to train nor failed (a job may be deleted, too)."""
    submitted = evidence.submitted
    later = [event.time for event in (evidence.sign, evidence.failed) if event is not None]
    return submitted is not None and submitted.time > max(later, default=0.0)


def _failed_since(evidence: Evidence, time: float) -> bool:
    return evidence.failed is not None and evidence.failed.time > time + STARTING


def _ended(evidence: Evidence) -> tuple[State, str]:
    """Judges a run of which no job is known to be under way."""
    sign, complaint = evidence.sign, evidence.complaint
    if sign is not None and sign.ended is not None and not _failed_since(evidence, sign.time):
        is_newer = complaint is not None and complaint[0] > sign.time + 5.0  # the log is written right after the sign
        if sign.ended in ("slice", "stopped") and not is_newer:
            return "waiting", sign.facts.get("error") or ""
        if sign.ended == "failed" and not is_newer:
            return "failed", sign.facts.get("error") or ""
    if complaint is not None:
        return "failed", complaint[1]
    if evidence.failed is not None and (sign is None or evidence.failed.time > sign.time):
        return "failed", "its job failed before the training began"
    return "waiting", ""


def status_of(run: PlannedRun, evidence: Evidence, *, budget: int, now: float) -> RunStatus:
    """Puts a run's figures beside its state; arguments as in `judge`."""
    state, note = judge(evidence, budget=budget, now=now)
    sentence = evidence.complaint or (evidence.sign and evidence.sign.facts.get("error"))
    if state == "failed" and not sentence and evidence.log is not None:
        line = error_line(last_lines(evidence.log, ERROR_LINES))
        note = f"{note}. Its log says: {line}" if line else note
    sign, record = evidence.sign, evidence.record or {}
    frames = int(record.get("frames") or 0)
    speed = frames / record["TimeElapsedTotal"] if frames and record.get("TimeElapsedTotal") else None
    remaining = None
    if state == "running" and sign is not None and sign.ended is None:
        frames = max(frames, int(sign.facts["frames"]))
        speed = sign.facts["frames_per_second"] or speed
        remaining = max(budget - frames, 0) / speed if speed else None
    return RunStatus(
        run=run,
        state=state,
        note=note,
        job=_job_number(evidence, state),
        host=sign.facts["host"] if sign is not None and state in ("running", "stalled", "failed") else None,
        frames=frames,
        budget=budget,
        frames_per_second=speed,
        score=record.get("score"),
        generation=int(record.get("Iteration") or 0),
        remaining=remaining,
        log=evidence.log if state in ("failed", "stalled") else None,
    )


def error_line(lines: list[str]) -> str | None:
    """Finds the last line of a log that sounds like an error: of Python, the kernel or a scheduler."""
    return next((line.strip() for line in reversed(lines) if ERROR_WORDS.search(line)), None)


def _job_number(evidence: Evidence, state: State) -> str | None:
    if state in ("waiting", "done"):
        return None
    sign, job = evidence.sign, evidence.under_way
    # An attempt that failed counts for its failure only: the next one may have been submitted within the same second.
    jobs = [job, evidence.submitted, evidence.failed if state == "failed" else None]
    known = [(found.time, found.number) for found in jobs if found is not None and found.number is not None]
    is_before = state != "failed" and job is not None and sign is not None and job.time > sign.time  # an attempt before
    if sign is not None and sign.facts.get("job") and not is_before:
        known.append((sign.time, str(sign.facts["job"])))
    return max(known)[1] if known else None


def ago(seconds: float) -> str:
    """Writes a time for people, such as `3 d 4 h`, `2 h 5 min` or `45 s`."""
    seconds = max(0, round(seconds))
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    if seconds < 86400:
        return f"{seconds // 3600} h {seconds % 3600 // 60} min"
    return f"{seconds // 86400} d {seconds % 86400 // 3600} h"
