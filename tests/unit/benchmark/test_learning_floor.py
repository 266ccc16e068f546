"""The least cost of deep Q-learning."""

import pytest
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.benchmark.learning_floor import LearningCosts, count_learning, floor_steps_per_second
from neurozoo.networks.catalogue import get_network

# nature: 20 x 20 x 32 outputs of 8 x 8 x 4 weights, 9 x 9 x 64 of 4 x 4 x 32, 7 x 7 x 64 of 3 x 3 x 64, then dense.
FIRST = 20 * 20 * 32 * 8 * 8 * 4
ONE_STATE = FIRST + 9 * 9 * 64 * 4 * 4 * 32 + 7 * 7 * 64 * 3 * 3 * 64 + 3136 * 512 + 512 * 6


def costs_of(**overrides):
    return count_learning(
        get_network("nature").layout(6), resolve_settings("dqn", preset="nature", overrides=overrides)
    )


def test_a_step_of_nature_is_a_prediction_and_a_fourth_of_a_minibatch():
    costs = costs_of()
    assert costs.prediction == ONE_STATE
    assert costs.forward == 32 / 4 * 2 * ONE_STATE  # online and target network
    assert costs.backward == 32 / 4 * (2 * ONE_STATE - FIRST)  # no gradient of the screens
    assert costs.total == costs.prediction + costs.forward + costs.backward


@pytest.mark.parametrize(
    ("overrides", "passes"),
    [({"double": True}, 3), ({"target_update_period": 0}, 2), ({"target_update_period": 0, "double": True}, 2)],
)
def test_a_minibatch_goes_through_the_networks_that_are_asked(overrides, passes):
    # Without a target network the online network evaluates both states, and the later state only once.
    assert costs_of(**overrides).forward == 8 * passes * ONE_STATE


def test_more_training_costs_more():
    assert costs_of(train_repeat=2, train_frequency=1).backward == 8 * costs_of().backward


def test_the_floor_adds_the_emulator_to_the_multiply_adds():
    assert floor_steps_per_second(LearningCosts(1e6, 2e6, 1e6), peak=1e9, emulator_seconds=1e-3) == pytest.approx(200)
