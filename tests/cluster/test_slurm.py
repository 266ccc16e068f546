"""Trainings through `--profile slurm` on a real Slurm, and what can happen to them there."""

import re
import signal
import time
from pathlib import Path

import pytest
from experiment import RUN, write_config
from machine import USER, wait_until

FIRST = "rule_train_wildcards_ga_frostbite_small_1"


def submitted(experiment) -> list[str]:
    """Returns the rules of all jobs that this Snakemake submitted."""
    return sorted(re.findall(r"has been submitted with SLURM jobid \d+ \(log: .*/rule_(\w+)/", experiment.said))


def job_logs(experiment) -> str:
    """Returns what the failed trainings printed, from the files that Snakemake names."""
    logs = set(re.findall(r"log: .*, (/.*/rule_train/\S+\.log) \(check log file", experiment.said))
    return "".join(Path(log).read_text() for log in logs).lower()


def test_a_training_comes_out_as_on_this_machine(slurm, undisturbed):
    experiment = slurm(frames=5_000)
    checkpoint, genome = (f"{RUN.format(1)}/{name}" for name in ("checkpoint.npz", "genome.json"))
    experiment.run(checkpoint)
    assert submitted(experiment) == ["train"]
    for name in (checkpoint, genome):
        assert (experiment.folder / name).read_bytes() == undisturbed(experiment.frames)[name]
    assert not experiment.cluster.queue()


@pytest.mark.long
def test_a_training_with_other_settings_keeps_the_result_before(slurm):
    experiment = slurm()
    checkpoint = experiment.folder / RUN.format(1) / "checkpoint.npz"
    experiment.run(f"{RUN.format(1)}/checkpoint.npz")
    before = checkpoint.read_bytes()
    write_config(experiment.folder, frames=experiment.frames, seed=1)
    experiment.run(f"{RUN.format(1)}/checkpoint.npz")
    assert checkpoint.read_bytes() != before
    assert (checkpoint.parent / "superseded" / "1" / "result" / "checkpoint.npz").read_bytes() == before


@pytest.mark.long
def test_a_training_that_is_cancelled_continues(slurm, undisturbed):
    experiment = slurm()
    experiment.start()
    experiment.wait_for_training(1)
    (job,) = experiment.cluster.jobs_of(FIRST)
    injury = time.monotonic()
    experiment.cluster.run("scancel", job, user=USER)
    wait_until(lambda: job not in experiment.cluster.queue(), what="the job did not end")
    experiment.measure_loss(since=injury, saved=experiment.saved())
    assert experiment.wait() == 0, experiment.said
    assert f"SLURM-job '{job}' failed" in experiment.said
    assert submitted(experiment) == ["train", "train", "train"]
    assert experiment.results == undisturbed(experiment.frames)
    assert not experiment.cluster.queue()


@pytest.mark.long
@pytest.mark.parametrize("accounting", [False, True])
def test_a_training_whose_slice_ends_is_the_same_job_again_and_takes_no_retry(accounting, slurm, undisturbed):
    experiment = slurm(accounting=accounting)
    cluster = experiment.cluster
    experiment.change(retries=0)
    experiment.start()
    experiment.wait_for_training(1)
    (job,) = cluster.jobs_of(FIRST)
    cluster.run("scancel", "--signal=USR1", job, user=USER)  # as Slurm does for `--signal=USR1@300`
    wait_until(lambda: cluster.queue().get(job) == "PENDING", what="the job did not go back into the queue")
    time.sleep(15)  # while it waits, Snakemake asks for it at least once
    cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now")  # Slurm would wait for two minutes
    assert experiment.wait() == 0, experiment.said
    assert submitted(experiment) == ["train", "train"]
    log = (experiment.folder / RUN.format(1) / "train.log").read_text()
    assert "Stopped by SIGUSR1" in log
    assert "Loaded iteration" in log
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_slurm_warns_a_training_before_the_end_of_its_slice(slurm):
    experiment = slurm(frames=10_000_000)
    # Slurm warns up to a minute earlier than it was asked to, and a training that has not begun cannot heed it: on a
    # busy machine the first slices may be too short.
    experiment.change("set-resources", "train", runtime="2 * attempt", slurm_extra="'--signal=USR1@20'")
    experiment.start()
    log = experiment.folder / RUN.format(1) / "state" / "train.log"
    wait_until(
        lambda: (log.exists() and "Stopped by SIGUSR1" in log.read_text()) or not experiment.is_running,
        what="nobody was warned",
    )
    assert experiment.is_running, experiment.said
    (job,) = experiment.cluster.jobs_of(FIRST)
    wait_until(lambda: experiment.cluster.queue().get(job) == "PENDING", what="the slice did not end")
    assert experiment.is_running
    experiment.signal(signal.SIGINT)
    experiment.wait()


@pytest.mark.long
def test_a_training_that_hangs_until_its_time_limit_continues(slurm, undisturbed):
    experiment = slurm()
    cluster = experiment.cluster
    experiment.change("set-resources", "train", runtime="1 if attempt == 1 else 60", slurm_extra="''")
    experiment.start()
    experiment.wait_for_training(1)
    injury = time.monotonic()
    cluster.kill(*cluster.processes(".train.py"), by=signal.SIGSTOP)
    experiment.measure_loss(since=injury, saved=experiment.saved())
    assert experiment.wait() == 0, experiment.said
    assert "SLURM status is: 'TIMEOUT'" in experiment.said
    assert submitted(experiment).count("train") > 2
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
@pytest.mark.parametrize("accounting", [False, True])
def test_a_training_that_lacks_memory_gets_more(accounting, slurm, undisturbed):
    experiment = slurm(accounting=accounting, cgroups=True)
    experiment.change("set-resources", "train", mem_mb="100 * min(attempt, 2) ** 3")
    experiment.run()
    assert "oom" in job_logs(experiment)
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_too_little_memory_ends_with_an_error_that_names_it(slurm):
    experiment = slurm(cgroups=True)
    experiment.change("set-resources", "train", mem_mb=100)
    experiment.change(retries=1)
    experiment.start()
    assert experiment.wait() != 0
    assert "oom" in job_logs(experiment)


