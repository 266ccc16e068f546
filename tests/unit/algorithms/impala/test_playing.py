"""Networks act in training and in tests as the settings say."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from neurozoo.agents.policies import NetworkOutputs, PolicyInputs
from neurozoo.algorithms.impala.player import make_policy
from neurozoo.algorithms.impala.presets import PRESETS

STEPS = 8000
LAYOUT = SimpleNamespace(state_shapes=(), num_actions=2)


def nine_to_one(inputs, state):
    """A network whose first action has the probability 0.9."""
    return NetworkOutputs(np.tile(np.log(np.float32([0.9, 0.1])), (STEPS, 1))), state


def share_of_second(settings, *, in_test):
    """The share of the less probable action."""
    nothing = np.zeros(STEPS)
    inputs = PolicyInputs(
        nothing[:, None].astype(np.float32), nothing.astype(int), nothing.astype(np.float32), nothing > 0
    )
    policy = make_policy(settings, LAYOUT, nine_to_one, in_test=in_test)
    return policy.step(inputs, (), np.random.default_rng(0)).action.mean()


@pytest.mark.parametrize(
    ("preset", "changes", "in_training", "in_tests", "rule"),
    [
        ("ppo", {}, 0.1, 0.1, "sampled"),
        ("ppo", {"test_actions": "greedy"}, 0.1, 0.0, "greedy"),
        # Half of the random actions are the second one.
        ("pqn", {"epsilon_start": 0.4, "test_epsilon": 0.2}, 0.2, 0.1, "epsilon-greedy"),
        ("pqn", {"epsilon_start": 0.4, "test_epsilon": 0.0, "test_actions": "sampled"}, 0.2, 0.0, "greedy"),
    ],
)
def test_actions_are_drawn_as_the_settings_say(preset, changes, in_training, in_tests, rule):
    settings = replace(PRESETS[preset], **changes)
    # Standard deviation of a share: at most sqrt(0.16 / 8000) = 0.0045; five of them.
    assert share_of_second(settings, in_test=False) == pytest.approx(in_training, abs=0.0224)
    found = share_of_second(settings, in_test=True)
    assert found == (0.0 if in_tests == 0 else pytest.approx(in_tests, abs=0.0224))
    facts = settings.describe_tests("pong")
    assert (facts["action_rule"], facts["epsilon"]) == (
        rule,
        settings.test_epsilon if rule == "epsilon-greedy" else 0.0,
    )
