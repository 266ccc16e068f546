"""PPO: advantages, minibatches and losses are those of slow twins, and of numbers worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
import twins
from neurozoo.algorithms.impala.minibatches import generalized_advantages, minibatches, proximal_of
from neurozoo.algorithms.impala.network import SEEN, ActorCritic
from neurozoo.algorithms.impala.player import make_policy
from neurozoo.algorithms.impala.presets import PRESETS
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import get_keras_network
from toys import SMALL, drawn_rollout, said

SHAPE, ACTIONS, TIME, COUNT = (12, 10, 2), 4, 5, 4
SETTINGS = replace(
    PRESETS["impala_paper"],
    objective="ppo",
    num_envs=COUNT,
    unroll_length=TIME,
    batch_size=2,
    epochs=3,
    entropy_cost=0.02,
)


def make(model=SMALL, **changes):
    network = get_keras_network(model) if isinstance(model, str) else model
    layout = network.layout(ACTIONS, SHAPE)
    return layout, ActorCritic(layout, replace(SETTINGS, **changes), random=np.random.default_rng(1), byte_scale=255.0)


def rollout_of(layout, seed=2):
    return drawn_rollout(layout, length=TIME, num_envs=COUNT, seed=seed)


@pytest.mark.parametrize("lambda_", [0.0, 0.9, 1.0])
def test_advantages_are_those_of_the_direct_sum(lambda_):
    random = np.random.default_rng(3)
    arrays = {name: random.normal(size=(7, 3)).astype(np.float32) for name in ("rewards", "values")}
    arrays |= {"discounts": np.float32(0.9) * (random.random((7, 3)) > 0.2), "bootstrap": np.float32([1, -2, 3])}
    found = generalized_advantages(**arrays, lambda_=lambda_)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, twins.generalized_advantages(**arrays, lambda_=lambda_), atol=1e-5)


@pytest.mark.parametrize("kind", ["unrolls", "steps"])
def test_each_epoch_draws_every_step_once(kind):
    layout = get_keras_network("impala_shallow").layout(ACTIONS, SHAPE)
    rollout = rollout_of(layout)
    rollout.actions[:] = np.arange(TIME * COUNT).reshape(TIME, COUNT)
    rollout.observations[:TIME, ..., 0] = rollout.actions[..., None, None]
    drawn = list(minibatches(rollout, replace(SETTINGS, minibatches=kind), np.random.default_rng(0)).batches())
    assert len(drawn) == 3 * 2
    shape = (TIME, 2) if kind == "unrolls" else (1, TIME * 2)
    orders = []
    for epoch in range(3):
        parts = [batch["actions"] for batch in drawn[2 * epoch : 2 * epoch + 2]]
        assert {part.shape for part in parts} == {shape}
        orders.append(np.concatenate([part.ravel() for part in parts]).tolist())
        assert sorted(orders[-1]) == list(range(TIME * COUNT))
    assert orders[0] != orders[1] != orders[2]
    for batch in drawn:  # what belongs together stays together
        np.testing.assert_array_equal(batch["observations"][..., 0, 0, 0], batch["actions"])
        where = np.divmod(batch["actions"], COUNT)
        for name in ("logits", "values", "previous_rewards", "is_first"):
            np.testing.assert_array_equal(batch[name], getattr(rollout, name)[where])
        np.testing.assert_allclose(batch["targets"] - batch["values"], batch["advantages"], atol=1e-6)


@pytest.mark.parametrize("kind", ["unrolls", "steps"])
def test_unrolls_keep_the_memory_of_their_environments(kind):
    rollout = rollout_of(SMALL.layout(ACTIONS, SHAPE))
    rollout.actions[:] = np.arange(COUNT)
    for batch in minibatches(rollout, replace(SETTINGS, minibatches=kind), np.random.default_rng(0)).batches():
        assert batch["actions"].shape == (TIME, 2)
        environments = batch["actions"][0]
        np.testing.assert_array_equal(batch["hidden_state"], rollout.state[0][environments])
        np.testing.assert_array_equal(batch["cell_state"], rollout.state[1][environments])


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("impala_shallow_lstm", {}),
        pytest.param("impala_shallow", {"minibatches": "steps"}, marks=pytest.mark.long(seconds=3)),
        ("impala_shallow", {"clip_values": False, "normalize_advantages": False, "clip_ratio": 0.3}),
    ],
)
def test_an_update_has_the_loss_of_the_twin(model, changes):
    layout, network = make(model, **changes)
    s = replace(SETTINGS, **changes)
    batch = next(minibatches(rollout_of(layout), s, np.random.default_rng(4)).batches())
    state = [batch[name] for name in ("hidden_state", "cell_state") if name in batch]
    logits, values = said(network.online, [batch[name] for name in SEEN], state)
    policy, baseline, ratios = twins.ppo(
        logits=logits,
        values=values,
        old_logits=np.float64(batch["logits"]),
        old_values=batch["values"],
        actions=batch["actions"].astype(np.int64),
        advantages=batch["advantages"],
        targets=batch["targets"],
        clip_ratio=s.clip_ratio,
        clip_values=s.clip_values,
        normalizes=s.normalize_advantages,
    )
    entropy = twins.entropies(logits).mean()
    expected = {
        "loss_pg": policy,
        "loss_baseline": s.baseline_cost * baseline,
        "loss_entropy": -s.entropy_cost * entropy,
        "entropy_mean": entropy,
        "rho_mean": ratios.mean(),
        "rho_clipped_share": (np.abs(ratios - 1) > s.clip_ratio).mean(),
    }
    figures = network.update(batch, learning_rate=0.0)
    assert {name: figures[name] for name in expected} == pytest.approx(expected, rel=1e-4)
    assert 0 < figures["rho_clipped_share"] < 1


def test_actions_that_are_far_from_the_old_policy_move_nothing():
    """With every ratio beyond its bound, in the direction of the advantage, only the baseline learns."""
    layout, network = make(entropy_cost=0.0, normalize_advantages=False)
    batch = next(
        minibatches(rollout_of(layout), replace(SETTINGS, minibatches="unrolls"), np.random.default_rng(4)).batches()
    )
    batch["advantages"] = np.ones_like(batch["advantages"])
    batch["logits"] = np.float32(-30) * np.eye(ACTIONS, dtype=np.float32)[batch["actions"]]  # were never to be expected
    head = network.online.get_layer("policy").kernel
    before = np.asarray(head)
    figures = network.update(batch, learning_rate=0.1)
    assert figures["rho_clipped_share"] == 1
    np.testing.assert_array_equal(np.asarray(head), before)
    batch["advantages"] *= -1  # now they are too probable, and the policy moves
    network.update(batch, learning_rate=0.1)
    assert (np.asarray(head) != before).any()


# ---- decoupled PPO


def proximal_and_rollout(seed=2):
    layout, network = make(proximal_policy="learning")
    rollout = rollout_of(layout, seed)
    return network, rollout, proximal_of(make_policy(SETTINGS, layout, network.ask), rollout)


def test_the_network_is_asked_about_every_step_with_the_memory_it_would_have():
    network, rollout, found = proximal_and_rollout()
    logits, values = said(network.online, [getattr(rollout, name) for name in SEEN], rollout.state)
    np.testing.assert_allclose(found.logits, logits[:TIME], atol=1e-6)
    np.testing.assert_allclose([*found.values, found.bootstrap], values, atol=1e-5)


def test_weights_are_the_ratios_of_probabilities_within_their_bounds():
    layout, network = make(proximal_policy="learning")
    rollout = rollout_of(layout)
    rollout.logits[0, 0] = 4 * np.eye(ACTIONS)[rollout.actions[0, 0]]  # the network finds it less probable
    found = proximal_of(make_policy(SETTINGS, layout, network.ask), rollout)
    before = twins.log_probabilities(np.float64(rollout.logits), rollout.actions)
    now = twins.log_probabilities(np.float64(found.logits), rollout.actions)
    bounds = np.exp(-1), np.exp(1)
    assert (np.exp(now - before) < bounds[0]).any()
    assert (np.exp(now - before) > bounds[1]).any()
    np.testing.assert_allclose(found.weights, np.clip(np.exp(now - before), *bounds), rtol=1e-5)


def test_a_decoupled_update_has_the_weighted_loss_of_the_twin():
    network, rollout, proximal = proximal_and_rollout()
    batch = next(minibatches(rollout, SETTINGS, np.random.default_rng(4), proximal).batches())
    # Ratios of 1: what is left of the loss are the weighted advantages.
    advantages = np.float64(batch["advantages"])
    normalized = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    np.testing.assert_allclose(batch["targets"], batch["advantages"] + batch["values"], atol=1e-6)
    figures = network.update(batch, learning_rate=0.0)
    assert figures["loss_pg"] == pytest.approx(-(normalized * batch["weights"]).mean(), rel=1e-4)
    assert figures["loss_baseline"] == pytest.approx(0.25 * np.square(advantages).mean(), rel=1e-4)


def test_advantages_come_from_the_values_of_the_network_that_learns():
    _, rollout, proximal = proximal_and_rollout()
    everything = replace(SETTINGS, batch_size=COUNT, epochs=1)
    batch = next(minibatches(rollout, everything, np.random.default_rng(4), proximal).batches())
    expected = twins.generalized_advantages(
        rewards=np.clip(rollout.rewards, -1, 1),
        discounts=np.float32(everything.discount) * ~rollout.is_last,
        values=proximal.values,
        bootstrap=proximal.bootstrap,
        lambda_=everything.gae_lambda,
    )
    order = np.random.default_rng(4).permutation(COUNT)
    np.testing.assert_allclose(batch["advantages"], expected[:, order], atol=1e-5)


@pytest.mark.parametrize("objective", ["vtrace", "pqn"])
def test_other_objectives_have_no_proximal_policy(objective):
    with pytest.raises(NeurozooError, match=f"^proximal_policy is a setting of ppo, but objective is {objective}\\."):
        replace(SETTINGS, objective=objective, epochs=1, minibatches="unrolls", proximal_policy="learning")
