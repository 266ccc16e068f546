import dataclasses

import numpy as np
import pytest
from neurozoo.agents.frozen import FrozenModel
from neurozoo.environments.games import action_names
from neurozoo.environments.protocols import protocol_of
from neurozoo.movies.outputs import OutputCard, action_title, action_titles, meaning_of, shown_values
from neurozoo.movies.themes import THEMES, packed
from neurozoo.movies.wide_frame import _CARD, ROWS


def frozen(algo="ga", *, rule="greedy"):
    protocol = protocol_of("pong", None)
    return FrozenModel(None, "pong", "small", algo, 1, protocol, ("NOOP", "FIRE"), (), action_rule=rule)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("NOOP", "do nothing"),
        ("FIRE", "fire"),
        ("UP", "↑ up"),
        ("DOWNLEFT", "↙ down left"),
        ("UPRIGHTFIRE", "↗ + fire"),
        ("downleft+hands", "↙ + hands"),
        ("torque_1", "torque 1"),
    ],
)
def test_actions_have_names_for_people(name, title):
    assert action_title(name) == title


def test_environments_without_names_of_actions_have_those_of_their_documentation():
    cart = dataclasses.replace(frozen(), game="gym.CartPole-v1", actions=("ACTION_0", "ACTION_1"))
    assert action_titles(cart) == ["← left", "→ right"]
    assert action_titles(frozen()) == ["do nothing", "fire"]
    assert action_titles(dataclasses.replace(cart, actions=("ACTION_0",))) == ["action 0"]  # of another version


@pytest.mark.parametrize("rows", ROWS)
def test_the_longest_name_of_an_action_is_not_cut(rows):
    titles = action_titles(dataclasses.replace(frozen(), actions=action_names("frostbite", "full")))
    unit = rows / ROWS[0]
    card = OutputCard(titles, "output values", width=round(_CARD * unit), height=9 * rows // 10, unit=unit)
    assert card._names == titles


def test_outputs_are_named_after_what_they_are():
    assert meaning_of(frozen("dqn")) == "Q-values"
    assert meaning_of(frozen("ga")) == "output values"
    assert meaning_of(frozen("impala", rule="sampled")) == "probabilities"
    assert meaning_of(frozen("imported")) == "output values"


def test_policies_show_probabilities_and_other_networks_their_outputs():
    logits = np.array([0.0, np.log(3.0)])
    np.testing.assert_allclose(shown_values(logits, "probabilities"), [0.25, 0.75])
    np.testing.assert_array_equal(shown_values(logits, "Q-values"), logits)


def test_a_bar_has_the_length_of_its_value():
    card = OutputCard(["NOOP", "FIRE"], "probabilities", width=218, height=400, unit=1.0)
    image = np.zeros((card.height, card.width), np.uint32)
    card.draw(image, THEMES["dark"], np.array([0.25, 0.75]), 1, limits=(0, 1))
    lengths = [
        int((image == packed(colour)).sum(axis=1).max()) for colour in (THEMES["dark"].bar, THEMES["dark"].chosen)
    ]
    assert lengths[0] == 50  # a quarter of 200 pixels
    assert lengths[1] == 4 + 150  # with the stripe at the left that marks the chosen one


def test_actions_that_do_not_fit_are_counted():
    card = OutputCard([f"a{i}" for i in range(40)], "outputs", width=160, height=220, unit=1.0)
    assert card.shown == 9  # and a line that names the other 31
    assert card.height <= 220
