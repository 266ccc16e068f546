#!/usr/bin/env python3
"""Prints `success`, `failed` or `running` for one job of Grid Engine.

What the job's script noted down decides; qstat only says whether a job without a note is still alive. On doubt the
answer is `running`, since Snakemake ends the whole workflow when this command fails.
"""

import signal

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for Snakemake, which wants an answer

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from jobs import FOLDER, Listed, exit_code, listed, qstat, read_record, site, write


def judge(code: int | None, found: Listed | None, *, silent_for: float, names: dict) -> tuple[str, str]:
    """Decides what became of a job.

    Args:
        code: Exit code that the job's script noted down, if it did.
        found: What qstat lists; None if it does not list the job.
        silent_for: Seconds since the job was first found missing, or on a node that does not answer; 0 if it is well.
        names: As returned by `site`; not needed for a job on a node that answers.

    Returns:
        Snakemake's word, and the reason for people where it is not obvious.
    """
    if code is not None:
        return ("success", "") if code == 0 else ("failed", f"ended with exit code {code}")
    if found is None:
        if silent_for < names["grace"]:
            return "running", ""
        return "failed", "left the queue without an exit code: time or memory limit, or qdel (qacct -j says which)"
    if "E" in found.state:  # never ends by itself
        return "failed", f"is in error state {found.state} and is deleted"
    if "u" in found.queue_state and silent_for >= names["patience"]:
        return "failed", f"is given up: its node has not answered for {silent_for:.0f} s"
    return "running", ""


def explanation(job: str) -> str:
    """Returns Grid Engine's own words about an error state."""
    answer = subprocess.run(["qstat", "-j", job], capture_output=True, text=True, timeout=30).stdout
    return " ".join(line.partition(":")[2].strip() for line in answer.splitlines() if line.startswith("error reason"))


def status(job: str) -> tuple[str, str]:
    """Looks a job up; see `judge`."""
    facts = read_record(job)
    if facts is None:
        return "failed", f"is not on record in {FOLDER}"
    if (code := exit_code(facts["token"])) is not None:
        return finished(code, facts["log"])
    if (listing := qstat()) is None:
        return "running", ""
    found = listed(listing, job)
    is_well = found is not None and "u" not in found.queue_state
    silent_for = silence(FOLDER / f"{job}.silent", is_well=is_well)
    if (code := exit_code(facts["token"])) is not None:  # it may have ended between the two looks
        return finished(code, facts["log"])
    word, reason = judge(None, found, silent_for=silent_for, names={} if is_well else site())
    if found is not None and word == "failed":
        if said := explanation(job):
            reason += f" ({said})"
        subprocess.run(["qdel", job], capture_output=True)
    return word, f"{reason}; its log is {facts['log']}" if reason else ""


def silence(mark: Path, *, is_well: bool) -> float:
    """Returns for how many seconds nothing is known of a job; while qstat itself does not answer, none are counted.

    They are counted by the time since this machine was started, which nobody sets.
    """
    now = time.monotonic()
    if is_well:
        mark.unlink(missing_ok=True)
        return 0
    if not mark.exists() or float(mark.read_text()) > now:  # started again
        write(mark, str(now))
    return now - float(mark.read_text())


def full_disk(folder: str) -> str:
    """Says so if nothing can be written to a folder: then no log of the job tells it."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(2**20))
    except OSError as error:
        return f"; {folder} cannot be written to ({error.strerror}), make room and start again"
    return ""


def finished(code: int, log: str) -> tuple[str, str]:
    """Judges by the note; what Grid Engine kept of a good job's output is of no use to anybody."""
    word, reason = judge(code, None, silent_for=0, names={})
    if word == "success" and os.path.exists(log):
        os.unlink(log)
    if word == "failed":
        reason += full_disk(os.path.dirname(log) or ".")
    return word, f"{reason}; its log is {log}" if reason else ""


def main() -> None:
    """Answers for the job whose id is the last argument."""
    job = sys.argv[-1]
    try:
        word, reason = status(job)
    except Exception as error:
        word, reason = "running", f"could not be looked up: {error!r}"
    if reason:
        print(f"Job {job} {reason}.", file=sys.stderr)
    print(word)


if __name__ == "__main__":
    main()
