"""The batched engine on a device of JAX: it plays as players in other processes do, learns the same, and goes on."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from neurozoo.algorithms.compiled import need_jax
from neurozoo.algorithms.impala.learner import ImpalaLearner
from neurozoo.algorithms.impala.presets import PRESETS
from neurozoo.algorithms.impala.settings import PLAYERS
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import get_keras_network
from toys import Counting, task

SETTINGS = {
    objective: replace(
        PRESETS[preset], frames=4 * 8 * 4 * 3, epoch_steps=8 * 4 * 3, num_envs=8, batch_size=4, unroll_length=4,
        num_test_episodes=2, test_cutoff=6, shards=1, protocol="machado2018",
    )
    for objective, preset in (("vtrace", "impala_paper"), ("ppo", "neurozoo_decoupled"), ("pqn", "neurozoo_pqn"))
}  # fmt: skip
NETWORKS = {"vtrace": "impala_shallow_lstm", "ppo": "impala_shallow", "pqn": "small_layer_norm"}

of_jax = pytest.mark.skipif(os.environ.get("KERAS_BACKEND") != "jax", reason="of JAX")


def make(objective, engine="batched", toy=Counting):
    class Pictures(toy):
        shape = (44, 44, 1)
        LENGTHS = (3, 5, 4, 6, 7, 3, 5, 8)

    layout = get_keras_network(NETWORKS[objective]).layout(toy.num_actions, Pictures.shape)
    return ImpalaLearner(task(replace(SETTINGS[objective], engine=engine), layout, Pictures))


def played(learner, rollouts):
    """Plays some rollouts and learns from them; returns what was told, and the state's arrays."""
    learner.open()
    for _ in range(rollouts):
        while not learner._player.is_rollout_over:
            learner._play_step(lambda frames, steps: None)
        learner._finish_rollout()
    learner._finish_learning()
    state = learner.get_state()
    arrays = {name: np.array(array) for name, array in learner.get_arrays().items()}
    learner.close()
    return state, arrays


@pytest.mark.skipif(os.environ.get("KERAS_BACKEND") == "jax", reason="it starts the others")
@pytest.mark.parametrize(
    "chosen", ["pqn and elsewhere", pytest.param("not (pqn and elsewhere)", marks=pytest.mark.long(seconds=100))]
)
def test_with_jax(chosen):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, __file__]
    answer = subprocess.run(command, env=os.environ | {"KERAS_BACKEND": "jax"}, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout[-3000:]


@pytest.mark.skipif(os.environ.get("KERAS_BACKEND") == "jax", reason="of TensorFlow")
def test_another_backend_is_refused():
    with pytest.raises(NeurozooError, match=r"needs JAX, but Keras uses tensorflow\. Set KERAS_BACKEND=jax"):
        need_jax()


@of_jax
@pytest.mark.parametrize("objective", SETTINGS)
def test_a_state_goes_on_to_the_same_bytes(objective):
    whole, expected = played(make(objective), 3)
    stopped = played(make(objective), 2)
    other = make(objective)
    other.set_state(*stopped)
    state, arrays = played(other, 1)
    assert state["player"] == whole["player"]
    assert {name.split("-at-")[0] for name in arrays} == {name.split("-at-")[0] for name in expected}
    for name, array in expected.items():
        if "begin_" not in name and "bootstrap" not in name:  # these are written in the rollout that begins
            np.testing.assert_array_equal(arrays[name], array, err_msg=name)


@of_jax
@pytest.mark.parametrize("objective", SETTINGS)
def test_what_is_learned_on_the_device_is_what_is_learned_elsewhere(objective):
    learner, other = make(objective), make(objective, "native")
    for each in (learner, other):
        each.open()
    while not learner._player.is_rollout_over:
        learner._play_step(lambda frames, steps: None)
    rollout = learner._player.next_rollout(0)
    assert rollout.observations.shape == (5, 8, 44, 44, 1)
    learner._learn_from(rollout)
    rollout.observations = np.asarray(rollout.observations)
    other._learn_from(rollout)
    assert learner._updates == other._updates > 1
    np.testing.assert_allclose(learner.network.theta(), other.network.theta(), rtol=1e-4, atol=1e-6)
    theirs, ours = (each._statistics for each in (other, learner))
    assert ours.__dict__.keys() == theirs.__dict__.keys()
    for each in (learner, other):
        each.close()


@of_jax
def test_players_have_the_environments_and_draws_of_actors_of_their_own():
    learner = make("ppo")
    learner.open()
    size = 8 // PLAYERS
    shares = [learner._make_player(range(first, first + size), engine="native") for first in range(0, 8, size)]
    learner._play_step(lambda frames, steps: None)
    rollout = learner._player.next_rollout(0)
    for number, player in enumerate(shares):
        player.play_rollout()
        here = slice(number * size, (number + 1) * size)
        for name in rollout.ARRAYS:
            np.testing.assert_array_equal(getattr(rollout, name)[:, here], getattr(player.rollout, name), err_msg=name)
        player.close()
    learner.close()
