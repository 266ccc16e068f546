"""The job scripts of workers for Grid Engine and Slurm, read as these and the shell read them."""

import itertools
import os
import shlex
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from neurozoo.compute import dask_jobs
from neurozoo.compute.dask_clusters import open_cluster
from neurozoo.compute.dask_settings import ClusterSettings
from neurozoo.errors import NeurozooError

SUBMIT = """#!/bin/bash
env > "$FAKE_JOBS/environment"
copy=$(mktemp "$FAKE_JOBS/XXXXXX")
cat "$1" > "$copy"
mv "$copy" "$copy.sh"
{answer}
"""


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    """Fake commands of both schedulers that keep the job scripts; returns their folder."""
    folder = tmp_path / "jobs"
    folder.mkdir()
    for name in ("qsub", "sbatch", "qdel", "scancel"):
        command = tmp_path / "bin" / name
        command.parent.mkdir(exist_ok=True)
        answer = "echo Your job 17 has been submitted" if name in ("qsub", "sbatch") else "exit 0"
        command.write_text(SUBMIT.format(answer=answer) if name in ("qsub", "sbatch") else "#!/bin/sh\n")
        command.chmod(command.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_JOBS", str(folder))
    return folder


@pytest.fixture
def script_of(jobs, wait_until):
    """Returns the script of the first job: `script_of(words, folder)`."""

    def read(words, folder):
        with open_cluster(ClusterSettings.of(words), folder=folder):
            (script, *_) = wait_until(lambda: list(jobs.glob("*.sh")), what="no job came")
            return script.read_text()

    return read


def directives(script, mark):
    return {line.removeprefix(mark).strip() for line in script.splitlines() if line.startswith(mark)}


def command_of(script):
    return shlex.split(script.strip().splitlines()[-1])


def test_slurm_is_asked_for_what_the_settings_say(script_of, tmp_path):
    words = "slurm threads=8 memory=16GiB walltime=04:00:00 queue=fast account=zoo 'directives=-C avx2; --exclusive'"
    script = script_of(words, tmp_path / "run")
    assert directives(script, "#SBATCH") == {
        "-J neurozoo-worker",
        "-p fast",
        "-A zoo",
        "-n 1",
        "--cpus-per-task=8",
        "--mem=16G",
        "-t 04:00:00",
        "-o /dev/null",
        "--no-requeue",
        "-C avx2",
        "--exclusive",
    }


def test_grid_engine_is_asked_for_what_the_settings_say(script_of, tmp_path):
    words = "sge threads=4 walltime=04:00:00 queue=all.q account=zoo 'directives=-pe smp 4; -l h_vmem=2G'"
    script = script_of(words, tmp_path / "run")
    assert directives(script, "#$") == {
        "-N neurozoo-worker",
        "-q all.q",
        "-P zoo",
        "-l h_rt=04:00:00",
        "-cwd",
        "-j y",
        "-S /bin/bash",
        "-r n",
        "-o /dev/null",
        "-pe smp 4",
        "-l h_vmem=2G",
    }


@pytest.mark.parametrize("kind", ["slurm", "sge"])
def test_a_job_script_has_the_paths_of_keys_but_not_the_keys(script_of, tmp_path, kind):
    folder = tmp_path / "a folder's $(touch surprise) `name`"
    script = script_of(f"{kind} threads=3", folder)
    command = command_of(script)
    assert command[:3] == [sys.executable, "-m", "distributed.cli.dask_worker"]
    assert command[3].startswith("tls://")
    given = dict(itertools.pairwise(command))
    assert given["--nthreads"] == "3"
    assert given["--protocol"] == "tls://"
    assert given["--dashboard-address"] == "127.0.0.1:0"
    for option in ("--tls-ca-file", "--tls-cert", "--tls-key"):
        assert Path(given[option]).parent == folder
    assert "PRIVATE" not in script


def test_the_lines_before_the_worker_open_a_log_and_find_the_library(script_of, tmp_path):
    folder = tmp_path / "a folder's $(touch surprise) `name`"
    script = script_of("slurm", folder)
    *before, _ = script.strip().splitlines()
    words = "echo hello; python3 -c \"import os; print(os.environ['PYTHONPATH'])\""
    environment = os.environ | {"SLURM_JOB_ID": "23", "PYTHONPATH": "/before"}
    subprocess.run(["bash", "-c", "\n".join([*before, words])], check=True, cwd=tmp_path, env=environment)
    library = Path(__file__).parents[3] / "workflow" / "lib"
    assert (folder / "logs" / "worker-23.log").read_text() == f"hello\n{library}:/before\n"
    assert not (tmp_path / "surprise").exists()


def test_a_job_that_submits_jobs_does_not_pass_its_own_size_on(script_of, jobs, tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "123")
    script_of("slurm", tmp_path / "run")
    assert "SLURM_MEM_PER_NODE" not in (jobs / "environment").read_text()


def wait_for_error(cluster):
    end = time.monotonic() + 600
    while time.monotonic() < end:
        cluster.count_slots()
        time.sleep(0.1)


@pytest.fixture
def look_often(monkeypatch):
    monkeypatch.setattr(dask_jobs, "LOOK_SECONDS", dict.fromkeys(dask_jobs.LOOK_SECONDS, 0.1))
    monkeypatch.setattr(dask_jobs, "MOST_SECONDS_BETWEEN_TRIALS", 0.1)


def test_a_scheduler_that_refuses_jobs_ends_the_run_with_its_message(jobs, tmp_path, look_often):
    (tmp_path / "bin" / "sbatch").write_text("#!/bin/sh\necho 'invalid partition specified: fasst' >&2\nexit 1\n")
    with open_cluster(ClusterSettings.of("slurm queue=fasst"), folder=tmp_path / "run") as cluster:
        with pytest.raises(NeurozooError, match=r"refuses the jobs of workers.*invalid partition specified: fasst"):
            wait_for_error(cluster)
        assert len(cluster.notes.refusals) >= 5


@pytest.mark.long(seconds=9)
@pytest.mark.parametrize(
    ("kind", "command", "answer"),
    [
        ("slurm", "squeue", "echo slurm_load_jobs error: Invalid job id specified >&2; exit 1"),
        ("slurm", "squeue", "echo FAILED"),
        ("slurm", "squeue", "exit 0"),
        ("sge", "qstat", "echo Following jobs do not exist: 17; exit 1"),
    ],
)
def test_jobs_that_end_before_a_worker_connects_end_the_run(jobs, tmp_path, look_often, kind, command, answer):
    (tmp_path / "bin" / command).write_text(f"#!/bin/sh\n{answer}\n")
    (tmp_path / "bin" / command).chmod(0o755)
    with (
        open_cluster(ClusterSettings.of(f"{kind} workers=1"), folder=tmp_path / "run") as cluster,
        pytest.raises(NeurozooError, match=r"9 jobs were started, but none became a worker.*logs"),
    ):
        wait_for_error(cluster)


@pytest.mark.parametrize(
    ("kind", "command", "answer"),
    [
        ("slurm", "squeue", "echo PENDING"),
        ("slurm", "squeue", "echo Unable to contact slurm controller >&2; exit 1"),
        ("sge", "qstat", "echo job_number: 17"),
        ("sge", "qstat", "echo error: commlib error: got select error >&2; exit 1"),
    ],
)
def test_a_job_that_waits_or_whose_state_is_unknown_is_waited_for(
    jobs, tmp_path, look_often, wait_until, kind, command, answer
):
    asked = tmp_path / "asked"
    (tmp_path / "bin" / command).write_text(f"#!/bin/sh\necho asked >> {asked}\n{answer}\n")
    (tmp_path / "bin" / command).chmod(0o755)
    with open_cluster(ClusterSettings.of(f"{kind} workers=1"), folder=tmp_path / "run") as cluster:
        wait_until(lambda: asked.exists() and asked.read_text().count("asked") >= 10, what="nobody asked")
        cluster.count_slots()
        assert cluster.notes.submitted == 1
