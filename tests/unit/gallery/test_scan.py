import json
import os
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from neurozoo.environments.protocols import get_protocol
from neurozoo.errors import NeurozooError
from neurozoo.gallery import scan
from neurozoo.gallery.pages import build_site
from neurozoo.gallery.scan import read_manifest
from neurozoo.records.tables import merge_metrics, read_metrics, score_table

RUN = "runs/ga/frostbite/small/1"


def read(results):
    return read_manifest(results, results / "site", replications=500)


def runs_of(results):
    return {run.id: run for run in read(results).runs}


def damaged(manifest):
    return {entry.path: entry.reason for entry in manifest.missing if entry.is_damaged}


def test_everything_that_is_there_is_found(site):
    runs = {run.id: run for run in site.manifest.runs}
    assert list(runs) == ["es/frostbite/virtual_bn/1", "ga/frostbite/small/1", "ga/frostbite/small/2",
                          "es/pong/small/1", "ga/pong/small/1"]  # fmt: skip
    run = runs["ga/frostbite/small/1"]
    assert (run.protocol, run.frames, run.curve) == ("uber2018", 300_000, ((1e5, 2e5, 3e5), (10.0, 40.0, 60.0)))
    (movie,) = run.movies
    assert (movie.title, movie.video.frames, movie.path) == ("Activations of every layer", 90, f"{RUN}/activation.mp4")
    assert [panel.name for panel in movie.panels] == ["screen", "observation", "conv1", "conv2", "fc", "out"]
    assert movie.screen == ("posters/runs/ga/frostbite/small/1/activation.screen.png", 160, 210)
    assert [picture.title for picture in run.pictures] == ["Lineage"]
    assert [file.path for file in run.files] == [
        f"{RUN}/{name}" for name in ("loop.webp", "config.yaml", "metrics.csv", "frozen/model.json", "checkpoint.npz")
    ]
    assert movie.loop == f"{RUN}/loop.webp"
    assert [picture.title for picture in site.manifest.overall.pictures] == ["Learning curves"]
    assert [file.title for file in site.manifest.overall.files] == ["Scores with intervals"]
    assert (
        json.loads((site.folder / "manifest.json").read_text())["runs"][1]["movies"][0]["panels"][2]["name"] == "conv1"
    )


def test_a_long_curve_is_thinned_before_it_goes_into_the_manifest(results, add_run):
    add_run(results, "ga/breakout/small/1", list(range(3000)), frames=1000)
    run = runs_of(results)["ga/breakout/small/1"]
    assert (len(run.curve[0]) <= 400, run.reports) == (True, 3000)
    assert (run.curve[0][0], run.curve[0][-1], max(run.curve[1])) == (1000.0, 3_000_000.0, 2999.0)
    assert run.frames == 3_000_000


def test_an_evaluation_is_preferred_and_has_an_interval(results):
    episodes = [{"score": score} for score in (10.0, 10.0, 20.0, 30.0, 30.0)]
    (results / RUN / "evaluation.json").write_text(json.dumps({"protocol": {"name": "x"}, "episodes": episodes}))
    (run,) = [run for run in read(results).runs if f"runs/{run.id}" == RUN]
    assert (run.score.mean, run.score.count) == (20, 5)
    assert 10 <= run.score.low < 20 < run.score.high <= 30
    assert run.score.source == "evaluation"
    assert (run.test_score.mean, run.test_score.count) == (60, 10)


def test_an_evaluation_of_one_game_over_and_over_has_no_interval(results):
    protocol = asdict(get_protocol("simple_dqn"))
    for noops, is_one in (((0,) * 5, True), ((20, 21, 22, 23, 24), False)):
        episodes = [{"noops": each, "seed": each, "score": 7.0, "steps": 9, "frames": 36} for each in noops]
        (results / RUN / "evaluation.json").write_text(json.dumps({"protocol": protocol, "episodes": episodes}))
        (run,) = [run for run in read(results).runs if f"runs/{run.id}" == RUN]
        assert (run.score.mean, run.score.low, run.score.is_one_game) == (7.0, None if is_one else 7.0, is_one)


