import numpy as np
import pytest
from neurozoo.agents.frozen import FrozenModel
from neurozoo.environments.protocols import protocol_of
from neurozoo.movies.outputs import OutputCard, action_title, meaning_of, shown_values
from neurozoo.movies.themes import THEMES, packed


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
    card = OutputCard(["NOOP", "FIRE"], "probabilities", (0, 1), width=218, height=400, unit=1.0)
    image = np.zeros((card.height, card.width), np.uint32)
    card.draw(image, THEMES["dark"], np.array([0.25, 0.75]), 1)
    lengths = [
        int((image == packed(colour)).sum(axis=1).max()) for colour in (THEMES["dark"].bar, THEMES["dark"].chosen)
    ]
    assert lengths[0] == 50  # a quarter of 200 pixels
    assert lengths[1] == 4 + 150  # with the stripe at the left that marks the chosen one


def test_actions_that_do_not_fit_are_counted():
    card = OutputCard([f"a{i}" for i in range(40)], "outputs", (-1, 1), width=160, height=220, unit=1.0)
    assert card.shown == 9  # and a line that names the other 31
    assert card.height <= 220
