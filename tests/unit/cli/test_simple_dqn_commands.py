"""Command lines of tambetm/simple_dqn, as its users type them."""

import re
from pathlib import Path

import pytest
import yaml
from neurozoo.__main__ import build_parser, main
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.cli.arguments import read_overrides
from neurozoo.cli.simple_dqn_commands import COMMANDS, translate
from neurozoo.cli.simple_dqn_options import FIXED, PLOT, SETTINGS
from neurozoo.errors import NeurozooError

DOCS = Path(__file__).resolve().parents[3] / "docs" / "simple_dqn.md"

# Section 3 of the specification: every option of the main program with its default as text.
DEFAULTS = """
environment ale, display_screen false, frame_skip 4, repeat_action_probability 0, minimal_action_set true,
color_averaging true, screen_width 84, screen_height 84, record_screen_path -, record_sound_filename -,
replay_size 1000000, history_length 4, learning_rate 0.00025, discount_rate 0.99, batch_size 32, optimizer rmsprop,
decay_rate 0.95, clip_error 1, min_reward -1, max_reward 1, batch_norm false, backend gpu, device_id 0,
datatype float32, stochastic_round 0, exploration_rate_start 1, exploration_rate_end 0.1,
exploration_decay_steps 1000000, exploration_rate_test 0.05, train_frequency 4, train_repeat 1, target_steps 10000,
random_starts 30, visualization_filters 4, visualization_file -, random_steps 50000, train_steps 250000,
test_steps 125000, epochs 200, start_epoch 0, play_games 0, load_weights -, save_weights_prefix -, csv_file -,
random_seed 0, log_level INFO
"""
DEFAULTS = dict(entry.split() for entry in DEFAULTS.replace("\n", " ").split(","))


def settings_of(words):
    """The settings that `python -m neurozoo train` would take from these words."""
    options = build_parser().parse_args(words)
    return resolve_settings(options.algo, preset=options.preset, overrides=read_overrides(options))


def trained(line):
    ((word, *rest),) = translate(["train", *line.split()])
    assert word == "train"
    return build_parser().parse_args(["train", *rest]), settings_of(["train", *rest])


def test_every_option_of_the_original_is_known():
    assert {*SETTINGS, *FIXED, "csv_file"} == set(DEFAULTS)
    assert not set(SETTINGS) & set(FIXED)


def test_the_originals_defaults_are_those_of_the_preset():
    options, settings = trained("roms/breakout.bin")
    assert (options.algo, options.game, options.model, options.run) == ("dqn", "breakout", "simple_dqn", 1)
    assert (options.preset, options.run_dir) == ("simple_dqn", None)
    preset = resolve_settings("dqn", preset="simple_dqn", overrides={"snapshot_frames": 1_000_000})
    assert settings == preset  # and one snapshot for each epoch
    _, spelt = trained("breakout " + " ".join(f"--{name} {text}" for name, text in DEFAULTS.items() if text != "-"))
    assert vars(spelt) == {**vars(preset), "action_set": "minimal", "frames": 200 * 1_000_000}


def test_options_of_training_become_settings():
    _, settings = trained(
        "pong --replay_size 5000 --learning_rate 1e-5 --discount_rate .9 --batch_size 16 --optimizer adam "
        "--decay_rate 0.5 --clip_error 0 --max_reward 5 --exploration_rate_start 0.9 --exploration_rate_end 0.2 "
        "--exploration_decay_steps 1e3 --exploration_rate_test 0.01 --train_frequency 2 --train_repeat 3 "
        "--target_steps 0 --random_starts 10 --random_steps 7 --train_steps 2000 --test_steps 300 --epochs 5 "
        "--random_seed 11 --repeat_action_probability 0.25 --minimal_action_set No"
    )
    expected = {
        "replay_size": 5000, "learning_rate": 1e-5, "discount": 0.9, "batch_size": 16, "optimizer": "adam",
        "optimizer_epsilon": 1e-8, "decay_rate": 0.5, "huber_delta": 0, "reward_bounds": (-1.0, 5.0),
        "epsilon_start": 0.9, "epsilon_end": 0.2, "epsilon_steps": 1000, "test_epsilon": 0.01, "train_frequency": 2,
        "train_repeat": 3, "target_update_period": 0, "noop_steps": (5, 11), "learning_starts": 7, "epoch_steps": 2000,
        "test_steps": 300, "frames": 5 * 2000 * 4, "snapshot_frames": 8000, "seed": 11, "protocol": "machado2018",
        "action_set": "full",
    }  # fmt: skip
    assert {name: getattr(settings, name) for name in expected} == expected


