"""The command line, as a user sees it."""

import hashlib
import json
import math
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from types import SimpleNamespace

import pandas as pd
import pytest
from neurozoo.__main__ import main
from neurozoo.benchmark.report import BEGIN, END
from neurozoo.environments.protocols import get_protocol
from neurozoo.records.comparability import settings_hash


@pytest.fixture
def engine(core, small_noise_table):
    """Options for commands that play with the network `small`."""
    return ["--core", str(core), "--noise", str(small_noise_table)]


@pytest.fixture
def genome(tmp_path):
    path = tmp_path / "genome.json"
    path.write_text(json.dumps({"game": "pong", "model": "small", "genome": [5, [7, 0.01]]}))
    return path


def test_help_does_not_wait_for_slow_imports():
    script = "import sys, neurozoo.__main__ as command; command.build_parser().format_help(); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    assert "neurozoo.cli.training" in modules
    assert not {"tensorflow", "jax", "pandas", "matplotlib", "dask"} & set(modules)


def test_evaluation_repeats_with_its_seed_and_says_the_mean(genome, engine, capsys):
    words = ["evaluate", "--genome", str(genome), "--episodes", "3", "--max-frames", "4e2", *engine]
    outputs = []
    for threads in ("1", "2"):
        main([*words, "--threads", threads])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    lines = outputs[0].splitlines()
    assert len(lines) == 4
    assert "100 steps, 400 frames" in lines[0]
    assert lines[3].startswith("mean ")
    main([*words, "--seed", "1"])
    assert capsys.readouterr().out != outputs[0]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--model", "large"], "is a genome for 'small' and cannot be used with 'large'"),
        (["--model", "smal"], "did you mean 'small'?"),
        (["--game", "pnog"], "did you mean 'pong'?"),
        (["--protocol", "uber"], "did you mean 'uber2018'?"),
        (["--episodes", "0"], "argument --episodes: should be >= 1, but is 0"),
        (["--core", "nowhere.so"], "snakemake"),
        (["--noise", "nowhere.f32"], "snakemake"),
    ],
)
def test_a_slip_is_answered_by_one_sentence(genome, engine, capsys, words, sentence):
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", "--genome", str(genome), *engine, *words])
    assert stop.value.code == (2 if "argument" in sentence else 1)
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("neurozoo: ")
    assert sentence in line


@pytest.mark.long(seconds=60)
def test_the_benchmark_counts_frames_per_second_and_core(engine, tmp_path, capsys):
    saved, page = tmp_path / "benchmark.json", tmp_path / "benchmarks.md"
    page.write_text(f"Before.\n{BEGIN}\n{END}\nAfter.\n")
    words = ["--networks", "small", "--games", "pong", "--threads", "1", "--seconds", "0.1", "--json"]
    main(["bench", *words, "--save", str(saved), *engine])
    report = json.loads(capsys.readouterr().out)
    assert report == json.loads(saved.read_text())
    (result,) = report["results"]
    assert result["frames_per_second_per_core"] == pytest.approx(4 * result["steps_per_second_per_core"], rel=0.01)
    assert result["frames_per_second_per_core"] > 0
    assert report["machine"]["cores"] >= 1
    (parts,) = report["parts"]
    assert parts["frames"] == 4 * 2000  # none of the 4 episodes ends before its limit
    assert parts["frames_per_processor_second"] == result["frames_per_processor_second"]
    (memory,) = report["memory"]
    assert 50 < memory["own_megabytes"] < memory["peak_megabytes"]
    (decoding,) = report["decoding"]
    assert (decoding["network"], decoding["mutations"]) == ("small", 1000)
    assert 0 < decoding["child_seconds"] < decoding["seconds"]
    assert (report["update"]["parameters"], report["update"]["population_size"]) == (1_005_366, 5000)  # pong: 6 actions
    assert report["update"]["noise_gigabytes"] == pytest.approx(2500 * 1_005_366 * 4e-9)
    assert report["update"]["seconds"] > 0

    main(["bench", "--load", str(saved), "--write", str(page), *engine])
    assert "One step on one core" in capsys.readouterr().out
    assert page.read_text().startswith(f"Before.\n{BEGIN}\n")
    assert "| small | pong | native | 1 |" in page.read_text()
    assert page.read_text().endswith(f"{END}\nAfter.\n")
    with pytest.raises(SystemExit):
        main(["bench", "--load", str(saved), "--networks", "small", *engine])
    assert "--load shows all that is in the file: leave out --networks" in capsys.readouterr().err


