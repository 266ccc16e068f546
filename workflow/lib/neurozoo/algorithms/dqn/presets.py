"""The published settings of deep Q-learning, and ours."""

from dataclasses import replace

from neurozoo.algorithms.dqn.settings import DqnSettings

_NATURE = DqnSettings(masks_lost_lives=True)
_SIMPLE_DQN = DqnSettings(
    protocol="simple_dqn",
    test_steps=125_000,
    windows="whole",
    optimizer="rmsprop",
    optimizer_epsilon=1e-6,
    initialisation="fan_in_uniform",
)
# Parallel environments on two cores, a learning rate four times the published one, and three steps of reward: what
# learns most in an hour on a small machine (docs/studies.md).
_OURS = DqnSettings(
    protocol="machado2018",
    action_set="minimal",
    frames=2_000_000,
    num_test_episodes=10,
    test_epsilon=0.001,
    epoch_steps=25_000,
    learning_starts=10_000,
    num_envs=8,
    train_frequency=2,
    target_update_period=2_000,
    epsilon_end=0.01,
    epsilon_steps=50_000,
    life_loss="terminal",
    replay_size=200_000,
    optimizer="adam",
    learning_rate=0.00025,
    optimizer_epsilon=1.5e-4,
    initialisation="he_uniform",
    n_steps=3,
    dueling=True,
    prioritised=True,
)

PRESETS = {
    "simple_dqn": _SIMPLE_DQN,
    # The settings of the published curves, except for those that came from a defect (docs/dqn.md).
    "simple_dqn_2015": replace(_SIMPLE_DQN, life_loss="ignore", target_update_period=40_000, initialisation="gaussian"),
    "nature": _NATURE,
    "dopamine": replace(
        _NATURE,
        protocol="machado2018",
        action_set="minimal",
        life_loss="ignore",
        masks_lost_lives=False,
        test_epsilon=0.001,
        test_steps=125_000,
        finishes_test=True,
        learning_starts=20_000,
        target_update_period=8_000,
        epsilon_end=0.01,
        epsilon_steps=250_000,
        optimizer="adam",
        learning_rate=0.0000625,
        optimizer_epsilon=1.5e-4,
        initialisation="glorot_uniform",
    ),
    "neurozoo": _OURS,
    "demo": replace(
        _OURS,
        frames=12_000,
        epoch_steps=1_000,
        learning_starts=500,
        num_test_episodes=1,
        replay_size=4_000,
        epsilon_steps=1_000,
        num_envs=4,
        train_frequency=16,
    ),
}
