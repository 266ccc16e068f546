"""`python -m neurozoo status` beside a real scheduler, which it does not ask."""

import signal
import time

import pytest
from machine import PATIENCE, USER
from neurozoo.status import read_overview


def states_until_the_end(experiment, *, close, reopen, delete):
    """Looks at run 1 until Snakemake ends, deletes its first job once it trains, and returns what was seen.

    The queue is closed until a job has been seen in it, however seldom a busy machine looks.
    """
    seen, deleted = [], None
    close()
    experiment.start()
    end = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < end:
            is_over = not experiment.is_running
            (status, *_) = read_overview(["hurt.yaml"], workdir=experiment.folder).runs
            if seen[-1:] != [(status.state, status.job)]:
                seen.append((status.state, status.job))
                print(f"{time.strftime('%H:%M:%S')} {status.state} {status.job} {status.note}")  # for a failure
                if status.state == "queued":
                    reopen()
            if deleted is None and status.state == "running" and status.progress and status.job:
                deleted = status.job
                close()
                delete(deleted)
            if is_over:
                return deleted, seen
            time.sleep(0.2)
    finally:
        reopen()
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
    deleted, seen = states_until_the_end(
        experiment,
        close=lambda: grid_engine.run("qmod", "-d", "all.q"),
        reopen=lambda: grid_engine.run("qmod", "-e", "all.q"),
        delete=lambda job: grid_engine.run("qdel", job, user=USER),
    )
    assert experiment.wait() == 0, experiment.said
    check(deleted, seen)


@pytest.mark.long
def test_a_run_on_slurm_is_followed_from_the_queue_to_its_results(slurm):
    experiment = slurm()
    cluster = experiment.cluster
    deleted, seen = states_until_the_end(
        experiment,
        close=lambda: cluster.run("scontrol", "update", "PartitionName=main", "State=DOWN"),
        reopen=lambda: cluster.run("scontrol", "update", "PartitionName=main", "State=UP"),
        delete=lambda job: cluster.run("scancel", job, user=USER),
    )
    assert experiment.wait() == 0, experiment.said
    check(deleted, seen)
