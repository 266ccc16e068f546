"""One tiny configuration through the whole workflow, with the real core, in a copy of the project."""

import csv
import json
import os
import re
import shutil

import numpy as np
import pytest
from neurozoo.records.tables import read_metrics

SEARCH, LEARNER = "ga/frostbite/small/1", "dqn/breakout/small/1"
RUN_FILES = (
    "config.yaml", "train.log", "log.jsonl", "train.benchmark.tsv", "metrics.csv", "checkpoint.npz", "result.json",
    "frozen/model.keras", "frozen/saved_model/saved_model.pb", "frozen/model.pb", "frozen/model.json", "rollout.npz",
    "rollout.parquet", "activation.mp4", "loop.webp", "game.mp4",
)  # fmt: skip
OPTIONS = ("--profile", "profiles/local", "-p", "--configfile", "config/test.yaml")  # with every step


@pytest.fixture(scope="module")
def chain(tmp_path_factory, core, copy_project, run_snakemake):
    """The project after `snakemake --configfile config/test.yaml`, in a folder whose name looks like patterns."""
    project = tmp_path_factory.mktemp("chain") / "x{grid} a[1]%d"
    project.mkdir()
    copy_project(project)
    native = project / "results" / "native"
    native.mkdir(parents=True)
    for name in ("libneurozoo_core.so", "build.json"):
        shutil.copy(core.with_name(name), native / name)
    answer = run_snakemake(project, *OPTIONS)
    assert answer.returncode == 0, answer.stdout[-5000:]
    assert "fetch_ale" not in answer.stdout
    return project


@pytest.fixture(scope="module")
def results(chain):
    """The folder of its results."""
    return chain / "results" / "test"


@pytest.fixture
def snakemake_again(chain, run_snakemake):
    """Runs Snakemake in the same project, without an error: `snakemake_again(*arguments)` returns what it says."""

    def run(*arguments):
        answer = run_snakemake(chain, *arguments, *OPTIONS)
        assert answer.returncode == 0, answer.stdout[-3000:]
        return answer.stdout

    return run