def test_scores_over_runs_are_of_tests_of_finished_runs_as_in_the_table(results):
    episodes = {"protocol": {"name": "uber2018"}, "episodes": [{"score": 1000.0}, {"score": 3000.0}]}
    (results / RUN / "evaluation.json").write_text(json.dumps(episodes))
    same_kind = results / "runs/ga/frostbite/small"
    shutil.copytree(same_kind / "1", same_kind / "3")
    (same_kind / "3/metrics.csv").unlink()  # only its evaluation is left
    shutil.copytree(same_kind / "2", same_kind / "4")
    (same_kind / "4/checkpoint.npz").unlink()  # still being trained
    paths = {"csv": results / "metrics.csv", "parquet": results / "metrics.parquet"}
    merge_metrics([same_kind / name / "metrics.csv" for name in "12"], **paths)
    score_table(read_metrics(paths["csv"]), results / "tables/scores.csv", replications=500)
    (table,) = pd.read_csv(results / "tables/scores.csv").query("game == 'frostbite'").itertuples()
    runs = [run for name, run in runs_of(results).items() if name.startswith("ga/frostbite/small/")]
    assert [run.score.mean for run in runs] == [2000, 100, 2000, 100]
    for run in runs:
        found = run.over_runs
        assert (found.mean, found.low, found.count) == (80, None, 2)
        assert (found.mean, found.count) == (table.score_mean, table.runs)


def recorded(power, **evaluation):
    protocol = {"name": "uber2018", "sticky_probability": 0.0}
    record = {"mutation_power": power, "population_size": 100}
    return {
        "settings_record": record, "protocol_record": protocol,
        "evaluation_record": {"action_rule": "greedy"} | evaluation,
    }  # fmt: skip


def test_runs_of_other_settings_or_facts_are_not_averaged_and_are_named(results, add_run):
    for number, power, epsilon in ((1, 0.5, 0), (2, 0.5, 0), (3, 0.1, 0), (4, 0.5, 0.1)):
        facts = recorded(power, epsilon=epsilon)
        add_run(results, f"rs/frostbite/small/{number}", [10.0 * number], recorded=facts)
    runs = [run for run in read(results).runs if run.algo == "rs"]
    assert [(run.over_runs.mean, run.over_runs.count) for run in runs] == [(15, 2), (15, 2), (30, 1), (40, 1)]
    power = ["mutation_power 0.5", "mutation_power 0.5", "mutation_power 0.1", "mutation_power 0.5"]
    assert [run.variant for run in runs] == power
    played = [*["uber2018, test epsilon 0"] * 3, "uber2018, test epsilon 0.1"]
    assert [run.played for run in runs] == played
    labels = {f"rs/frostbite/small/{number}": "strong" for number in (1, 2, 4)}
    labelled = read_manifest(results, results / "site", replications=100, labels=labels).runs
    assert [run.variant for run in labelled if run.algo == "rs"] == ["strong", "strong", "mutation_power 0.1", "strong"]


def test_what_is_unknown_of_an_imported_agent_is_not_in_the_names_of_others(tmp_path, add_run):
    facts = recorded(0.5, epsilon=0)
    add_run(tmp_path, "rs/frostbite/small/1", [10.0], recorded=facts)
    played = {"protocol_record": facts["protocol_record"]}  # an import has neither settings nor tests
    add_run(tmp_path, "imported/frostbite/large/1", [], recorded=played)
    assert [run.played for run in read(tmp_path).runs if run.algo == "rs"] == ["uber2018"]


def test_a_run_in_training_shows_what_its_log_has(site):
    (run,) = [run for run in site.manifest.runs if run.id == "es/pong/small/1"]
    assert not run.is_finished
    assert run.curve == ((1000, 2000), (-19, -18))
    assert run.score is None
    reasons = [entry.reason for entry in site.manifest.missing if entry.path == "runs/es/pong/small/1"]
    assert reasons == ["This run is still being trained. Files made from its result will follow."]