def test_the_benchmark_of_the_batched_engine_says_how_long_environments_were_stepped(engine, capsys):
    words = ["--networks", "small", "--games", "pong", "--threads", "1", "--slots", "2", "4", "--seconds", "0.2"]
    main(["bench", "--engine", "batched", *words, *engine])
    speeds = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(speed["slots"], speed["threads"], speed["device"].upper()) for speed in speeds] == [
        (2, 1, "CPU:0"),
        (4, 1, "CPU:0"),
    ]
    for speed in speeds:
        assert speed["frames_per_second"] == pytest.approx(4 * speed["decisions_per_second"])
        assert speed["decisions_per_second"] > 0
        assert 0 < speed["emulator_share"] < 1


def words_of(settings):
    return [word for setting in settings for word in ("--set", setting)]


def test_training_by_hand_takes_settings_and_ends_with_its_files(engine, tmp_path):
    settings = ["population_size=2", "selection_threshold=1", "validation_threshold=1", "num_validation_episodes=1"]
    settings += ["num_test_episodes=1", "episode_cutoff_mode=5", "frames=1e2"]
    words = ["--model", "small", "--run-dir", str(tmp_path), *words_of(settings)]
    main(["train", "--game", "assault", *words, *engine])
    assert json.loads((tmp_path / "genome.json").read_text())["game"] == "assault"
    assert (tmp_path / "checkpoint.npz").exists()


@pytest.mark.long(seconds=20)
def test_an_agent_that_was_frozen_before_its_run_went_on_is_not_taken_for_the_new_one(engine, tmp_path, capsys):
    def frozen_frames():
        return json.loads((tmp_path / "frozen" / "model.json").read_text())["scores"]["frames"]

    settings = ["frames=400", "learning_starts=50", "epoch_steps=50", "test_steps=10"]
    settings += ["replay_size=400", "batch_size=4"]
    words = ["--model", "small", "--run-dir", str(tmp_path), *words_of(settings)]
    main(["train", "--algo", "dqn", "--game", "breakout", *words, *engine])
    test = ["test", str(tmp_path), "--steps", "5", *engine]
    rollout = ["rollout", str(tmp_path), "--max-steps", "5"]
    main(test)
    before = frozen_frames()
    main(["resume", str(tmp_path), "--frames", "800", *engine])
    capsys.readouterr()
    main(rollout)
    said = capsys.readouterr()
    assert f"frozen is the agent after {before:,} frames, but the run has reached " in said.err
    assert "rollout.npz: 5 steps" in said.out
    main(test)
    assert frozen_frames() > before
    capsys.readouterr()
    main(rollout)
    assert "frozen is the agent" not in capsys.readouterr().err


@pytest.mark.parametrize("setting", ["frames", "framse=5", "frames=many"])
def test_an_invalid_setting_stops_the_training_before_it_begins(engine, tmp_path, capsys, setting):
    with pytest.raises(SystemExit):
        main(["train", "--game", "pong", "--model", "small", "--run-dir", str(tmp_path), "--set", setting, *engine])
    assert capsys.readouterr().err.startswith("neurozoo: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("game", "model", "start"),
    [
        ("frostbite", "LargeModel", "ga,frostbite,large,3,uber2018,"),
        ("gym.CartPole-v1", "simple", "ga,gym.CartPole-v1,simple,3,gymnasium,"),
    ],
)
def test_an_old_log_becomes_metrics_under_our_names(data_dir, tmp_path, game, model, start):
    log = data_dir / "logs" / "gpu_ga.txt"
    main(["parse", str(log), str(tmp_path / "m.csv"), "--game", game, "--model", model, "--run", "3"])
    assert (tmp_path / "m.csv").read_text().splitlines()[1].startswith(start)


