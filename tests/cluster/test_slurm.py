"""Trainings through `--profile slurm` on a real Slurm, and what can happen to them there."""

import re
import signal

import pytest
from machine import USER, wait_until

FIRST = "rule_train_wildcards_ga_frostbite_small_1"


def test_trainings_come_out_as_on_this_machine_although_one_is_cancelled(slurm, undisturbed):
    experiment = slurm()
    experiment.start()
    experiment.wait_for_training(1)
    (job,) = experiment.cluster.jobs_of(FIRST)
    experiment.cluster.run("scancel", job, user=USER)
    assert experiment.wait() == 0, experiment.said
    assert f"SLURM-job '{job}' failed" in experiment.said
    assert submitted(experiment) == ["noise_table", "train", "train", "train"]
    assert experiment.results == undisturbed(experiment.frames)
    assert not experiment.cluster.queue()


@pytest.mark.long
def test_ctrl_c_leaves_no_job_behind(slurm, undisturbed):
    experiment = slurm()
    experiment.start()
    experiment.wait_for_training(1)
    assert len(experiment.cluster.queue()) == 2
    experiment.signal(signal.SIGINT)
    assert experiment.wait() != 0
    wait_until(lambda: not experiment.cluster.queue(), seconds=20, what="jobs did not go")
    experiment.run()
    assert experiment.results == undisturbed(experiment.frames)


def submitted(experiment) -> list[str]:
    """Returns the rules of all jobs that Slurm ever got from this experiment."""
    return sorted(re.findall(r"has been submitted with SLURM jobid \d+ \(log: \S*/rule_(\w+)/", experiment.said))
