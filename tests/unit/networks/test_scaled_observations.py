"""Networks that scale observations by their statistics."""

import numpy as np
import tensorflow as tf
from neurozoo.agents.graph import build_graph
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import protocol_of

LAYOUT = layout_of("gym.Pendulum-v1", "mujoco", protocol_of("gym.Pendulum-v1"))


def test_an_observation_is_scaled_and_clipped():
    reference = np.array([[1.0, -2.0, 0.0], [2.0, 0.5, 1.0]], np.float32).reshape(2, 1, 1, 3)
    seen = LAYOUT.normalise(np.array([[[4.0, -4.0, -5.5]]], np.float32), reference)
    assert seen.tolist() == [[[1.5, -4.0, -5.0]]]


def test_keras_and_the_graph_scale_alike():
    random = np.random.default_rng(2)
    theta = LAYOUT.initialise(random.standard_normal(LAYOUT.parameter_count).astype(np.float32))
    theta = theta + np.float32(0.05) * random.standard_normal(len(theta)).astype(np.float32)
    mean, deviation = random.normal(size=(2, 3)).astype(np.float32)
    reference = np.stack([mean, np.abs(deviation) + np.float32(0.1)]).reshape(2, 1, 1, 3)
    observations = random.normal(scale=3, size=(50, 1, 1, 3)).astype(np.float32)
    # The obvious twin in float64.
    value = np.clip((observations.reshape(50, 3) - reference[0, 0, 0]) / reference[1, 0, 0], -5.0, 5.0).astype(float)
    assert (np.abs(value) == 5).any()
    arrays = LAYOUT.split(theta)
    for name, finish in (("fc1", np.tanh), ("fc2", np.tanh), ("out", lambda x: x)):
        value = finish(value @ arrays[f"{name}/w"].astype(float) + arrays[f"{name}/b"])
    keras_outputs = LAYOUT.keras_model(theta, reference).predict(observations, verbose=0)
    np.testing.assert_allclose(keras_outputs, value, rtol=1e-4, atol=1e-5)

    graph = build_graph(LAYOUT, theta, scope="es", reference=reference)
    run = tf.compat.v1.wrap_function(lambda: tf.graph_util.import_graph_def(graph, name=""), []).prune(
        "X_t:0", "es/out/signal:0"
    )
    np.testing.assert_allclose(run(tf.constant(observations)).numpy(), value, rtol=1e-4, atol=1e-5)
