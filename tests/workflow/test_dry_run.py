import functools
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from neurozoo.native import BUILD, REBUILD
from neurozoo.plan.configuration import check_config
from neurozoo.plan.planned_runs import run_settings

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
    """Dry runs of the project as it is: `plan(*arguments)`, each of them only once."""
    project = copy_project(tmp_path_factory.mktemp("project"))
    return functools.cache(lambda *arguments: run_snakemake(project, "-n", *arguments))


@pytest.mark.parametrize(
    "profile",
    [
        "sge",
        "profiles/slurm",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("local", "slurm", "profiles/local", "profiles/sge")),
    ],
)
def test_every_profile_plans_the_experiments_of_config_yaml(plan, profile):
    run = plan("--profile", profile)
    assert run.returncode == 0, run.stdout
    assert job_counts(run.stdout)["train"] == runs_in(PROJECT / "config.yaml")


@pytest.mark.parametrize("profile", ["debug", pytest.param("profiles/debug", marks=pytest.mark.long)])
def test_debugging_has_results_of_its_own_but_shares_the_op_and_the_noise_table(plan, profile):
    run = plan("--profile", profile)
    assert run.returncode == 0, run.stdout
    assert job_counts(run.stdout)["train"] == 1
    made = set(re.findall(r"results/[\w./-]+", " ".join(re.findall(r"^    output: (.*)$", run.stdout, re.MULTILINE))))
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
    run = plan("--configfile", str(path.relative_to(PROJECT)))
    assert run.returncode == 0, run.stdout
    planned = job_counts(run.stdout)
    assert planned.get("train", 0) + planned.get("train_archive", 0) == runs_in(path)


def test_a_single_algorithm_is_compared_but_not_classified(snakemake, project):
    text = (project / "config.yaml").read_text()
    (project / "config.yaml").write_text(text.replace("  games: []", "  games: [frostbite]"))  # the example beside it
    counts = job_counts(snakemake("-n").stdout)
    assert counts["embedding_page"] == 1
    assert "classify_states" not in counts


def test_every_run_with_parents_gets_its_family_tree(plan):
    run = plan("--configfile", "config/family.yaml")
    assert run.returncode == 0, run.stdout
    assert job_counts(run.stdout)["plot_lineage"] == 4  # the genetic algorithm's, of twelve
    assert not re.search(r"output: \S*/(es|nsr_es)/\S*lineage", run.stdout)


def test_published_genomes_go_all_the_way_to_movies_and_scores_and_nothing_is_trained(plan):
    run = plan("--configfile", "config/published_genomes.yaml")
    assert run.returncode == 0, run.stdout
    counts = job_counts(run.stdout)
    for rule in ("import_genome", "freeze_model", "rollout", "activation_movie", "evaluate"):
        assert counts[rule] == 5
    assert counts["imported_scores"] == 1
    assert "train" not in counts
    assert "plot_learning_curves" not in counts


def test_an_imported_run_that_the_configuration_does_not_name_is_explained(plan):
    run = plan("results/runs/imported/pong/small/7/rollout.npz")
    assert run.returncode != 0
    assert "No entry under imports makes the run imported/pong/small/7; they make: none." in run.stdout


def test_a_sweep_plans_the_runs_of_each_combination_with_its_settings(plan, tmp_path):
    file = tmp_path / "sweep.yaml"
    file.write_text(
        "experiments:\n  demo:\n    {algo: ga, games: [pong], models: [small], runs: 2,"
        " sweep: {mutation_power: [0.002, 0.005], protocol: [uber2018, machado2018]}}\n"
    )
    run = plan("--configfile", str(file))
    assert run.returncode == 0, run.stdout
    trained = re.findall(r"results/runs/ga/pong/small/(\d+)/checkpoint\.npz", run.stdout)
    assert {int(number) for number in trained} == {1, 2, 101, 102, 201, 202, 301, 302}
    assert job_counts(run.stdout)["train"] == job_counts(run.stdout)["activation_movie"] == 8
    config = check_config(yaml.safe_load(file.read_text()))
    settings = [run_settings(config, algo="ga", game="pong", model="small", run=run) for run in (2, 102, 202, 302)]
    assert [(found["mutation_power"], found["protocol"]) for found in settings] == [
        (0.002, "uber2018"), (0.002, "machado2018"), (0.005, "uber2018"), (0.005, "machado2018"),
    ]  # fmt: skip


