"""Settings that do not fit together are refused with a sentence, and presets are what their sources say."""

import pytest
from neurozoo.algorithms.impala import session
from neurozoo.algorithms.impala.presets import PRESETS
from neurozoo.algorithms.impala.settings import ImpalaSettings
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.errors import NeurozooError


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"num_envs": 30}, "num_envs should be a multiple of batch_size"),
        (
            {"num_envs": 32, "unroll_length": 20, "epoch_steps": 639},
            "epoch_steps is 639, but .* play 640 steps at once",
        ),
        ({"shards": 3}, "batch_size is 32 and shards 3"),
        (
            {"protocol": "simple_dqn"},
            "one of the protocols machado2018, .*, gymnasium, but protocol is 'simple_dqn'",
        ),
        ({"engine": "batched", "num_envs": 33, "batch_size": 33}, "With engine batched, .* num_envs 33"),
        ({"engine": "batched", "actors": 1}, "With engine batched, one process plays .* actors 1"),
        ({"epochs": 2}, "With objective vtrace, each unroll is learned from once"),
        ({"objective": "pqn", "test_actions": "greedy"}, "Leave test_actions out"),
        ({"minibatches": "steps"}, "With objective vtrace, each unroll is learned from once"),
    ],
)
def test_settings_that_do_not_fit_are_refused(values, sentence):
    with pytest.raises(NeurozooError, match=sentence):
        ImpalaSettings(**values)


def test_a_network_that_computes_in_float32_only_is_named():
    settings = resolve_settings("impala", preset="maze", overrides={"dtype": "mixed_bfloat16"})
    with pytest.raises(NeurozooError, match="'maze_recurrent' computes in float32, but dtype is mixed_bfloat16"):
        settings.check_model("maze_recurrent")
    settings.check_model("impala_deep")


@pytest.mark.parametrize(
    ("dtype", "features", "is_said"),
    [
        ("mixed_bfloat16", {"avx2"}, True),
        ("mixed_bfloat16", {"avx2", "amx_bf16"}, False),
        ("mixed_bfloat16", {"asimd", "bf16"}, False),  # ARM
        ("mixed_bfloat16", set(), False),  # not known
        ("float32", {"avx2"}, False),
    ],
)
def test_bfloat16_that_will_be_slow_is_announced(monkeypatch, dtype, features, is_said):
    monkeypatch.setattr(session, "processor_flags", lambda: features)
    said = session.slow_precision(dtype)
    assert len(said) == is_said
    assert all("updates take longer than with float32" in sentence for sentence in said)


def test_the_faithful_preset_is_that_of_the_command_line():
    s = PRESETS["impala_gym"]  # section 2.1 of the specification
    assert (s.batch_size, s.unroll_length, s.entropy_cost, s.baseline_cost, s.discount) == (2, 100, 0.00025, 0.5, 0.99)
    assert (s.learning_rate, s.decay_rate, s.momentum, s.optimizer_epsilon) == (0.00048, 0.99, 0.0, 0.1)
    assert (s.reward_clipping, s.max_gradient_norm, s.counter) == ("abs_one", None, "original")
    assert (s.epsilon_inside, s.initial_accumulator) == (True, 1.0)
    assert s.frames == 4 * 10**9


def test_a_chain_is_refused_when_the_configuration_is_checked():
    with pytest.raises(NeurozooError, match="'large' has no policy head"):
        ALGORITHMS["impala"].check_variant("large")
    assert ALGORITHMS["impala"].check_variant("ResNetLSTMAgent") == "impala_gym_deep"


def test_ppo_is_that_of_cleanrl():
    s = PRESETS["ppo"]  # section 16.4 of the specification
    assert (s.objective, s.frames, s.num_envs, s.unroll_length, s.epochs) == ("ppo", 4 * 10**7, 8, 128, 4)
    assert (s.minibatches, s.batch_steps, s.epochs * s.num_envs // s.batch_size) == ("steps", 256, 16)
    assert (s.optimizer, s.learning_rate, s.max_gradient_norm, s.clip_ratio) == ("adam", 0.00025, 0.5, 0.1)
    assert (s.entropy_cost, s.baseline_cost, s.discount, s.gae_lambda) == (0.01, 0.5, 0.99, 0.95)
