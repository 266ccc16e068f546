"""The commands that make runs, in an environment of scripts that only record how they were called."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
FORCED = "snakemake --profile profiles/local --quiet all --force -- results/native/libneurozoo_core.so"


@pytest.fixture
def make(tmp_path):
    """Runs a target where the core's check ends with a status, or where there is no core: `make(target, status=1)`."""

    def run(target, *, status):
        shutil.copytree(PROJECT / "envs", tmp_path / "envs")
        for name in ("Makefile", "pyproject.toml"):
            shutil.copy(PROJECT / name, tmp_path)
        programs = tmp_path / ".venv" / "bin"
        programs.mkdir(parents=True)
        for name, end in (("python", f"exit {status}"), ("snakemake", "exit 0")):
            (programs / name).write_text(f'#!/bin/sh\necho {name} "$@" >>calls.txt\n{end}\n')
            (programs / name).chmod(0o755)
        for name in (".cpu", ".dev"):
            (tmp_path / ".venv" / name).touch()
            os.utime(tmp_path / ".venv" / name, (4_000_000_000, 4_000_000_000))
        (tmp_path / "results" / "native").mkdir(parents=True)
        if status is not None:
            (tmp_path / "results" / "native" / "libneurozoo_core.so").touch()
        subprocess.run(["make", target], cwd=tmp_path, check=True, capture_output=True)
        calls = tmp_path / "calls.txt"
        return calls.read_text().splitlines() if calls.exists() else []

    return run


@pytest.mark.parametrize("target", ["setup", "foundations"])
def test_a_core_that_does_not_fit_its_sources_is_built_again_on_its_own(make, target):
    calls = make(target, status=1)
    assert calls[:2] == ["python -m neurozoo check-core", FORCED]
    assert all("--force" not in call for call in calls[2:])


@pytest.mark.parametrize("status", [0, None], ids=["it fits", "it is missing"])
@pytest.mark.parametrize("target", ["setup", "foundations"])
def test_nothing_is_built_by_force_otherwise(make, target, status):
    assert FORCED not in make(target, status=status)