def test_a_mistake_in_a_sweep_stops_snakemake_with_a_sentence(plan):
    run = plan("--config", "experiments={demo: {sweep: {mutation_powr: [0.1]}}}")
    assert run.returncode != 0
    assert "experiments.demo.sweep: ga has no setting 'mutation_powr'; did you mean" in run.stdout


def test_generations_are_filmed_for_the_configured_experiments(project, snakemake):
    path = project / "config" / "test.yaml"
    path.write_text(path.read_text().replace("experiments: [recurrent]", "experiments: [test]"))
    run = snakemake("-n", "--configfile", "config/test.yaml")
    assert run.returncode == 0, run.stdout
    assert job_counts(run.stdout)["generations"] == 2


@pytest.mark.long
def test_a_run_outside_of_every_experiment_can_be_requested_by_its_path(plan):
    run = plan("results/runs/rs/ms_pacman/recurrent_large/17/metrics.csv")
    assert run.returncode == 0, run.stdout
    assert job_counts(run.stdout)["train"] == 1


def test_only_runs_of_the_batched_engine_request_a_gpu(project, snakemake):
    (project / "mine.yaml").write_text(
        "experiments: {demo: {algo: ga, games: [pong], models: [small]}}\n"
        "algorithms: {es: {overrides: {engine: batched}}}\n"
    )
    targets = [f"results/runs/{algo}/pong/small/1/metrics.csv" for algo in ("es", "ga")]
    run = snakemake("-n", *targets, "--configfile", "mine.yaml")
    assert run.returncode == 0, run.stdout
    train = r"^rule train:\n(?:    .*\n)*?    wildcards: algo=(\w+), .*\n(?:    .*\n)*?    resources: (.*)$"
    resources = dict(re.findall(train, run.stdout, re.MULTILINE))
    assert set(resources) == {"es", "ga"}
    assert "gpu=1" in resources["es"].split(", ")
    assert "gpu=" not in resources["ga"]  # not even 0, which Kubernetes refuses


def test_only_runs_of_several_processes_have_the_resource_mpi(project, snakemake):
    """Without srun, which Slurm leaves out for jobs with `mpi`, no warning comes before the end of a slice."""
    (project / "mine.yaml").write_text(
        "experiments: {demo: {algo: ga, games: [pong], models: [small]}}\n"
        "algorithms: {impala: {overrides: {learners: 2}}}\n"
    )
    targets = [f"results/runs/{run}/1/metrics.csv" for run in ("ga/pong/small", "impala/pong/impala_shallow")]
    run = snakemake("-n", *targets, "--configfile", "mine.yaml")
    assert run.returncode == 0, run.stdout
    train = r"^rule train:\n(?:    .*\n)*?    wildcards: algo=(\w+), .*\n(?:    .*\n)*?    resources: (.*)$"
    resources = {algo: each.split(", ") for algo, each in re.findall(train, run.stdout, re.MULTILINE)}
    assert not [each for each in resources["ga"] if each.startswith("mpi=")]
    assert {"mpi=yes", "tasks=2"} <= set(resources["impala"])


def test_jobs_run_in_the_configured_image_if_snakemake_is_told_so(plan, snakemake_environment, tmp_path, monkeypatch):
    apptainer = tmp_path / "apptainer"
    apptainer.write_text("#!/bin/sh\necho apptainer version 1.4.5\n")  # all that a dry run asks it
    apptainer.chmod(0o755)
    monkeypatch.setitem(snakemake_environment, "PATH", f"{tmp_path}:{snakemake_environment['PATH']}")
    image = "container=docker://registry.example.org/zoo"
    run = plan("results/noise/table.f32", "--sdm", "apptainer", "--config", image)
    assert "image docker://registry.example.org/zoo will be pulled" in run.stdout
    assert job_counts(run.stdout) == {"noise_table": 1, "total": 1}