def test_the_csv_is_written_after_training():
    train, phases = translate(["train", "pong", "2", "--csv_file", "results/pong.csv"])
    assert train[0] == "train"
    assert phases == ["phases", "results/runs/dqn/pong/simple_dqn/2", "--output", "results/pong.csv"]
    assert translate(["resume", "runs/x", "--csv_file", "a.csv"])[1] == ["phases", "runs/x", "--output", "a.csv"]
    assert translate(["train", "pong", "b", "--csv_file", "a.csv"])[1][1] == "results/simple_dqn/pong_b"


def test_truth_values_are_read_as_in_the_original():
    for text in ("yes", "TRUE", "t", "1"):
        assert trained(f"pong --minimal_action_set {text}")[1].action_set == "minimal"
    for text in ("no", "false", "0", "y", "on"):
        assert trained(f"pong --minimal_action_set={text}")[1].action_set == "full"


@pytest.mark.parametrize(
    ("line", "run", "run_dir"),
    [
        ("roms/space_invaders.bin", 1, None),
        ("space_invaders 3", 3, None),
        ("roms/space_invaders.bin fast_one --epochs 2", 1, Path("results/simple_dqn/space_invaders_fast_one")),
    ],
)
def test_a_game_may_have_underscores_and_a_label_chooses_the_folder(line, run, run_dir):
    options, _ = trained(line)
    assert (options.game, options.run, options.run_dir) == ("space_invaders", run, run_dir)


@pytest.mark.parametrize("name", sorted(FIXED))
def test_the_error_for_an_unsupported_option_says_what_to_use_instead(name):
    kind, done, instead = FIXED[name]
    other = {"boolean": "no" if done else "yes", "int": "7", "str": "other"}[kind.__name__]
    with pytest.raises(NeurozooError) as complaint:
        translate(["train", "pong", f"--{name}", other])
    assert f"--{name} " in str(complaint.value)
    assert str(complaint.value).endswith(instead)
    assert re.fullmatch(r"[A-Za-z].*\.", instead)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("", "simple_dqn has no command ''"),
        ("tain pong", "did you mean 'train'"),
        ("train", "the following arguments are required: rom"),
        ("train pnog", "did you mean 'pong'"),
        ("train pong a b", "takes rom .label. and options, but 'b' was given, too"),
        ("train Breakout-v0", "Breakout-v0 is an environment of Gym.* Name the game, such as pong"),
        ("train pong --learning_rat 1", "did you mean '--learning_rate'"),
        ("train pong --batch_size many", "argument --batch_size: invalid int value: 'many'"),
        ("train pong --batch_size", "argument --batch_size: expected one argument"),
        ("train pong --batch_size 0", "batch_size should be at least 1, but is 0"),
        ("train pong --optimizer adm", "did you mean 'adam'"),
        ("train pong --min_reward 2", r"reward_bounds should be \[least, most\]"),
        ("train pong --random_starts 3", "random_starts should be at least 4, but is 3"),
        ("train pong --exploration_decay_steps 0.5", "should be a whole number of steps, but is 0.5"),
        ("train pong --train_steps 0", "Without training use the command test"),
        ("train pong --repeat_action_probability 0.1", "should be 0 or 0.25 in training"),
        ("train pong --stochastic_round", "Numbers are rounded as usual"),
        ("resume snapshots/pong_141.pkl", "is a snapshot of Neon, which cannot be read here"),
        ("resume runs/1/snapshots/4000.npz", "not from 4000: resume runs/1"),
        ("resume runs/1 --learning_rate 1", "A snapshot has its own settings: leave out --learning_rate"),
        ("test runs/1 --replay_size 100", "A snapshot has its own settings: leave out --replay_size"),
        ("test runs/1 --play_games 1", "Use the command play"),
        ("test runs/1 --csv_file a.csv", "a test writes test.json"),
        ("plot a.csv --dpi 300", "for more pixels give --png_file a name that ends in .svg"),
        ("plot a.csv --png_fil b.png", "did you mean '--png_file'"),
        ("nvis runs/1 --epochs 3", "A snapshot has its own settings: leave out --epochs"),
        ("play runs/1 --frame_skip 3", "Every protocol repeats an action for 4 frames"),
        ("play pong_141.prm", "is a snapshot of Neon"),
        ("record runs/1 --record_screen_path videos", "makes a video without pictures in between"),
        ("record runs/1 --batch_size 3", "A snapshot has its own settings: leave out --batch_size"),
        ("test_gym runs/1 --display true", "look at the agent with the command play"),
        ("upload_gym folder --api_key 1", "no longer exists; python -m neurozoo site --bundle"),
    ],
)
def test_a_mistake_is_explained_in_one_sentence(line, answer):
    with pytest.raises(NeurozooError, match=answer):
        translate(line.split())


