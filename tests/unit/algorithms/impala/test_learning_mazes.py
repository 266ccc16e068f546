"""A learner of mazes goes on exactly where it stopped, and meets harder mazes."""

from dataclasses import replace

import numpy as np
import pytest
from neurozoo.algorithms.impala.learner import ImpalaLearner
from neurozoo.algorithms.impala.presets import PRESETS
from neurozoo.algorithms.learner import LearnerTask
from neurozoo.environments.game_networks import keras_layout_of
from neurozoo.environments.protocols import get_protocol
from neurozoo.environments.vector_environments import make_vector_environment

PROTOCOL = get_protocol("maze")
SETTINGS = replace(
    PRESETS["maze"],
    frames=4 * 3 * 10,
    epoch_steps=4 * 3 * 5,
    num_envs=4,
    batch_size=2,
    unroll_length=3,
    num_test_episodes=1,
    test_cutoff=4,
    test_period=0,
    easy_mazes=0.5,
)


def opened(state=None, arrays=None):
    task = LearnerTask(
        settings=SETTINGS,
        entropy=(0, 1),
        layout=keras_layout_of("maze", "maze_recurrent", PROTOCOL),
        protocol=PROTOCOL,
        make_environments=environments,
    )
    learner = ImpalaLearner(task)
    if state is not None:
        learner.set_state(state, arrays)
    learner.open()
    return learner


def environments(count, seed_of):
    curriculum = SETTINGS.curriculum(PROTOCOL.frame_skip)
    return make_vector_environment("maze", PROTOCOL, count=count, threads=1, seed_of=seed_of, curriculum=curriculum)


class Stop(Exception):
    pass


@pytest.mark.long(seconds=20)
def test_a_stopped_run_comes_to_the_same_weights():
    calls, saved = 0, []

    def watch(frames, steps):
        nonlocal calls
        calls += 1
        if calls == 17:  # in the middle of a rollout
            raise Stop

    learner = opened()
    while not learner.is_done:
        try:
            learner.learn(watch)
        except Stop:
            saved.append((learner.get_state(), learner.get_arrays()))
    learner.close()
    again = opened(*saved[0])
    while not again.is_done:
        again.learn(lambda frames, steps: None)
    again.close()
    np.testing.assert_array_equal(again.reported.weights, learner.reported.weights)
    assert again.reported.score == learner.reported.score
    drawn = keras_layout_of("maze", "maze_recurrent", PROTOCOL)
    assert len(learner.reported.weights) == drawn.parameter_count


def test_the_curriculum_follows_the_budget_of_all_environments():
    settings = replace(PRESETS["maze"], frames=1280, num_envs=128, easy_mazes=0.5, most_walls=0.4, farthest_mazes=0.75)
    curriculum = settings.curriculum(PROTOCOL.frame_skip)  # 10 steps of each environment
    assert [curriculum.phase_after(steps).most_walls for steps in (0, 4, 5, 10)] == [0.25, 0.25, 0.4, 0.4]
    assert curriculum.phase_after(5).farthest == 0.75
    assert replace(settings, learners=2).curriculum(1).steps == 5
