"""Freezing Keras networks: their inputs, memory and serving signature, and the check that a frozen one is the same."""

from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from neurozoo.agents.checkpoint import Checkpoint
from neurozoo.agents.frozen import KERAS_FILE, ONNX_FILE, REMEDY, SAVED_MODEL, FrozenModel
from neurozoo.agents.policies import ACTION_RULES, NetworkOutputs, PolicyInputs, State
from neurozoo.environments import make_world
from neurozoo.errors import NeurozooError
from neurozoo.networks.keras_networks import BASELINE, INPUTS, MEMORY, KerasLayout

if TYPE_CHECKING:
    import keras

CHECKED_STEPS = 300  # of an episode, longest
CLOSE = 1e-4  # largest error of an output, as a fraction of the episode's largest absolute one


class PolicyTrace(NamedTuple):
    """What a trained agent saw, remembered and said in an episode."""

    inputs: list[np.ndarray]  # the network's inputs of all steps, in its order: (steps, ...) each
    outputs: list[np.ndarray]  # its outputs: logits or action values, baseline and new memory, (steps, ...) each


def describe_history(layout: KerasLayout) -> dict[str, Any]:
    """Returns the entries of `model.json` that only Keras networks have."""
    memory = [
        {"input": name, "shape": list(shape), "dtype": "float32", "output": f"new_{name}"}
        for name, shape in zip(MEMORY, layout.state_shapes, strict=False)
    ]
    return {
        "history": [
            {"input": INPUTS[1], "shape": [], "dtype": "int32", "meaning": "index of the action before; 0 at first"},
            {"input": INPUTS[2], "shape": [], "dtype": "float32", "meaning": "reward of that action; 0 at first"},
        ],
        "memory": memory,  # zeros at an episode's first step
        "outputs": {layout.network.head: layout.network.head, "baseline": BASELINE},
    }


def serving_step(model: "keras.Model") -> dict:
    """Returns the signature of the SavedModel: from named inputs to `logits`, `baseline` and the new memory."""
    import tensorflow as tf

    specifications = [tf.TensorSpec((None, *each.shape[1:]), each.dtype, each.name) for each in model.inputs]
    names = ["logits", BASELINE, *(f"new_{name}" for name in MEMORY)]

    @tf.function(input_signature=specifications)
    def serving_default(*inputs):
        return dict(zip(names, model(list(inputs), training=False), strict=False))

    return {"serving_default": serving_default}


def play_policy(checkpoint: Checkpoint, layout: KerasLayout, *, steps: int) -> PolicyTrace:
    """Plays an episode of at most `steps` steps with the trained agent, by its own action rule."""
    import tensorflow as tf

    model = layout.keras_model(checkpoint.theta)
    run = tf.function(lambda inputs: model(inputs, training=False))
    recorded: list[tuple[list[np.ndarray], list[np.ndarray]]] = []

    def forward(inputs: PolicyInputs, state: State) -> tuple[NetworkOutputs, State]:
        arrays = [
            inputs.observation, inputs.previous_action.astype(np.int32), inputs.previous_reward, *state,
        ]  # fmt: skip
        logits, baseline, *state_after = (each.numpy() for each in run(list(map(tf.constant, arrays))))
        recorded.append((arrays, [logits, baseline, *state_after]))
        return NetworkOutputs(logits, baseline=baseline[:, 0]), tuple(state_after)

    policy = ACTION_RULES[checkpoint.action_rule](forward, state_shapes=layout.state_shapes)
    rng = np.random.default_rng(0)
    with closing(make_world(checkpoint.game, checkpoint.protocol)) as world:
        observation = world.reset(noops=min(1, checkpoint.protocol.max_noops))
        state, action, reward = policy.initial_state(1), 0, 0.0
        while not world.is_done and len(recorded) < steps:
            is_first = np.array([not recorded])
            inputs = PolicyInputs(observation[None], np.array([action]), np.array([reward], np.float32), is_first)
            (action,), _, state = policy.step(inputs, state, rng)
            observation, reward, _ = world.act(np.eye(layout.num_actions, dtype=np.float32)[action])
    columns = [list(map(np.concatenate, zip(*part, strict=True))) for part in zip(*recorded, strict=True)]
    return PolicyTrace(*columns)


def check_same_outputs(frozen: FrozenModel, trace: PolicyTrace) -> dict[str, int]:
    """Checks that the forms of a frozen model compute what the trained agent did, memory included.

    Returns:
        `steps` that were compared, and `ties`, which are 0: outputs are compared, not actions.

    Raises:
        NeurozooError: An output differs by more than 1e-4 of the largest. The message names the form and the step.
    """
    import tensorflow as tf

    model = frozen.load_keras()
    names = [each.name for each in model.inputs]
    keys = ["logits", BASELINE, *(f"new_{name}" for name in MEMORY[: len(frozen.state_shapes)])]
    tensors = list(map(tf.constant, trace.inputs))
    said = frozen.load_served()(**dict(zip(names, tensors, strict=True)))
    forms = {KERAS_FILE: model(tensors, training=False), SAVED_MODEL: [said[key] for key in keys]}
    if (frozen.folder / ONNX_FILE).exists():
        said = frozen.load_onnx()(dict(zip(names, trace.inputs, strict=True)))
        forms[ONNX_FILE] = [said[key] for key in keys]
    for form, outputs in forms.items():
        for key, found, expected in zip(keys, outputs, trace.outputs, strict=True):
            errors = np.abs(np.asarray(found) - expected).reshape(len(expected), -1).max(axis=-1)
            wrong = np.flatnonzero(~(errors <= CLOSE * max(np.abs(expected).max(), 1e-6)))
            if wrong.size:
                raise NeurozooError(
                    f"{form} computes other {key} than the agent in {wrong.size} of {len(expected)} steps, first in "
                    f"step {wrong[0]}. Is the disk or the memory damaged? {REMEDY}"
                )
    return {"steps": len(trace.outputs[0]), "ties": 0}
