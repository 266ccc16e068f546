"""Evolution strategies with statistics of observations and noise on actions, in a real robot: needs MuJoCo."""

import signal

import numpy as np
import pytest
import yaml
from neurozoo.agents.checkpoint import read_checkpoint
from neurozoo.agents.freeze import freeze_run
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.plan.planned_runs import settings_of
from neurozoo.rollouts.rollout import record_rollout
from training_processes import PATIENCE, assert_same_results, reports

pytest.importorskip("mujoco", reason="needs MuJoCo: .venv/bin/pip install mujoco==4.0.0")

SETTINGS = {
    "population_size": 6,
    "num_test_episodes": 2,
    "mutation_power": 0.02,
    "stepsize": 0.01,
    "episode_cutoff_mode": "env_default",
    "test_cutoff": 60,
    "observation_statistics": 0.5,
    "action_noise": 0.01,
    "frames": 300,
}
ARGUMENTS = {"algo": "es", "game": "gym.Hopper-v5", "model": "mujoco", "whole_settings": SETTINGS}


@pytest.fixture(scope="module")
def hopper(runner, tmp_path_factory):
    run_dir = tmp_path_factory.mktemp("hopper") / "run"
    runner.finish(run_dir, **ARGUMENTS)
    return run_dir


def test_a_run_ends_with_the_statistics_that_its_weights_need(hopper):
    records = reports(hopper)
    counts = [record["ObCount"] for record in records]
    assert len(records) >= 2
    assert counts == sorted(counts)
    assert counts[-1] > 10
    checkpoint = read_checkpoint(hopper / "checkpoint.npz")
    mean, deviation = checkpoint.reference.reshape(2, 11)
    assert mean[0] == pytest.approx(1.25, abs=0.2)  # the height of a hopper that stands or falls
    assert (deviation >= np.float32(0.1)).all()
    assert (deviation > 0.2).any()  # speeds


def test_a_killed_run_ends_the_same(runner, hopper, tmp_path):
    process = runner.start(tmp_path, crash="after a report and before the state", **ARGUMENTS)
    process.join(timeout=PATIENCE)
    assert process.exitcode == -signal.SIGKILL, runner.said()
    runner.finish(tmp_path, **ARGUMENTS)
    assert_same_results(tmp_path, hopper)


def test_the_frozen_network_scales_by_itself_and_plays(runner, hopper, tmp_path):
    check = freeze_run(hopper, core=runner.core, noise=runner.noise)
    assert check["steps"] >= 5  # all three forms act like the evaluator
    rollout = record_rollout(hopper / "frozen", tmp_path / "rollout.npz", max_steps=20, seed=1)
    assert rollout.steps >= 5


def test_the_humanoid_is_that_of_the_published_configuration(config_dir):
    experiment = yaml.safe_load((config_dir / "humanoid.yaml").read_text())["experiments"]["humanoid"]
    settings = settings_of("es", experiment)
    # Section 1.7 of the specification (humanoid).
    assert (settings.population_size, settings.mutation_power, settings.l2coeff) == (1000, 0.02, 0.005)
    assert (settings.return_proc_mode, settings.optimizer, settings.stepsize) == ("centered_rank", "adam", 0.01)
    assert (settings.episode_cutoff_mode, settings.action_noise) == ("env_default", 0.01)
    assert settings.observation_statistics == 0.01
    (game,), (model,) = experiment["games"], experiment["models"]
    layout = layout_of(game, model, protocol_of(game))
    assert [placed.out_shape[2] for placed in layout.layers] == [256, 256, 17]
    assert layout.observation_shape == (1, 1, 348)
