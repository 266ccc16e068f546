"""Learners play the same in the core as in ale-py's vector environment, to the bit."""

import dataclasses

import numpy as np
import pytest
from neurozoo.algorithms import learner_session
from neurozoo.algorithms.dqn import learner as dqn_learner
from neurozoo.algorithms.dqn.session import DqnSession
from neurozoo.algorithms.impala.learner import ImpalaLearner
from neurozoo.algorithms.impala.session import ImpalaSession
from neurozoo.algorithms.learner_session import find_core
from neurozoo.algorithms.session import RunContext
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.environments.games import game_names
from neurozoo.environments.native_vector import NativeVectorEnv
from neurozoo.environments.protocols import get_protocol
from neurozoo.environments.vector import AtariVectorEnvironment
from neurozoo.errors import NeurozooError
from neurozoo.native import usable_core

STICKY = get_protocol("machado2018")
CUT = dataclasses.replace(STICKY, max_frames=301, action_set="minimal")  # within a step
NATURE = get_protocol("nature2015")


def vector(game, protocol, *, core=None, count=2, threads=1, seed=0, **choices):
    def seed_of(index, episode):
        return seed + 100 * index + episode

    return AtariVectorEnvironment(game, protocol, count=count, threads=threads, seed_of=seed_of, core=core, **choices)


def assert_equal(ours, theirs):
    np.testing.assert_array_equal(ours.stacks, theirs.stacks)
    np.testing.assert_array_equal(ours.lives, theirs.lives)
    assert ours.get_state() == theirs.get_state()


def play_both(ours, theirs, *, steps, seed=0):
    """Plays random actions in both and compares all they show; returns how many episodes ended."""
    random, ended = np.random.default_rng(seed), 0
    assert ours.num_actions == theirs.num_actions
    assert_equal(ours, theirs)
    for _ in range(steps):
        actions = random.integers(ours.num_actions, size=ours.count)
        ours.send(actions)
        theirs.send(actions)
        found, expected = ours.receive(), theirs.receive()
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        assert_equal(ours, theirs)  # the screens after an end, too, which a replay memory keeps
        if (over := found.is_over | found.is_cut).any():
            ended += int(over.sum())
            ours.start_episodes(over)
            theirs.start_episodes(over)
            assert_equal(ours, theirs)
    return ended


@pytest.mark.parametrize(
    ("game", "protocol", "steps", "ends"),
    [
        ("breakout", STICKY, 350, 1),
        ("breakout", NATURE, 150, 0),
        ("double_dunk", STICKY, 60, 0),  # walks through the game's menu with sticky actions
        ("air_raid", CUT, 160, 2),  # a higher screen
    ],
)
def test_the_core_plays_as_ale_py(core, game, protocol, steps, ends):
    assert play_both(vector(game, protocol, core=core), vector(game, protocol), steps=steps) >= ends


@pytest.mark.long(seconds=8)
@pytest.mark.parametrize("game", game_names())
def test_the_core_plays_every_game_as_ale_py(core, game):
    for protocol in (STICKY, NATURE, CUT):
        play_both(vector(game, protocol, core=core), vector(game, protocol), steps=330, seed=len(game))


def test_no_ops_are_drawn_alike(core):
    protocol = dataclasses.replace(NATURE, max_noops=2)
    ours, theirs = (vector("freeway", protocol, core=each) for each in (core, None))
    for _ in range(4):
        assert_equal(ours, theirs)
        for environment in (ours, theirs):
            environment.start_episodes(np.array([True, False]))


def test_a_state_of_one_continues_in_the_other_with_any_number_of_threads(core):
    theirs, ours = vector("pong", NATURE), vector("pong", NATURE, core=core, threads=2)
    for action in np.random.default_rng(1).integers(6, size=(40, 2)):
        theirs.send(action)
        theirs.receive()
    theirs.start_episodes(np.array([True, False]))
    ours.set_state(theirs.get_state(), theirs.get_arrays())
    assert_equal(ours, theirs)
    back = vector("pong", NATURE)
    back.set_state(ours.get_state(), ours.get_arrays())
    play_both(back, ours, steps=10)


def test_earlier_arrays_keep_their_content(core):
    environment = vector("breakout", STICKY, core=core)
    before = environment.stacks
    content = before.copy()
    for _ in range(3):
        environment.send(np.array([1, 3]))
        environment.receive()
    np.testing.assert_array_equal(before, content)
    assert (environment.stacks != content).any()