def rows(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def test_every_run_has_every_file_of_the_design(results):
    runs = results / "runs"
    assert [path for run in (SEARCH, LEARNER) for name in RUN_FILES if not (path := runs / run / name).exists()] == []
    assert (runs / SEARCH / "genome.json").exists()
    assert not (runs / LEARNER / "genome.json").exists()  # it has weights, but no genome


def test_an_imported_genome_has_the_same_files_and_a_score(results):
    run = results / "runs/imported/frostbite/small/1"
    names = ("config.yaml", "checkpoint.npz", "genome.json", "frozen/model.json", "rollout.npz", "activation.mp4")
    assert [name for name in (*names, "evaluation.json") if not (run / name).exists()] == []
    assert json.loads((run / "genome.json").read_text())["genome"] == [1, [2, 0.002]]
    (row,) = rows(results / "tables/imported_scores.csv")
    assert (row["algo"], row["game"], row["episodes"]) == ("imported", "frostbite", "2")


def test_a_run_that_learns_in_epochs_has_phases_and_the_others_have_none(results):
    run = results / "runs" / LEARNER
    assert (run / "phases.png").stat().st_size > 5000
    phases = [(row["epoch"], row["phase"]) for row in rows(run / "phases.csv")]
    assert phases[:3] == [("0", "random"), ("1", "train"), ("1", "test")]
    assert not (results / "runs" / SEARCH / "phases.csv").exists()


def test_filters_are_shown_for_the_configured_experiments(results):
    filters = results / "runs" / SEARCH / "filters"
    assert {path.name for path in filters.iterdir()} == {"patches_conv1.png", "guided.html", "lean.csv"}
    for run in (SEARCH, LEARNER):  # for the figure
        lean = rows(results / "runs" / run / "filters/lean.csv")
        assert [row["frame"] for row in lean] == ["T-3", "T-2", "T-1", "Now"]
    assert (results / "figures/temporal_lean.png").stat().st_size > 1000


def test_layers_generations_and_runs_side_by_side_are_filmed(results):
    for name in (f"runs/{SEARCH}/layer_conv1.mp4", f"runs/{SEARCH}/generations.mp4", "movies/frostbite.mp4"):
        assert (results / name).stat().st_size > 1000
    log = (results / "logs/movie_grid_frostbite.log").read_text()
    assert "10 steps done" in log
    assert "damaged" not in log


def test_tables_and_figures_span_all_runs(results):
    tables = results / "tables"
    metrics = read_metrics(tables / "metrics.parquet")
    assert set(metrics[["algo", "game", "model", "run"]].astype(str).agg("/".join, axis=1)) == {SEARCH, LEARNER}
    assert len(read_metrics(tables / "metrics.csv")) == len(metrics)
    scores = {(row["model"], row["game"]): row for row in rows(tables / "scores.csv")}
    assert (scores["small", "frostbite"]["runs"], scores["small", "frostbite"]["episodes"]) == ("1", "1")
    assert scores["small", "frostbite"]["protocol"] == "uber2018"
    assert rows(tables / "comparison.csv") == []  # no game was played by two agents
    for figure in ("learning_curves", "performance_profile", "aggregates", "probability_of_improvement"):
        for kind, start in (("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<?xml")):
            assert (results / f"figures/{figure}.{kind}").read_bytes().startswith(start)


def test_the_runs_of_a_game_have_an_embedding_and_a_page(results):
    folder = results / "comparisons/frostbite"
    with np.load(folder / "embedding.npz", allow_pickle=False) as embedding:
        assert embedding["ram_bits_pca"].shape == (len(embedding["run"]), 2)
        assert len(json.loads(embedding["about"].tobytes())["runs"]) == 2  # one trained, one imported
    assert "plotly" in (folder / "embedding.html").read_text()


def test_budget_is_kept_in_frames_and_the_log_is_lossless(results):
    records = [json.loads(line) for line in (results / "runs" / SEARCH / "log.jsonl").read_text().splitlines()]
    assert records[-1]["frames"] >= 960 > records[-2]["frames"]
    assert [record["Iteration"] for record in records] == list(range(1, len(records) + 1))
    assert records[-1]["frames"] == pytest.approx(4 * records[-1]["TimestepsSoFar"], abs=3 * len(records) * 10)


def test_the_gallery_shows_every_run_and_the_report_says_where_they_come_from(results):
    site = results / "site"
    manifest = json.loads((site / "manifest.json").read_text())
    shown = {f"{run['algo']}/{run['game']}/{run['model']}/{run['run']}": run for run in manifest["runs"]}
    assert set(shown) == {SEARCH, LEARNER, "imported/frostbite/small/1"}
    assert [entry for entry in manifest["missing"] if entry["is_damaged"]] == []
    assert all(run["movies"][0]["panels"] for run in shown.values())
    assert all((site / "runs" / f"{run}.html").exists() for run in shown)
    facts = json.loads((results / "provenance.json").read_text())
    assert (len(facts["runs"]), facts["configuration"]["statistics"]["replications"]) == (3, 100)


def test_the_gallery_alone_is_made_again_when_a_file_appears(results, snakemake_again):
    new = results / "runs" / SEARCH / "new.html"
    new.write_text("new")
    said = snakemake_again("results/test/site/index.html")
    new.unlink()
    assert set(re.findall(r"rule (\w+):", said)) == {"refresh_site"}
    assert "new.html" in (results / "site/runs" / f"{SEARCH}.html").read_text()


def test_nothing_is_left_to_do_afterwards_even_if_the_core_is_new(results, snakemake_again):
    os.utime(results.parent / "native/libneurozoo_core.so")
    assert "Nothing to be done" in snakemake_again("-n")


def test_a_copy_without_times_is_finished_after_one_command(chain, run_snakemake, tmp_path):
    project = shutil.copytree(chain, tmp_path / "copy", symlinks=True, ignore=lambda folder, names: {".snakemake"})
    for number, path in enumerate(sorted((project / "results/test").rglob("*"))):  # as cp -r and git clone come by them
        os.utime(path, (number, number))
    plan = run_snakemake(project, "-n", *OPTIONS).stdout
    assert re.search(r"\d+ files are older than what they are made of, such as results/test/.* keep them: give", plan)
    assert "rule activation_movie:" in plan
    assert "rule train:" not in plan
    assert run_snakemake(project, "--touch", *OPTIONS).returncode == 0
    assert "Nothing to be done" in (plan := run_snakemake(project, "-n", *OPTIONS).stdout)
    assert "are older than" not in plan
    (project / "results/test/runs" / SEARCH / "checkpoint.npz").write_bytes(b"of another run")
    mixed = run_snakemake(project, "--touch", "--forcerun", "freeze_model", *OPTIONS)
    assert mixed.returncode == 1
    assert "checkpoint.npz is not the file that result.json beside it describes, so --touch would mix" in mixed.stdout


@pytest.mark.long(seconds=40)
def test_a_moment_of_a_run_is_frozen_recorded_and_tested_by_its_path(results, snakemake_again):
    place = results / "runs" / SEARCH / "tags/initial"
    wanted = [f"results/test/runs/{SEARCH}/tags/initial/{name}" for name in ("rollouts/seed_3.npz", "test.json")]
    assert "rule train:" not in snakemake_again(*wanted)
    assert json.loads((place / "frozen/model.json").read_text())["tag"] == "initial"
    assert (place / "rollouts/seed_3.parquet").exists()
    (test,) = json.loads((place / "test.json").read_text())["tests"]
    assert (test["protocol"]["name"], len(test["episodes"])) == ("machado2018", 1)


def test_one_figure_alone_is_made_again_without_any_training(results, snakemake_again):
    figure = results / "figures/learning_curves.pdf"
    before = figure.read_bytes()
    figure.unlink()
    assert set(re.findall(r"rule (\w+):", snakemake_again("-n", str(figure.relative_to(results.parents[1]))))) == {
        "plot_learning_curves"
    }
    figure.write_bytes(before)


def test_a_run_outside_of_every_experiment_can_be_a_target(snakemake_again):
    said = snakemake_again("-n", "results/test/runs/rs/pong/large/7/activation.mp4")
    assert {"train", "freeze_model", "rollout", "activation_movie"} == set(re.findall(r"rule (\w+):", said))


def test_an_error_in_a_rule_is_one_sentence_and_leaves_existing_files_unchanged(results, chain, run_snakemake):
    run = results / "runs" / SEARCH
    rollout, movie = (run / "rollout.npz").read_bytes(), (run / "activation.mp4").read_bytes()
    (run / "rollout.npz").write_bytes(rollout[:1000])
    wanted = f"results/test/runs/{SEARCH}/activation.mp4"
    answer = run_snakemake(chain, wanted, "--forcerun", "activation_movie", *OPTIONS)
    (run / "rollout.npz").write_bytes(rollout)
    (run / "activation.mp4").write_bytes(movie)
    assert answer.returncode != 0
    assert re.search(r"neurozoo: .*rollout\.npz", answer.stdout)
    assert "Traceback" not in answer.stdout


@pytest.mark.long(seconds=15)
def test_a_run_that_starts_anew_keeps_what_snakemake_deletes(chain, run_snakemake, tmp_path):
    project = shutil.copytree(chain, tmp_path / "project", symlinks=True)
    run = project / "results/test/runs" / SEARCH
    names = ("config.yaml", "checkpoint.npz", "log.jsonl", "genome.json")
    before = {name: (run / name).read_bytes() for name in names}
    config = project / "config" / "test.yaml"
    config.write_text(config.read_text().replace("population_size: 4", "population_size: 5"))
    answer = run_snakemake(project, f"results/test/runs/{SEARCH}/checkpoint.npz", "--no-hooks", *OPTIONS)
    assert answer.returncode == 0, answer.stdout[-3000:]
    assert {name: (run / "superseded/1/result" / name).read_bytes() for name in names} == before
    assert (run / "checkpoint.npz").read_bytes() != before["checkpoint.npz"]
    assert not (run / ".result").exists()
