"""`python -m neurozoo status` beside real trainings."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest
import training_processes
import yaml
from neurozoo.__main__ import main
from training_processes import ENDLESS, PATIENCE


@pytest.fixture
def project(tmp_path):
    """A folder with a configuration: run 1 is short, the others do not end by themselves."""

    def experiment(runs, frames):
        overrides = training_processes.SETTINGS | {"frames": frames}
        return {"algo": "ga", "preset": "demo", "games": ["assault"], "models": ["small"], "runs": runs} | {
            "overrides": overrides
        }

    config = {
        "experiments": {"short": experiment([1], 4000), "long": experiment([2, 3, 4, 5, 6, 7], ENDLESS["frames"])}
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    return tmp_path


def folder(project, run):
    return project / "results" / "runs" / "ga" / "assault" / "small" / str(run)


def wait_for_reports(run_dir, process):
    log, end = run_dir / "state" / "log.jsonl", time.monotonic() + PATIENCE
    while process.is_alive() and time.monotonic() < end:
        if log.exists() and log.read_text().count("\n") >= 2:
            return
        time.sleep(0.02)


def status(project, capsys):
    main(["status", "--directory", str(project), "--json"])
    facts = json.loads(capsys.readouterr().out)
    return {run["run"]: run for run in facts["runs"]}


def test_the_state_of_every_run_is_what_happened_to_it(runner, project, capsys):
    runner.finish(folder(project, 1))
    processes = {run: runner.start(folder(project, run), run=run, settings=ENDLESS) for run in (2, 3)}
    processes[4] = runner.start_script(folder(project, 4), run=4, settings=ENDLESS)
    variables = {"JOB_ID": "77", "NEUROZOO_AGAIN": str(project / "again")}
    processes[5] = runner.start_script(folder(project, 5), run=5, settings=ENDLESS, variables=variables)
    try:
        for run, process in processes.items():
            wait_for_reports(folder(project, run), process)
        folder(project, 6).mkdir(parents=True)  # as Snakemake does for the log
        runner.start_script(folder(project, 6), run=6, settings=ENDLESS, noise=project / "no.f32").join(
            timeout=PATIENCE
        )
        for run, number in {3: signal.SIGKILL, 4: signal.SIGTERM, 5: signal.SIGUSR1}.items():
            os.kill(processes[run].pid, number)
            processes[run].join(timeout=PATIENCE)
        runs = status(project, capsys)
        states = {number: facts["state"] for number, facts in runs.items()}
        assert states == {1: "done", 2: "running", 3: "failed", 4: "waiting", 5: "queued", 6: "failed", 7: "waiting"}
    finally:
        for process in processes.values():
            process.kill()
            process.join()

    assert (runs[1]["frames"] >= 4000, runs[1]["budget"], runs[1]["remaining"]) == (True, 4000, None)
    assert runs[2]["frames"] >= 3200
    assert runs[2]["frames_per_second"] > 0
    left = (ENDLESS["frames"] - runs[2]["frames"]) / runs[2]["frames_per_second"]
    assert runs[2]["remaining"] == pytest.approx(left)
    last = json.loads((folder(project, 3) / "state" / "log.jsonl").read_text().splitlines()[-1])
    assert (runs[3]["score"], runs[3]["generation"]) == (last["score"], last["Iteration"])
    assert f"process {processes[3].pid} on" in runs[3]["note"]
    assert any("Iteration" in line or "imesteps" in line for line in runs[3]["log_tail"])
    assert runs[4]["note"].startswith("Stopped by SIGTERM; the state is saved")
    assert (runs[5]["job"], runs[5]["note"]) == ("77", "waits for its next slice of time")
    assert "no.f32" in runs[6]["note"]
    assert "no.f32" in runs[6]["log_tail"][-1]
    assert runs[7] == runs[7] | {"frames": 0, "job": None, "note": "", "frames_per_second": None, "score": None}

    # The same, for people. The run that was running has been killed since.
    main(["status", "--directory", str(project)])
    text = capsys.readouterr().out
    assert [line.split()[1] for line in text.splitlines() if line.startswith("ga/assault") and "%" in line] == [
        "done", "failed", "failed", "waiting", "queued", "failed", "waiting",
    ]  # fmt: skip
    assert "7 runs: 1 done, 2 waiting, 1 queued, 3 failed." in text


def test_a_run_whose_budget_grew_is_no_longer_done(runner, project, capsys):
    runner.finish(folder(project, 1))
    assert status(project, capsys)[1]["state"] == "done"
    config = yaml.safe_load((project / "config.yaml").read_text())
    config["experiments"]["short"]["overrides"]["frames"] = 10**6
    (project / "config.yaml").write_text(yaml.safe_dump(config))
    assert status(project, capsys)[1]["state"] == "waiting"
    config["experiments"]["short"]["overrides"]["mutation_power"] = 0.5
    (project / "config.yaml").write_text(yaml.safe_dump(config))
    assert "its settings have changed since: mutation_power" in status(project, capsys)[1]["note"]
    for name in ("config.yaml", "checkpoint.npz", "log.jsonl"):
        (folder(project, 1) / name).unlink()  # as Snakemake does if a job fails
    assert "its settings have changed since: mutation_power" in status(project, capsys)[1]["note"]


def test_a_terminal_gets_a_live_table_that_ends_when_all_runs_are_done(runner, project):
    runner.finish(folder(project, 1))
    config = yaml.safe_load((project / "config.yaml").read_text())
    del config["experiments"]["long"]
    (project / "config.yaml").write_text(yaml.safe_dump(config))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "neurozoo", "status", "--directory", str(project), "--watch", "0.2"]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "140", "LINES": "30"}
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    said = b""
    while True:
        try:
            said += os.read(ours, 10_000)
        except OSError:  # how Linux says that the other end is closed
            break
    assert process.wait(timeout=PATIENCE) == 0
    text = said.decode()
    assert "\x1b[" in text
    assert "1 run: 1 done." in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--configfile", "nowhere.yaml"], "nowhere.yaml is missing"),
        (["--configfile", "wrong.yaml"], "did you mean 'ga'"),
        (["--configfile", "text.yaml"], "should be a mapping"),
        (["--watch", "0"], "--watch is 0.0 seconds, but should be at least 0.1"),
    ],
)
def test_a_wrong_argument_is_explained(project, capsys, words, sentence):
    (project / "text.yaml").write_text("just text")
    config = (project / "config.yaml").read_text().replace("algo: ga", "algo: gaa")
    (project / "wrong.yaml").write_text(config)
    with pytest.raises(SystemExit) as stop:
        main(["status", "--directory", str(project), *words])
    assert stop.value.code == 1
    assert sentence in capsys.readouterr().err
