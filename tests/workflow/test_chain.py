"""One tiny configuration through the whole workflow, with the real op, in a copy of the project."""

import csv
import json
import os
import shutil
import zipfile

import numpy as np
import pytest
import yaml
from neurozoo.records.tables import read_metrics

RUNS = ("ga/frostbite/small/1", "ga/frostbite/small/2", "ga/pong/recurrent_large/1")
LEARNER = "dqn/breakout/small/1"
RUN_FILES = (
    "config.yaml", "train.log", "log.jsonl", "train.benchmark.tsv", "metrics.csv", "checkpoint.npz", "result.json",
    "frozen/model.keras", "frozen/saved_model/saved_model.pb", "frozen/model.pb", "frozen/model.json", "rollout.npz",
    "rollout.parquet", "activation.mp4", "loop.webp", "game.mp4",
)  # fmt: skip
OPTIONS = ("--profile", "profiles/local", "-p", "--configfile", "config/test.yaml")  # with every step


@pytest.fixture(scope="module")
def chain(tmp_path_factory, ops, copy_project, run_snakemake):
    """The project after `snakemake --configfile config/test.yaml`."""
    project = copy_project(tmp_path_factory.mktemp("chain"))
    native = project / "results" / "native"
    native.mkdir(parents=True)
    for name in ("libneurozoo_ops.so", "build.json"):
        shutil.copy(ops.with_name(name), native / name)
    answer = run_snakemake(project, *OPTIONS)
    assert answer.returncode == 0, answer.stdout[-5000:]
    assert "fetch_ale" not in answer.stdout
    return project


@pytest.fixture
def snakemake_again(chain, run_snakemake):
    """Runs Snakemake in the same project: `snakemake_again(*arguments)`."""

    def run(*arguments):
        return run_snakemake(chain, *arguments, *OPTIONS)

    return run


def test_every_run_has_every_file_of_the_design(chain):
    runs = chain / "results/test/runs"
    missing = [f"{run}/{name}" for run in (*RUNS, LEARNER) for name in RUN_FILES if not (runs / run / name).exists()]
    assert missing == []
    assert {run: (runs / run / "genome.json").exists() for run in (*RUNS, LEARNER)} == {
        **dict.fromkeys(RUNS, True),
        LEARNER: False,  # which has weights, but no genome
    }


def test_an_imported_genome_has_the_same_files_and_a_score(chain):
    run = chain / "results/test/runs/imported/frostbite/small/1"
    names = ("config.yaml", "checkpoint.npz", "genome.json", "frozen/model.json", "rollout.npz", "activation.mp4")
    assert [name for name in (*names, "evaluation.json") if not (run / name).exists()] == []
    assert json.loads((run / "genome.json").read_text())["genome"] == [1, [2, 0.002]]
    with open(chain / "results/test/tables/imported_scores.csv") as file:
        (row,) = csv.DictReader(file)
    assert (row["algo"], row["game"], row["episodes"]) == ("imported", "frostbite", "2")


def test_generations_are_filmed_and_stay_beside_the_run(chain):
    run = chain / "results/test/runs" / RUNS[2]
    assert (run / "generations.mp4").stat().st_size > 1000
    last = len((run / "log.jsonl").read_text().splitlines())
    assert {path.name for path in (run / "generations").iterdir()} == {"1", str(last)}


def test_a_run_that_learns_in_epochs_has_phases_and_the_others_have_none(chain):
    run = chain / "results/test/runs" / LEARNER
    assert (run / "phases.png").stat().st_size > 5000
    with open(run / "phases.csv") as file:
        phases = [(row["epoch"], row["phase"], row["seed"]) for row in csv.DictReader(file)]
    assert phases[:3] == [("0", "random", "0"), ("1", "train", "0"), ("1", "test", "0")]
    assert len(phases) == 2 * len((run / "log.jsonl").read_text().splitlines()) + 1
    assert not [run for run in RUNS if (chain / "results/test/runs" / run / "phases.csv").exists()]


def test_filters_are_shown_for_the_configured_experiments(chain):
    filters = chain / "results/test/runs" / RUNS[2] / "filters"
    assert {path.name for path in filters.iterdir()} == {"patches_recu1.png", "guided.html", "lean.csv"}
    for run in RUNS:  # for the figure
        lines = (chain / "results/test/runs" / run / "filters/lean.csv").read_text().splitlines()
        assert [line.split(",")[6] for line in lines] == ["frame", "T-3", "T-2", "T-1", "Now"]
    assert (chain / "results/test/figures/temporal_lean.png").stat().st_size > 1000