def test_resume_names_the_run_and_counts_epochs_to_the_last(tmp_path):
    facts = {"algo": "dqn", "game": "pong", "model": "simple_dqn", "run": 1, "protocol": "simple_dqn"}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"format": 1, **facts, "epoch_steps": 1000}))
    assert translate(["resume", str(tmp_path / "checkpoint.npz")]) == [["resume", str(tmp_path)]]
    ((*words,),) = translate(["resume", str(tmp_path), "--epochs", "7"])
    assert words == ["resume", str(tmp_path), "--frames", "28000"]
    assert build_parser().parse_args(words).budget == 28000
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"format": 1, **facts, "algo": "ga"}))
    with pytest.raises(NeurozooError, match="is a run of ga, which has no epochs"):
        translate(["resume", str(tmp_path), "--epochs", "7"])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("test runs/1", {"epsilon": 0.05, "steps": 125_000, "protocol": [], "snapshot": None}),
        ("test runs/1/snapshots/4000.npz --test_steps 9", {"run_dir": Path("runs/1"), "snapshot": 4000, "steps": 9}),
        ("test runs/1/frozen --exploration_rate_test 0 --random_seed 3", {"epsilon": 0.0, "seed": 3}),
        ("test runs/1 --repeat_action_probability 0.25", {"sticky_probability": 0.25}),
        ("test_gym runs/1", {"episodes": 100, "steps": None, "protocol": ["machado2018"], "epsilon": 0.05}),
        ("test_gym runs/1 --num_episodes 4 --display no", {"episodes": 4}),
    ],
)
def test_tests_are_understood(line, expected):
    (words,) = translate(line.split())
    options = build_parser().parse_args(words)
    assert words[0] == "test"
    assert {name: getattr(options, name) for name in expected} == expected


def test_plots_are_understood():
    ((word, *rest),) = translate(["plot", "breakout.csv"])
    options = build_parser().parse_args([word, *rest])
    assert (options.source, options.fields) == (Path("breakout.csv"), "average_reward,meanq,nr_games,meancost")
    assert (options.width, options.height, options.output) == (16.0, 9.0, None)
    words = ["plot", "a.csv", "--fields", "meanq", "--figure_width", "8", "--png_file", "b.png"]
    options = build_parser().parse_args(translate(words)[0])
    assert (options.fields, options.width, options.output) == ("meanq", 8.0, Path("b.png"))


