"""Trainings through `--profile sge` on a real Grid Engine, and what can happen to them there."""

import os
import signal
import sys
import time

import pytest
from experiment import CHECKPOINTS, RUN
from machine import PROJECT, USER, wait_until
from snakemake_executor_plugin_grid_engine.submission import Job, Submission

# Is warned of its time three times, and has time enough in the fourth slice.
PROGRAM = """
import os, signal
with open("slices", "a") as file:
    file.write("slice\\n")
def warned(*_):
    open(os.environ["NEUROZOO_AGAIN"], "w").write("again")
    raise SystemExit(1)
signal.signal(signal.SIGUSR1, warned)
if len(open("slices").readlines()) < 4:
    signal.pause()
"""

# Two idle devices, as nvidia-smi prints them.
DEVICES = "".join(
    rf"{number}, GPU-{number}c9d0000-0000-0000-0000-000000000000, 0, 4, 40960, NVIDIA A100-SXM4-40GB\n"
    for number in (0, 1)
)
CLAIM = """
import os, time
from pathlib import Path
from neurozoo.compute import gpus
gpus.LOCKS = Path("locks")
(device,) = gpus.claim_gpus(1).devices
Path(f".took.{os.environ['SGE_TASK_ID']}").write_text(device)
Path(f".took.{os.environ['SGE_TASK_ID']}").rename(f"took.{os.environ['SGE_TASK_ID']}")
while not Path("finish").exists():
    time.sleep(0.1)
"""


def test_trainings_come_out_as_on_this_machine_although_one_is_deleted(sge, grid_engine, undisturbed):
    experiment = sge()
    experiment.start()
    experiment.wait_for_training(1)
    (job,) = grid_engine.jobs_of("train.ga.frostbite.small.1")
    injury = time.monotonic()
    grid_engine.run("qdel", job, user=USER)
    wait_until(lambda: not grid_engine.processes_of(job), what="the job did not end")
    experiment.measure_loss(since=injury, saved=experiment.saved())
    assert experiment.wait() == 0, experiment.said
    assert f"Job {job} left the queue without an exit code" in experiment.said
    assert sorted(experiment.submitted("train")) == ["1", "1", "2"]
    assert experiment.results == undisturbed(experiment.frames)
    assert not grid_engine.qstat()


@pytest.mark.long
def test_the_clock_of_a_job_rings_in_every_slice_and_its_limit_is_not_met(grid_engine):
    (grid_engine.home / ".snakemake" / "sge").mkdir(parents=True, exist_ok=True)
    (grid_engine.home / "program.py").write_text(PROGRAM)
    grid_engine.run("chown", "-R", f"{USER}:{USER}", grid_engine.home)
    job = Job({"rule": "clock", "output": ["x"], "resources": {"runtime": 0.3}}, "python3 program.py")
    script = grid_engine.home / "script"
    script.write_text(Submission([job]).script("clock", warning=8))
    options = ("-terse", "-S", "/bin/bash", "-cwd", "-j", "y", "-r", "n", "-l", f"h_rt={job.seconds}", "-sync", "y")
    answer = grid_engine.run("qsub", *options, script, user=USER, cwd=grid_engine.home, check=False)
    number = answer.stdout.split()[0]
    assert (grid_engine.home / "slices").read_text() == "slice\n" * 4
    assert [run["exit_status"] for run in grid_engine.accounts(number)] == ["99", "99", "99", "0"]
    assert (grid_engine.home / ".snakemake" / "sge" / "clock-undefined.exit").read_text() == "0\n"