def test_layers_and_runs_side_by_side_are_filmed(chain):
    for name in (f"runs/{RUNS[2]}/layer_recu1.mp4", "movies/frostbite.mp4"):
        assert (chain / "results/test" / name).stat().st_size > 1000
    log = (chain / "results/test/logs/movie_grid_frostbite.log").read_text()
    assert "10 steps done" in log
    assert "damaged" not in log


def test_tables_and_figures_span_all_runs(chain):
    tables = chain / "results/test/tables"
    metrics = read_metrics(tables / "metrics.parquet")
    assert {"/".join(map(str, key)) for key in metrics.groupby(["algo", "game", "model", "run"]).groups} == {
        *RUNS,
        LEARNER,
    }
    assert len(read_metrics(tables / "metrics.csv")) == len(metrics)
    with open(tables / "scores.csv") as file:
        scores = {(row["model"], row["game"]): row for row in csv.DictReader(file)}
    assert scores["small", "frostbite"]["runs"] == "2"
    assert scores["recurrent_large", "pong"]["protocol"] == "uber2018"
    assert scores["small", "frostbite"]["episodes"] == "1"
    with open(tables / "comparison.csv") as file:
        assert list(csv.DictReader(file)) == []  # no game was played by two agents
    for figure in ("learning_curves", "performance_profile", "aggregates", "probability_of_improvement"):
        for kind, start in (("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<?xml")):
            assert (chain / f"results/test/figures/{figure}.{kind}").read_bytes().startswith(start)


def test_the_runs_of_a_game_have_an_embedding_and_a_page(chain):
    folder = chain / "results/test/comparisons/frostbite"
    with np.load(folder / "embedding.npz", allow_pickle=False) as embedding:
        about = json.loads(embedding["about"].tobytes())
        assert embedding["ram_bits_pca"].shape == (len(embedding["run"]), 2)
    assert len(about["runs"]) == 3  # two trained, one imported
    assert "plotly" in (folder / "embedding.html").read_text()


def test_the_run_says_how_it_was_made(chain):
    facts = yaml.safe_load((chain / "results/test/runs" / RUNS[0] / "config.yaml").read_text())
    assert facts["population_size"] == 4
    assert facts["frames"] == 960
    assert facts["protocol_record"]["preprocessing"] == "published_bilinear"
    assert facts["neurozoo"]


def test_budget_is_kept_in_frames_and_the_log_is_lossless(chain):
    records = [
        json.loads(line) for line in (chain / "results/test/runs" / RUNS[0] / "log.jsonl").read_text().splitlines()
    ]
    assert records[-1]["frames"] >= 960 > records[-2]["frames"]
    assert [record["Iteration"] for record in records] == list(range(1, len(records) + 1))
    assert records[-1]["frames"] == pytest.approx(4 * records[-1]["TimestepsSoFar"], abs=3 * len(records) * 10)


def test_the_rollout_has_the_atari_zoo_s_members(chain):
    with zipfile.ZipFile(chain / "results/test/runs" / RUNS[2] / "rollout.npz") as archive:
        assert archive.testzip() is None
    with np.load(chain / "results/test/runs" / RUNS[2] / "rollout.npz", allow_pickle=False) as rollout:
        steps = len(rollout["observations"])
        assert 0 < steps <= 20
        episodes = {"ep_rewards", "starts"}
        assert {name: (array.dtype, array.shape[1:]) for name, array in rollout.items() if name not in episodes} == {
            "observations": (np.float32, (84, 84, 4)),
            "frames": (np.uint8, (210, 160, 3)),
            "ram": (np.uint8, (128,)),
            "representation": (np.float32, (512,)),
            "score": (rollout["score"].dtype, ()),
            "actions": (np.int16, ()),
        }


def test_the_gallery_shows_every_run_and_the_report_says_where_they_come_from(chain):
    site = chain / "results/test/site"
    manifest = json.loads((site / "manifest.json").read_text())
    shown = {f"{run['algo']}/{run['game']}/{run['model']}/{run['run']}": run for run in manifest["runs"]}
    assert set(shown) == {*RUNS, LEARNER, "imported/frostbite/small/1"}
    assert [entry for entry in manifest["missing"] if entry["is_damaged"]] == []
    assert all(run["movies"][0]["panels"] for run in shown.values())
    assert all((site / "runs" / f"{run}.html").exists() for run in shown)
    assert (site / "index.html").exists()
    facts = json.loads((chain / "results/test/provenance.json").read_text())
    assert len(facts["runs"]) == 5
    assert facts["configuration"]["statistics"]["replications"] == 100
    assert "test" in facts["configuration"]["experiments"]


