"""Trainings through `--profile sge` on a real Grid Engine, and what can happen to them there."""

from machine import USER


def test_trainings_come_out_as_on_this_machine_although_one_is_deleted(sge, grid_engine, undisturbed):
    experiment = sge()
    experiment.start()
    experiment.wait_for_training(1)
    (job,) = grid_engine.jobs_of("train.ga.frostbite.small.1")
    grid_engine.run("qdel", job, user=USER)
    assert experiment.wait() == 0, experiment.said
    assert f"Job {job} left the queue without an exit code" in experiment.said
    assert sorted(experiment.submitted("train")) == ["1", "1", "2"]
    assert experiment.results == undisturbed(experiment.frames)
    assert not grid_engine.qstat()
