import functools
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from neurozoo.genomes.noise_table import build_noise_table
from neurozoo.native import BUILD, REBUILD
from neurozoo.native.image import LIBRARIES

PROJECT = Path(__file__).parents[2]


def job_counts(output: str) -> dict[str, int]:
    """Reads Snakemake's table of jobs."""
    return {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", output, re.MULTILINE)}


def runs_in(path: Path) -> int:
    """Counts the runs of a configuration whose experiments do not overlap."""
    return sum(
        len(e["games"]) * len(e["models"]) * (e["runs"] if isinstance(e["runs"], int) else len(e["runs"]))
        for e in yaml.safe_load(path.read_text()).get("experiments", {}).values()
    )


@pytest.fixture(scope="module")
def plan(copy_project, run_snakemake, tmp_path_factory):
    """Dry runs of the project as it is, each of them only once: `plan(*arguments)` returns what Snakemake says."""
    project = copy_project(tmp_path_factory.mktemp("project"))

    @functools.cache
    def run(*arguments: str) -> str:
        answer = run_snakemake(project, "-n", *arguments)
        assert answer.returncode == 0, answer.stdout
        return answer.stdout

    return run


@pytest.mark.parametrize(
    "profile",
    ["profiles/slurm", *(pytest.param(name, marks=pytest.mark.long) for name in ("sge", "local", "profiles/local"))],
)
def test_every_profile_plans_the_experiments_of_config_yaml(plan, profile):
    said = plan("--profile", profile)
    assert job_counts(said)["train"] == runs_in(PROJECT / "config.yaml")


def test_debugging_has_results_of_its_own_but_shares_the_core_and_the_noise_table(plan):
    said = plan("--profile", "debug")
    assert job_counts(said)["train"] == 1
    made = set(re.findall(r"results/[\w./-]+", " ".join(re.findall(r"^    output: (.*)$", said, re.MULTILINE))))
    shared = {file for file in made if not file.startswith("results/debug/")}
    assert {str(Path(file).parent) for file in shared} == {"results/native", "results/noise"}
    assert {"results/debug/tables/scores.csv", "results/debug/figures/learning_curves.pdf"} <= made


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=() if path.stem in ("family", "published_genomes") else pytest.mark.long)
        for path in sorted(path for pattern in ("*.yaml", "book/*.yaml") for path in (PROJECT / "config").glob(pattern))
    ],
)
def test_a_given_configuration_replaces_config_yaml(plan, path):
    if path.stem == "humanoid":
        pytest.importorskip("mujoco", reason="needs MuJoCo: .venv/bin/pip install mujoco==4.0.0")
    said = plan("--configfile", str(path.relative_to(PROJECT)))
    planned = job_counts(said)
    assert planned.get("train", 0) + planned.get("train_archive", 0) == runs_in(path)


def test_every_run_with_parents_gets_its_family_tree(plan):
    said = plan("--configfile", "config/family.yaml")
    assert job_counts(said)["plot_lineage"] == 4  # the genetic algorithm's, of twelve
    assert not re.search(r"output: \S*/(es|nsr_es)/\S*lineage", said)


def test_published_genomes_go_all_the_way_to_movies_and_scores_and_nothing_is_trained(plan):
    said = plan("--configfile", "config/published_genomes.yaml")
    counts = job_counts(said)
    rules = ("import_genome", "freeze_imported", "rollout", "activation_movie", "evaluate")
    assert [counts[rule] for rule in rules] == [5] * 5
    assert counts["imported_scores"] == 1
    assert not {"train", "plot_learning_curves"} & set(counts)


def test_the_first_movie_of_the_demo_waits_for_neither_compilers_nor_trainings(plan):
    (movie,) = re.findall(r"--prioritize (\S+)", (PROJECT / "Makefile").read_text())
    assert movie in plan("--profile", "profiles/slurm")  # the workflow makes it
    counts = job_counts(plan(movie))
    assert set(counts) == {
        "noise_table", "import_genome", "freeze_imported", "rollout", "activation_movie", "total",
    }  # fmt: skip


