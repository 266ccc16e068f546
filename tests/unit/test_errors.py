import errno
import os

import pytest
from neurozoo.errors import NeurozooError, explained, nearest, plain_errors, unknown_name


def test_a_typo_finds_the_name_that_was_meant():
    assert nearest("pnog", ["pong", "breakout"]) == "pong"


def test_the_error_for_an_unknown_name_suggests_the_nearest_and_lists_all():
    error = unknown_name("game", "pnog", ["pong", "breakout"])
    assert isinstance(error, NeurozooError)
    assert str(error) == "game 'pnog' is unknown; did you mean 'pong'? Known: breakout, pong."


@pytest.mark.parametrize("name", [None, 7, ["pong"], {"a": 1}])
def test_a_name_of_a_wrong_type_is_an_unknown_name(name):
    assert repr(name) in str(unknown_name("game", name, ["pong"]))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_a_quota_and_a_file_size_limit_are_explained(number):
    error = explained(OSError(number, os.strerror(number)), "a.txt")
    assert isinstance(error, NeurozooError)
    assert "a.txt could not be written" in str(error)


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.EROFS, "a.txt could not be written, because its file system is read-only."),
        (errno.EACCES, "a.txt may not be used by you: permission denied."),
        (errno.EIO, "a.txt could not be read or written: input/output error. Check its disk, and try again."),
    ],
)
def test_other_refusals_are_explained_too(number, sentence):
    assert sentence in str(explained(OSError(number, os.strerror(number), "a.txt")))


def test_an_error_without_a_file_is_left_as_it_is():
    error = OSError("something else")
    assert explained(error) is error


def test_a_program_ends_with_a_sentence_about_what_the_system_refuses(capsys, tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(SystemExit) as stop, plain_errors(tmp_path / "log"):
        (tmp_path / "file" / "folder").mkdir()
    assert stop.value.code == 1
    sentence = f"neurozoo: {tmp_path}/file/folder cannot be used, because a file is where a folder is needed."
    assert capsys.readouterr().err.startswith(sentence)
    assert (tmp_path / "log").read_text().startswith(sentence)


@pytest.mark.parametrize("error", [BrokenPipeError(errno.EPIPE, "Broken pipe"), OSError("no file"), KeyError("a bug")])
def test_other_errors_keep_their_traceback(error):
    with pytest.raises(type(error)), plain_errors():
        raise error


def test_the_log_keeps_the_traceback_of_an_unexpected_error(tmp_path):
    (tmp_path / "log").write_text("before\n")
    with pytest.raises(KeyError), plain_errors(tmp_path / "log"):
        {}["a bug"]
    log = (tmp_path / "log").read_text()
    assert log.startswith("before\nTraceback (most recent call last):\n")
    assert log.endswith("\nKeyError: 'a bug'\n")


def test_of_many_names_only_the_neighbours_of_the_similar_one_are_listed():
    names = [f"name_{number:03}" for number in range(100)]
    assert str(unknown_name("word", "nane_050", names)) == (
        "word 'nane_050' is unknown; did you mean 'name_050'? Known: 100 names, among them "
        "name_046, name_047, name_048, name_049, name_050, name_051, name_052, name_053, name_054."
    )
    assert str(unknown_name("word", "nothing like it", names)) == (
        "word 'nothing like it' is unknown. Known: 100 names, among them name_096, name_097, name_098, name_099."
    )
