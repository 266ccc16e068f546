import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

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


@pytest.mark.parametrize("name", ["local", "sge", "slurm"])
@pytest.mark.parametrize("folder", ["", "profiles/"])
def test_every_profile_plans_the_experiments_of_config_yaml(snakemake, name, folder):
    run = snakemake("-n", "--profile", folder + name)
    assert run.returncode == 0, run.stdout
    assert job_counts(run.stdout)["train"] == runs_in(PROJECT / "config.yaml")


@pytest.mark.parametrize("profile", ["debug", "profiles/debug"])
def test_debugging_has_results_of_its_own_but_shares_the_op_and_the_noise_table(snakemake, profile):
    run = snakemake("-n", "--profile", profile)
    assert run.returncode == 0, run.stdout
    assert job_counts(run.stdout)["train"] == 1
    made = set(re.findall(r"results/[\w./-]+", " ".join(re.findall(r"^    output: (.*)$", run.stdout, re.MULTILINE))))
    shared = {file for file in made if not file.startswith("results/debug/")}
    assert {str(Path(file).parent) for file in shared} == {"results/native", "results/noise"}
    assert {"results/debug/tables/scores.csv", "results/debug/figures/learning_curves.pdf"} <= made


@pytest.mark.parametrize("path", sorted((PROJECT / "config").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_given_configuration_stands_instead_of_config_yaml(snakemake, path):
    run = snakemake("-n", "--configfile", f"config/{path.name}")
    assert run.returncode == 0, run.stdout
    assert job_counts(run.stdout).get("train", 0) == runs_in(path)


def test_a_single_algorithm_is_compared_but_not_told_apart(snakemake, project):
    text = (project / "config.yaml").read_text()
    (project / "config.yaml").write_text(text.replace("  games: []", "  games: [frostbite]"))  # the example beside it
    counts = job_counts(snakemake("-n").stdout)
    assert counts["embedding_page"] == 1
    assert "classify_states" not in counts


def test_every_run_with_parents_gets_its_family_tree(snakemake):
    run = snakemake("-n", "--configfile", "config/family.yaml")
    assert run.returncode == 0, run.stdout
    assert job_counts(run.stdout)["plot_lineage"] == 4  # the genetic algorithm's, of twelve
    assert not re.search(r"output: \S*/(es|nsr_es)/\S*lineage", run.stdout)


def test_published_genomes_go_all_the_way_to_movies_and_scores_and_nothing_is_trained(snakemake):
    run = snakemake("-n", "--configfile", "config/published_genomes.yaml")
    assert run.returncode == 0, run.stdout
    counts = job_counts(run.stdout)
    for rule in ("import_genome", "freeze_model", "rollout", "activation_movie", "evaluate"):
        assert counts[rule] == 5
    assert counts["imported_scores"] == 1
    assert "train" not in counts
    assert "plot_learning_curves" not in counts


def test_an_imported_run_that_the_configuration_does_not_name_is_explained(snakemake):
    run = snakemake("-n", "results/runs/imported/pong/small/7/rollout.npz")
    assert run.returncode != 0
    assert "No entry under imports makes the run imported/pong/small/7; they make: none." in run.stdout


def test_generations_are_filmed_where_an_experiment_asks_for_it(project, snakemake):
    path = project / "config" / "test.yaml"
    path.write_text(path.read_text().replace("experiments: [recurrent]", "experiments: [test]"))
    run = snakemake("-n", "--configfile", "config/test.yaml")
    assert run.returncode == 0, run.stdout
    assert job_counts(run.stdout)["generations"] == 2


def test_a_run_outside_of_every_experiment_can_be_asked_for_by_its_path(snakemake):
    run = snakemake("-n", "results/runs/rs/ms_pacman/recurrent_large/17/metrics.csv")
    assert run.returncode == 0, run.stdout
    assert job_counts(run.stdout)["train"] == 1


def test_only_runs_of_the_batched_engine_ask_for_a_gpu(project, snakemake):
    (project / "mine.yaml").write_text(
        "experiments: {demo: {algo: ga, games: [pong], models: [small]}}\n"
        "algorithms: {es: {overrides: {engine: batched}}}\n"
    )
    for algo, gpus in (("es", 1), ("ga", 0)):
        run = snakemake("-n", f"results/runs/{algo}/pong/small/1/metrics.csv", "--configfile", "mine.yaml")
        assert run.returncode == 0, run.stdout
        (resources,) = re.findall(r"^rule train:\n(?:    .*\n)*?    resources: (.*)$", run.stdout, re.MULTILINE)
        assert f"gpu={gpus}" in resources.split(", ")


def test_a_figure_needs_no_frozen_network(snakemake):
    run = snakemake("-n", "results/figures/learning_curves.pdf")
    assert run.returncode == 0, run.stdout
    assert job_counts(run.stdout)["train"] == runs_in(PROJECT / "config.yaml")
    assert "frozen/model.json" not in run.stdout


def test_a_rebuilt_op_trains_nothing_again(project, snakemake):
    folder = project / "results/runs/ga/frostbite/small/1"
    natives = [
        project / "results/native" / name for name in ("ale-py-0.12.1.tar.gz", "libneurozoo_ops.so", "build.json")
    ]
    outputs = [folder / name for name in ("config.yaml", "checkpoint.npz", "genome.json", "log.jsonl")]
    for age, file in enumerate(
        [*natives, project / "results/noise/table.f32", project / "results/noise/table.json", *outputs]
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        os.utime(file, (2_000_000_000 + age, 2_000_000_000 + age))  # after every source file
    target = str(outputs[1].relative_to(project))
    assert "Nothing to be done" in snakemake("-n", "--profile", "local", target).stdout
    os.utime(project / "native" / "CMakeLists.txt", (2_000_000_100, 2_000_000_100))
    counts = job_counts(snakemake("-n", "--profile", "local", target).stdout)
    assert "build_native_op" in counts
    assert "train" not in counts


def test_an_outdated_op_does_not_hide_what_else_is_to_be_done(project, snakemake):
    natives = [
        project / "results/native" / name for name in ("ale-py-0.12.1.tar.gz", "libneurozoo_ops.so", "build.json")
    ]
    for file in natives:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        os.utime(file, (1, 1))
    counts = job_counts(snakemake("-n", "results/figures/learning_curves.pdf").stdout)
    assert counts["build_native_op"] == 1
    assert counts["train"] == runs_in(PROJECT / "config.yaml")
    assert counts["plot_learning_curves"] == 1


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
    snakefile: "{project}/Snakefile"
    config: config
use rule * from neurozoo as neurozoo_*
"""
    )
    (folder / "mine.yaml").write_text("experiments: {mine: {algo: ga, games: [pong], models: [large], runs: [3]}}")
    run = snakemake("-n", "--directory", str(folder), "--snakefile", str(folder / "Snakefile"), "neurozoo_all")
    assert run.returncode == 0, run.stdout
    assert job_counts(run.stdout)["neurozoo_train"] == 1
    assert "results/runs/ga/pong/large/3/checkpoint.npz" in run.stdout


def test_a_dry_run_takes_less_than_three_seconds_of_processor_time(snakemake):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert snakemake("-n").returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 3


def test_hundreds_of_jobs_are_planned_each_once(project, snakemake):
    games = "[alien, breakout, ms_pacman, pong, seaquest]"
    experiment = f"{{algo: ga, games: {games}, models: [large, small, recurrent_large], runs: 5}}"
    (project / "many.yaml").write_text(f"experiments: {{all: {experiment}}}\ngenerations: {{experiments: [all]}}\n")
    run = snakemake("-n", "--quiet", "rules", "--configfile", "many.yaml")
    assert run.returncode == 0, run.stdout
    counts = job_counts(run.stdout)
    per_run = ("train", "parse_log", "freeze_model", "rollout", "activation_movie", "generations")
    assert {rule: counts[rule] for rule in (*per_run, "lineage", "plot_lineage")} == dict.fromkeys(
        (*per_run, "lineage", "plot_lineage"), 75
    )
    # Besides: all, fetch_ale, build_native_op, noise_table, merge_metrics, two tables, four figures, and the rules
    # provenance and build_site.
    assert counts["total"] == 8 * 75 + 13


def test_reading_a_configuration_imports_no_tensorflow():
    code = "import sys, neurozoo.configuration; sys.exit('tensorflow' in sys.modules or 'keras' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "workflow" / "lib")}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0
