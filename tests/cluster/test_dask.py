"""Whole trainings on a Dask cluster of this machine, and what may happen to it: always the results of one process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from distributed import Security

PROJECT = Path(__file__).parents[2]
TIMES = ("TimestepsPerSecondThisIter", "TimeElapsed", "OverheadThisIter", "ProcessorTime")
GA = "population_size=24 selection_threshold=4 validation_threshold=2 num_validation_episodes=2 num_test_episodes=2"
ES = "population_size=20 num_test_episodes=2"
RUNS = {
    "ga": ("ga", "assault", "small", f"{GA} mutation_power=0.02 episode_cutoff_mode=200 frames=80_000"),
    "es": ("es", "hard_maze", "simple", f"{ES} episode_cutoff_mode=env_default frames=600_000"),
    "novelty": ("nsr_es", "assault", "small", f"{ES} episode_cutoff_mode=150 frames=60_000"),
}
PATIENCE = 900  # seconds: ends what hangs, and nothing that is only slow on a busy machine
LOCAL = ("--distributed", "local", "workers=2", "least_workers=2")


class Training:
    """A training of one of `RUNS` in a process of its own."""

    def __init__(self, name: str, folder: Path, core: Path, noise: Path, *words: str) -> None:
        algo, game, model, settings = RUNS[name]
        command = [sys.executable, "-m", "neurozoo", "train", "--algo", algo, "--game", game, "--model", model]
        command += ["--core", core, "--noise", noise, "--run-dir", folder]
        command += [word for setting in settings.split() for word in ("-s", setting)]
        environment = os.environ | {"PYTHONPATH": str(PROJECT / "workflow" / "lib")}
        self.folder = folder
        self.process = subprocess.Popen(
            [*map(str, command), *words], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment
        )

    def players(self) -> list[psutil.Process]:
        """Returns the processes of workers that play."""
        try:
            family = psutil.Process(self.process.pid).children(recursive=True)
            return [process for process in family if "spawn_main" in " ".join(process.cmdline())]
        except psutil.Error:
            return []

    def wait_for_episodes(self, seconds: float = PATIENCE) -> None:
        """Waits until an episode has been played: a list in the journal, which has the seconds so far besides."""
        journal, end = self.folder / "state" / "journal.jsonl", time.monotonic() + seconds
        while time.monotonic() < end and not (journal.exists() and "[" in journal.read_text()):
            assert self.process.poll() is None, self.process.stderr.read()
            time.sleep(0.05)

    def finish(self, seconds: float = PATIENCE) -> str:
        """Waits for the end; returns standard error."""
        error = self.process.communicate(timeout=seconds)[1]
        assert self.process.returncode == 0, error[-2000:]
        return error


@pytest.fixture(scope="session")
def train(core, small_noise_table):
    running = []

    def start(name: str, folder: Path, *words: str) -> Training:
        running.append(Training(name, folder, core, small_noise_table, *words))
        return running[-1]

    yield start
    for training in running:
        if training.process.poll() is None:
            training.process.kill()
            training.process.communicate()


@pytest.fixture(scope="session")
def alone(train, tmp_path_factory):
    """Folders of undisturbed trainings without a cluster."""
    done = {}

    def folder(name: str) -> Path:
        if name not in done:
            done[name] = tmp_path_factory.mktemp(f"{name}-alone")
            train(name, done[name], "--threads", "2").finish()
        return done[name]

    return folder


def results(folder: Path) -> dict[str, object]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return {
        "log.jsonl": [{key: value for key, value in line.items() if not key.startswith(TIMES)} for line in lines],
        **{name: (folder / name).read_bytes() for name in ("checkpoint.npz", "genome.json")},
    }


@pytest.mark.long
@pytest.mark.parametrize("name", ["ga", "es", "novelty"])
def test_workers_that_are_killed_again_and_again_cost_only_time(train, alone, tmp_path, name):
    training = train(name, tmp_path, *LOCAL)
    kills = 0
    while training.process.poll() is None and kills < 3:
        training.wait_for_episodes()
        time.sleep(1.5)
        for process in training.players()[kills % 2 :]:  # all of them, or all but one
            process.kill()
            kills += 1
    training.finish()
    assert kills >= 2
    assert results(tmp_path) == results(alone(name))


@pytest.mark.long
def test_a_run_that_is_killed_with_its_scheduler_leaves_nobody_behind_and_continues(train, alone, tmp_path):
    training = train("ga", tmp_path, *LOCAL)
    training.wait_for_episodes()
    family = psutil.Process(training.process.pid).children(recursive=True)
    training.process.kill()
    training.process.communicate()
    gone, alive = psutil.wait_procs(family, timeout=PATIENCE)
    assert len(gone) >= 4, alive
    assert not alive
    train("ga", tmp_path, *LOCAL).finish()
    assert [path.name for path in (tmp_path / "dask").iterdir()] == ["logs"]  # and not the keys of the killed one
    assert results(tmp_path) == results(alone("ga"))


@pytest.mark.long
def test_a_run_that_is_asked_to_stop_ends_its_workers_and_continues_without_a_cluster(train, alone, tmp_path):
    training = train("ga", tmp_path, *LOCAL)
    training.wait_for_episodes()
    family = psutil.Process(training.process.pid).children(recursive=True)
    training.process.send_signal(signal.SIGTERM)
    error = training.process.communicate(timeout=PATIENCE)[1]
    assert training.process.returncode == 1
    assert "Stopped by SIGTERM; the state is saved." in error
    assert not psutil.wait_procs(family, timeout=PATIENCE)[1]
    train("ga", tmp_path).finish()
    assert results(tmp_path) == results(alone("ga"))


# ---- a scheduler that was there before


class Scheduler:
    """A Dask scheduler with a worker, as somebody else would start them, with TLS on a port of its own."""

    def __init__(self, folder: Path) -> None:
        security = Security.temporary()
        self.files = {"ca-file": folder / "ca.pem", "cert": folder / "cert.pem", "key": folder / "key.pem"}
        for path, text in zip(
            self.files.values(), (security.tls_ca_file, security.tls_client_cert, security.tls_client_key), strict=True
        ):
            path.write_text(text)
            path.chmod(0o600)
        self.folder = folder
        self.processes: list[subprocess.Popen] = []

    def _run(self, module: str, *words: str) -> subprocess.Popen:
        keys = [word for name, path in self.files.items() for word in (f"--tls-{name}", str(path))]
        command = [sys.executable, "-m", f"distributed.cli.{module}", *words, *keys, "--protocol", "tls"]
        environment = os.environ | {"PYTHONPATH": str(PROJECT / "workflow" / "lib")}
        with open(self.folder / "log", "ab") as log:
            self.processes.append(
                subprocess.Popen(
                    [*command, "--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"],
                    stdout=log,
                    stderr=log,
                    env=environment,
                )
            )
        return self.processes[-1]

    def start(self) -> None:
        """Starts both; the scheduler is the first process."""
        self.processes = []
        facts = self.folder / "scheduler.json"
        facts.unlink(missing_ok=True)
        self._run("dask_scheduler", "--port", "0", "--scheduler-file", str(facts), "--no-dashboard", "--no-show")
        end = time.monotonic() + PATIENCE
        while not facts.exists():
            assert time.monotonic() < end, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.1)
        time.sleep(0.2)
        self.address = json.loads(facts.read_text())["address"]
        words = ("--nthreads", "2", "--memory-limit", "0", "--local-directory", str(self.folder), "--no-dashboard")
        self._run("dask_worker", self.address, *words, "--death-timeout", "30")

    @property
    def words(self) -> list[str]:
        """What a training is told."""
        names = {"ca_file": "ca-file", "certificate": "cert", "key": "key"}
        return ["--distributed", self.address, *(f"{ours}={self.files[its]}" for ours, its in names.items())]

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture
def scheduler(tmp_path):
    scheduler = Scheduler(tmp_path)
    scheduler.start()
    yield scheduler
    scheduler.stop()


@pytest.mark.long
def test_a_run_whose_scheduler_is_killed_ends_with_a_sentence_and_continues(train, alone, tmp_path, scheduler):
    folder = tmp_path / "run"
    begin = time.monotonic()
    training = train("ga", folder, *scheduler.words)
    training.wait_for_episodes()
    start_up = time.monotonic() - begin  # of this machine, with what else it does
    scheduler.processes[0].kill()
    begin = time.monotonic()
    error = training.process.communicate(timeout=PATIENCE)[1]
    assert time.monotonic() - begin < 15 + start_up
    assert training.process.returncode == 1
    assert f"neurozoo: The Dask scheduler {scheduler.address} is gone." in error
    assert "Traceback" not in error
    scheduler.stop()
    scheduler.start()
    train("ga", folder, *scheduler.words).finish()
    assert results(folder) == results(alone("ga"))
    assert scheduler.processes[0].poll() is None  # it is not ours to end
