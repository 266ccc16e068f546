"""The update is the loss of the slow twin, and its steps go down the gradient of finite differences."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import twins
from neurozoo.agents.policies import PolicyInputs
from neurozoo.algorithms.impala.network import ActorCritic
from neurozoo.algorithms.impala.presets import PRESETS
from neurozoo.networks.catalogue import get_keras_network
from toys import SMALL, batch_of, drawn_rollout, said

SHAPE, ACTIONS, TIME, BATCH = (12, 10, 2), 4, 5, 3
SETTINGS = replace(
    PRESETS["impala_paper"],
    num_envs=BATCH,
    batch_size=BATCH,
    unroll_length=TIME,
    rho_bar=0.9,
    c_bar=0.8,
    pg_rho_bar=1.1,
    vtrace_lambda=0.95,
    entropy_cost=0.02,
    reward_clipping="soft_asymmetric",
)


def make(model=SMALL, learners=None, **changes):
    network = get_keras_network(model) if isinstance(model, str) else model
    layout, random = network.layout(ACTIONS, SHAPE), np.random.default_rng(1)
    settings = replace(SETTINGS, **changes)
    return layout, ActorCritic(layout, settings, random=random, byte_scale=255.0, learners=learners)


def rollout_of(layout, seed=2):
    return drawn_rollout(layout, length=TIME, num_envs=BATCH, seed=seed)


def said_of(model, rollout):
    """Logits and values of all steps."""
    return said(model, [getattr(rollout, name) for name in rollout.ARRAYS[: rollout.INPUTS]], rollout.state)


def twin_loss(s, logits, values, rollout, fixed=None):
    """The loss and its parts; `fixed` holds targets and advantages, through which no gradient flows."""
    actions = rollout.actions.astype(np.int64)
    taken = twins.log_probabilities(logits[:-1], actions)
    log_ratios = taken - twins.log_probabilities(np.float64(rollout.logits), actions)
    targets, advantages = fixed or twins.vtrace(
        log_ratios=log_ratios,
        discounts=np.where(rollout.is_last, 0, s.discount),
        rewards=twins.clipped_rewards(np.float64(rollout.rewards), s.reward_clipping),
        values=values[:-1],
        bootstrap=values[-1],
        rho_bar=s.rho_bar,
        pg_rho_bar=s.pg_rho_bar,
        c_bar=s.c_bar,
        lambda_=s.vtrace_lambda,
    )
    policy = -(taken * advantages).sum()
    baseline = s.baseline_cost * 0.5 * ((targets - values[:-1]) ** 2).sum()
    entropy = -s.entropy_cost * twins.entropies(logits[:-1]).sum()
    return (policy, baseline, entropy), (targets, advantages), np.exp(log_ratios)


@pytest.mark.parametrize(
    "model", ["impala_shallow_lstm", pytest.param("impala_deep", marks=pytest.mark.long(seconds=4))]
)
def test_an_update_has_the_loss_of_the_twin(model):
    layout, network = make(model)
    rollout = rollout_of(layout)
    logits, values = said_of(network.online, rollout)
    parts, _, ratios = twin_loss(SETTINGS, logits, values, rollout)
    figures = network.update(batch_of(rollout), learning_rate=0.0)
    found = [figures[name] for name in ("loss_pg", "loss_baseline", "loss_entropy", "loss_total")]
    assert found == pytest.approx([*parts, sum(parts)], rel=1e-4)
    assert figures["entropy_mean"] == pytest.approx(twins.entropies(logits[:-1]).mean(), rel=1e-4)
    assert figures["value_mean"] == pytest.approx(values[:-1].mean(), rel=1e-4)
    assert figures["rho_mean"] == pytest.approx(ratios.mean(), rel=1e-4)
    assert figures["rho_clipped_share"] == pytest.approx((ratios > 0.9).mean(), abs=1e-6)
    assert 0 < figures["rho_clipped_share"] < 1


@pytest.mark.parametrize(
    ("model", "dtype", "error", "has_ranks"),
    [
        (SMALL, "float32", 1e-5, True),
        # Whose sums over a batch are rounded to 8 binary digits.
        pytest.param("impala_shallow", "mixed_bfloat16", 0.02, False, marks=pytest.mark.long(seconds=4)),
    ],
)
def test_an_update_in_shards_is_that_of_the_whole_batch_up_to_rounding(model, dtype, error, has_ranks):
    changes = {"decay_rate": 1.0, "optimizer_epsilon": 1e-30, "max_gradient_norm": None, "dtype": dtype}
    ranks = SimpleNamespace(add_up=lambda gradient: None) if has_ranks else None  # the others add nothing
    layout, whole = make(model, ranks, **changes)
    _, divided = make(model, ranks, shards=BATCH, **changes)
    rollout = rollout_of(layout)
    before = whole.theta()
    figures = [each.update(batch_of(rollout), learning_rate=1.0) for each in (whole, divided)]
    assert figures[1] == pytest.approx(figures[0], rel=max(error, 1e-5))
    gradients = [before - each.theta() for each in (whole, divided)]
    assert np.linalg.norm(gradients[1] - gradients[0]) < error * np.linalg.norm(gradients[0])
    assert (gradients[0] != gradients[1]).any()  # otherwise the batch was not divided


def test_an_update_goes_down_the_gradient_of_finite_differences():
    # The average of RMSProp stays 1, so a step is the gradient times the learning rate.
    layout, network = make(decay_rate=1.0, optimizer_epsilon=1e-30, max_gradient_norm=None)
    rollout = rollout_of(layout)
    before = network.theta().astype(np.float64)
    _, fixed, _ = twin_loss(SETTINGS, *said_of(network.online, rollout), rollout)
    figures = network.update(batch_of(rollout), learning_rate=1.0)
    gradient = before - network.theta()
    assert figures["grad_norm"] == pytest.approx(np.linalg.norm(gradient), rel=1e-3)
    probe = layout.keras_model()

    def loss(theta):
        layout.assign(probe, theta.astype(np.float32))
        return sum(twin_loss(SETTINGS, *said_of(probe, rollout), rollout, fixed)[0])

    random = np.random.default_rng(5)
    for _ in range(3):  # along random directions; float32 allows about three digits
        direction = random.normal(size=len(before))
        direction /= np.linalg.norm(direction)
        direction += gradient / np.linalg.norm(gradient)
        size = 3e-3
        slope = (loss(before + size * direction) - loss(before - size * direction)) / (2 * size)
        assert slope == pytest.approx(gradient @ direction, rel=2e-2)


def test_the_gradient_is_bounded_in_its_norm():
    layout, network = make(decay_rate=1.0, optimizer_epsilon=1e-30, max_gradient_norm=0.01)
    before = network.theta().astype(np.float64)
    figures = network.update(batch_of(rollout_of(layout)), learning_rate=1.0)
    assert figures["grad_norm"] > 0.1
    assert np.linalg.norm(before - network.theta()) == pytest.approx(0.01, rel=1e-3)


def test_acting_weights_change_only_at_the_hand_over():
    layout, network = make()
    rollout = rollout_of(layout)
    inputs = PolicyInputs(
        rollout.observations[0], rollout.previous_actions[0], rollout.previous_rewards[0], rollout.is_first[0]
    )
    first, _ = network.act(inputs, rollout.state)
    network.update(batch_of(rollout), learning_rate=0.01)
    np.testing.assert_array_equal(network.act(inputs, rollout.state)[0].preferences, first.preferences)
    learned, state = network.ask(inputs, rollout.state)
    assert (learned.preferences != first.preferences).any()
    network.hand_over()
    handed, handed_state = network.act(inputs, rollout.state)
    np.testing.assert_array_equal(handed.preferences, learned.preferences)
    np.testing.assert_array_equal(handed_state, state)
    assert handed.baseline.shape == (BATCH,)


# bfloat16 has 8 binary digits, so a rounding is up to 2^-9 = 0.2 % off, and many follow each other. The gradients of
# these two networks are 3 and 4 % off.
@pytest.mark.parametrize("model", ["impala_shallow", pytest.param("impala_deep", marks=pytest.mark.long)])
def test_losses_and_gradients_in_bfloat16_are_near_those_in_float32(model):
    exact, rounded = (
        make(model, dtype=dtype, decay_rate=1.0, optimizer_epsilon=1e-30, max_gradient_norm=None)
        for dtype in ("float32", "mixed_bfloat16")
    )
    rollout = rollout_of(exact[0])
    before = exact[1].theta()
    gradients, figures = [], []
    for _, network in (exact, rounded):
        np.testing.assert_array_equal(network.theta(), before)
        figures.append(network.update(batch_of(rollout), learning_rate=1.0))
        gradients.append(before - network.theta())
    assert figures[1] == pytest.approx(figures[0], rel=0.01)
    error = np.linalg.norm(gradients[1] - gradients[0]) / np.linalg.norm(gradients[0])
    assert 1e-4 < error < 0.08


def test_what_acts_and_what_is_tested_is_float32():
    layout, network = make(dtype="mixed_bfloat16")
    rollout = rollout_of(layout)
    inputs = PolicyInputs(
        rollout.observations[0], rollout.previous_actions[0], rollout.previous_rewards[0], rollout.is_first[0]
    )
    for number in range(2):  # the second time with other weights than the first
        network.update(batch_of(rollout), learning_rate=0.01)
        logits, values = said_of(layout.keras_model(network.theta()), rollout)
        asked, _ = network.ask(inputs, [part * ~rollout.is_first[0][:, None] for part in rollout.state])
        np.testing.assert_allclose(asked.preferences, logits[0], rtol=1e-5, atol=1e-6, err_msg=f"update {number}")
        np.testing.assert_allclose(asked.baseline, values[0], rtol=1e-5, atol=1e-6)
    assert {each.compute_dtype for each in network._acting.model.layers} == {"float32"}