def test_a_finished_run_that_is_continued_shows_its_new_reports(results):
    folder = results / RUN
    assert runs_of(results)["ga/frostbite/small/1"].frames == 300_000
    (folder / "checkpoint.npz").unlink()  # as Snakemake does before the training; the old metrics.csv stays
    (folder / "state").mkdir()
    for path, frames in ((folder / "log.jsonl", 300_000), (folder / "state" / "log.jsonl", 900_000)):
        path.write_text(json.dumps({"format": 1, "frames": frames, "score": 1.0, "test_score": None}) + "\n")
    assert runs_of(results)["ga/frostbite/small/1"].frames == 900_000


def test_one_test_at_the_end_of_many_reports_is_no_curve(results):
    folder = results / "runs/impala/pong/small/1"
    folder.mkdir(parents=True)
    rows = [f"impala,pong,small,1,uber2018,{1000 * i},{i},{19 if i == 40 else ''}" for i in range(1, 41)]
    head = "algo,game,model,run,protocol,frames,score,test_score"
    (folder / "metrics.csv").write_text("\n".join([head, *rows]) + "\n")
    run = runs_of(results)["impala/pong/small/1"]
    assert (run.reports, run.curve_is_test, run.curve[1][-1], run.test_score.mean) == (40, False, 40, 19)


def test_reports_after_equal_frames_keep_their_order(results, add_run):
    folder = add_run(results, "ga/breakout/small/1", [1, 5, 30, 9, 4])
    table = (folder / "metrics.csv").read_text()
    for frames in range(2, 6):  # a published log rounds them
        table = table.replace(f"{frames}00000,", "100000,")
    (folder / "metrics.csv").write_text(table)
    assert runs_of(results)["ga/breakout/small/1"].curve[1] == (1, 5, 30, 9, 4)


def test_medians_are_of_all_reports_although_drawings_keep_the_extremes(results, add_run):
    noise = np.random.default_rng(0).normal(100, 20, (3, 3000))
    for number, scores in enumerate(noise, 1):
        add_run(results, f"ga/breakout/small/{number}", scores.tolist(), frames=1000)
    build_site(results, replications=100)
    page = (results / "site" / "games" / "breakout.html").read_text()
    assert f"medians end with GA, small at {np.median(noise[:, -1]):.3g}." in page
    chart = json.loads(re.search(r'class="values">(.*?)</script>', page, re.DOTALL)[1])
    median = next(line for line in chart["lines"] if line["role"] == "median")
    assert np.std(median["scores"]) < 1.1 * np.std(np.median(noise, axis=0))


def test_what_is_not_made_yet_is_named(site):
    missing = {entry.path: entry.reason for entry in site.manifest.missing if not entry.is_damaged}
    assert f"{RUN}/rollout.npz" in missing
    assert f"{RUN}/activation.mp4" not in missing
    assert "runs/es/frostbite/virtual_bn/1/activation.mp4" in missing
    assert "runs/es/frostbite/virtual_bn/1/lineage.png" not in missing  # evolution strategies have none
    assert damaged(site.manifest) == {}


@pytest.mark.parametrize("is_absolute", [False, True])
@pytest.mark.parametrize(
    ("workdir", "command"),
    [
        ("", ": snakemake --profile local --configfile CONFIGURATION -- example/runs/ga/pong/small/1/rollout.npz"),
        ("example", "."),  # there is no Snakefile in the results
        ("beside", "."),
    ],
)
def test_the_command_is_a_target_of_the_folder_where_it_is_given(results, monkeypatch, workdir, command, is_absolute):
    place = results.parent / workdir
    place.mkdir(exist_ok=True)
    monkeypatch.chdir(place)
    if not is_absolute:
        results = Path(os.path.relpath(results))
    missing = {entry.path: entry.reason for entry in read(results).missing}
    assert missing["runs/ga/pong/small/1/rollout.npz"] == f"Not made yet{command}"