@pytest.mark.long
def test_a_training_in_slices_is_one_job_and_takes_no_retry(sge, grid_engine, undisturbed):
    experiment = sge()
    experiment.start()
    experiment.wait_for_training(1)
    for _ in range(3):
        (job,) = grid_engine.jobs_of("train.ga.frostbite.small.1")
        (leader,) = grid_engine.processes_of(job)
        injury = time.monotonic()
        grid_engine.kill(-leader, by=signal.SIGUSR1)  # what the job's clock does
        wait_until(lambda leader=leader: leader not in grid_engine.processes(""), what="the slice did not end")
        experiment.measure_loss(since=injury, saved=experiment.saved())
    assert experiment.wait() == 0, experiment.said
    assert sorted(experiment.submitted("train")) == ["1", "2"]
    assert [run["exit_status"] for run in grid_engine.accounts(job)] == ["99", "99", "99", "0"]
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_a_training_that_hangs_until_its_time_limit_continues(sge, grid_engine, undisturbed):
    experiment = sge()
    experiment.change("set-resources", "train", runtime="1 if attempt == 1 else 60")  # minutes
    experiment.start()  # two warning times do not fit into a minute, so that nobody is warned
    (job,) = wait_until(lambda: grid_engine.jobs_of("train.ga.frostbite.small.1"))
    experiment.wait_for_training(1)
    injury = time.monotonic()
    for leader in grid_engine.processes_of(job):  # none, if the machine is so slow that the time is up
        grid_engine.kill(-leader, by=signal.SIGSTOP)
    experiment.measure_loss(since=injury, saved=experiment.saved())
    assert experiment.wait() == 0, experiment.said
    assert f"Job {job} left the queue without an exit code" in experiment.said
    assert grid_engine.accounts(job)[0]["failed"].startswith("37")  # Grid Engine's number for a time limit
    assert experiment.submitted("train").count("1") == 2
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_too_little_memory_ends_with_an_error_and_more_memory_continues(sge, undisturbed):
    experiment = sge()
    experiment.change("set-resources", "train", mem_mb=100)
    experiment.change(retries=1)
    experiment.start()
    assert experiment.wait() != 0
    assert "ended with exit code" in experiment.said
    experiment.change("set-resources", "train", mem_mb=16_000)
    experiment.run()
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_jobs_of_a_snakemake_that_was_killed_are_taken_over(sge, grid_engine, undisturbed):
    experiment = sge()
    experiment.start(CHECKPOINTS[0])
    with experiment.holding_training():
        (job,) = grid_engine.jobs_of("train")
        experiment.signal(signal.SIGKILL)
        experiment.wait()
        experiment.run("--unlock")
        experiment.start()
        experiment.wait_for(f"Job {job} of an earlier Snakemake is still making these files")
    assert experiment.wait() == 0, experiment.said
    assert sorted(experiment.submitted("train")) == ["1", "2"]
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_a_job_of_a_killed_snakemake_with_other_settings_is_ended_first(sge, grid_engine, undisturbed):
    experiment = sge(frames=5_000_000)
    experiment.start()
    experiment.wait_for_training(1)
    before = grid_engine.jobs_of("train")
    experiment.signal(signal.SIGKILL)
    experiment.wait()
    experiment.set_frames(50_000)
    experiment.run("--unlock")
    experiment.run()
    assert not set(before) & set(grid_engine.qstat())
    assert experiment.results == undisturbed(50_000)


