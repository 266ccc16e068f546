"""Levels as text: what goes out comes in again, and what cannot be played is refused in a sentence."""

import numpy as np
import pytest
from neurozoo.environments.platformer.tiles import (
    ALPHABET,
    checked_levels,
    ends_of,
    from_text,
    read_level,
    to_characters,
    to_text,
    without_wrong_ends,
    write_level,
)
from neurozoo.errors import NeurozooError

from .levels import flat

AIR = "-" * 56


def text_of(edits: str = "") -> str:
    return "\n".join(row.tobytes().decode() for row in flat(edits))


def test_the_alphabet_is_the_published_one():
    published = {0: "-", 1: "*", 2: "y", 3: "g", 4: "k", 5: "r", 6: "t", 7: "S", 8: "!", 9: "@", 10: "F", 11: "X"}
    published |= {12: "%", 13: "M", 14: "|", 15: "o", 16: "#"}
    assert dict(enumerate(ALPHABET)) == published


def test_a_level_survives_a_file(tmp_path):
    level = from_text(text_of("M@2-2/13-13;F@50-50/13-13;g@20-20/13-13"))
    write_level(tmp_path / "level.txt", level)
    np.testing.assert_array_equal(read_level(tmp_path / "level.txt"), level)
    assert (tmp_path / "level.txt").read_text() == to_text(level)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (text_of().replace("X", "Z", 1), r"unknown tile 'Z' in line 15, column 1\. Known tiles: -\*ygkrtS!@FX%M\|o#"),
        (text_of()[57:], "has 15 lines of 56 characters, but should have 16 lines of 56"),
        (text_of().replace("-\n", "\n", 1), "has 16 lines of 55 to 56 characters"),
        ("", "has 0 lines of 0 characters"),
        (text_of("M@20-20/13-13;F@10-10/13-13"), "has its finish in column 11, but its start in column 21"),
        (text_of("M@20-20/13-13;F@20-20/12-12"), "has its finish in column 21, but its start in column 21"),
        (text_of("F@0-0/13-13"), "has its finish in column 1, but its start in column 1"),
        (text_of().replace("X", "ä", 1), "unknown tile 'ä'"),
    ],
)
def test_a_level_that_cannot_be_played_is_refused(text, message):
    with pytest.raises(NeurozooError, match=message):
        from_text(text)


def test_a_file_that_is_no_level_is_refused(tmp_path):
    with pytest.raises(NeurozooError, match=r"missing.txt is missing\. Check the path"):
        read_level(tmp_path / "missing.txt")
    (tmp_path / "level.txt").write_bytes(b"\xff\xfe" * 50)
    with pytest.raises(NeurozooError, match="is not a text file, as a level should be"):
        read_level(tmp_path / "level.txt")


def test_a_level_that_an_editor_has_changed_a_little_is_read(tmp_path):
    text = "\r\n".join(line + "  " for line in ["", *text_of().splitlines(), "", ""])
    (tmp_path / "level.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    np.testing.assert_array_equal(read_level(tmp_path / "level.txt"), from_text(text_of()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda levels: levels.astype(float), "whole numbers of shape"),
        (lambda levels: levels.astype(str), "whole numbers of shape"),
        (lambda levels: levels[:, :10], r"but holds uint8 of shape \(10, 56\)"),
        (lambda levels: levels.astype(np.int64) - 20, "tiles from -20 to"),
        (lambda levels: levels + 17, "numbered from 0 to 16"),
        (lambda levels: with_ends(levels, start=40, finish=3), "its finish in column 4, but its start in column 41"),
    ],
)
def test_levels_of_a_strangers_archive_that_cannot_be_played_are_refused(change, message):
    levels = np.stack([from_text(text_of())] * 2)
    np.testing.assert_array_equal(checked_levels(levels.astype(np.int64), source="archive.npz"), levels)
    with pytest.raises(NeurozooError, match=message):
        checked_levels(change(levels), source="archive.npz")


def with_ends(levels, *, start, finish):
    levels = levels.copy()
    levels[1, 13, start], levels[1, 13, finish] = ALPHABET.index("M"), ALPHABET.index("F")
    return levels


def test_wrong_ends_are_taken_away_and_right_ones_stay():
    right, wrong = (from_text(text_of()), from_text(text_of()))
    right[13, 3], right[13, 40] = ALPHABET.index("M"), ALPHABET.index("F")
    wrong[13, 40], wrong[13, 3] = ALPHABET.index("M"), ALPHABET.index("F")
    first, second = without_wrong_ends(np.stack([right, wrong]))
    np.testing.assert_array_equal(first, right)
    assert ends_of(second) == (0, 55)
    assert (second[13] == 0).all()
    # Of several tiles the last one counts, row by row, as in the game.
    right[12, 50] = ALPHABET.index("M")
    assert ends_of(right) == (3, 40)


def test_an_unknown_tile_is_refused():
    with pytest.raises(NeurozooError, match=r"a tile of kind 250, but kinds end at 16"):
        to_characters(np.full((16, 56), 250, np.uint8))
