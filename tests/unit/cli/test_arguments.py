import argparse
from pathlib import Path

import pytest
from neurozoo.__main__ import main
from neurozoo.cli.arguments import check_outputs, check_run_dirs, natural, positive, read_setting, whole
from neurozoo.errors import NeurozooError


def test_a_whole_number_may_have_an_exponent():
    assert [whole(text) for text in ("5", "1e6", "2.0", "-3")] == [5, 1_000_000, 2, -3]
    assert whole("9007199254740993") == 9007199254740993  # a float would be even
    for text in ("0.5", "many", "12x", "inf", "nan"):
        with pytest.raises(argparse.ArgumentTypeError, match=f"should be a whole number.*but is '{text}'"):
            whole(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e6", 1_000_000), ("1e-5", 1e-5), ("adam", "adam"), ("true", True), ("null", None), ("[-1, 5]", [-1, 5])],
)
def test_a_setting_is_a_number_or_yaml(text, value):
    setting = read_setting(text)
    assert (type(setting), setting) == (type(value), value)


def test_only_the_folder_of_a_run_is_taken_for_one(tmp_path):
    def refusal(path):
        with pytest.raises(NeurozooError) as caught:
            check_run_dirs(argparse.Namespace(run_dir=path, needs_run=True))
        return str(caught.value).replace(f"{tmp_path}/", "")

    large = tmp_path / "large"
    assert refusal(large).startswith("large does not exist. Give the folder of a run, such as results/runs/")
    large.mkdir()
    assert refusal(large).startswith("large is not the folder of a run: it has neither a config.yaml nor a checkpoint.")
    (large / "10").mkdir()
    assert refusal(large) == "large is not the folder of a run, but holds the run large/10."
    (large / "2").mkdir()
    assert refusal(large) == "large is not the folder of a run, but holds 2 runs. Name one, such as large/2."
    (large / "2" / "train.log").touch()
    assert refusal(large / "2" / "train.log").startswith("large/2/train.log is a file. Give the folder")
    check_run_dirs(argparse.Namespace(run_dir=[large / "2"], needs_run=True))
    check_run_dirs(argparse.Namespace(run_dir=large))  # of a command that makes it


def test_how_many_begins_with_1_and_seeds_with_0():
    assert positive("7") == 7
    with pytest.raises(argparse.ArgumentTypeError, match="should be >= 1, but is 0"):
        positive("0")
    assert natural("0") == 0
    with pytest.raises(argparse.ArgumentTypeError, match="should be >= 0, but is -1"):
        natural("-1")


@pytest.mark.parametrize(
    ("words", "command", "sentence"),
    [
        ("bench --slots -4", "bench", "argument --slots: should be >= 1, but is -4"),
        ("train --game pong", "train", "the following arguments are required: --model"),
        ("zoo play amidar --foo", "zoo play", "unrecognized arguments: --foo"),
    ],
)
def test_a_slip_on_the_command_line_is_answered_by_one_sentence(words, command, sentence, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words.split())
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"neurozoo: {sentence}. Look at: python -m neurozoo {command} --help"


def test_files_with_another_ending_are_refused():
    check_outputs((None, ".png"), (Path("a/level.txt"), ".txt"))
    with pytest.raises(NeurozooError, match=r"^a/way\.gif should end in \.png\. Nothing was written\.$"):
        check_outputs((Path("a/level.txt"), ".txt"), (Path("a/way.gif"), ".png"))


def test_the_result_of_a_training_is_not_written_over(tmp_path):
    (tmp_path / "checkpoint.npz").touch()
    check_outputs((tmp_path / "checkpoint.npz", ".npz"))  # not in the folder of a run
    (tmp_path / "config.yaml").touch()
    check_outputs((tmp_path / "rollout.npz", ".npz"))
    with pytest.raises(
        NeurozooError, match=r"checkpoint\.npz is the result of a training\. Give another name\. Nothing"
    ):
        check_outputs((tmp_path / "checkpoint.npz", ".npz"))