@pytest.mark.long
def test_a_held_job_is_waited_for(sge, grid_engine, undisturbed):
    experiment = sge()
    experiment.change(**{"grid-engine-options": "-h"})
    experiment.start()
    wait_until(lambda: len(grid_engine.qstat()) == 2)
    assert {job.partition(".")[2] for job in grid_engine.qstat()} == {"1", "2"}  # runs are tasks of one array job
    assert len({job.partition(".")[0] for job in grid_engine.qstat()}) == 1
    time.sleep(8)  # longer than it takes to give up a job that is gone
    assert set(grid_engine.qstat().values()) == {"hqw"}
    grid_engine.run("qrls", *grid_engine.qstat())
    assert experiment.wait() == 0, experiment.said
    assert sorted(experiment.submitted("train")) == ["1", "2"]
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_a_job_in_an_error_state_is_deleted_and_submitted_again(sge, grid_engine, undisturbed):
    experiment = sge()
    experiment.change(**{"grid-engine-options": "-h"})
    experiment.start()
    wait_until(lambda: len(grid_engine.jobs_of("train")) == 2)
    (first,) = grid_engine.jobs_of("train.ga.frostbite.small.1")
    # A folder of root's stands where Grid Engine puts what the job prints; Snakemake does not touch that.
    (experiment.folder / RUN.format(1) / f"train.sge-{first.partition('.')[0]}.log").mkdir()
    grid_engine.run("qrls", *grid_engine.qstat())
    experiment.wait_for(f"Job {first} is in error state Eqw")
    grid_engine.run("qrls", *wait_until(lambda: [job for job, state in grid_engine.qstat().items() if "h" in state]))
    assert experiment.wait() == 0, experiment.said
    assert "can't open output file" in experiment.said
    assert sorted(experiment.submitted("train")) == ["1", "1", "2"]
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_a_run_folder_that_cannot_be_written_ends_everything_and_the_same_command_continues(
    sge, grid_engine, undisturbed
):
    experiment = sge()
    experiment.change(**{"grid-engine-options": "-h"})
    experiment.start()
    wait_until(lambda: len(grid_engine.jobs_of("train")) == 2)
    run = experiment.folder / RUN.format(1)
    os.chown(run, 0, 0)
    run.chmod(0o555)
    grid_engine.run("qrls", *grid_engine.qstat())
    assert experiment.wait() != 0
    assert "can't open output file" in experiment.said
    assert f"PermissionError: [Errno 13] Permission denied: '{RUN.format(1)}/train.log'" in experiment.said
    wait_until(lambda: not grid_engine.qstat(), what="jobs stayed in the queue")
    os.chown(run, USER, USER)
    run.chmod(0o755)
    experiment.change(**{"grid-engine-options": "-p 0"})
    experiment.run()
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_jobs_on_a_node_that_disappears_are_given_up_and_run_again_elsewhere(sge, grid_engine, undisturbed):
    experiment = sge()
    experiment.start()
    experiment.wait_for_training(1)
    (job,) = grid_engine.jobs_of("train.ga.frostbite.small.1")
    injury = time.monotonic()
    grid_engine.lose_node()
    saved = experiment.saved()
    experiment.wait_for(f"Job {job} is given up: its node has not answered")
    wait_until(lambda: experiment.submitted("train").count("1") == 2)
    grid_engine.start_node()  # the other node, for a cell with one
    experiment.measure_loss(since=injury, saved=saved)
    assert experiment.wait() == 0, experiment.said
    assert sorted(experiment.submitted("train")) == ["1", "1", "2", "2"]
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_an_execution_daemon_that_is_restarted_costs_nothing(sge, grid_engine, undisturbed):
    experiment = sge()
    experiment.start()
    experiment.wait_for_training(1)
    grid_engine.kill(int((grid_engine.spool / "execd.pid").read_text()))
    time.sleep(3)
    grid_engine.start_node()
    assert experiment.wait() == 0, experiment.said
    assert sorted(experiment.submitted("train")) == ["1", "2"]
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_a_master_that_is_restarted_is_waited_for(sge, grid_engine, undisturbed):
    experiment = sge()
    experiment.change(**{"grid-engine-patience": 600})  # a busy node takes its time to find the new master
    grid_engine.stop_master()
    experiment.start()
    experiment.wait_for("Grid Engine does not answer; trying again")
    grid_engine.start_master()
    experiment.wait_for_training(1)
    grid_engine.stop_master()
    time.sleep(10)
    grid_engine.start_master()
    assert experiment.wait() == 0, experiment.said
    assert sorted(experiment.submitted("train")) == ["1", "2"]
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_a_full_disk_ends_with_an_error_and_space_continues(sge, grid_engine, undisturbed):
    experiment = sge()
    runs = experiment.folder / "results" / "hurt" / "runs"
    runs.mkdir()
    grid_engine.run("mount", "-t", "tmpfs", "-o", f"size=3m,mode=755,uid={USER},gid={USER}", "none", runs)
    experiment.change(retries=1)
    grid_engine.run("fallocate", "--length", "2900K", runs / "filler")
    experiment.start()
    assert experiment.wait() != 0
    assert "cannot be written to (No space left on device), make room and start again" in experiment.said
    grid_engine.run("rm", runs / "filler")
    grid_engine.run("mount", "-o", "remount,size=100m", runs)
    experiment.run()
    kept = experiment.folder / "kept"
    grid_engine.run("cp", "-r", runs, kept)
    grid_engine.run("umount", runs)
    kept.rename(runs)
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_ctrl_c_leaves_no_job_behind(sge, grid_engine, undisturbed):
    experiment = sge()
    experiment.start()
    experiment.wait_for_training(1)
    assert len(grid_engine.qstat()) == 2
    experiment.signal(signal.SIGINT)
    assert experiment.wait() != 0
    wait_until(lambda: not grid_engine.qstat(), what="jobs did not go")
    wait_until(lambda: not grid_engine.processes("results/hurt"), what="processes of jobs did not end")
    experiment.run()
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_a_second_snakemake_at_once_is_told_so_and_disturbs_nothing(sge, undisturbed):
    experiment = sge()
    experiment.start()
    with experiment.holding_training():
        second = experiment.cluster.run(*experiment.command(), user=USER, cwd=experiment.folder, check=False)
    assert second.returncode != 0
    assert "Error: Directory cannot be locked" in second.stdout
    assert experiment.wait() == 0, experiment.said
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_what_can_never_run_is_refused_at_once(sge):
    experiment = sge()
    experiment.change("set-threads", train=99)
    experiment.change(retries=0)
    experiment.start()
    assert experiment.wait() != 0
    assert "Grid Engine refused the job" in experiment.said
    assert "no suitable queues" in experiment.said