def test_a_figure_needs_no_frozen_network(plan):
    run = plan("results/figures/learning_curves.pdf")
    assert run.returncode == 0, run.stdout
    assert job_counts(run.stdout)["train"] == runs_in(PROJECT / "config.yaml")
    assert "frozen/model.json" not in run.stdout


def make_natives(project, time):
    """Makes empty files of the op and of the noise table."""
    names = ("native/ale-py-0.12.1.tar.gz", "native/libneurozoo_ops.so", "native/build.json")
    for name in (*names, "noise/table.f32", "noise/table.json"):
        file = project / "results" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        os.utime(file, (time, time))


def test_a_rebuilt_op_trains_nothing_again(project, snakemake):
    folder = project / "results/runs/ga/frostbite/small/1"
    outputs = [folder / name for name in ("config.yaml", "checkpoint.npz", "genome.json", "log.jsonl")]
    for file in outputs:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        os.utime(file, (2_000_000_000, 2_000_000_000))
    make_natives(project, 2_000_000_100)
    target = str(outputs[1].relative_to(project))
    assert "Nothing to be done" in snakemake("-n", "--profile", "local", target).stdout


def test_the_cores_are_shared_by_runs_that_are_not_finished(project, snakemake):
    (project / "mine.yaml").write_text("experiments: {one: {algo: rs, games: [pong], models: [small], runs: 4}}\n")
    make_natives(project, 1_000_000_000)

    def threads():
        run = snakemake("results/figures/learning_curves.pdf", "-n", "--cores", "9", "--configfile", "mine.yaml")
        assert run.returncode == 0, run.stdout
        return re.findall(r"^rule train:\n(?:    .*\n)*?    threads: (\d+)$", run.stdout, re.MULTILINE)

    assert threads() == ["2"] * 4
    for number in (1, 2, 4):
        folder = project / f"results/runs/rs/pong/small/{number}"
        folder.mkdir(parents=True)
        run = {"algo": "rs", "game": "pong", "model": "small", "run": number, "protocol": "uber2018"}
        (folder / "config.yaml").write_text(yaml.safe_dump(run))
        for name in ("checkpoint.npz", "log.jsonl"):
            (folder / name).touch()
    assert threads() == ["9"]


def test_a_plan_names_what_has_changed_in_a_run_that_is_interrupted(project, snakemake):
    run = {"algo": "ga", "game": "frostbite", "model": "small", "run": 1, "protocol": "uber2018"}
    folder = project / "results/runs/ga/frostbite/small/1"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(run | {"seed": 5}))
    plan = snakemake("-n", "--profile", "local", f"{folder.relative_to(project)}/result.json").stdout
    assert "ga/frostbite/small/1: starts anew (seed was 5, is now 0" in plan


def test_an_op_that_is_older_than_its_sources_does_not_hide_other_jobs(project, snakemake):
    make_natives(project, 1)
    counts = job_counts(snakemake("-n", "--profile", "local", "results/figures/learning_curves.pdf").stdout)
    assert "build_native_op" not in counts  # build.json knows better than the clock
    assert counts["train"] == runs_in(PROJECT / "config.yaml")
    assert counts["plot_learning_curves"] == 1


@pytest.mark.long(seconds=8)
@pytest.mark.parametrize("sentence", [BUILD, REBUILD])
def test_the_command_that_builds_the_op_builds_nothing_else(project, snakemake, sentence):
    command = sentence.partition(": snakemake ")[2].split()
    assert job_counts(snakemake("-n", *command).stdout) == {"fetch_ale": 1, "build_native_op": 1, "total": 2}
    make_natives(project, 2_000_000_000)
    expected = {"build_native_op": 1, "total": 1} if sentence == REBUILD else {}
    assert job_counts(snakemake("-n", *command).stdout) == expected


