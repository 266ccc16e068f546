"""Snakemake and its jobs, when a terminal is lost or a container ends."""

import json
import shutil
import signal
import subprocess
import sys

import pytest

CONFIG = """
experiments:
  endless:
    algo: dqn
    preset: demo
    games: [breakout]
    models: [small]
    runs: 1
    overrides: {learning_starts: 32, epoch_steps: 32, test_cutoff: 10, replay_size: 400, frames: 1_000_000_000}
"""


@pytest.mark.parametrize("number", [signal.SIGHUP, pytest.param(signal.SIGTERM, marks=pytest.mark.long(seconds=20))])
def test_the_first_process_of_a_terminal_or_a_container_stops_its_jobs(
    project, core, snakemake_environment, wait_until, number
):
    (project / "results" / "native").mkdir(parents=True)
    for name in (core.name, "build.json"):
        shutil.copy(core.with_name(name), project / "results" / "native" / name)
    (project / "endless.yaml").write_text(CONFIG)
    state = project / "results/runs/dqn/breakout/small/1/state"
    target = str((state.parent / "checkpoint.npz").relative_to(project))
    arguments = ["--profile", "profiles/local", "--configfile", "endless.yaml", "--", target]
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=project,
        env={**snakemake_environment, "HOME": str(project)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    wait_until(lambda: process.poll() is not None or (state / "process.json").exists())
    process.send_signal(number)
    said = process.communicate()[0]
    assert process.returncode == 1, said
    assert f"neurozoo: Stopped by {number.name}; the state is saved." in said
    assert "Traceback" not in said
    assert json.loads((state / "process.json").read_text())["ended"] == "stopped"
    assert not list(project.glob(".snakemake/locks/*"))
