#!/usr/bin/env python3
"""Prints `success`, `failed` or `running` for one job of Grid Engine.

What the job's script noted down decides; qstat only says whether a job without a note is still alive. On doubt the
answer is `running`, since Snakemake ends the whole workflow when this command fails.
"""

import subprocess
import sys
import time

from jobs import FOLDER, GRACE, exit_code, qstat, read_record, state_in, write


def judge(code: int | None, state: str | None, *, silent_for: float) -> tuple[str, str]:
    """Decides what became of a job.

    Args:
        code: Exit code that the job's script noted down, if it did.
        state: State in qstat's list, such as `qw`; None if the job is not listed.
        silent_for: Seconds since the job was submitted or last listed.

    Returns:
        Snakemake's word, and the reason for people where it is not obvious.
    """
    if code is not None:
        return ("success", "") if code == 0 else ("failed", f"ended with exit code {code}")
    if state is not None and "E" in state:  # never ends by itself
        return "failed", f"is in error state {state}, and is deleted"
    if state is not None or silent_for < GRACE:
        return "running", ""
    return "failed", "left the queue without an exit code: time or memory limit, qdel, or a lost node"


def status(job: str) -> tuple[str, str]:
    """Looks a job up; see `judge`."""
    facts = read_record(job)
    if facts is None:
        return "failed", f"is not on record in {FOLDER}"
    if (code := exit_code(facts["token"])) is not None:
        return judge(code, None, silent_for=0)
    if (listing := qstat()) is None:
        return "running", ""
    seen, now, state = FOLDER / f"{job}.seen", time.time(), state_in(listing, job)
    if state is not None:
        write(seen, str(now))
    last = float(seen.read_text()) if seen.exists() else facts["time"]
    word, reason = judge(exit_code(facts["token"]), state, silent_for=now - last)
    if state is not None and word == "failed":
        subprocess.run(["qdel", job], capture_output=True)
    return word, f"{reason}; its log is {facts['log']}" if reason else ""


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