def test_scripts_find_the_library_without_any_environment(project, snakemake):
    run = snakemake("results/test/noise/table.f32", "--cores", "1", "--configfile", "config/test.yaml")
    assert run.returncode == 0, run.stdout
    assert (project / "results/test/noise/table.f32").stat().st_size == 4 * 5_000_000


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


def test_hundreds_of_jobs_are_planned_each_once(project, snakemake):
    games = "[alien, breakout, ms_pacman, pong, seaquest]"
    experiment = f"{{algo: ga, games: {games}, models: [large, small, recurrent_large], runs: 5}}"
    (project / "many.yaml").write_text(f"experiments: {{all: {experiment}}}\ngenerations: {{experiments: [all]}}\n")
    run = snakemake("-n", "--quiet", "rules", "--configfile", "many.yaml")
    assert run.returncode == 0, run.stdout
    counts = job_counts(run.stdout)
    per_run = (
        *("train", "describe_result", "parse_log", "freeze_model", "rollout", "activation_movie", "loop"),
        "generations",
    )
    assert {rule: counts[rule] for rule in (*per_run, "lineage", "plot_lineage")} == dict.fromkeys(
        (*per_run, "lineage", "plot_lineage"), 75
    )
    # Besides: five grids, all, fetch_ale, build_native_op, noise_table, merge_metrics, two tables, four figures, and
    # the rules provenance and build_site.
    assert counts["total"] == 10 * 75 + 5 + 13


def test_reading_a_configuration_imports_no_tensorflow():
    code = "import sys, neurozoo.plan.configuration; sys.exit('tensorflow' in sys.modules or 'keras' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "workflow" / "lib")}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0


def test_a_run_that_starts_from_another_one_waits_for_it(project, snakemake):
    (project / "config" / "chained.yaml").write_text(
        yaml.safe_dump(
            {
                "pathvars": {"results": "results/chained"},
                "experiments": {
                    "second": {
                        **{"algo": "ga", "games": ["pong"], "models": ["small"], "runs": [2], "preset": "demo"},
                        "overrides": {"load_population": "results/chained/runs/ga/pong/small/1"},
                    }
                },
            }
        )
    )
    target = "results/chained/runs/ga/pong/small/2/checkpoint.npz"
    chosen = ("-n", "--profile", "profiles/local", "--configfile", "config/chained.yaml")
    answer = snakemake(*chosen, "--", target).stdout
    assert job_counts(answer)["train"] == 2, answer[-3000:]
    text = (
        (project / "config" / "chained.yaml").read_text().replace("results/chained/runs/ga/pong/small/1", "mine.json")
    )
    (project / "config" / "chained.yaml").write_text(text)
    answer = snakemake(*chosen, "--", target).stdout
    assert "ga/pong/small starts from a file (agent, decoder, start_from ...): mine.json is missing." in answer


@pytest.mark.long(seconds=6)
def test_forms_of_frozen_networks_that_nobody_wants_are_not_planned(plan):
    """Each form of a network takes as much disk space as its checkpoint."""
    wanted = ["--profile", "profiles/local", "results/runs/ga/frostbite/small/1/frozen/model.json"]
    made = {}
    for forms in ("[saved_model,graph]", "[]"):
        run = plan(*wanted, "--config", f"freeze={{forms: {forms}}}")
        assert run.returncode == 0, run.stdout
        outputs = " ".join(re.findall(r"^    output: (.*)$", run.stdout, re.MULTILINE))
        made[forms] = set(re.findall(r"frozen/([\w.]+)", outputs))
    assert made == {
        "[saved_model,graph]": {"model.json", "model.keras", "model.pb", "saved_model"},
        "[]": {"model.json", "model.keras"},
    }