def test_the_gallery_alone_is_made_again_when_a_file_appears(chain, snakemake_again):
    page = "results/test/site/index.html"
    answer = snakemake_again(page, "-n")
    assert "Nothing to be done" in answer.stdout
    new = chain / "results/test/runs" / RUNS[0] / "new.html"
    new.write_text("new")
    answer = snakemake_again(page)
    new.unlink()
    assert answer.returncode == 0, answer.stdout[-3000:]
    assert "rule refresh_site:" in answer.stdout
    assert "rule rollout:" not in answer.stdout
    assert "new.html" in (chain / "results/test/site/runs" / f"{RUNS[0]}.html").read_text()


def test_nothing_is_left_to_do_afterwards(chain, snakemake_again):
    answer = snakemake_again("-n")
    assert "Nothing to be done" in answer.stdout


@pytest.mark.long(seconds=40)
def test_a_moment_of_a_run_is_frozen_recorded_and_tested_by_its_path(chain, snakemake_again):
    place = chain / "results/test/runs" / RUNS[0] / "tags/initial"
    wanted = [f"results/test/runs/{RUNS[0]}/tags/initial/{name}" for name in ("rollouts/seed_3.npz", "test.json")]
    answer = snakemake_again(*wanted)
    assert answer.returncode == 0, answer.stdout[-3000:]
    assert "rule train:" not in answer.stdout
    assert json.loads((place / "frozen/model.json").read_text())["tag"] == "initial"
    assert (place / "rollouts/seed_3.parquet").exists()
    (test,) = json.loads((place / "test.json").read_text())["tests"]
    assert (test["protocol"]["name"], len(test["episodes"])) == ("machado2018", 1)


def test_one_figure_alone_is_made_again_without_any_training(chain, snakemake_again):
    (chain / "results/test/figures/learning_curves.pdf").unlink()
    before = {run: (chain / "results/test/runs" / run / "checkpoint.npz").stat().st_mtime_ns for run in RUNS}
    answer = snakemake_again("results/test/figures/learning_curves.pdf")
    assert answer.returncode == 0, answer.stdout[-3000:]
    assert "rule train:" not in answer.stdout
    assert (chain / "results/test/figures/learning_curves.pdf").exists()
    assert {run: (chain / "results/test/runs" / run / "checkpoint.npz").stat().st_mtime_ns for run in RUNS} == before


def test_a_new_op_library_trains_nothing_again(chain, snakemake_again):
    os.utime(chain / "results/native/libneurozoo_ops.so")
    answer = snakemake_again("-n")
    assert "train" not in answer.stdout


def test_a_run_outside_of_every_experiment_can_be_a_target(chain, snakemake_again):
    answer = snakemake_again("-n", "results/test/runs/rs/pong/large/7/activation.mp4")
    assert answer.returncode == 0, answer.stdout[-3000:]
    for rule in ("train", "freeze_model", "rollout", "activation_movie"):
        assert f"rule {rule}:" in answer.stdout


def test_an_error_in_a_rule_is_one_sentence_and_leaves_existing_files_unchanged(chain, snakemake_again):
    run = chain / "results/test/runs" / RUNS[0]
    rollout = (run / "rollout.npz").read_bytes()
    movie = (run / "activation.mp4").read_bytes()
    (run / "rollout.npz").write_bytes(rollout[:1000])
    answer = snakemake_again(
        f"results/test/runs/{RUNS[0]}/activation.mp4",
        "--forcerun",
        "activation_movie",
    )
    (run / "rollout.npz").write_bytes(rollout)
    (run / "activation.mp4").write_bytes(movie)
    assert answer.returncode != 0
    assert "neurozoo: " in answer.stdout
    assert "rollout.npz" in answer.stdout
    assert "Traceback" not in answer.stdout


@pytest.mark.long(seconds=15)
def test_a_run_that_starts_anew_keeps_what_snakemake_deletes(chain, run_snakemake, tmp_path):
    project = shutil.copytree(chain, tmp_path / "project", symlinks=True)
    run = project / "results/test/runs" / RUNS[1]
    names = ("config.yaml", "checkpoint.npz", "log.jsonl", "genome.json")
    before = {name: (run / name).read_bytes() for name in names}
    config = project / "config" / "test.yaml"
    config.write_text(config.read_text().replace("population_size: 4", "population_size: 5"))
    answer = run_snakemake(project, f"results/test/runs/{RUNS[1]}/checkpoint.npz", "--no-hooks", *OPTIONS)
    assert answer.returncode == 0, answer.stdout[-3000:]
    assert {name: (run / "superseded/1/result" / name).read_bytes() for name in names} == before
    assert (run / "checkpoint.npz").read_bytes() != before["checkpoint.npz"]
    assert not (run / ".result").exists()