def test_a_genome_is_imported_exported_and_evaluated_by_hand(engine, tmp_path, capsys):
    noise = engine[2:]
    words = ["--game", "breakout", "--model", "small", "--run-dir", str(tmp_path / "run"), *noise]
    main(["import", "Current elite: (1, (2, 0.002))", *words])
    assert (tmp_path / "run" / "checkpoint.npz").exists()
    main(["export", str(tmp_path / "run"), str(tmp_path / "weights.npz"), *noise])
    assert "conv1/w 8 8 4 16" in capsys.readouterr().out
    scores = []
    for genome in ([1, [2, 0.002]], None):  # with a genome, and with weights only
        record = json.loads((tmp_path / "run" / "genome.json").read_text())
        (tmp_path / "run" / "genome.json").write_text(json.dumps(record | {"genome": genome}))
        words = ["evaluate", "--genome", str(tmp_path / "run" / "genome.json"), "--episodes", "2", "--json", *engine]
        main([*words, "--max-frames", "400"])
        scores.append(json.loads(capsys.readouterr().out)["episodes"])
    assert scores[0] == scores[1]


def test_statistics_of_any_table_of_metrics_come_with_figures(tmp_path, capsys):
    rows = [f"{algo},pong,large,{run},uber2018,1000,1,{run}" for algo in ("ga", "es") for run in (1, 2)]
    (tmp_path / "m.csv").write_text("algo,game,model,run,protocol,frames,score,test_score\n" + "\n".join(rows))
    words = ["compare", "statistics", str(tmp_path / "m.csv"), "--output", str(tmp_path / "s"), "--replications"]
    main([*words, "50"])
    assert "comparison.csv" in capsys.readouterr().out
    comparison = (tmp_path / "s" / "comparison.csv").read_text()
    assert 'ga,large,,es,large,,"uber2018, unknown",pong,1,2,,1000,2,,1000,0.5,,,,,,' in comparison
    names = {path.stem for path in (tmp_path / "s").glob("*.pdf")}
    assert names == {"performance_profile", "aggregates", "probability_of_improvement"}
    with pytest.raises(SystemExit):
        main([*words, "0"])
    assert "--replications: should be >= 1, but is 0" in capsys.readouterr().err


def test_a_classification_names_what_it_left_out_and_an_interval_only_where_there_is_one(tmp_path, monkeypatch, capsys):
    (tmp_path / "classification.json").write_text('{"left_out": {"runs/mistyped": "there is no model."}}')
    for interval, shown in (((math.nan, math.nan), "no interval"), ((0.5, 1.0), "0.500 to 1.000")):
        found = SimpleNamespace(accuracy=0.9, interval=interval, chance=0.5)
        monkeypatch.setattr("neurozoo.comparison.classify_states", lambda places, found=found, **_: found)
        main(["compare", "classify", "runs/1", "runs/mistyped", "--output", str(tmp_path)])
        said = capsys.readouterr()
        assert said.err == "left out runs/mistyped: there is no model.\n"
        assert f"accuracy 0.900 ({shown}" in said.out


def test_a_damaged_agent_is_left_out_of_an_embedding_and_does_not_end_it(tmp_path, monkeypatch, capsys):
    (tmp_path / "frozen").mkdir()
    (tmp_path / "frozen" / "model.json").write_text("{broken")
    (tmp_path / "result.json").write_text("{}")
    monkeypatch.setattr("neurozoo.comparison.embed_states", lambda places, output, **_: {"b": "it is damaged"})
    monkeypatch.setattr("neurozoo.comparison.write_embedding_page", lambda *_: None)
    main(["compare", "embed", str(tmp_path), "--output", str(tmp_path / "made")])
    assert capsys.readouterr().err == "left out b: it is damaged\n"


def test_movies_and_embeddings_say_that_an_agent_is_an_earlier_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("neurozoo.agents.frozen.outdated", lambda folder: f"{folder} is an earlier agent.")
    (tmp_path / "frozen").mkdir()
    (tmp_path / "frozen" / "model.json").touch()
    for command in (["movie"], ["movie", "--grid"], ["compare", "embed"]):
        with pytest.raises(SystemExit):  # no rollout
            main([*command, str(tmp_path), "--output", str(tmp_path / "made")])
        assert f"{tmp_path} is an earlier agent." in capsys.readouterr().err


