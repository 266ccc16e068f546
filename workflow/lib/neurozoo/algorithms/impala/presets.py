"""The published settings of IMPALA, and ours."""

from dataclasses import replace

from neurozoo.algorithms.impala.settings import ImpalaSettings

_PAPER = ImpalaSettings()
_GYM = replace(
    _PAPER,
    frames=4_000_000_000,  # 1e9 steps, which it calls frames
    num_envs=2,
    batch_size=2,
    unroll_length=100,
    entropy_cost=0.00025,
    learning_rate=0.00048,
    optimizer_epsilon=0.1,
    max_gradient_norm=None,
    counter="original",
)
# Batch, largest norm and (in Pong) entropy of its case studies are not recorded: 32, 40 and 0.01 are assumed.
_GYM_PONG = replace(
    _GYM,
    frames=1_600_000_000,
    num_envs=32,
    batch_size=32,
    unroll_length=40,
    entropy_cost=0.01,
    learning_rate=0.0003,
    max_gradient_norm=40.0,
)
_CLEANBA = replace(
    _PAPER,
    protocol="machado2018",
    num_envs=128,
    life_loss="ignore",
    epsilon_inside=False,
    initial_accumulator=0.0,
)
_SMALL = replace(
    _PAPER,
    protocol="machado2018",
    action_set="minimal",
    epsilon_inside=False,
    initial_accumulator=0.0,
)
# Of CleanRL's ppo_atari_envpool.py. Ours acts with the weights of one rollout before, and lowers the learning rate with
# every update instead of every rollout.
_PPO = replace(
    _PAPER,
    frames=40_000_000,
    action_set="minimal",
    objective="ppo",
    initial_weights="orthogonal",
    num_envs=8,
    unroll_length=128,
    batch_size=2,
    epochs=4,
    minibatches="steps",
    optimizer="adam",
    optimizer_epsilon=1e-5,
    learning_rate=0.00025,
    max_gradient_norm=0.5,
)
# Of CleanRL's pqn_atari_envpool.py; the same holds.
_PQN = replace(
    _PPO,
    objective="pqn",
    optimizer="radam",
    optimizer_epsilon=1e-8,
    max_gradient_norm=10.0,
    gae_lambda=0.65,
    epsilon_start=1.0,
    epsilon_end=0.01,
    epsilon_steps=1_000_000,
)
# For two cores: more environments in a batch, shorter rollouts, sticky actions.
_NEUROZOO = replace(
    _PPO,
    protocol="machado2018",
    frames=24_000_000,
    epoch_steps=50_000,
    num_envs=32,
    unroll_length=32,
    batch_size=8,
    shards=2,
    epochs=3,
)

PRESETS = {
    "impala_gym": _GYM,
    "impala_gym_pong": _GYM_PONG,
    "impala_gym_breakout": replace(_GYM_PONG, entropy_cost=0.1),
    "impala_paper": _PAPER,
    "cleanba": _CLEANBA,
    "moolib": replace(
        _CLEANBA, num_envs=32, optimizer="adam", optimizer_epsilon=1e-8, entropy_cost=0.0006, momentum=0.0
    ),
    "torchbeast": replace(
        _CLEANBA, num_envs=8, batch_size=8, unroll_length=80, learning_rate=0.00048, entropy_cost=0.0006
    ),
    "ppo": _PPO,
    "pqn": _PQN,
    "neurozoo": _NEUROZOO,
    # With `impala_shallow_layer_norm`. Larger steps, since an update no longer takes back the one before.
    "neurozoo_decoupled": replace(_NEUROZOO, proximal_policy="learning", learning_rate=0.0007),
    # The same for action values, with `small_layer_norm`. Rewards in Pong come late: longer returns than CleanRL's.
    # Two epochs, as in the paper: with 4 (256 steps each), as in CleanRL's, a rollout takes twice the time, Pong more
    # frames. Tested with as few random actions as `dqn` is under this protocol.
    "neurozoo_pqn": replace(
        _PQN,
        protocol="machado2018",
        test_epsilon=0.001,
        frames=16_000_000,
        epoch_steps=25_000,
        num_envs=32,
        unroll_length=32,
        batch_size=4,
        shards=2,
        epochs=2,
        learning_rate=0.0005,
        gae_lambda=0.85,
        epsilon_steps=250_000,
    ),
    # The recurrent agent for mazes. Its original (DCD): 32 environments, unrolls of 256 steps, 5 epochs, rate 1e-4, no
    # entropy.
    "maze": replace(
        _PPO,
        protocol="maze",
        frames=24_000_000,
        epoch_steps=500_000,
        num_test_episodes=200,
        test_period=4,
        num_envs=128,
        unroll_length=64,
        batch_size=32,
        epochs=2,
        minibatches="unrolls",
        discount=0.995,
        reward_clipping="none",
        learning_rate=0.0005,
        entropy_cost=0.01,
        clip_ratio=0.2,
    ),
    # In each environment 2,000 steps, in which games of Pong end.
    "demo": replace(
        _SMALL, frames=32_000, epoch_steps=2_000, num_test_episodes=1, num_envs=4, batch_size=4, unroll_length=10
    ),
}