def test_what_is_damaged_is_named_and_the_rest_is_still_there(results):
    movie = results / RUN / "activation.mp4"
    movie.write_bytes(movie.read_bytes()[:3000])
    (results / RUN / "lineage.png").write_bytes(b"\x89PNG no more")
    (results / "runs/ga/frostbite/small/2/frozen/model.json").unlink()
    (results / "runs/ga/pong/small/1/metrics.csv").write_text("a,b\n1,2\n")
    (results / "runs/es/frostbite/virtual_bn/1/evaluation.json").write_text('{"episodes": [{}]}')
    (results / "runs/rs/pong/small/1").mkdir(parents=True)
    manifest = read(results)
    reasons = damaged(manifest)
    assert set(reasons) == {
        f"{RUN}/activation.mp4",
        f"{RUN}/lineage.png",
        "runs/ga/frostbite/small/2/frozen",
        "runs/ga/pong/small/1/metrics.csv",
        "runs/es/frostbite/virtual_bn/1/evaluation.json",
        "runs/rs/pong/small/1",
    }
    assert "not a complete MP4 movie" in reasons[f"{RUN}/activation.mp4"]
    assert "model.json is missing" in reasons["runs/ga/frostbite/small/2/frozen"]
    assert "has no results" in reasons["runs/rs/pong/small/1"]
    assert not any(str(results) in reason for reason in reasons.values())
    runs = {run.id: run for run in manifest.runs}
    assert {run.state for run in manifest.runs} == {"finished", "in training", "no results"}
    assert len(runs["ga/frostbite/small/2"].movies) == 1  # without panels, because model.json is missing
    assert runs["ga/frostbite/small/2"].movies[0].panels == ()
    assert runs["ga/frostbite/small/1"].score.mean == 60


@pytest.mark.parametrize(("ended", "state"), [("failed", "failed"), ("stopped", "stopped"), (None, "in training")])
def test_a_run_whose_training_has_failed_is_not_in_training(results, ended, state):
    folder = results / "runs/es/pong/small/1/state"
    folder.mkdir(exist_ok=True)
    heartbeat = dict.fromkeys(("progress", "progress_per_second", "last_news", "started"), 1.0) | {
        "process": 1,
        "host": "a",
        "ended": ended,
        "error": "boom",
    }
    (folder / "process.json").write_text(json.dumps(heartbeat))
    manifest = read(results)
    (run,) = (run for run in manifest.runs if run.id == "es/pong/small/1")
    assert run.state == state
    (entry,) = (entry for entry in manifest.missing if entry.path == "runs/es/pong/small/1")
    assert ("failed; python -m neurozoo status says why" in entry.reason) == (ended == "failed")
    assert ("still being trained" in entry.reason) == (ended is None)


def test_a_copy_of_a_run_with_another_way_to_write_its_number_counts_in_no_mean(results):
    place = results / "runs/ga/frostbite/small"
    for name in ("01", "²"):
        shutil.copytree(place / "1", place / name)
    (place / "1 (copy)").mkdir()
    manifest = read(results)
    assert [run.id for run in manifest.runs if run.algo == "ga" and run.game == "frostbite"] == [
        "ga/frostbite/small/1", "ga/frostbite/small/2"
    ]  # fmt: skip
    assert manifest.runs[1].over_runs.count == 2
    assert set(damaged(manifest)) == {"runs/ga/frostbite/small/01", "runs/ga/frostbite/small/²"}
    assert "is not the number of a run" in damaged(manifest)["runs/ga/frostbite/small/01"]


def test_tagged_agents_have_their_movies_under_their_run(results):
    place = results / RUN / "tags" / "400M"
    (place / "frozen").mkdir(parents=True)
    for name in ("frozen/model.json", "activation.mp4"):
        (place / name).write_bytes((results / RUN / name).read_bytes())
    (run,) = [run for run in read(results).runs if f"runs/{run.id}" == RUN]
    assert [(movie.tag, len(movie.panels)) for movie in run.movies] == [("final", 6), ("400M", 6)]