@pytest.mark.parametrize("command", [["rollout"], ["movie"], ["movie", "--grid"]], ids=" ".join)
def test_a_tag_is_read_before_it_is_a_folders_name(tmp_path, capsys, command):
    (tmp_path / "train.log").touch()
    for tag, sentence in (("400Q", "but is '400Q'"), ("1B", f"python -m neurozoo freeze {tmp_path} --tag 1B")):
        with pytest.raises(SystemExit):
            main([*command, str(tmp_path), "--tag", tag])
        assert sentence in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*command, str(tmp_path), "--tag", "final"])
    assert str(tmp_path / "frozen") in capsys.readouterr().err


def test_a_core_is_compared_with_the_sources_of_its_checkout(core, tmp_path, capsys):
    main(["check-core", "--core", str(core)])
    assert capsys.readouterr().out == f"{core} was built from the sources in this checkout\n"
    (tmp_path / "core.so").write_text("")
    facts = {"sha256": {"core.so": hashlib.sha256().hexdigest()}, "sources_sha256": "of others", "instructions": []}
    (tmp_path / "build.json").write_text(json.dumps(facts))
    with pytest.raises(SystemExit) as caught:
        main(["check-core", "--core", str(tmp_path / "core.so")])
    assert caught.value.code == 1
    assert "was built from other sources" in capsys.readouterr().err


def test_a_reader_that_has_read_enough_ends_a_command_quietly(python):
    read = python(
        "import os, subprocess, sys\nreader, writer = os.pipe()\nos.close(reader)\n"
        "command = [sys.executable, '-m', 'neurozoo', 'settings', 'dqn']\n"
        "done = subprocess.run(command, stdout=writer, stderr=-1, text=True)\n"
        "print(done.stderr)"
    )
    assert "Traceback" not in read.stdout
    assert "BrokenPipe" not in read.stdout


@pytest.mark.parametrize(
    ("words", "forms"), [([], ["saved_model", "graph"]), (["--forms"], []), (["--forms", "graph"], ["graph"])]
)
def test_freezing_keeps_all_forms_unless_others_are_wanted(tmp_path, monkeypatch, words, forms):
    seen = {}
    (tmp_path / "checkpoint.npz").touch()
    check = {"steps": 1, "ties": 0}
    monkeypatch.setattr("neurozoo.agents.freeze.freeze_run", lambda folder, **options: seen.update(options) or check)
    main(["freeze", str(tmp_path), *words])
    assert seen["forms"] == forms


@pytest.mark.parametrize(
    "words",
    [
        ["test", "RUN", "--output", "RUN/checkpoint.npz"],
        ["rollout", "RUN", "--output", "RUN/log.jsonl"],
        ["rollout", "RUN", "--table", "RUN/checkpoint.npz"],
        ["movie", "RUN", "--loop", "--output", "RUN/checkpoint.npz"],
        ["parse", "RUN/log.jsonl", "RUN/log.jsonl", "--game", "pong", "--model", "small", "--run", "1"],
        ["parse", "RUN/log.jsonl", "RUN/checkpoint.npz", "--game", "pong", "--model", "small", "--run", "1"],
        ["phases", "RUN", "--output", "RUN/checkpoint.npz"],
    ],
)
def test_no_command_writes_over_a_file_of_another_kind(words, tmp_path, capsys):
    for name in ("config.yaml", "checkpoint.npz", "log.jsonl", "frozen/model.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("precious")
    with pytest.raises(SystemExit):
        main([word.replace("RUN", str(tmp_path)) for word in words])
    assert "Nothing was written" in capsys.readouterr().err
    assert {path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == {"precious"}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--loop", "--theme", "light"], "--theme cannot be used with --loop"),
        (["--loop", "--output", "pong.mp4"], "should end in .webp"),
        (["--game", "--fps", "30"], "--fps cannot be used with --game"),
        (["--layer", "fc", "--rows", "720"], "--rows cannot be used with --layer"),
        (["--layout", "classic", "--theme", "dark"], "--theme cannot be used with --layout classic"),
        (["--no-overlay"], "--no-overlay cannot be used with a movie of all layers"),
    ],
)
def test_looks_that_do_not_go_together_are_refused_before_an_agent_plays(words, complaint, monkeypatch, capsys):
    monkeypatch.setattr("neurozoo.agents.bundled_agents.unpack_agent", lambda *_, **__: pytest.fail("unpacked"))
    with pytest.raises(SystemExit):
        main(["zoo", "movie", "pong-published", *words])
    assert complaint in capsys.readouterr().err