def test_runs_request_only_what_they_use_and_wait_for_those_they_start_from(project, snakemake):
    """Kubernetes refuses even gpu=0; jobs with `mpi` start without srun, so Slurm warns no other run of its end."""
    (project / "mine.yaml").write_text(
        "experiments: {mine: {algo: ga, games: [pong], models: [small], runs: [2],"
        " overrides: {load_population: results/runs/ga/pong/small/1}}}\n"
        "algorithms: {es: {overrides: {engine: batched}}, impala: {overrides: {learners: 2}}}\n"
    )
    runs = ("es/pong/small/1", "ga/pong/small/2", "impala/pong/impala_shallow/1")
    targets = [f"results/runs/{run}/metrics.csv" for run in runs]
    run = snakemake("-n", *targets, "--configfile", "mine.yaml")
    assert run.returncode == 0, run.stdout
    assert job_counts(run.stdout)["train"] == 4
    train = r"^rule train:\n(?:    .*\n)*?    wildcards: algo=(\w+), .*\n(?:    .*\n)*?    resources: (.*)$"
    resources = dict(re.findall(train, run.stdout, re.MULTILINE))
    found = {algo: set(re.findall(r"\b(?:gpu|mpi)=\w+", words)) for algo, words in resources.items()}
    assert found == {"es": {"gpu=1"}, "ga": set(), "impala": {"mpi=yes"}}


def test_jobs_run_in_the_configured_image_if_snakemake_is_told_so(plan, snakemake_environment, tmp_path, monkeypatch):
    apptainer = tmp_path / "apptainer"
    apptainer.write_text("#!/bin/sh\necho apptainer version 1.4.5\n")  # all that a dry run asks it
    apptainer.chmod(0o755)
    monkeypatch.setitem(snakemake_environment, "PATH", f"{tmp_path}:{snakemake_environment['PATH']}")
    image = "container=docker://registry.example.org/zoo"
    said = plan("results/noise/table.f32", "--sdm", "apptainer", "--config", image)
    assert "image docker://registry.example.org/zoo will be pulled" in said
    assert job_counts(said) == {"noise_table": 1, "total": 1}


def make_natives(project, time):
    """Makes empty files of the core and of the noise table."""
    names = ("ale-py-0.12.1.tar.gz", *LIBRARIES, "build.json")
    for name in (*(f"native/{name}" for name in names), "noise/table.f32", "noise/table.json"):
        file = project / "results" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        os.utime(file, (time, time))


def test_a_plan_names_what_has_changed_in_a_run_that_is_interrupted(project, snakemake):
    """With the logger of the profile, which shows the outlook that the rule has as a resource."""
    run = {"format": 1, "algo": "ga", "game": "frostbite", "model": "small", "run": 1, "protocol": "uber2018"}
    folder = project / "results/runs/ga/frostbite/small/1"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(run | {"seed": 5}))
    plan = snakemake("-n", "--profile", "local", f"{folder.relative_to(project)}/result.json").stdout
    assert "1 run to train. This is a plan" in plan
    assert job_counts(plan)["train"] == 1
    assert "ga/frostbite/small/1: starts anew (seed was 5, is now 0" in plan


def test_a_core_that_is_older_than_its_sources_does_not_hide_other_jobs(project, snakemake):
    make_natives(project, 1)
    counts = job_counts(snakemake("-n", "--profile", "local", "results/figures/learning_curves.pdf").stdout)
    assert not {"build_native", "freeze_model"} & set(counts)  # build.json knows better than the clock
    assert counts["train"] == runs_in(PROJECT / "config.yaml")
    assert counts["plot_learning_curves"] == 1


@pytest.mark.long(seconds=8)
@pytest.mark.parametrize("sentence", [BUILD, REBUILD])
def test_the_command_that_builds_the_core_builds_nothing_else(project, snakemake, sentence):
    command = sentence.partition(": snakemake ")[2].split()
    assert job_counts(snakemake("-n", *command).stdout) == {"fetch_ale": 1, "build_native": 1, "total": 2}
    make_natives(project, 2_000_000_000)
    expected = {"build_native": 1, "total": 1} if sentence == REBUILD else {}
    assert job_counts(snakemake("-n", *command).stdout) == expected


