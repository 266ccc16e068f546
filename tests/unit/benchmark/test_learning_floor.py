"""The least cost of learning."""

import pytest
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.benchmark.learning_floor import (
    LearningCosts,
    count_actor_critic,
    count_learning,
    floor_steps_per_second,
    multiply_adds,
)
from neurozoo.networks.catalogue import get_keras_network, get_network

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


SHALLOW_FIRST = 21 * 21 * 16 * 8 * 8 * 4
SHALLOW = SHALLOW_FIRST + 11 * 11 * 32 * 4 * 4 * 16 + 3872 * 256 + (256 + 7) * (6 + 1)


def actor_critic(**overrides):
    settings = resolve_settings("impala", preset="impala_paper", overrides={"unroll_length": 20, **overrides})
    return count_actor_critic(get_keras_network("impala_shallow").layout(6), settings)


def test_a_step_of_impala_is_a_prediction_and_a_part_of_an_unroll():
    costs = actor_critic()
    assert costs.prediction == SHALLOW
    assert costs.forward == pytest.approx(SHALLOW * 21 / 20)  # the state after the last step, too
    assert costs.backward == 2 * SHALLOW - SHALLOW_FIRST


def test_ppo_learns_several_times():
    costs = actor_critic(objective="ppo", epochs=3)
    assert costs.prediction == pytest.approx(SHALLOW * 21 / 20)  # with the value after the last step
    assert (costs.forward, costs.backward) == (3 * SHALLOW, 3 * (2 * SHALLOW - SHALLOW_FIRST))


def test_decoupled_ppo_asks_the_network_once_more():
    plain = actor_critic(objective="ppo", epochs=3)
    costs = actor_critic(objective="ppo", epochs=3, proximal_policy="learning")
    assert costs.forward - plain.forward == pytest.approx(SHALLOW * 21 / 20)
    assert (costs.prediction, costs.backward) == (plain.prediction, plain.backward)


def test_residual_sections_see_all_positions_once_and_a_fourth_of_them_four_times():
    found = multiply_adds(get_keras_network("impala_deep_lstm").layout(6))
    assert found["section1_conv/w"] == 84 * 84 * 3 * 3 * 4 * 16
    assert found["section1_block2_conv1/w"] == 42 * 42 * 3 * 3 * 16 * 16
    assert found["section3_conv/w"] == 21 * 21 * 3 * 3 * 32 * 32
    assert found["section3_block1_conv2/w"] == 11 * 11 * 3 * 3 * 32 * 32
    assert found["lstm/u"] == 256 * 4 * 256


def test_the_floor_adds_the_emulator_to_the_multiply_adds():
    assert floor_steps_per_second(LearningCosts(1e6, 2e6, 1e6), peak=1e9, emulator_seconds=1e-3) == pytest.approx(200)
