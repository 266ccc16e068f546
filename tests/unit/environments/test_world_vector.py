"""Several worlds at once equal single ones, and continue exactly from a saved state."""

import dataclasses

import gymnasium
import numpy as np
import pytest
from neurozoo.algorithms.registry import get_algorithm
from neurozoo.environments import make_world
from neurozoo.environments.gymnasium_games import gymnasium_spaces
from neurozoo.environments.protocols import get_protocol
from neurozoo.environments.vector_environments import make_vector_environment
from neurozoo.environments.world_vector import WorldVectorEnvironment
from neurozoo.errors import NeurozooError

from .vector_steps import assert_same, play

PROTOCOL = get_protocol("river_fixed")
STAY, LEFT, RIGHT = 0, 4, 5


def vector(protocol=PROTOCOL, count=3, seed=0):
    return WorldVectorEnvironment(
        "river_crossing", protocol, count=count, seed_of=lambda index, episode: seed + 100 * index + episode
    )


def test_each_environment_plays_the_episode_of_its_seed():
    environment, twin = vector(count=2, seed=5), make_world("river_crossing", PROTOCOL)
    observation = twin.reset(seed=105)
    score = twin_score = 0.0
    for action in np.random.default_rng(3).integers(18, size=150):
        np.testing.assert_array_equal(environment.stacks[1], np.rint(observation.transpose(2, 0, 1) * 255))
        environment.send(np.array([STAY, action]))
        step = environment.receive()
        observation, reward, is_done = twin.act(np.eye(18, dtype=np.float32)[action])
        score += step.rewards[1]
        twin_score += reward
        assert step.is_over[1] == is_done
        if is_done:
            break
    assert score == twin_score


def test_an_attempt_is_a_life_and_the_last_one_ends_the_episode():
    environment = vector(count=1)
    lost, lives = [], []
    for _ in range(20):
        environment.send(np.array([LEFT]))  # from column 1: the second step leaves the grid
        step = environment.receive()
        lost.append(bool(step.is_life_lost[0]))
        lives.append(int(environment.lives[0]))
        assert step.is_over[0] == (len(lost) == 20)
    # A trap on the way would end an attempt a step earlier; the ten worlds of this seed have none there.
    assert lost == [False, True] * 10
    assert lives == [lives_left for n in range(10, 0, -1) for lives_left in (n, n - 1)]


def test_a_frame_limit_cuts_an_episode():
    environment = vector(dataclasses.replace(PROTOCOL, max_frames=5), count=1)
    steps = []
    for _ in range(5):
        environment.send(np.array([STAY]))
        steps.append(environment.receive())
    assert [bool(step.is_cut[0]) for step in steps] == [False] * 4 + [True]
    assert not any(step.is_over[0] for step in steps)


def test_a_new_episode_begins_with_three_black_screens_and_old_arrays_stay():
    environment = vector(count=2)
    play(environment, 10, np.random.default_rng(1))
    before = environment.stacks
    kept = before.copy()
    environment.start_episodes(np.array([False, True]))
    assert not environment.stacks[1, :3].any()
    assert environment.stacks[1, 3].any()
    assert environment.episodes.tolist()[1] == 1
    np.testing.assert_array_equal(before, kept)


def test_restored_environments_continue_like_ones_that_were_never_interrupted():
    environment = vector()
    play(environment, 500, np.random.default_rng(1))  # past ends of episodes
    assert environment.episodes.max() >= 1
    continued = vector()
    continued.set_state(environment.get_state(), environment.get_arrays())
    np.testing.assert_array_equal(continued.stacks, environment.stacks)
    assert_same(play(continued, 300, np.random.default_rng(2)), play(environment, 300, np.random.default_rng(2)))


def test_a_state_whose_actions_lead_to_other_screens_is_refused():
    environment = vector()
    play(environment, 7, np.random.default_rng(1))
    arrays = {"actions": np.full_like(environment.get_arrays()["actions"], STAY)}
    with pytest.raises(NeurozooError, match="the same actions now lead to other screens"):
        vector().set_state(environment.get_state(), arrays)


