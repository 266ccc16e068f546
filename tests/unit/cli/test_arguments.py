import argparse

import pytest
from neurozoo.cli.arguments import add_settings, chosen, read_overrides, read_setting, whole
from neurozoo.errors import NeurozooError


def test_a_whole_number_may_have_an_exponent():
    assert [whole(text) for text in ("5", "1e6", "2.0")] == [5, 1_000_000, 2]
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


def test_the_last_of_two_values_of_a_setting_counts():
    parser = argparse.ArgumentParser()
    add_settings(parser)
    options = parser.parse_args(["--set", "frames=1e3", "-s", "note=a=b", "-s", "frames=2e3"])
    assert read_overrides(options) == {"frames": 2000, "note": "a=b"}
    with pytest.raises(NeurozooError, match=r"--set 'frames' has no value\. Write NAME=VALUE"):
        read_overrides(parser.parse_args(["--set", "frames"]))


def test_options_are_handed_on_under_their_names():
    assert chosen(argparse.Namespace(seed=1, game="pong", noise=None), "noise", "seed") == {"noise": None, "seed": 1}


def test_a_folder_of_runs_is_not_taken_for_a_run(tmp_path):
    from neurozoo.cli.arguments import check_is_run

    for number in ("10", "2"):
        (tmp_path / number).mkdir()
    with pytest.raises(NeurozooError, match=r"should be the folder of one run, but holds 2 of them\. Name one, .*/2$"):
        check_is_run(tmp_path)
    check_is_run(tmp_path / "2")


def test_runs_are_counted_from_1():
    from neurozoo.cli.arguments import run_number

    assert run_number("7") == 7
    with pytest.raises(argparse.ArgumentTypeError, match="should be >= 1, but is 0"):
        run_number("0")
