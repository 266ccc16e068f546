import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).parents[2]
RULE_FILES = sorted((PROJECT / "workflow" / "rules").glob("*.smk"))
SCRIPTS = sorted((PROJECT / "workflow" / "scripts").glob("*.py"))
FOLDERS = ("<results>/", "<noise>/", "results/native/")
RUN = "<results>/runs/{algo}/{game}/{model}/{run}/"


def test_snakemakes_linter_is_quiet(snakemake):
    run = snakemake("--lint")
    assert run.returncode == 0, run.stdout
    assert "Congratulations" in run.stdout


def test_rules_are_formatted():
    command = [sys.executable, "-m", "snakefmt", "--check", str(PROJECT / "workflow")]
    run = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def expanded(path: str) -> set[str]:
    """Returns the paths that `{png,csv}` in a path stands for."""
    if choice := re.search(r"\{(\w+(?:,\w+)+)\}", path):
        before, after = path[: choice.start()], path[choice.end() :]
        return {found for word in choice[1].split(",") for found in expanded(before + word + after)}
    return {path}


def listed(text: str, title: str) -> set[str]:
    """Returns the paths that the opening of a rule file lists; values in words are left out."""
    found = re.search(rf'^{title}:\n\n((?:    \w+ += .+\n)+)(?:\n|""")', text, re.MULTILINE)
    values = [line.split(" = ", 1)[1] for line in found[1].splitlines()] if found else []
    return {path for value in values if value.startswith(FOLDERS) for path in expanded(value)}


def in_rules(text: str, section: str) -> set[str]:
    """Returns the paths in this section of all rules; those of tagged moments of a run count as the run's."""
    paths = set()
    for block in re.findall(rf"^    {section}:\n((?:        .*\n)+)", text, re.MULTILINE):
        written = re.findall(rf'"((?:{"|".join(FOLDERS)})[^"]+)"', block)
        written += [RUN + name for name in re.findall(r'planned(?:_of_game)?\("([^"]+)"', block)]
        for path in written:
            path = path.replace("{{", "{").replace("}}", "}").replace("tags/{tag}/", "")
            paths |= expanded(path.replace("{format}", "{pdf,svg,png}"))
    return paths


@pytest.mark.parametrize("path", RULE_FILES, ids=lambda path: path.name)
def test_a_rule_file_opens_with_what_its_rules_need_and_make(path):
    text = path.read_text()
    assert text.startswith('"""\n')
    made = in_rules(text, "output")
    assert made or "\nrule " not in text
    assert listed(text, "OUTPUTS") == made
    made |= {file.replace("/imported/", "/{algo}/") for file in made}
    assert listed(text, "REQUIRED INPUTS") == in_rules(text, "input") - made


@pytest.mark.parametrize("path", RULE_FILES, ids=lambda path: path.name)
def test_results_of_an_experiment_can_be_moved(path):
    """Paths begin with the name of a folder that the configuration may move; only the native core always stays."""
    fixed = [line for line in path.read_text().splitlines() if re.search(r"[\"']results/(?!native/)", line)]
    assert not fixed


@pytest.mark.parametrize("path", RULE_FILES, ids=lambda path: path.name)
def test_environments_of_rules_exist(path):
    for name in re.findall(r"conda:\s+\"(.*)\"", path.read_text()):
        assert (path.parent / name).exists()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_names_the_function_that_it_calls(path):
    text = path.read_text()
    module, _, function = re.match(r'"""Runs `(\S+)`', text)[1].rpartition(".")
    (names,) = re.findall(rf"^from {re.escape(module)} import (.*)$", text, re.MULTILINE)
    assert function in names.split(", ")
    assert re.search(rf"^ +(?:report = )?{function}\(", text, re.MULTILINE)


@pytest.mark.parametrize("path", sorted((PROJECT / "envs").glob("*.yaml")), ids=lambda path: path.name)
def test_conda_environments_have_the_versions_of_the_lock(path):
    text = (PROJECT / "envs" / "requirements-dev.txt").read_text()
    here = r"(?: ; (?:python_full_version < '3\.1[24]'|sys_platform == 'linux'|.* or sys_platform != 'emscripten'))?"
    locked = dict(re.findall(rf"^([\w-]+)==([^\s;]+){here} \\$", text, re.MULTILINE))
    locked |= {"tensorflow[and-cuda]": locked["tensorflow-cpu"], "jax[cuda12]": locked["jax"]}
    environment = yaml.safe_load(path.read_text())
    assert "python=3.11" in environment["dependencies"]
    pinned = dict(line.split("==") for line in environment["dependencies"][-1]["pip"])
    assert pinned == {name: locked[name] for name in pinned}


def test_profiles_agree_on_when_files_are_made_again():
    """No profile keeps incomplete files, and new code repeats nothing with any profile and without."""
    for path in (PROJECT / "profiles").glob("*/config.yaml"):
        settings = {name: v for name, v in yaml.safe_load(path.read_text()).items() if not name.startswith("__")}
        if path.parent.name == "default":
            assert settings == {"rerun-triggers": ["mtime", "params", "input"], "rerun-incomplete": True}
        else:
            assert not {"keep-incomplete", "rerun-triggers", "rerun-incomplete"} & set(settings)