@pytest.mark.parametrize("ends", [False, True])
def test_a_state_of_an_environment_with_random_numbers_of_its_own_is_refused(blinking, monkeypatch, ends):
    environment = pictures(blinking)
    for _ in range(3):
        environment.send(np.zeros(2, int))
        environment.receive()
    step = Blinking.step

    def other(self, action):
        seen, reward, is_over, *others = step(self, action)
        return (seen, reward, True, *others) if ends else (seen + 1, reward, is_over, *others)

    monkeypatch.setattr(Blinking, "step", other)
    with pytest.raises(NeurozooError, match=r"cannot be continued: .* draws random numbers outside of self\.np_random"):
        pictures(blinking).set_state(environment.get_state(), environment.get_arrays())


def test_other_observations_are_refused():
    with pytest.raises(NeurozooError, match="Set observation to pixels"):
        vector(get_protocol("river_fixed", observation="rgb"))


class Blinking(gymnasium.Env):
    """Its pictures are as bright as its number of steps; action 1 ends it."""

    observation_space = gymnasium.spaces.Box(0, 255, (84, 84, 1), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps, self.first = 0, int(self.np_random.integers(100))
        return self._see(), {}

    def step(self, action):
        self.steps += 1
        return self._see(), float(action), bool(action), False, {}

    def _see(self):
        return np.full((84, 84, 1), self.first + self.steps, np.uint8)


@pytest.fixture
def blinking():
    gymnasium.register("Blinking-v0", entry_point=Blinking, max_episode_steps=6)
    gymnasium_spaces.cache_clear()
    yield "gym.Blinking-v0"
    del gymnasium.registry["Blinking-v0"]
    gymnasium_spaces.cache_clear()


def pictures(game, count=2):
    return make_vector_environment(
        game, get_protocol("gymnasium"), count=count, threads=1, seed_of=lambda index, episode: 10 * index + episode
    )


def test_pictures_of_other_environments_are_stacked_byte_for_byte(blinking):
    environment = pictures(blinking)
    assert environment.num_actions == 2
    first = environment.stacks[:, :, 0, 0].astype(int)
    assert not first[:, :3].any()
    for step in range(1, 4):
        environment.send(np.zeros(2, int))
        environment.receive()
        np.testing.assert_array_equal(environment.screens[:, 5, 7], first[:, 3] + step)
    wanted = first[:, 3:] + np.arange(4)
    np.testing.assert_array_equal(environment.stacks[:, :, 83, 83], wanted)


def test_an_environment_that_ends_is_over_and_one_that_is_truncated_is_cut(blinking):
    environment, outcomes = pictures(blinking), []
    for step in range(6):
        environment.send(np.array([0, int(step == 2)]))
        found = environment.receive()
        outcomes.append((found.is_over.tolist(), found.is_cut.tolist(), found.rewards.tolist()))
        environment.start_episodes(found.is_over | found.is_cut)
    nothing = ([False, False], [False, False], [0.0, 0.0])
    assert outcomes[:2] == [nothing] * 2
    assert outcomes[2] == ([False, True], [False, False], [0.0, 1.0])
    assert outcomes[5] == ([False, False], [True, False], [0.0, 0.0])
    assert environment.episodes.tolist() == [1, 1]


def test_pictures_continue_exactly(core, monkeypatch):
    monkeypatch.chdir(core.parents[2])
    environment, continued = (pictures("gym.PlatformerPixels-v0", count=3) for _ in range(2))
    play(environment, 120, np.random.default_rng(1))
    assert environment.episodes.max() >= 1
    continued.set_state(environment.get_state(), environment.get_arrays())
    assert_same(play(continued, 60, np.random.default_rng(2)), play(environment, 60, np.random.default_rng(2)))


@pytest.mark.parametrize("algo", ["dqn", "impala"])
def test_learners_take_pictures_and_refuse_vectors(algo):
    spec = get_algorithm(algo)
    assert spec.check_game("gym.PlatformerPixels-v0") == "gym.PlatformerPixels-v0"
    settings = spec.presets["demo"].changed({"engine": "keras"})
    assert settings.needs_besides("gym.PlatformerPixels-v0") == ("core",)
    assert settings.needs_besides("pong") == ()
    with pytest.raises(NeurozooError, match=r"needs images .* but 'gym.CartPole-v1' shows vectors"):
        spec.check_game("gym.CartPole-v1")
