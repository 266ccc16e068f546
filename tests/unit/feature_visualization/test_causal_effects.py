import numpy as np
import pytest
from neurozoo.feature_visualization.causal_effects import Effect, compare_again

KINDS = {"none": "none", "fc 1": "channel", "fc 2": "channel", "fc 1 + fc 2": "pair"}


def played(**scores):
    """Makes effects with these scores, by name."""
    return [Effect(KINDS[name], name, (), scores=np.array(row, float)) for name, row in scores.items()]


def intervals(rows):
    return rows.min(axis=1), rows.max(axis=1)


FIRST = {"none": [10, 20, 30, 40], "fc 1": [5, 5, 5, 5], "fc 2": [10, 10, 20, 20]}
AGAIN = {"none": [20, 40, 50, 60], "fc 1": [5, 10, 20, 30], "fc 2": [10, 40, 40, 40]}
PAIR = {"fc 1 + fc 2": [0, 0, 0, 10]}


def test_a_pair_is_compared_with_the_sum_of_both_from_the_other_starts():
    effects, pairs = played(**FIRST), played(**PAIR)
    effects.append(Effect("named", "fc 1", ()))  # a name of the user's, which is no part
    assert compare_again(effects, played(**AGAIN), pairs, intervals, has_chance=True) == pairs
    one, other, named = effects[1:]
    assert (one.numbers["again"], one.numbers["again_low"], one.numbers["again_high"]) == (-26.25, -30, -15)
    assert (other.numbers["again"], other.numbers["again_low"], other.numbers["again_high"]) == (-10, -20, 0)
    assert not named.numbers
    found = pairs[0].numbers
    assert (found["starts"], found["score"], found["change"]) == (4, 2.5, -40)
    # joint: -20, -40, -50, -50; sums: -25, -30, -40, -50
    assert (found["excess"], found["excess_low"], found["excess_high"]) == (-3.75, -10, 5)
    assert np.isnan(found["p_value"])  # four games are too few


def test_without_chance_games_of_the_first_starts_do_not_count_again():
    effects, pairs = played(**FIRST), played(**PAIR)
    compare_again(effects, played(**AGAIN), pairs, intervals, has_chance=False)
    # The first of the other starts is the game of the second start.
    assert (pairs[0].numbers["starts"], pairs[0].numbers["change"]) == (3, pytest.approx(-140 / 3))
    assert effects[1].numbers["again"] == -30
    assert (pairs[0].numbers["excess"], effects[2].numbers["again"]) == (pytest.approx(-20 / 3), -10)


def test_other_starts_that_only_repeat_games_say_nothing():
    effects, pairs = played(**FIRST), played(**PAIR)
    assert compare_again(effects, played(**FIRST), pairs, intervals, has_chance=False) == []
    assert not any(effect.numbers for effect in (*effects, *pairs))