def test_jobs_that_start_together_on_a_node_take_different_gpus(grid_engine):
    folder = grid_engine.home / "gpus"
    folder.mkdir()
    (folder / "nvidia-smi").write_text(f"#!/bin/sh\ncase $* in *--query-gpu*) printf '{DEVICES}';; esac\n")
    (folder / "nvidia-smi").chmod(0o755)
    (folder / "claim.py").write_text(CLAIM)
    grid_engine.run("chown", "-R", f"{USER}:{USER}", grid_engine.home)
    library = PROJECT / "workflow" / "lib"
    (folder / "job").write_text(f"PATH={folder}:$PATH PYTHONPATH={library} {sys.executable} claim.py\n")
    options = ("-S", "/bin/bash", "-cwd", "-j", "y", "-l", "gpu=1", "-t", "1-3")
    grid_engine.run("qsub", *options, "job", user=USER, cwd=folder)
    wait_until(lambda: len(list(folder.glob("took.*"))) == 2)
    time.sleep(3)
    took = {path.name: path.read_text() for path in folder.glob("took.*")}
    assert set(took.values()) == {"0", "1"}  # the third job has to wait: its node has no more
    (folder / "finish").touch()
    wait_until(lambda: len(list(folder.glob("took.*"))) == 3)


@pytest.mark.long(seconds=400)
def test_the_tiny_configuration_goes_all_the_way(sge, grid_engine):
    experiment = sge()
    command = ("snakemake", "--profile", "sge", "--configfile", "config/test.yaml")
    experiment.process = grid_engine.start(*command, cwd=experiment.folder, log=experiment.log)
    assert experiment.wait() == 0, experiment.said
    results = experiment.folder / "results" / "test"
    assert len(list(results.glob("runs/*/*/*/*/activation.mp4"))) == experiment.planned("activation_movie")
    assert {path.name for path in (results / "tables").iterdir()} >= {"metrics.csv", "scores.csv"}
    assert not grid_engine.qstat()