def test_what_is_made_of_files_from_the_future_stays(project, snakemake):
    (project / "mine.yaml").write_text(
        "imports: {a: {game: pong, model: small, file: genome.json}}\nnoise: {size: 2_000_000}\nexperiments: {}\n"
    )
    (project / "genome.json").write_text("[1, [2, 0.002]]")
    options = ("--cores", "1", "--configfile", "mine.yaml", "--", "results/runs/imported/pong/small/1/result.json")
    (project / "results/noise").mkdir(parents=True)
    build_noise_table(project / "results/noise/table.f32", size=2_000_000)
    tomorrow = time.time() + 86400
    for name in ("results/noise/table.f32", "results/noise/table.json", "genome.json"):
        os.utime(project / name, (tomorrow, tomorrow))
    plan = snakemake("-n", *options).stdout
    assert re.search(r"3 files are newer than now, such as \S+ \(by 23 h 5\d min\): another clock was ahead, or", plan)
    assert (project / "genome.json").stat().st_mtime == tomorrow
    answer = snakemake(*options)
    assert answer.returncode == 0, answer.stdout
    assert (project / options[-1]).exists()
    assert "Nothing to be done" in snakemake("-n", *options).stdout


def test_scripts_find_the_library_of_their_own_project_without_any_environment(project, snakemake):
    with open(project / "workflow/lib/neurozoo/genomes/noise_table.py", "a") as module:
        module.write('import sys; print("own library:", sys.argv[0])')
    run = snakemake("results/test/noise/table.f32", "--cores", "1", "--configfile", "config/test.yaml")
    assert run.returncode == 0, run.stdout
    assert re.search(r"^own library: .*\.noise_table\.py$", run.stdout, re.MULTILINE)  # not the installed one
    assert (project / "results/test/noise/table.f32").stat().st_size == 4 * 5_000_000


def test_an_account_that_the_system_does_not_know_gets_a_plan(project):
    stranger = ["unshare", "--map-user=4242", "--map-group=4242"]
    if subprocess.run([*stranger, "true"], capture_output=True).returncode:
        pytest.skip("this machine permits no other user ids")
    # In .venv, each start of Python runs this line: Snakemake asks for a home before it reads anything of the project.
    start = (PROJECT / "envs" / "neurozoo.pth").read_text()
    code = f"{start}import sys; from snakemake.cli import main; main(sys.argv[1:])"
    environment = {"PATH": os.environ["PATH"], "SLURM_CONF": os.devnull}
    command = [*stranger, sys.executable, "-c", code, "-n", "--configfile", "config/test.yaml"]
    run = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
    assert (run.returncode, "This was a dry-run" in run.stdout) == (0, True), run.stderr


def test_the_project_serves_as_a_module_of_another_workflow(project, snakemake, tmp_path_factory):
    folder = tmp_path_factory.mktemp("other")
    (folder / "Snakefile").write_text(
        f"""
configfile: "mine.yaml"
module neurozoo:
    snakefile: "{project}/workflow/Snakefile"
    config: config
use rule * from neurozoo as neurozoo_*
"""
    )
    (folder / "mine.yaml").write_text("experiments: {mine: {algo: ga, games: [pong], models: [large], runs: [3]}}")
    run = snakemake("-n", "--directory", str(folder), "--snakefile", str(folder / "Snakefile"), "neurozoo_all")
    assert run.returncode == 0, run.stdout
    assert job_counts(run.stdout)["neurozoo_train"] == 1
    assert "results/runs/ga/pong/large/3/checkpoint.npz" in run.stdout


@pytest.mark.long(seconds=8)
def test_a_dry_run_takes_less_than_two_and_a_half_starts_of_snakemake(snakemake):
    def seconds(*arguments: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert snakemake(*arguments).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert seconds("-n") < 2.5 * seconds("--version")


def test_reading_a_configuration_imports_no_tensorflow():
    code = "import sys, neurozoo.plan.prepare; sys.exit('tensorflow' in sys.modules or 'keras' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "workflow" / "lib")}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0


@pytest.mark.long(seconds=6)
def test_forms_of_frozen_networks_that_nobody_wants_are_not_planned(plan):
    """Each form of a network takes as much disk space as its checkpoint."""
    wanted = ["--profile", "profiles/local", "results/runs/ga/frostbite/small/1/frozen/model.json"]
    said = plan(*wanted, "--config", "freeze={forms: []}")
    outputs = " ".join(re.findall(r"^    output: (.*)$", said, re.MULTILINE))
    assert set(re.findall(r"frozen/([\w.]+)", outputs)) == {"model.json", "model.keras"}
