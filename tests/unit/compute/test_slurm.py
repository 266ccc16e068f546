import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yte
from neurozoo.compute import slurm
from neurozoo.errors import NeurozooError

PROJECT = Path(__file__).parents[3]
ID = "759f9c28-5cf5-4bbd-bbea-9603ad9b3e8d"


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Fills a queue of jobs, which squeue lists and from which scancel removes them; returns its file."""

    def fill(*jobs: str, can_cancel: bool = True) -> Path:
        lines = tmp_path / "queue"
        lines.write_text("".join(job + "\n" for job in jobs))
        removal = f'for job; do sed -i "/^$job|/d" {lines}; done' if can_cancel else "exit 0"
        for name, text in (("squeue", f"cat {lines}"), ("scancel", removal)):
            (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        return lines

    return fill


def ended_process() -> int:
    """Returns the id of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def job(number: int, folder: Path, *, process: int, host: str | None = None) -> str:
    host = host or slurm._host()
    return f"{number}|{host}-{process}_{ID}|{folder}"


def test_jobs_of_a_snakemake_that_has_ended_are_cancelled(queue, tmp_path):
    lines = queue(job(11, tmp_path, process=ended_process()), f"12|mine|{tmp_path}")
    assert slurm.end_leftover_jobs(tmp_path, has_to_answer=True) == ["11"]
    assert lines.read_text() == f"12|mine|{tmp_path}\n"


def test_jobs_from_another_folder_are_left_alone(queue, tmp_path):
    lines = queue(job(11, tmp_path / "other", process=ended_process()))
    assert slurm.end_leftover_jobs(tmp_path, has_to_answer=True) == []
    assert lines.read_text()


def test_jobs_of_a_snakemake_that_still_runs_in_the_folder_are_left_alone(queue, tmp_path):
    command = [sys.executable, "-c", "import time; time.sleep(1800)", "snakemake"]
    with subprocess.Popen(command, cwd=tmp_path) as other:
        try:
            while b"snakemake" not in Path(f"/proc/{other.pid}/cmdline").read_bytes():
                time.sleep(0.01)
            lines = queue(job(11, tmp_path, process=other.pid))
            assert slurm.end_leftover_jobs(tmp_path, has_to_answer=True) == []
            assert lines.read_text()
        finally:
            other.kill()


def test_a_job_of_an_earlier_process_with_our_own_number_is_ended(queue, tmp_path):
    queue(job(11, tmp_path, process=os.getpid()))
    assert slurm.end_leftover_jobs(tmp_path, has_to_answer=True) == ["11"]


def test_jobs_from_another_machine_are_refused_with_the_command_that_ends_them(queue, tmp_path):
    lines = queue(job(11, tmp_path, process=1, host="login-2"), job(12, tmp_path, process=1, host="login-2"))
    with pytest.raises(NeurozooError, match=r"a Snakemake on login-2.*: scancel 11 12$"):
        slurm.end_leftover_jobs(tmp_path, has_to_answer=True)
    assert len(lines.read_text().splitlines()) == 2


def test_jobs_that_do_not_end_are_an_error(queue, tmp_path, monkeypatch):
    monkeypatch.setattr(slurm, "PATIENCE", 0)
    queue(job(11, tmp_path, process=ended_process()), can_cancel=False)
    with pytest.raises(NeurozooError, match=r"Jobs 11 .* still in the queue"):
        slurm.end_leftover_jobs(tmp_path, has_to_answer=True)


def test_without_slurm_there_is_nothing_to_end(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert slurm.end_leftover_jobs(tmp_path, has_to_answer=True) == []


def test_a_squeue_that_fails_is_an_error_only_for_who_needs_slurm(queue, tmp_path):
    queue()
    (tmp_path / "squeue").write_text("#!/bin/sh\necho no contact >&2\nexit 1\n")
    with pytest.raises(NeurozooError, match="no contact"):
        slurm.end_leftover_jobs(tmp_path, has_to_answer=True)
    assert slurm.end_leftover_jobs(tmp_path, has_to_answer=False) == []


@pytest.fixture
def profile(monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict]:
    """Reads the profile as Snakemake does, from the project's root."""
    monkeypatch.setenv("PATH", os.environ["PATH"])  # which the profile changes
    monkeypatch.chdir(PROJECT)
    return lambda: yte.process_yaml((PROJECT / "profiles" / "slurm" / "config.yaml").read_text())


def test_the_profile_names_jobs_after_the_process_that_waits_for_them(profile):
    prefix = profile()["slurm-jobname-prefix"]
    assert prefix == f"{slurm._host()}-{os.getpid()}"
    assert re.fullmatch("[A-Za-z0-9_-]{1,50}", prefix)  # what the plugin permits


@pytest.mark.parametrize(
    ("sacct", "command"), [("exit 0", "sacct"), ("echo disabled >&2; exit 1", "squeue"), (None, "squeue")]
)
def test_the_profile_asks_squeue_where_sacct_does_not_answer(sacct, command, profile, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    if sacct:
        (tmp_path / "sacct").write_text(f"#!/bin/sh\n{sacct}\n")
        (tmp_path / "sacct").chmod(0o755)
    assert profile()["slurm-status-command"] == command


def test_where_there_is_no_sacct_the_profile_puts_one_that_fails(profile, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    profile()
    stand_in = shutil.which("sacct")
    assert subprocess.run([stand_in], capture_output=True, env={"PATH": "/bin"}).returncode == 1


def test_without_sbatch_the_profile_slurm_is_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    slurm.check_scheduler("local")
    with pytest.raises(NeurozooError, match=r"this machine has none in its PATH\. Start Snakemake on a login node"):
        slurm.check_scheduler("slurm")
    (tmp_path / "sbatch").write_text("#!/bin/sh\n")
    (tmp_path / "sbatch").chmod(0o755)
    slurm.check_scheduler("slurm")


def test_without_qsub_the_profile_sge_is_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    slurm.check_scheduler("cluster-generic")  # of somebody else's scheduler
    with pytest.raises(NeurozooError, match=r"--profile sge submits jobs with qsub, but this machine has none"):
        slurm.check_scheduler("grid-engine")
    (tmp_path / "qsub").write_text("#!/bin/sh\n")
    (tmp_path / "qsub").chmod(0o755)
    slurm.check_scheduler("grid-engine")


@pytest.mark.parametrize("name", ["a$b", 'a"b', "a`b", "a\\b", "a\nb"])
def test_folders_that_snakemake_does_not_hand_on_to_jobs_are_refused_in_a_sentence(tmp_path, monkeypatch, name):
    (tmp_path / "sbatch").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / name)
    slurm.check_scheduler("local")
    with pytest.raises(NeurozooError, match=r"^The path of this folder, .*, has a .*\. Move the project"):
        slurm.check_scheduler("slurm")
