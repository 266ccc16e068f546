"""V-trace is what the paper defines. Cases: section 13 of the specification, and section 20, 1."""

import keras
import numpy as np
import pytest
import twins
from neurozoo.algorithms.impala.vtrace import log_probabilities, vtrace, vtrace_of_logits


def arrays(time=5, batch=5, *trailing):
    """The inputs of the original's test, with trailing dimensions if wanted."""
    shape = (time, batch, *trailing)
    count = int(np.prod(shape))
    log_ratios = np.linspace(-2.5, 2.5, count, endpoint=False).reshape(shape)
    rewards = np.arange(count, dtype=float).reshape(shape)
    discounts = np.array([0.9 / (b + 1) for b in range(batch)]).reshape(1, batch, *[1] * len(trailing))
    return {
        "log_ratios": log_ratios,
        "discounts": np.broadcast_to(discounts, shape).copy(),
        "rewards": rewards,
        "values": rewards / batch,
        "bootstrap": np.arange(batch, dtype=float).reshape(batch, *[1] * len(trailing)) + np.ones(trailing),
    }


def floats(inputs):
    return {name: np.float32(array) for name, array in inputs.items()}


def assert_close(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize(
    "bounds",
    [
        {},
        {"rho_bar": 3.7, "pg_rho_bar": 2.2},
        {"rho_bar": None, "pg_rho_bar": None, "c_bar": None},
        {"rho_bar": 0.5, "c_bar": 0.7, "lambda_": 0.9},
        {"lambda_": 0.0},
        {"rho_bar": 0.0},
    ],
)
def test_vtrace_equals_the_sum_of_its_definition(batch, bounds):
    inputs = arrays(5, batch)
    assert_close(vtrace(**floats(inputs), **bounds), twins.vtrace(**inputs, **bounds))


def test_vtrace_by_hand():
    # Two steps. Ratios 2 and 1/2; bounded by 1: 1 and 1/2.
    # delta_1 = 1/2 * (3 + 1/2 * 8 - 2) = 2.5; v_1 = 2 + 2.5 = 4.5
    # delta_0 = 1 * (1 + 1/2 * 2 - 4) = -2; v_0 = 4 - 2 + 1/2 * 1 * 2.5 = 3.25
    # advantages: 1 * (1 + 1/2 * 4.5 - 4) = -0.75; 1/2 * (3 + 1/2 * 8 - 2) = 2.5
    targets, advantages = vtrace(
        log_ratios=np.log(np.float32([[2.0], [0.5]])),
        discounts=np.float32([[0.5], [0.5]]),
        rewards=np.float32([[1.0], [3.0]]),
        values=np.float32([[4.0], [2.0]]),
        bootstrap=np.float32([8.0]),
    )
    assert_close((targets, advantages), ([[3.25], [4.5]], [[-0.75], [2.5]]))


def test_on_policy_targets_are_returns():
    inputs = arrays(6, 2)
    inputs["log_ratios"][:] = 0
    inputs["discounts"][3, 1] = 0  # an episode ends
    targets, advantages = vtrace(**floats(inputs))
    returns, carried = np.zeros((6, 2)), inputs["bootstrap"]
    for step in reversed(range(6)):
        carried = returns[step] = inputs["rewards"][step] + inputs["discounts"][step] * carried
    assert_close((targets, advantages), (returns, returns - inputs["values"]))


def test_with_rho_bar_zero_nothing_is_learned_of_the_baseline():
    inputs = arrays()
    targets, _ = vtrace(**floats(inputs), rho_bar=0.0)
    np.testing.assert_array_equal(np.asarray(targets), np.float32(inputs["values"]))


def test_nothing_passes_the_end_of_an_episode():
    inputs = arrays()
    inputs["discounts"][2] = 0
    other = {name: array.copy() for name, array in inputs.items()}
    other["rewards"][3:] += 100
    other["values"][3:] -= 7
    other["bootstrap"] *= 3
    for one, another in zip(vtrace(**floats(inputs)), vtrace(**floats(other)), strict=True):
        np.testing.assert_array_equal(np.asarray(one)[:3], np.asarray(another)[:3])
        assert (np.asarray(one)[3:] != np.asarray(another)[3:]).any()


def test_trailing_dimensions_are_allowed():
    inputs = arrays(4, 2, 42)
    targets, _ = vtrace(**floats(inputs))
    assert targets.shape == (4, 2, 42)
    each = {name: array[..., 17] for name, array in inputs.items()}
    np.testing.assert_allclose(np.asarray(targets)[..., 17], twins.vtrace(**each)[0], rtol=2e-5)


def test_a_wrong_rank_is_refused():
    inputs = floats(arrays(7, 1, 42))
    with pytest.raises(ValueError, match="bootstrap must have rank 2, but has 3"):
        vtrace(**inputs | {"bootstrap": inputs["bootstrap"][None]})
    with pytest.raises(ValueError, match="rewards must have rank 3, but has 2"):
        vtrace(**inputs | {"rewards": inputs["rewards"][..., 0]})


@pytest.mark.parametrize("batch", [1, 2])
def test_log_probabilities_of_all_actions_and_the_last_one(batch):
    logits = np.random.default_rng(2).normal(0, 3, (7, batch, 3)).astype(np.float32)
    for action in range(3):
        actions = np.full((7, batch), action, np.int32)
        np.testing.assert_allclose(
            np.asarray(log_probabilities(logits, actions)), twins.log_probabilities(logits, actions), atol=1e-5
        )


@pytest.mark.parametrize("batch", [1, 2])
def test_logits_and_importance_weights_give_the_same(batch):
    random = np.random.default_rng(4)
    behaviour, target = random.normal(size=(2, 7, batch, 3)).astype(np.float32)
    actions = random.integers(3, size=(7, batch)).astype(np.int32)
    assert (actions == 2).any()
    others = {name: array for name, array in floats(arrays(7, batch)).items() if name != "log_ratios"}
    found = vtrace_of_logits(
        behaviour_logits=behaviour, target_logits=target, actions=actions, **others, rho_bar=None, pg_rho_bar=None
    )
    of_target, of_behaviour = (twins.log_probabilities(logits, actions) for logits in (target, behaviour))
    np.testing.assert_allclose(np.asarray(found.log_ratios), of_target - of_behaviour, atol=1e-5)
    np.testing.assert_allclose(np.asarray(found.target_log_probabilities), of_target, atol=1e-5)
    np.testing.assert_allclose(np.asarray(found.behaviour_log_probabilities), of_behaviour, atol=1e-5)
    expected = twins.vtrace(log_ratios=of_target - of_behaviour, **others, rho_bar=None, pg_rho_bar=None)
    assert_close(found.vtrace, expected)
    with pytest.raises(ValueError, match="actions must have rank 2"):
        vtrace_of_logits(behaviour_logits=behaviour, target_logits=target, actions=actions[0], **others)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="uses TensorFlow's tape")
def test_no_gradient_flows_through_targets_and_advantages():
    import tensorflow as tf

    inputs = {name: tf.constant(array) for name, array in floats(arrays()).items()}
    with tf.GradientTape() as tape:
        tape.watch(list(inputs.values()))
        targets, advantages = vtrace(**inputs)
        total = tf.reduce_sum(targets) + tf.reduce_sum(advantages)
    assert all(gradient is None for gradient in tape.gradient(total, list(inputs.values())))