@pytest.mark.long
def test_jobs_of_a_snakemake_that_was_killed_are_ended_and_their_trainings_continue(slurm, undisturbed):
    experiment = slurm(frames=200_000)  # the jobs go on, and must not be done before the third start
    experiment.start()
    experiment.wait_for_training(1)
    left = experiment.cluster.jobs_of("rule_train")
    assert len(left) == 2
    experiment.signal(signal.SIGKILL)
    experiment.wait()
    experiment.start()
    assert experiment.wait() != 0
    assert "--unlock" in experiment.said
    experiment.run("--unlock")
    experiment.start()
    wait_until(lambda: submitted(experiment) or not experiment.is_running)
    assert not set(left) & set(experiment.cluster.queue()), experiment.said
    assert experiment.wait() == 0, experiment.said
    assert "Loaded iteration" in (experiment.folder / RUN.format(1) / "train.log").read_text()
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
@pytest.mark.parametrize("accounting", [False, True])
def test_jobs_on_a_node_that_disappears_start_again_when_there_is_one(accounting, slurm, undisturbed):
    experiment = slurm(accounting=accounting)
    experiment.start()
    experiment.wait_for_training(1)
    experiment.cluster.lose_node()
    wait_until(lambda: set(experiment.cluster.queue().values()) == {"PENDING"}, what="nothing was requeued")
    time.sleep(15)  # while there is no node, Snakemake asks for the jobs at least once
    assert experiment.is_running
    experiment.cluster.start_node()
    assert experiment.wait() == 0, experiment.said
    assert submitted(experiment) == ["train", "train"]
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_a_full_disk_ends_with_an_error_that_says_what_to_do_and_space_continues(slurm, undisturbed):
    experiment = slurm()
    cluster = experiment.cluster
    runs = experiment.folder / "results" / "hurt" / "runs"
    runs.mkdir()
    cluster.run("mount", "-t", "tmpfs", "-o", f"size=3m,mode=755,uid={USER},gid={USER}", "none", runs)
    cluster.run("fallocate", "--length", "2900K", runs / "filler")
    experiment.change(retries=1)
    experiment.start()
    assert experiment.wait() != 0
    assert "free some space" in job_logs(experiment)
    cluster.run("rm", runs / "filler")
    cluster.run("mount", "-o", "remount,size=100m", runs)
    experiment.run()
    kept = experiment.folder / "kept"
    cluster.run("cp", "-r", runs, kept)
    cluster.run("umount", runs)
    kept.rename(runs)
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_ctrl_c_leaves_no_job_behind(slurm, undisturbed):
    experiment = slurm()
    experiment.start()
    experiment.wait_for_training(1)
    assert len(experiment.cluster.queue()) == 2
    experiment.signal(signal.SIGINT)
    assert experiment.wait() != 0
    wait_until(lambda: not experiment.cluster.queue(), what="jobs did not go")
    # `experiment.wait` knows only the command around Snakemake, which the signal may end first.
    wait_until(lambda: not experiment.cluster.processes("results/hurt"), what="Snakemake did not end")
    experiment.run()
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_a_second_snakemake_at_once_is_told_so_and_disturbs_nothing(slurm, undisturbed):
    experiment = slurm()
    experiment.start()
    with experiment.holding_training():
        second = experiment.cluster.run(*experiment.command(), user=USER, cwd=experiment.folder, check=False)
    assert second.returncode != 0
    assert "Error: Directory cannot be locked" in second.stdout
    assert experiment.wait() == 0, experiment.said
    assert submitted(experiment) == ["train", "train"]
    assert experiment.results == undisturbed(experiment.frames)


@pytest.mark.long
def test_what_can_never_run_is_refused_at_once(slurm):
    experiment = slurm()
    experiment.change("set-threads", train=99)
    experiment.change(retries=0)
    experiment.start()
    assert experiment.wait() != 0
    assert "More processors requested than permitted" in experiment.said


@pytest.mark.long
def test_a_job_sees_the_gpus_that_slurm_assigned(slurm, tmp_path):
    experiment = slurm()
    (experiment.folder / "Snakefile").write_text("""
rule all:
    input: "0.txt", "1.txt"
rule gpu:
    output: "{number}.txt"
    resources: gpu=1
    shell: "sleep 5; echo $CUDA_VISIBLE_DEVICES > {output}"
""")
    experiment.run("all")
    assert sorted((experiment.folder / f"{number}.txt").read_text() for number in (0, 1)) == ["0\n", "1\n"]


@pytest.mark.long(seconds=400)
@pytest.mark.parametrize("accounting", [False, True])
def test_the_tiny_configuration_goes_all_the_way(accounting, slurm):
    experiment = slurm(accounting=accounting)
    command = ("snakemake", "--profile", "slurm", "--configfile", "config/test.yaml")
    experiment.process = experiment.cluster.start(*command, cwd=experiment.folder, log=experiment.log)
    assert experiment.wait() == 0, experiment.said
    results = experiment.folder / "results" / "test"
    assert len(list(results.glob("runs/*/*/*/*/activation.mp4"))) == experiment.planned("activation_movie")
    assert {path.name for path in (results / "tables").iterdir()} >= {"metrics.csv", "scores.csv"}
    assert not experiment.cluster.queue()
