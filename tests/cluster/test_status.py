"""`python -m neurozoo status` beside a real scheduler, which it does not ask."""

import signal
import time

import pytest
from machine import USER
from neurozoo.status import read_overview


def states_until_the_end(experiment, delete):
    """Looks at run 1 until Snakemake ends, deletes its first job once it trains, and returns what was seen."""
    seen, deleted = [], None
    deadline = time.monotonic() + 400
    while time.monotonic() < deadline:
        is_over = not experiment.is_running
        (status, *_) = read_overview(["hurt.yaml"], workdir=experiment.folder).runs
        if seen[-1:] != [(status.state, status.job)]:
            seen.append((status.state, status.job))
            print(f"{time.strftime('%H:%M:%S')} {status.state} {status.job} {status.note}")  # to read after a failure
        if deleted is None and status.state == "running" and status.frames and status.job:
            deleted = status.job
            delete(deleted)
        if is_over:
            return deleted, seen
        time.sleep(0.2)
    experiment.signal(signal.SIGINT)
    raise AssertionError(f"Snakemake did not end: {seen}")


def check(deleted, seen):
    assert seen[0] == ("waiting", None)
    assert ("queued", deleted) in seen
    assert seen.index(("queued", deleted)) < seen.index(("running", deleted))
    later = seen[seen.index(("running", deleted)) + 1 :]
    (second,) = {job for state, job in later if state == "running" and job not in (None, deleted)}
    assert ("queued", second) in later
    assert later.index(("queued", second)) < later.index(("running", second))
    assert seen[-1] == ("done", None)
    assert "stalled" not in dict(seen)


@pytest.mark.long
def test_a_run_on_grid_engine_is_followed_from_the_queue_to_its_results(sge, grid_engine):
    experiment = sge()
    experiment.start()
    deleted, seen = states_until_the_end(experiment, lambda job: grid_engine.run("qdel", job, user=USER))
    assert experiment.wait() == 0, experiment.said
    check(deleted, seen)


@pytest.mark.long
def test_a_run_on_slurm_is_followed_from_the_queue_to_its_results(slurm):
    experiment = slurm()
    experiment.start()
    deleted, seen = states_until_the_end(experiment, lambda job: experiment.cluster.run("scancel", job, user=USER))
    assert experiment.wait() == 0, experiment.said
    check(deleted, seen)
