"""Command lines and lists of workers of impala_horovod_gym, as its users have them."""

import pytest
from neurozoo.__main__ import build_parser, main
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.cli.arguments import read_overrides
from neurozoo.cli.impala_gym import SETTINGS, WITHOUT_EFFECT, read_workers, translate
from neurozoo.compute.mpi_launch import mpi_command
from neurozoo.errors import NeurozooError

HEADER = "job,ip,tf_port,cuda_visible_devices,ssh_port,ssh_username,ssh_password\n"
# The example of section 8 of the specification.
EXAMPLE = HEADER + "".join(
    f"{job},localhost,{port},,,,\n"
    for job, port in [("learner", 8001), ("learner", 8002), ("actor", 9001), ("actor", 9002), ("actor", 9003)]
)
SECRET = "correct horse"
REMOTE = HEADER + (
    "actor,n02,9001,0,2222,anna,correct horse\n"
    "ps,n09,7001,,,,\n"
    "learner,n01,8001,,,,\n"
    "actor,n03,9002,,,,\n"
    "actor,n02,9003,,2222,anna,correct horse\n"
)
# Section 2.1: the defaults, as its users would spell them.
DEFAULTS = (
    "--total_environment_frames 1e9 --batch_size 2 --unroll_length 100 --seed 1 --agent_name SimpleConvNetAgent "
    "--entropy_cost 0.00025 --baseline_cost 0.5 --discounting 0.99 --reward_clipping abs_one --gradients_clipping -1.0 "
    "--level_name BreakoutNoFrameskip-v4 --learning_rate 0.00048 --decay 0.99 --momentum 0.0 --epsilon 0.1"
)


def settings_of(words):
    options = build_parser().parse_args(words)
    return options, resolve_settings(options.algo, preset=options.preset, overrides=read_overrides(options))


def test_the_originals_defaults_are_those_of_the_preset():
    words, notices = translate(DEFAULTS.split())
    options, settings = settings_of(words)
    assert (options.algo, options.game, options.model, options.mpi) == (
        "impala",
        "breakout",
        "impala_gym_simple",
        "mpirun",
    )
    assert vars(settings) == vars(resolve_settings("impala", preset="impala_gym", overrides={"seed": 1}))
    assert notices == []
    assert all(f"--{name} " in DEFAULTS for name in SETTINGS)


def test_the_example_of_the_original_becomes_two_learners_and_three_actors(tmp_path):
    (tmp_path / "workers.csv").write_text(EXAMPLE)
    network = "--tmux_sess zoo --level_name PongNoFrameskip-v4 --agent_name resnetlstmagent"
    words, notices = translate(["--workers_csv_path", str(tmp_path / "workers.csv"), *network.split()])
    options, settings = settings_of(words)
    assert (options.game, options.model, options.mpi) == ("pong", "impala_gym_deep", "mpirun")  # all on this machine
    assert (settings.learners, settings.actors, settings.num_envs) == (2, 3, 2)
    assert settings.frames == 2 * resolve_settings("impala", preset="impala_gym").frames  # there, each has as many
    assert notices == [f"--tmux_sess is ignored. {WITHOUT_EFFECT['tmux_sess']}"]
    assert not (tmp_path / "workers.hosts").exists()


def test_a_batch_without_a_list_of_workers_is_played_by_as_many_environments():
    _, settings = settings_of(translate(["--batch_size", "24", "--level_name", "PongNoFrameskip-v4"])[0])
    assert (settings.learners, settings.batch_size, settings.num_envs) == (1, 24, 24)


def test_other_hosts_become_those_of_mpirun_and_passwords_appear_nowhere(tmp_path, capsys):
    path = tmp_path / "my workers.csv"
    path.write_text(REMOTE)
    words, notices = translate(["--workers_csv_path", str(path), "--batch_size", "4"])
    options, settings = settings_of(words)
    assert (settings.learners, settings.actors, settings.num_envs) == (1, 3, 4)
    command = mpi_command(options.mpi, 4, {"PATH": ""})
    assert command[-1] == str(tmp_path / "my workers.hosts")
    assert (tmp_path / "my workers.hosts").read_text() == "n01\nn02\nn03\nn02\n"
    said = " ".join([*words, *notices, *map(str, read_workers(path)[0])])
    assert SECRET not in said
    assert "are ignored: mpirun reaches other hosts by ssh with keys" in said
    assert "Host n02\n    Port 2222\n    User anna" in said


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("job,ip\nlearner,n01\n", "lacks the column tf_port; a list of workers begins with job,ip,tf_port"),
        ("", "lacks the column job"),
        (HEADER + "actor,n01,9001,,,,\n", "lists no learner"),
        (HEADER + "learner,,8001,,,,\n", "Line 2 of .* should name a host in the column ip, but says ''"),
        (HEADER + "learner,n01 --oversubscribe,8001,,,,\n", "should name a host in the column ip"),
        (EXAMPLE.replace("actor,localhost,9002,,,,\nactor,localhost,9003,,,,\n", ""), "Each learner needs an actor"),
    ],
)
def test_a_list_that_is_none_is_refused_with_a_sentence(tmp_path, content, sentence):
    (tmp_path / "workers.csv").write_text(content)
    with pytest.raises(NeurozooError, match=sentence):
        translate(["--workers_csv_path", str(tmp_path / "workers.csv")])


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("--workers_csv_path nowhere.csv", "nowhere.csv could not be read"),
        ("--learning_rat 1", "did you mean '--learning_rate'"),
        ("--agent_name Simple", "impala_horovod_gym has no agent 'Simple'"),
        ("--level_name Pung", "'Pung' is not the name of a game"),
        ("--task 0", "--task is for a single process of the original. List the workers in a file"),
        ("--batch_size many", "invalid int value: 'many'"),
        ("--reward_clipping half", "reward_clipping"),
        ("--mode tset", "did you mean 'test'"),
    ],
)
def test_a_slip_is_a_sentence(line, sentence):
    with pytest.raises(NeurozooError, match=sentence):
        translate(line.split())


def test_the_mode_test_tests_the_run():
    words, _ = translate(["--mode", "test", "--logdir", "results/mine", "--test_num_episodes", "3"])
    assert words == ["test", "results/mine", "--episodes", "3"]


def test_the_command_says_what_it_runs(capsys):
    options = build_parser().parse_args(["impala_gym", *DEFAULTS.split()])
    ran = []
    options.run = ran.append
    options.command(options)
    assert ran == [translate(DEFAULTS.split())[0]]
    assert capsys.readouterr().err.startswith("python -m neurozoo train --algo impala --game breakout")
    with pytest.raises(SystemExit, match="2"):
        main(["impala_gym", "--mode", "tset"])
    assert capsys.readouterr().err.startswith("neurozoo: ")