def test_a_run_with_a_recording_names_the_command_for_a_what_if_and_shows_its_movies(results, monkeypatch):
    np.savez(results / RUN / "rollout.npz", actions=np.zeros(90, np.int16))
    (results / RUN / "what_if").mkdir()
    shutil.copy(results / RUN / "activation.mp4", results / RUN / "what_if" / "ball_up.mp4")
    shutil.copy(results / RUN / "lineage.png", results / RUN / "what_if" / "grid.png")
    monkeypatch.chdir(results.parent)
    build_site("example", replications=100)
    run = runs_of(Path("example"))["ga/frostbite/small/1"]
    assert asdict(run.changeable) == {
        "folder": f"example/{RUN}", "steps": 90, "actions": tuple(f"ACTION_{i}" for i in range(18)),
    }  # fmt: skip
    assert [movie.title for movie in run.movies] == ["Activations of every layer", "What if: ball up"]
    assert "What if: other actions at some moments" in [picture.title for picture in run.pictures]
    page = (results / "site" / f"{RUN}.html").read_text()
    assert f"python -m neurozoo what-if example/{RUN} --step <span" in page
    assert "what-if" not in (results / "site" / "runs/ga/frostbite/small/2.html").read_text()


@pytest.mark.parametrize(
    ("game", "unit"),
    [("pong", "frames"), ("river_crossing", "steps"), ("hard_maze", "steps"), ("gym.Taxi-v3", "steps")],
)
def test_a_game_is_filmed_in_frames_only_where_there_is_an_emulator(results, game, unit):
    folder = shutil.copytree(results / "runs/ga/pong/small/1", results / f"runs/ga/{game}/small/5")
    place = folder / "tags" / "early"
    shutil.copytree(results / RUN / "frozen", place / "frozen")
    for path in (folder / "game.mp4", folder / "layer_conv1.mp4", place / "game.mp4"):
        shutil.copy(results / RUN / "activation.mp4", path)
    run = runs_of(results)[f"ga/{game}/small/5"]
    assert [(movie.title, movie.tag, movie.unit) for movie in run.movies] == [
        ("The game", "final", unit), ("Layer conv1", "final", "steps"), ("The game", "early", unit)
    ]  # fmt: skip


def test_no_folder_is_an_error_and_an_empty_one_is_not(tmp_path):
    with pytest.raises(NeurozooError, match="should be a folder of results"):
        read(tmp_path / "nowhere")
    assert read(tmp_path).runs == ()


BOMB = "a0: &a0 {x: 1}\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 12)
)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("config.yaml", BOMB, "its aliases stand for more than 100,000 values"),
        ("metrics.csv", "algo,game,model,run,protocol,frames,score,test_score\n,,,,,1,1,1\n", "algo has empty cells"),
        ("evaluation.json", '{"episodes": 7, "protocol": []}', "evaluation.json is damaged"),
        ("evaluation.json", '{"episodes": [{"score": 1e999}], "protocol": {"name": "x"}}', "finite scores"),
        ("frozen/model.json", '{"format": 1, "game": "pong", "layers": 7}', "model.json is"),
    ],
)
def test_a_bad_run_is_a_card_that_says_what_is_wrong_and_stops_nothing(results, name, content, problem):
    (results / RUN / name).write_text(content)
    manifest = build_site(results, replications=100)
    runs = {f"runs/{run.id}": run for run in manifest.runs}
    assert problem in runs[RUN].problem
    assert [name for name, run in runs.items() if run.problem] == [RUN]
    assert problem in (results / "site/index.html").read_text()
    assert problem in (results / f"site/{RUN}.html").read_text()


def test_an_error_that_nobody_foresaw_costs_one_run_only(results, monkeypatch):
    def of_run(run, folder):
        if run.id == "ga/frostbite/small/1":
            raise ArithmeticError("surprise")

    monkeypatch.setattr(scan._Scan, "_note_missing_files", lambda self, run, folder: of_run(run, folder))
    manifest = build_site(results, replications=100)
    problems = {run.id: run.problem for run in manifest.runs if run.problem}
    assert list(problems) == ["ga/frostbite/small/1"]
    assert "is damaged (ArithmeticError: surprise)" in problems["ga/frostbite/small/1"]
    assert len(manifest.runs) == 5