def test_filters_are_shown_of_a_frozen_agent(tmp_path):
    freeze, page = translate(f"nvis {tmp_path}/snapshots/4000.npz --visualization_filters 2".split())
    assert freeze == ["freeze", str(tmp_path), "--snapshot", "4000"]
    assert page == ["filters", "guided-page", str(tmp_path / "snapshots" / "4000"), "--play", "--filters", "2"]
    (tmp_path / "frozen").mkdir()
    (tmp_path / "frozen" / "model.json").touch()
    (page,) = translate(["nvis", str(tmp_path), "--visualization_file", "a.html"])
    options = build_parser().parse_args(page)
    assert (options.run_dir, options.filters, options.play, options.output) == (tmp_path, 4, True, Path("a.html"))


def test_games_are_shown_and_filmed_of_a_frozen_agent(tmp_path):
    freeze, play = translate(["play", str(tmp_path)])
    assert freeze == ["freeze", str(tmp_path)]
    assert play == ["play", str(tmp_path), "--games", "1", "--epsilon", "0.05"]
    (tmp_path / "frozen").mkdir()
    (tmp_path / "frozen" / "model.json").touch()
    line = "--play_games 3 --exploration_rate_test 0 --random_seed 5 --repeat_action_probability 0.25"
    (play,) = translate(["play", f"{tmp_path}/checkpoint.npz", "--display_screen", "true", *line.split()])
    options = build_parser().parse_args(play)
    assert (options.folder, options.games, options.epsilon, options.seed) == (tmp_path, 3, 0.0, 5)
    assert (options.sticky_probability, options.manual) == (0.25, False)
    rollout, movie = translate(["record", str(tmp_path), *line.split()])
    recorded = build_parser().parse_args(rollout)
    assert (recorded.episodes, recorded.max_steps, recorded.action_noise, recorded.seed) == (3, 27_000, 0.0, 5)
    filmed = build_parser().parse_args(movie)
    assert (filmed.game, filmed.overlay, filmed.rollout) == (True, False, recorded.output)
    assert recorded.output.parent.parent == filmed.output.parent == tmp_path


@pytest.mark.parametrize(
    ("command", "steps", "settings"),
    [
        ("profile_train", 5000, ["train_frequency=1", "target_update_period=0"]),
        ("profile_test", 10_000, []),
        ("profile_random", 10_000, []),
    ],
)
def test_profiles_have_the_originals_steps(command, steps, settings):
    ((word, *rest),) = translate([command])
    options = build_parser().parse_args([word, *rest])
    assert (options.algo, options.model, options.preset) == ("dqn", "simple_dqn", "simple_dqn")
    assert (options.game, options.steps, options.set) == ("pong", steps, settings)
    with pytest.raises(NeurozooError, match="takes no options, but '-v' came"):
        translate([command, "-v"])


def test_the_command_says_what_it_runs_and_ends_with_2_after_a_mistake(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["simple_dqn", "train", "pong", "--frame_skip", "3"])
    assert stop.value.code == 2
    assert capsys.readouterr().err == (
        "neurozoo: --frame_skip 3 is not known here. Every protocol repeats an action for 4 frames.\n"
    )
    with pytest.raises(SystemExit) as stop:
        main(["simple_dqn", "resume", str(tmp_path)])
    assert stop.value.code == 1
    said, complaint = capsys.readouterr().err.splitlines()
    assert said == f"python -m neurozoo resume {tmp_path}"
    assert "it has neither a config.yaml nor a checkpoint" in complaint


def test_every_option_and_command_is_in_the_documentation():
    text = DOCS.read_text(encoding="utf-8")
    assert {name for name in (*SETTINGS, *FIXED, *PLOT, "csv_file") if f"`--{name}`" not in text} == set()
    assert {name for name in COMMANDS if f"`{name}" not in text} == set()
