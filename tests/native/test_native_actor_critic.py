"""The core learns from rollouts what Keras learns."""

import dataclasses

import numpy as np
import pytest
from neurozoo.agents.policies import PolicyInputs
from neurozoo.algorithms.impala.native_network import NativeActorCritic
from neurozoo.algorithms.impala.network import ActorCritic
from neurozoo.algorithms.impala.presets import PRESETS
from neurozoo.errors import NeurozooError
from neurozoo.native.processor import processor_flags
from neurozoo.networks.catalogue import KERAS_NETWORKS, get_keras_network
from neurozoo.networks.native_plan import learns_natively

TIME, BATCH, ACTIONS, SHAPE = 4, 3, 5, (44, 40, 4)


def batch_of(settings, *, seed):
    """Returns what an update takes: of steps that were played, or of a minibatch."""
    random, time = np.random.default_rng(seed), TIME + (settings.objective == "vtrace")

    def numbers(*shape):
        return random.normal(size=shape).astype(np.float32)

    seen = {
        "observations": random.integers(0, 256, (time, BATCH, *SHAPE)).astype(np.uint8),
        "previous_actions": random.integers(ACTIONS, size=(time, BATCH)).astype(np.int32),
        "previous_rewards": 2 * numbers(time, BATCH),
        "is_first": random.random((time, BATCH)) < 0.1,
    }
    happened = {
        "actions": random.integers(ACTIONS, size=(TIME, BATCH)).astype(np.int32),
        "logits": numbers(TIME, BATCH, ACTIONS),
    }
    if settings.objective == "vtrace":
        happened |= {name: numbers(TIME, BATCH) for name in ("rewards", "after_limit")}
        happened["is_last"] = random.random((TIME, BATCH)) < 0.1
    else:
        happened |= {name: numbers(TIME, BATCH) for name in ("values", "advantages", "targets")}
    return seen | happened


def distance(ours, theirs):
    """Returns the largest difference of two sets of arrays, relative to the largest number of each array."""
    assert set(ours) == set(theirs)
    return max(float(np.abs(ours[name] - theirs[name]).max() / (np.abs(theirs[name]).max() + 1e-12)) for name in ours)


def pair_of(core, model, settings, **choices):
    layout = get_keras_network(model).layout(ACTIONS, SHAPE)
    keras = ActorCritic(layout, settings, random=np.random.default_rng(7), byte_scale=255.0)
    own = NativeActorCritic(
        layout, settings, random=np.random.default_rng(7), byte_scale=255.0, core=core, **{"threads": 2} | choices
    )
    return keras, own


