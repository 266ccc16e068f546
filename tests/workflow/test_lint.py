import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).parents[2]
RULE_FILES = sorted((PROJECT / "workflow" / "rules").glob("*.smk"))


def test_snakemakes_linter_is_quiet(snakemake):
    run = snakemake("--lint")
    assert run.returncode == 0, run.stdout
    assert "Congratulations" in run.stdout


def test_rules_are_formatted():
    command = [sys.executable, "-m", "snakefmt", "--check", str(PROJECT / "Snakefile"), *map(str, RULE_FILES)]
    run = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("path", RULE_FILES, ids=lambda path: path.name)
def test_a_rule_file_opens_with_what_it_makes(path):
    assert path.read_text().startswith('"""\n')


@pytest.mark.parametrize("path", RULE_FILES, ids=lambda path: path.name)
def test_results_of_an_experiment_can_be_moved(path):
    """Paths begin with the name of a folder that the configuration may move; only the native op always stays."""
    fixed = [line for line in path.read_text().splitlines() if re.search(r"[\"']results/(?!native/)", line)]
    assert not fixed


@pytest.mark.parametrize("path", RULE_FILES, ids=lambda path: path.name)
def test_environments_of_rules_exist(path):
    for name in re.findall(r"conda:\s+\"(.*)\"", path.read_text()):
        assert (path.parent / name).exists()


@pytest.mark.parametrize("path", sorted((PROJECT / "envs").glob("*.yaml")), ids=lambda path: path.name)
def test_conda_environments_have_the_versions_of_the_lock(path):
    text = (PROJECT / "envs" / "requirements-dev.txt").read_text()
    locked = dict(re.findall(r"^([\w-]+)==([^\s;]+)(?: ; python_full_version < '3\.12')? \\$", text, re.MULTILINE))
    locked |= {"tensorflow[and-cuda]": locked["tensorflow-cpu"], "jax[cuda12]": locked["jax"]}
    environment = yaml.safe_load(path.read_text())
    assert "python=3.11" in environment["dependencies"]
    pinned = dict(line.split("==") for line in environment["dependencies"][-1]["pip"])
    assert pinned == {name: locked[name] for name in pinned}


@pytest.mark.parametrize(
    "path", sorted((PROJECT / "profiles").glob("*/config.yaml")), ids=lambda path: path.parent.name
)
def test_no_profile_keeps_incomplete_files_or_repeats_trainings_for_new_code(path):
    profile = yaml.safe_load(path.read_text())
    assert "keep-incomplete" not in profile
    assert profile["rerun-triggers"] == ["mtime", "params", "input"]
    assert profile["rerun-incomplete"] is True