def test_a_grid_refuses_what_it_does_not_use(tmp_path, capsys):
    (tmp_path / "config.yaml").touch()
    for words in (["--theme", "light"], ["--rollout", "rollout.npz"]):
        with pytest.raises(SystemExit):
            main(["movie", "--grid", str(tmp_path), *words])
        assert f"{words[0]} cannot be used with --grid" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("robustness shuntin", "agent 'shuntin' is unknown; did you mean 'shunting'?"),
        ("robustness shunting --output a.csv", "a.csv should end in .json. Nothing was written."),
        ("status --directory nope", "nope is not a folder. Name the one in which Snakemake was started"),
        ("book pqn_pong --directory nope", "nope is not a folder. Name the one in which Snakemake was started"),
        ("play nope", "nope does not exist. Give the folder of a run or a level"),
        ("phases nowhere", "nowhere is missing"),
        ("compare embed DIR --output DIR/c", "model.json is missing"),
        ("compare classify DIR --output DIR/c", "model.json is missing"),
        ("import (__import__('os'),) --game pong --model small", "A genome looks like"),
        ("train --game pong --model small --run-dir=", "argument --run-dir: should be a name, but is empty"),
        *(
            (f"panels pong.csv --width={width} --output DIR/p.png", f"from 1 to 100 inches, but is {width!r}")
            for width in ("0", "-3", "nan", "0.01", "5000", "wide")
        ),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_written(words, sentence, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([word.replace("DIR", str(tmp_path)) for word in words.split()])
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_table_of_a_log_has_the_protocol_of_its_run(tmp_path, capsys):
    (tmp_path / "log.jsonl").write_text('{"format": 1, "frames": 4, "score": 1.0, "test_score": 1.0}\n')
    (tmp_path / "config.yaml").write_text(
        "{format: 1, algo: ga, game: pong, model: small, run: 1, protocol: machado2018}"
    )
    words = [str(tmp_path / "log.jsonl"), str(tmp_path / "metrics.csv"), "--game", "pong", "--model", "small"]
    main(["parse", *words, "--run", "1"])
    assert "machado2018" in (tmp_path / "metrics.csv").read_text()
    assert capsys.readouterr().err == ""
    for other, sentence in (
        (["--protocol", "uber2018"], "the protocol is machado2018, but the table says uber2018"),
        (["--algo", "es"], "says that the algo is ga, but the table says es"),
    ):
        main(["parse", *words, "--run", "1", *other])
        assert sentence in capsys.readouterr().err


def test_the_table_of_a_log_has_what_its_run_recorded(tmp_path, capsys):
    (tmp_path / "log.jsonl").write_text('{"format": 1, "frames": 4, "score": 1.0, "test_score": 1.0}\n')
    identity = {"format": 1, "algo": "ga", "game": "pong", "model": "small", "run": 1, "protocol": "uber2018"}
    protocol = asdict(replace(get_protocol("uber2018"), action_set="full"))
    record = {"settings_record": {"population_size": 9}, "protocol_record": protocol}
    (tmp_path / "config.yaml").write_text(json.dumps(identity | record))
    words = [str(tmp_path / "log.jsonl"), str(tmp_path / "metrics.csv"), "--game", "pong", "--model", "small"]
    main(["parse", *words, "--run", "1"])
    row = pd.read_csv(tmp_path / "metrics.csv", dtype=str).iloc[0]
    assert (row["protocol_action_set"], row["settings_population_size"]) == ("full", "9")
    assert row["settings"] == settings_hash({"population_size": 9})
    main(["parse", *words, "--run", "1", "--protocol", "machado2018"])
    other = pd.read_csv(tmp_path / "metrics.csv").iloc[0]
    assert "settings" not in other
    assert other["protocol_action_set"] == get_protocol("machado2018").action_set


def test_ctrl_c_shows_no_traceback():
    command = [sys.executable, "-m", "neurozoo", "status", "--watch"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert "Traceback" not in process.communicate(timeout=60)[1]
    assert process.returncode in (0, 130)
