import pytest
from neurozoo.errors import NeurozooError, nearest, unknown_name


def test_a_slip_of_the_finger_finds_the_name_that_was_meant():
    assert nearest("pnog", ["pong", "breakout"]) == "pong"


def test_nothing_is_proposed_where_nothing_is_close():
    assert nearest("zzz", ["pong", "breakout"]) is None


def test_an_unknown_name_says_what_came_what_was_meant_and_what_there_is():
    error = unknown_name("game", "pnog", ["pong", "breakout"])
    assert isinstance(error, NeurozooError)
    assert str(error) == "game 'pnog' is unknown; did you mean 'pong'? Known: breakout, pong."


def test_an_unknown_name_far_from_all_others_lists_them_alone():
    assert str(unknown_name("game", "zzz", ["pong", "breakout"])) == "game 'zzz' is unknown. Known: breakout, pong."


@pytest.mark.parametrize("name", [None, 7, ["pong"], {"a": 1}])
def test_a_name_of_another_type_is_an_unknown_name_too(name):
    assert repr(name) in str(unknown_name("game", name, ["pong"]))