def test_it_can_be_closed_during_a_step(core):
    environment = vector("breakout", STICKY, core=core, count=3, threads=2)
    environment.send(np.zeros(3, int))
    environment.close()
    environment.close()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"frameskip": 1}, "A step should have at least 2 frames"),
        ({"num_envs": 0}, "There should be at least 1 environment"),
        ({"num_threads": 0}, "needs at least 1 thread"),
    ],
)
def test_wrong_numbers_are_told(core, wrong, sentence):
    given = {
        "num_envs": 1, "num_threads": 1, "max_num_frames_per_episode": 100, "repeat_action_probability": 0.25,
        "full_action_space": True, "frameskip": 4, "noop_max": 0,
    }  # fmt: skip
    with pytest.raises(NeurozooError, match=sentence):
        NativeVectorEnv(core, "pong", **given | wrong)


def test_a_wrong_action_is_told_and_ends_nothing(core):
    environment = vector("pong", CUT, core=core)
    environment.send(np.array([0, 6]))
    with pytest.raises(NeurozooError, match="actions 0 to 5, but got 6"):
        environment.receive()
    environment.send(np.array([0, 5]))
    assert not environment.receive().is_over.any()


def test_what_is_closed_or_has_other_environments_says_so(core):
    environment = NativeVectorEnv(
        core, "pong", 2, num_threads=1, max_num_frames_per_episode=100, repeat_action_probability=0.25,
        full_action_space=True, frameskip=4, noop_max=0,
    )  # fmt: skip
    with pytest.raises(NeurozooError, match=r"^Input actions should have 2 values, but has 1\.$"):
        environment.send(np.zeros(1, int))
    environment.close()
    acts = (
        lambda: environment.reset(seed=np.zeros(2, int), options={"reset_mask": np.ones(2, bool)}),
        lambda: environment.send(np.zeros(2, int)),
        environment.recv,
    )
    for act in acts:
        with pytest.raises(NeurozooError, match=r"^The vector environment is closed\.$"):
            act()


def test_a_core_that_is_missing_or_damaged_is_done_without(tmp_path):
    assert usable_core(None) == usable_core(tmp_path / "no.so") == (None, None)
    library = tmp_path / "libneurozoo_core.so"
    library.write_bytes(b"half")
    (tmp_path / "build.json").write_text('{"sha256": "another"}')
    path, reason = usable_core(library)
    assert path is None
    assert "is damaged" in reason


def test_where_another_ale_py_is_installed_that_one_plays(core, monkeypatch):
    assert find_core(core, STICKY) == (core, [])
    assert find_core(core, get_protocol("river_fixed")) == (None, [])
    monkeypatch.setattr(learner_session.metadata, "version", lambda name: "0.11.0")
    found, (sentence,) = find_core(core, STICKY)
    assert found is None
    assert "but 0.11.0 is installed" in sentence


class StillNetwork:
    """Stands in for a network, so that nothing is compiled."""

    def __init__(self, layout, settings, **given):
        self.num_actions = layout.num_actions

    def acting_values(self, stacks):
        return np.zeros((len(stacks), self.num_actions), np.float32)


def context(algo, model, folder, core):
    settings = resolve_settings(algo, preset="demo", overrides={})
    return RunContext(algo=algo, game="breakout", model=model, run=1, settings=settings, run_dir=folder, core=core)


def test_learners_play_in_the_core_if_it_can_be_loaded_and_say_so_if_not(core, tmp_path, monkeypatch):
    monkeypatch.setattr(dqn_learner, "make_q_network", StillNetwork)
    monkeypatch.setattr(learner_session, "keep_to_threads", lambda threads: None)
    damaged = tmp_path / "libneurozoo_core.so"
    damaged.write_bytes(b"half")
    for given, is_native, count in ((core, True, 0), (None, False, 0), (damaged, False, 1)):
        session = DqnSession(context("dqn", "small", tmp_path / "run", given))
        with session:
            environments, *_ = session._learner.parts
            assert isinstance(environments._environment, NativeVectorEnv) == is_native
        assert sum("ale-py plays the games" in sentence for sentence in session.announcements) == count


def test_actors_of_impala_play_in_the_core_too(core, tmp_path, monkeypatch):
    for method in ("open", "close"):
        monkeypatch.setattr(ImpalaLearner, method, lambda learner, **given: None)
    monkeypatch.setattr(learner_session, "keep_to_threads", lambda threads: None)
    for given, is_native in ((core, True), (None, False)):
        with ImpalaSession(context("impala", "impala_shallow", tmp_path / "run", given)) as session:
            environments = session._make_environments(1, lambda index, episode: 0)
            assert isinstance(environments._environment, NativeVectorEnv) == is_native
