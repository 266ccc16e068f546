"""A small experiment on a cluster, and what is known of it from outside."""

import copy
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from machine import PATIENCE, PROJECT, USER, Machine, wait_until

PARTS = ("config.yaml", "config", "workflow", "profiles", "sge", "slurm", "envs", "native")
EXPERIMENT = {
    "experiments": {
        "hurt": {
            "algo": "ga",
            "preset": "demo",
            "games": ["frostbite"],
            "models": ["small"],
            "runs": 2,
            "overrides": {
                "population_size": 4,
                "selection_threshold": 2,
                "validation_threshold": 2,
                "num_validation_episodes": 1,
                "num_test_episodes": 1,
                "episode_cutoff_mode": 100,  # steps
                "test_cutoff": 100,
            },
        }
    },
    "pathvars": {"results": "results/hurt", "noise": "results/hurt/noise"},
    "noise": {"size": 5_000_000},
}
RUN = "results/hurt/runs/ga/frostbite/small/{}"

# What the rule `train` makes; the genome is written beside it.
CHECKPOINTS = [f"{RUN.format(run)}/checkpoint.npz" for run in (1, 2)]

# What comes out the same to the byte, however a run was disturbed.
RESULTS = [f"{RUN.format(run)}/{name}" for run in (1, 2) for name in ("checkpoint.npz", "genome.json")]


class Experiment:
    """A copy of the project that belongs to a cluster's user, with the core and a small experiment.

    Args:
        cluster: Where it runs.
        profile: Name of the profile.
        folder: A new folder, which all may enter.
        frames: Budget of a run.
        noise: A folder with the noise table, which spares making it.
    """

    def __init__(
        self, cluster: Machine, profile: str, folder: Path, *, frames: int = 100_000, noise: Path | None = None
    ) -> None:
        self.cluster, self.profile, self.folder, self.frames = cluster, profile, folder, frames
        copy_project(folder, frames=frames)
        if noise:
            shutil.copytree(noise, folder / "results" / "hurt" / "noise")
        subprocess.run(["chown", "-R", f"{USER}:{USER}", folder], check=True)
        self.log = folder / "snakemake.out"
        self.settings = folder / "profiles" / profile / "config.yaml"
        self.process: subprocess.Popen | None = None

    def change(self, *keys: str, **values: object) -> None:
        """Changes values of the profile, below some keys."""
        settings = part = yaml.safe_load(self.settings.read_text())
        for key in keys:
            part = part.setdefault(key, {})
        part.update(values)
        self.settings.write_text(yaml.safe_dump(settings, sort_keys=False))

    def command(self, *arguments: str) -> tuple[str, ...]:
        """Returns the command of the README, for two trainings, with short waits."""
        quick = ("--latency-wait", "5", "--seconds-between-status-checks", "1")
        common = ("--profile", self.profile, "--configfile", "hurt.yaml", *quick)
        return ("snakemake", *(arguments or CHECKPOINTS), *common)

    def start(self, *arguments: str) -> None:
        """Starts Snakemake."""
        self.process = self.cluster.start(*self.command(*arguments), cwd=self.folder, log=self.log)

    def wait(self, *, seconds: float = PATIENCE) -> int:
        """Waits for Snakemake and returns its exit code."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            error.add_note(self.said)
            raise

    def run(self, *arguments: str) -> str:
        """Runs Snakemake to its good end and returns what it said."""
        self.start(*arguments)
        assert self.wait() == 0, self.said
        return self.said

    @property
    def is_running(self) -> bool:
        """Says whether Snakemake has not ended."""
        return self.process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to Snakemake as a terminal does: to it and to what it has started itself."""
        os.killpg(self.process.pid, number)

    @property
    def said(self) -> str:
        """What Snakemake has said so far."""
        return self.log.read_text()

    def wait_for(self, words: str) -> None:
        """Waits until Snakemake says something."""
        wait_until(lambda: words in self.said or not self.is_running, what=f"no {words!r}")
        assert words in self.said, self.said

    def wait_for_training(self, run: int = 1, *, beyond: int = 0) -> int:
        """Waits until a training has something to lose: more in its log than so many bytes. Returns how many."""
        log = self.folder / RUN.format(run) / "state" / "log.jsonl"
        wait_until(lambda: (log.exists() and log.stat().st_size > beyond) or not self.is_running, what="no generation")
        assert self.is_running, self.said
        assert not (self.folder / RUN.format(run) / "checkpoint.npz").exists(), (
            "the training is too short for this test"
        )
        return log.stat().st_size

    @contextmanager
    def holding_training(self) -> Iterator[None]:
        """Holds the first training where it is, however long it takes what it has to live through."""
        self.wait_for_training()
        held = self.cluster.processes(".train.py")
        self.cluster.kill(*held, by=signal.SIGSTOP)
        yield
        self.cluster.kill(*held, by=signal.SIGCONT)

    def saved(self, run: int = 1) -> int:
        """Returns how much of a training is in its log; to be asked for between its end and its new start."""
        return (self.folder / RUN.format(run) / "state" / "log.jsonl").stat().st_size

    def measure_loss(self, run: int = 1, *, since: float, saved: int) -> None:
        """Prints how many seconds lie between an injury and the moment when a training is further than it was."""
        folder = self.folder / RUN.format(run)
        log, end = folder / "state" / "log.jsonl", folder / "checkpoint.npz"
        wait_until(
            lambda: (log.exists() and log.stat().st_size > saved) or end.exists() or not self.is_running,
            what="the training did not get any further",
        )
        assert end.exists() or self.is_running, self.said
        print(f"time lost: {time.monotonic() - since:.0f} s")

    def planned(self, rule: str) -> int:
        """Returns how many jobs of a rule Snakemake planned, from the table that it begins with."""
        return int(re.search(rf"^{rule} +(\d+)$", self.said, re.MULTILINE)[1])

    def jobs(self, rule: str) -> dict[str, str]:
        """Returns the jobs of a rule that Grid Engine ever got from this experiment, with their names."""
        records = (self.folder / ".snakemake" / "sge").glob("*.json")
        names = {path.stem: json.loads(path.read_text())["name"] for path in records}
        return {job: name for job, name in names.items() if name.startswith(f"{rule}.")}

    def submitted(self, rule: str) -> list[str]:
        """Returns the runs of these jobs."""
        return [name.split(".")[-1] for name in self.jobs(rule).values()]

    def set_frames(self, frames: int) -> None:
        """Changes the experiment's settings."""
        self.frames = frames
        write_config(self.folder, frames=frames)

    @property
    def results(self) -> dict[str, bytes]:
        """The files that come out the same to the byte, however a run was disturbed."""
        return {name: (self.folder / name).read_bytes() for name in RESULTS}


def copy_project(folder: Path, *, frames: int) -> None:
    """Copies the project and its core, with a small experiment."""
    for part in PARTS:
        source, target = PROJECT / part, folder / part
        if source.is_symlink() or source.is_file():
            shutil.copy2(source, target, follow_symlinks=False)
        else:
            shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    native = folder / "results" / "native"
    native.mkdir(parents=True)
    for name in ("libneurozoo_core.so", "build.json"):
        shutil.copy(PROJECT / "results" / "native" / name, native / name)  # younger than its sources
    write_config(folder, frames=frames)


def write_config(folder: Path, **overrides: int) -> None:
    """Writes the configuration of the experiment."""
    settings = copy.deepcopy(EXPERIMENT)
    settings["experiments"]["hurt"]["overrides"] |= overrides
    (folder / "hurt.yaml").write_text(yaml.safe_dump(settings))