@pytest.mark.parametrize(
    ("model", "preset", "changes"),
    [
        ("impala_shallow", "impala_paper", {"optimizer": "rmsprop"}),
        ("impala_shallow_layer_norm", "ppo", {"optimizer": "adam"}),
        ("small_layer_norm", "pqn", {"optimizer": "radam"}),
        ("impala_gym_simple", "impala_gym", {"momentum": 0.9, "optimizer": "rmsprop", "epsilon_inside": True}),
        ("nature_layer_norm", "pqn", {"optimizer": "rmsprop", "max_gradient_norm": None, "epsilon_inside": False}),
    ],
)
def test_updates_are_those_of_keras_and_either_continues_what_the_other_began(core, model, preset, changes):
    settings = PRESETS[preset].changed({"dtype": "float32", **changes})
    keras, own = pair_of(core, model, settings)
    assert distance(own.get_arrays(), keras.get_arrays()) == 0
    for number in range(6):
        batch = batch_of(settings, seed=number)
        rate = 1e-4 * (number + 1)
        theirs, ours = keras.update(batch, learning_rate=rate), own.update(batch, learning_rate=rate)
        assert ours == pytest.approx(theirs, rel=2e-4, abs=2e-5)
        if number == 0:  # the first averages hold the gradient
            assert distance(own.get_arrays(), keras.get_arrays()) < 2e-5
        if number == 2:
            keras_arrays = keras.get_arrays()
            keras.set_arrays(own.get_arrays())
            own.set_arrays(keras_arrays)
        if number == 3:
            keras.hand_over()
            own.hand_over()
    assert distance(own.get_arrays(), keras.get_arrays()) < 2e-3
    np.testing.assert_allclose(own.theta(), keras.theta(), atol=1e-5)
    inputs = PolicyInputs(*(batch[name][0] for name in ("observations", "previous_actions", "previous_rewards")), None)
    for ask in ("act", "ask"):
        (ours, _), (theirs, _) = (getattr(network, ask)(inputs, ()) for network in (own, keras))
        np.testing.assert_allclose(ours.preferences, theirs.preferences, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(ours.baseline, theirs.baseline, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("dtype", "library"), [("float32", "core"), ("mixed_bfloat16", "bfloat16_core")])
def test_bytes_do_not_depend_on_threads(request, dtype, library):
    core = request.getfixturevalue(library)
    settings, found = dataclasses.replace(PRESETS["ppo"], dtype=dtype), []
    for threads in (1, 2, 5):
        _, network = pair_of(core, "impala_shallow_layer_norm", settings, threads=threads)
        for number in range(3):
            network.update(batch_of(settings, seed=number), learning_rate=1e-3)
        found.append(network.get_arrays())
    for other in found[1:]:
        for name, array in found[0].items():
            np.testing.assert_array_equal(array, other[name], err_msg=name)


@pytest.mark.parametrize(("model", "preset"), [("impala_shallow", "impala_paper"), ("nature_layer_norm", "pqn")])
def test_updates_in_bfloat16_have_its_digits_and_all_else_is_exact(bfloat16_core, model, preset):
    exact, rounded = (
        pair_of(bfloat16_core, model, dataclasses.replace(PRESETS[preset], dtype=dtype, optimizer="adam"))[1]
        for dtype in ("float32", "mixed_bfloat16")
    )
    batch = batch_of(PRESETS[preset], seed=0)
    inputs = PolicyInputs(*(batch[name][0] for name in ("observations", "previous_actions", "previous_rewards")), None)
    values, *others = (
        getattr(network, ask)(inputs, ())[0].preferences
        for network, ask in ((exact, "ask"), (rounded, "ask"), (rounded, "act"))
    )
    for other in others:
        np.testing.assert_array_equal(other, values)
    for network in (exact, rounded):
        network.update(batch, learning_rate=0.0)
    arrays = [network.get_arrays() for network in (exact, rounded)]
    for name in (name for name, each in arrays[0].items() if name.startswith("optimizer") and each.ndim > 1):
        exact_norm = np.linalg.norm(arrays[0][name])
        assert 1e-5 < np.linalg.norm(arrays[1][name] - arrays[0][name]) / exact_norm < 0.1, name


@pytest.mark.skipif("avx512_bf16" in processor_flags(), reason="this processor has AVX512-BF16")
def test_bfloat16_needs_its_units(core):
    with pytest.raises(NeurozooError, match="bfloat16 needs a processor with AVX512-BF16 or AMX"):
        pair_of(core, "impala_shallow", dataclasses.replace(PRESETS["ppo"], dtype="mixed_bfloat16"))


def test_networks_with_memory_or_residual_blocks_go_to_keras():
    natively = {name for name, network in KERAS_NETWORKS.items() if learns_natively(network)}
    assert natively == {
        *("impala_shallow", "impala_shallow_layer_norm", "impala_gym_simple", "nature_layer_norm", "small_layer_norm"),
    }
    settings = PRESETS["ppo"]
    assert settings.computes_natively("impala_shallow")
    for changes in ({"learners": 2}, {"engine": "keras"}):
        assert not dataclasses.replace(settings, **changes).computes_natively("impala_shallow")
