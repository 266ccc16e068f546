import pytest
from neurozoo.errors import NeurozooError, nearest, unknown_name


def test_a_typo_finds_the_name_that_was_meant():
    assert nearest("pnog", ["pong", "breakout"]) == "pong"


def test_no_name_is_suggested_if_none_is_similar():
    assert nearest("zzz", ["pong", "breakout"]) is None


def test_the_error_for_an_unknown_name_suggests_the_nearest_and_lists_all():
    error = unknown_name("game", "pnog", ["pong", "breakout"])
    assert isinstance(error, NeurozooError)
    assert str(error) == "game 'pnog' is unknown; did you mean 'pong'? Known: breakout, pong."


def test_the_error_without_a_similar_name_only_lists_all():
    assert str(unknown_name("game", "zzz", ["pong", "breakout"])) == "game 'zzz' is unknown. Known: breakout, pong."


@pytest.mark.parametrize("name", [None, 7, ["pong"], {"a": 1}])
def test_a_name_of_a_wrong_type_is_an_unknown_name(name):
    assert repr(name) in str(unknown_name("game", name, ["pong"]))
