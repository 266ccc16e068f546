"""An environment of somebody else's as a game: what it may do wrong, and what its screen is then."""

import os
import re
import signal
import sys
from typing import ClassVar

import gymnasium
import numpy as np
import pytest
from neurozoo.environments import gymnasium_world, make_world
from neurozoo.environments.gymnasium_games import gymnasium_spaces
from neurozoo.environments.protocols import output_names, protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.signals import Stopped

GAME = "gym.Odd-v0"
UNNAMED = ("ACTION_0", "ACTION_1")


class Odd(gymnasium.Env):
    """Shows pictures of one brightness. Tests replace its methods."""

    metadata: ClassVar = {"render_modes": ["rgb_array"]}
    observation_space = gymnasium.spaces.Box(0, 255, (84, 84, 1), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        return self.see(), {}

    def step(self, action):
        return self.see(), 0.0, False, False, {}

    def see(self):
        return np.full((84, 84, 1), 7, np.uint8)

    def render(self):
        return np.full((30, 40, 3), 7, np.uint8)


@pytest.fixture(autouse=True)
def odd():
    gymnasium.register("Odd-v0", entry_point=Odd, disable_env_checker=True)
    gymnasium_spaces.cache_clear()
    yield
    del gymnasium.registry["Odd-v0"]
    gymnasium_spaces.cache_clear()


def world():
    return make_world(GAME, protocol_of(GAME))


def raises(*_, **__):
    raise RuntimeError("not here")


class Silent(Exception):
    """An error whose message is code that fails."""

    __str__ = raises


def raises_in_silence(*_, **__):
    raise Silent


@pytest.mark.parametrize(
    ("meanings", "expected"),
    [
        (lambda self: ["wait", "Jump-up 2"], ("wait", "Jump-up 2")),
        (lambda self: ("a", "b", "c"), UNNAMED),  # too many
        (lambda self: ["same", "same"], UNNAMED),
        (lambda self: ["<b>", "wait"], UNNAMED),
        (lambda self: ["a" * 41, "wait"], UNNAMED),
        (lambda self: ["OUTPUT_0", "wait"], UNNAMED),  # would be taken for a continuous output
        (lambda self: [0, 1], UNNAMED),
        (lambda self: [], UNNAMED),
        (lambda self: None, UNNAMED),
        (raises, UNNAMED),
        (["not", "callable"], UNNAMED),
    ],
)
def test_names_of_actions_are_taken_if_they_are_usable(monkeypatch, meanings, expected):
    monkeypatch.setattr(Odd, "get_action_meanings", meanings, raising=False)
    assert output_names(GAME, protocol_of(GAME)) == expected


def test_a_wrapper_may_name_the_actions():
    class Named(gymnasium.Wrapper):
        def get_action_meanings(self):
            return ["left", "right"]

    gymnasium.register("OddNamed-v0", entry_point=lambda **options: Named(Odd(**options)))
    try:
        assert output_names("gym.OddNamed-v0", protocol_of("gym.OddNamed-v0")) == ("left", "right")
    finally:
        del gymnasium.registry["OddNamed-v0"]


@pytest.mark.parametrize(
    ("picture", "found"),
    [
        (np.full((84, 84, 1), 0.5), r"float64 of shape \(84, 84, 1\)"),
        (np.zeros((84, 84), np.uint8), r"uint8 of shape \(84, 84\)"),
        (np.zeros((84, 84, 1), np.int32), r"int32 of shape \(84, 84, 1\)"),
        (None, r"object of shape \(\)"),
    ],
)
def test_pictures_that_are_not_those_of_the_space_are_refused(monkeypatch, picture, found):
    played = world()
    played.reset(seed=1)
    monkeypatch.setattr(Odd, "see", lambda self: picture)
    message = rf"should show uint8 of shape \(84, 84, 1\), as its observation_space says, but shows {found}"
    with pytest.raises(NeurozooError, match=message):
        world()
    with pytest.raises(NeurozooError, match=message):
        played.act(np.array([1.0, 0.0], np.float32))


def test_vectors_may_have_another_type_but_no_other_shape(monkeypatch):
    monkeypatch.setattr(Odd, "observation_space", gymnasium.spaces.Box(-1, 1, (3,), np.float32))
    monkeypatch.setattr(Odd, "see", lambda self: [0, 1, 0.5])
    np.testing.assert_array_equal(world().reset(seed=1).reshape(-1), [0, 1, 0.5])
    monkeypatch.setattr(Odd, "see", lambda self: np.zeros(4, np.float32))
    with pytest.raises(NeurozooError, match=r"float32 of shape \(3,\), as .*, but shows float32 of shape \(4,\)"):
        world()


@pytest.mark.parametrize("shape", [(30, 40), (30, 40, 1)])
def test_a_grey_screen_gets_three_equal_channels(monkeypatch, shape):
    drawn = np.random.default_rng(0).integers(256, size=shape, dtype=np.uint8)
    monkeypatch.setattr(Odd, "render", lambda self: drawn)
    shown = world().screen
    assert shown.shape == (30, 40, 3)
    assert (shown == drawn.reshape(30, 40, 1)).all()


@pytest.mark.parametrize(
    "render",
    [
        raises,
        raises_in_silence,
        lambda self: None,
        lambda self: "text",
        lambda self: np.zeros((30, 40, 4), np.uint8),
        lambda self: np.zeros((0, 40, 3), np.uint8),
        lambda self: np.broadcast_to(np.uint8(0), (5000, 5000, 3)),
    ],
)
def test_a_world_that_cannot_be_drawn_here_is_black_and_tried_once_and_says_so(monkeypatch, capsys, render):
    tries = []
    gymnasium_world._say_black.cache_clear()
    monkeypatch.setattr(Odd, "render", lambda self: [tries.append(1), render(self)][1])
    played = world()
    played.reset(seed=1)
    for _ in range(3):
        assert played.screen.shape == played.screen_shape == (84, 84, 3)
        assert not played.screen.any()
    assert tries == [1]
    world().reset(seed=1)
    said = capsys.readouterr().err
    assert said.count("cannot be drawn here, so its screens are black") == 1
    assert "make setup" not in said  # pygame would not help


def test_an_environment_that_lacks_pygame_says_what_to_install(monkeypatch, capsys):
    def lacks(self):
        raise gymnasium.error.DependencyNotInstalled("pygame is not installed, run `pip install pygame`")

    gymnasium_world._say_black.cache_clear()
    monkeypatch.setattr(Odd, "render", lacks)
    assert not world().screen.any()
    assert capsys.readouterr().err.endswith("Install it: make setup EXTRAS=play.\n")


def test_a_name_with_a_slash_is_refused_because_games_are_folders():
    gymnasium.register("lab/Odd-v0", entry_point=Odd)
    try:
        with pytest.raises(NeurozooError, match=r"has a slash.* without a namespace, such as 'Odd-v0'"):
            gymnasium_spaces("gym.lab/Odd-v0")
    finally:
        del gymnasium.registry["lab/Odd-v0"]


def test_an_environment_that_cannot_be_closed_costs_no_results(monkeypatch, capsys):
    monkeypatch.setattr(Odd, "close", raises)
    assert gymnasium_spaces(GAME).outputs == UNNAMED
    made = world()
    capsys.readouterr()
    made.close()
    assert capsys.readouterr().err == (
        "neurozoo: gym.Odd-v0 cannot be closed (RuntimeError: not here). Results are not affected.\n"
    )


@pytest.mark.parametrize("method", ["__init__", "reset", "close"])
def test_an_error_whose_message_fails_is_told_all_the_same(monkeypatch, capsys, method):
    monkeypatch.setattr(Odd, method, raises_in_silence)
    try:
        gymnasium_world.try_environment(GAME, protocol_of(GAME))
        told = capsys.readouterr().err
    except NeurozooError as error:
        told = str(error)
    assert "its message cannot be shown" in told


def test_an_environment_that_is_refused_is_closed(monkeypatch):
    closed = []
    monkeypatch.setattr(Odd, "see", lambda self: np.zeros(3, np.uint8))
    monkeypatch.setattr(Odd, "close", lambda self: closed.append(self))
    gymnasium_spaces(GAME)
    closed.clear()
    with pytest.raises(NeurozooError, match="should show"):
        make_world(GAME, protocol_of(GAME))
    assert len(closed) == 2  # the one that cannot draw, and the one that was refused


def test_a_constructor_that_fails_is_told_in_a_sentence(monkeypatch):
    def fails(self, render_mode=None):
        raise KeyError("level")

    monkeypatch.setattr(Odd, "__init__", fails)
    with pytest.raises(NeurozooError, match=r"cannot make the environment 'gym\.Odd-v0' here: .*level"):
        gymnasium_spaces(GAME)


def exits(*_, **__):
    sys.exit(0)


def test_an_environment_that_exits_is_an_error_and_no_silent_end(monkeypatch, capsys):
    made = world()
    monkeypatch.setattr(Odd, "step", exits)
    made.reset(seed=1)
    with pytest.raises(NeurozooError, match=r"calls sys\.exit\(0\).*in step 1 of the episode with seed 1"):
        made.act(np.array([1.0, 0.0], np.float32))
    monkeypatch.setattr(Odd, "close", exits)
    made.close()
    assert "cannot be closed (NeurozooError: 'gym.Odd-v0' calls sys.exit(0)" in capsys.readouterr().err
    monkeypatch.setattr(Odd, "__init__", exits)
    with pytest.raises(NeurozooError, match=r"calls sys\.exit\(0\)"):
        gymnasium_spaces.__wrapped__(GAME)


def test_a_signal_that_arrives_in_an_environment_still_stops_the_program(monkeypatch):
    def stops(self, action):
        raise Stopped(signal.SIGTERM)

    made = world()
    monkeypatch.setattr(Odd, "step", stops)
    made.reset(seed=1)
    with pytest.raises(Stopped):
        made.act(np.array([1.0, 0.0], np.float32))


def test_an_environment_that_changes_the_working_directory_is_refused(monkeypatch, tmp_path):
    def moves(self, action):
        os.chdir(tmp_path)
        return self.see(), 0.0, False, False, {}

    before = os.getcwd()
    monkeypatch.setattr(Odd, "step", moves)
    with pytest.raises(NeurozooError, match="changes the working directory"):
        gymnasium_world.try_environment(GAME, protocol_of(GAME))
    assert os.getcwd() == before


def test_an_environment_whose_constructor_takes_no_render_mode_is_played_and_black(monkeypatch):
    monkeypatch.setattr(Odd, "__init__", lambda self: None)
    played = world()
    played.reset(seed=1)
    assert not played.screen.any()


def test_a_screen_keeps_its_shape_when_drawing_fails_later_or_changes_its_size(monkeypatch):
    played = world()
    assert played.screen_shape == (30, 40, 3)
    monkeypatch.setattr(Odd, "render", lambda self: np.full((31, 40, 3), 7, np.uint8))
    assert played.screen.shape == (30, 40, 3)
    assert not played.screen.any()
    monkeypatch.setattr(Odd, "render", raises)
    assert played.screen.shape == played.screen_shape == (30, 40, 3)


BEYOND = r"should have numbers from -1e\+30 to 1e\+30 as"


def answers(**members):
    """Returns a step of the environment that answers with the given parts."""
    parts = {"reward": 0.0, "is_terminated": False, "is_truncated": False, "info": {}} | members
    return lambda self, action: (self.see(), *parts.values())


def played(monkeypatch, steps=1, **members):
    """Plays steps of the episode with seed 1, and returns the last reward and whether the episode is over."""
    monkeypatch.setattr(Odd, "step", answers(**members))
    made = world()
    made.reset(seed=1)
    for _ in range(steps):
        _, *outcome = made.act(np.array([1.0, 0.0], np.float32))
    return outcome


@pytest.mark.parametrize(
    "reward", [np.nan, -np.inf, None, "much", "1.5", 1j, 10**400, -1e39, np.array([1.0, 2.0]), [[1], [1, 2]]]
)
def test_a_reward_that_is_no_number_or_too_large_is_refused(monkeypatch, reward):
    with pytest.raises(NeurozooError, match=rf"{BEYOND} rewards, but has .*in step 1 of the episode with seed 1"):
        played(monkeypatch, reward=reward)


@pytest.mark.parametrize("reward", [3e29, -3e29])
def test_rewards_that_add_up_to_too_much_are_refused_where_they_do(monkeypatch, reward):
    """Sums of single precision end at 3.4e38, and the squares of scores enter errors of means."""
    with pytest.raises(NeurozooError, match=rf"{BEYOND} sums of rewards, but has -?1.2e\+30.*in step 4"):
        played(monkeypatch, steps=9, reward=reward)


@pytest.mark.parametrize("reward", [2, True, np.float32(2), np.array([2.0]), np.array(2)])
def test_a_reward_may_be_any_kind_of_number(monkeypatch, reward):
    assert played(monkeypatch, steps=2, reward=reward) == [float(np.ravel(reward)[0]), False]


@pytest.mark.parametrize("is_over", [True, np.True_, 1, 1.0, np.array([True]), np.array(1)])
@pytest.mark.parametrize("end", ["is_terminated", "is_truncated"])
def test_the_end_may_be_any_kind_of_truth_and_nobody_reads_info(monkeypatch, end, is_over):
    assert played(monkeypatch, info=None, **{end: is_over}) == [0.0, True]


@pytest.mark.parametrize("is_over", [None, "False", 2, np.nan, np.array([True, False])])
def test_an_end_that_is_neither_true_nor_false_is_refused(monkeypatch, is_over):
    with pytest.raises(NeurozooError, match="should say with True or False whether the episode is over, but says"):
        played(monkeypatch, is_truncated=is_over)


@pytest.mark.parametrize("limit", [None, 50])  # with a limit, a wrapper of Gymnasium fails
def test_an_environment_of_old_gym_is_told_what_gymnasium_demands(monkeypatch, limit):
    monkeypatch.setattr(gymnasium.registry["Odd-v0"], "max_episode_steps", limit)
    made = world()
    made.reset(seed=7)
    monkeypatch.setattr(Odd, "step", lambda self, action: (self.see(), 0.0, False, {}))
    found = "returns 4 values" if limit is None else r"expected 5, got 4\) \(common.py"
    with pytest.raises(NeurozooError, match=f"{found}.*is truncated, info.*step 1 of the episode with seed 7"):
        made.act(np.zeros(2))
    monkeypatch.setattr(Odd, "reset", lambda self: self.see())
    with pytest.raises(NeurozooError, match=r"unexpected keyword argument 'seed' .*reset returns \(observation, info"):
        made.reset(seed=7)


@pytest.mark.parametrize(("kind", "number"), [(np.float32, np.nan), (np.float32, np.inf), (np.float64, -1e300)])
def test_a_vector_with_numbers_that_are_too_large_is_refused(monkeypatch, kind, number):
    """Agents see float32, where 1e300 is infinite."""
    monkeypatch.setattr(Odd, "observation_space", gymnasium.spaces.Box(-1, 1, (2,), kind))
    monkeypatch.setattr(Odd, "see", lambda self: np.array([0, number], kind))
    with pytest.raises(NeurozooError, match=f"{BEYOND} observations, but has {re.escape(str(number))}"):
        world()


@pytest.mark.parametrize("seen", [["a", "b"], [1j, 0], np.array([1, 2], object), [[1], [1, 2]], {"a": 1}])
def test_a_vector_of_something_else_than_numbers_is_refused(monkeypatch, seen):
    monkeypatch.setattr(Odd, "observation_space", gymnasium.spaces.Box(-1, 1, (2,), np.float32))
    monkeypatch.setattr(Odd, "see", lambda self: seen)
    with pytest.raises(NeurozooError, match=r"should show float32 of shape \(2,\), .*, but shows"):
        world()


@pytest.mark.parametrize("actions", [gymnasium.spaces.Discrete(2**40), gymnasium.spaces.Box(0, 1, (20_000,))])
def test_more_outputs_than_a_network_can_have_are_refused_at_once(monkeypatch, actions):
    monkeypatch.setattr(Odd, "action_space", actions)
    with pytest.raises(NeurozooError, match=r"with n up to 10,000, but takes "):
        gymnasium_spaces(GAME)


@pytest.mark.parametrize("space", [None, "left", gymnasium.spaces.Box(0, 1, (0,)), gymnasium.spaces.Tuple([])])
@pytest.mark.parametrize(("name", "message"), [("observation_space", "as observations"), ("action_space", "takes")])
def test_a_space_that_is_no_vector_is_refused(monkeypatch, name, message, space):
    monkeypatch.setattr(Odd, name, space)
    with pytest.raises(NeurozooError, match=message):
        gymnasium_spaces(GAME)


@pytest.mark.parametrize(("limit", "told"), [(None, 1), (50, 0)])
def test_a_long_episode_without_a_limit_is_told_once(monkeypatch, capsys, limit, told):
    monkeypatch.setattr(gymnasium_world, "LONG_EPISODE", 9)
    gymnasium_world._say_long.cache_clear()
    monkeypatch.setattr(gymnasium.registry["Odd-v0"], "max_episode_steps", limit)
    played = world()
    for _ in range(2):
        played.reset()
        for _ in range(20):
            played.act(np.zeros(2, np.float32))
    said = capsys.readouterr().err
    assert said.count("an episode of gym.Odd-v0 has lasted 9 steps") == told
    assert said.count("max_episode_steps") == told


def test_an_environment_that_is_in_order_is_tried_in_silence():
    assert gymnasium_world.try_environment(GAME, protocol_of(GAME)) is None


def test_episodes_with_one_seed_that_differ_are_told(monkeypatch):
    random = np.random.default_rng(1)
    monkeypatch.setattr(Odd, "see", lambda self: random.integers(0, 255, (84, 84, 1), np.uint8))
    assert "so its runs cannot be repeated" in gymnasium_world.try_environment(GAME, protocol_of(GAME))


@pytest.mark.parametrize(
    ("method", "does", "message"),
    [
        ("step", raises, r"fails in its first step: RuntimeError: not here \(test_gymnasium_world.py, line \d+\)"),
        ("reset", raises, "fails in its first step: RuntimeError: not here"),
        ("step", lambda self, action: (self.see(), 0.0, False, {}), "step of 'gym.Odd-v0' returns 4 values"),
        ("reset", lambda self, *, seed=None, options=None: self.see(), "returns ndarray. Mend it: reset returns"),
        ("step", lambda self, action: (self.see(), np.nan, False, False, {}), "in step 1 of the episode with seed 1"),
    ],
)
def test_a_broken_environment_is_found_in_its_first_step(monkeypatch, method, does, message):
    monkeypatch.setattr(Odd, method, does)
    with pytest.raises(NeurozooError, match=message):
        gymnasium_world.try_environment(GAME, protocol_of(GAME))


def test_an_error_of_the_environment_keeps_its_traceback_and_says_where_it_happened(monkeypatch):
    played = world()
    played.reset(seed=7)
    played.act(np.zeros(2))
    monkeypatch.setattr(Odd, "step", raises)
    with pytest.raises(RuntimeError, match="not here") as caught:
        played.act(np.zeros(2))
    assert caught.value.__notes__ == [f"This happened in step 2 of the episode with seed 7 of '{GAME}'."]
    assert caught.value.__cause__ is None  # a cause that is the error itself would hang Dask


def test_a_game_has_its_version():
    with pytest.raises(NeurozooError, match=r"'gym\.CartPole' is the latest version.* Write 'gym\.CartPole-v1'"):
        gymnasium_spaces("gym.CartPole")
