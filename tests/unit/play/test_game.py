import itertools
import shutil
from dataclasses import replace

import numpy as np
import pytest
from neurozoo.__main__ import main
from neurozoo.agents.frozen import open_frozen
from neurozoo.environments.atari import AtariEnvironment
from neurozoo.errors import NeurozooError
from neurozoo.play.game import play_games
from neurozoo.rollouts.player import Player, episode_starts
from neurozoo.rollouts.rollout import record_rollout


class Clock:
    """Time that passes only during sleep."""

    def __init__(self):
        self.now, self.slept = 100.0, []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


class FakeDisplay:
    """Keeps what was shown; `script` maps the number of a frame, from 0, to the keys pressed when it is shown."""

    def __init__(self, script, *, hold=None, clock=None):
        self.hold, self.clock, self._script = hold, clock, dict(script)
        self.screens, self.statuses, self.sounds, self.times = [], [], [], []

    def show(self, screen, status):
        if status.startswith("Loading "):
            return
        self.screens.append(screen)
        self.statuses.append(status)
        self.times.append(self.clock())

    def hear(self, sound, volume):
        self.sounds.append((sound, volume))

    def read_keys(self):
        for key in self._script.pop(len(self.screens) - 1, ()):
            yield key.removeprefix("-"), not key.startswith("-")


def played(folder, script, *, games=1, **choices):
    clock = Clock()
    display = FakeDisplay(script, clock=clock)
    result = play_games(folder, display, games=games, clock=clock, sleep=clock.sleep, **choices)
    return result, display


@pytest.fixture
def folder(frozen_folder):
    return frozen_folder("small")


def test_agent_plays_as_in_a_rollout_and_every_frame_is_shown_and_heard(folder, tmp_path):
    record_rollout(folder, tmp_path / "rollout.npz", max_steps=12, action_noise=0.3, sticky_probability=0.9, seed=4)
    recorded = np.load(tmp_path / "rollout.npz")
    (game,), display = played(folder, {44: "q"}, epsilon=0.3, sticky_probability=0.9, seed=4)
    skip = open_frozen(folder).protocol.frame_skip
    for step, screen in enumerate(recorded["frames"][:11]):
        np.testing.assert_array_equal(display.screens[skip * step], screen)
    assert len(display.screens) == len(display.sounds) == 45
    assert (game.steps, game.is_finished) == (10, False)  # the human quit during the next step
    assert display.sounds[0][0].shape == (512,)


def test_frames_take_the_time_that_the_keys_say(folder):
    _, display = played(folder, {10: "aa", 20: "sssssss", 30: "q"})
    gaps = np.diff(display.times)
    np.testing.assert_allclose(gaps[:9], 0.017)
    np.testing.assert_allclose(gaps[10:20], 0.027)
    np.testing.assert_allclose(gaps[21:], 0, atol=1e-9)
    assert "17 ms" in display.statuses[5]
    assert "27 ms" in display.statuses[15]


def test_human_takes_the_joystick_and_gives_it_back(folder):
    script = {8: ["m", "right"], 16: ["-right", "left", "space"], 24: ["m"], 40: ["q"]}
    _, display = played(folder, script, epsilon=0.0)
    frozen = open_frozen(folder)
    twin = AtariEnvironment(frozen.game, frozen.protocol)
    observation = twin.reset(**next(episode_starts(frozen.protocol, seed=0)))
    model = frozen.load_keras()
    skip = frozen.protocol.frame_skip
    # Keys that are pressed when the last frame of a step is shown count for the next one. LEFTFIRE is not in Breakout's
    # own action set, but moves like LEFT.
    manual = dict.fromkeys((2, 3), "RIGHT") | dict.fromkeys((4, 5), "LEFT")
    for step in range(9):
        np.testing.assert_array_equal(display.screens[skip * step], twin.screen)
        action = int(np.argmax(model(observation[None])[0]))
        if step in manual:
            action = frozen.actions.index(manual[step])
        observation, _, _ = twin.step(action)
    assert "you: RIGHT " in display.statuses[9]
    assert "you: LEFTFIRE " in display.statuses[17]
    assert "arrows move" in display.statuses[17]
    assert "agent" in display.statuses[25]


def test_a_network_with_a_memory_is_told_what_the_human_played(folder, monkeypatch):
    told, decide = [], Player.decide

    def decide_untold(self, *args, **kwargs):
        before = len(told)
        decided = decide(self, *args, **kwargs)
        del told[before:]  # what it tells itself
        return decided

    monkeypatch.setattr(Player, "note_played", lambda self, action: told.append(action))
    monkeypatch.setattr(Player, "decide", decide_untold)
    script = {8: ["m", "right"], 16: ["-right", "left", "space"], 24: ["m"], 40: ["q"]}
    played(folder, script, epsilon=0.0)
    assert told == [open_frozen(folder).actions.index("RIGHT")] * 2 + [0] * 2  # the agent knows no LEFTFIRE


def test_several_games_are_played_to_their_ends(folder, monkeypatch):
    frozen = open_frozen(folder)
    short = replace(frozen, protocol=replace(frozen.protocol, max_frames=12))
    monkeypatch.setattr("neurozoo.play.game.open_frozen", lambda path: short)
    games, display = played(folder, {}, games=2)
    assert [(game.steps, game.is_finished) for game in games] == [(3, True), (3, True)]
    assert len(display.screens) == 2 * (1 + 3 * 4)


def test_an_environment_without_an_emulator_is_shown_step_by_step(frozen_folder):
    folder = frozen_folder("small", game="river_crossing")
    _, display = played(folder, {5: ["m", "right"], 12: "q"}, epsilon=0.0)
    gaps = np.diff(display.times)
    np.testing.assert_allclose(gaps, 1 / 15)
    assert not display.sounds
    assert "you: RIGHT " in display.statuses[6]
    assert all("volume 50" not in status for status in display.statuses)


@pytest.mark.parametrize(
    ("game", "reason"),
    [
        ("hard_maze", "continuous actions, so it has no joystick for a human"),
        ("gym.CartPole-v1", "ACTION_0, ACTION_1, of which none is a direction or FIRE"),
    ],
)
def test_what_has_no_joystick_is_not_played_with_keys(frozen_folder, game, reason):
    folder = frozen_folder("simple", game=game)
    _, display = played(folder, {2: ["m", "right"], 4: "q"})
    assert all("agent" in status for status in display.statuses)
    with pytest.raises(NeurozooError, match=reason):
        played(folder, {}, is_manual=True)


def test_ctrl_c_ends_the_game_like_the_key_q(folder):
    clock = Clock()
    display = FakeDisplay({}, clock=clock)

    def interrupt():
        if len(display.screens) == 6:
            raise KeyboardInterrupt
        return ()

    display.read_keys = interrupt
    (game,) = play_games(folder, display, clock=clock, sleep=clock.sleep)
    assert (game.steps, game.is_finished) == (1, False)


def test_a_long_delay_is_only_partly_caught_up_with(folder):
    clock = Clock()
    display = FakeDisplay({30: "q"}, clock=clock)
    show, counter = display.show, itertools.count()

    def slow(screen, status):
        clock.now += 5.0 if next(counter) == 10 else 0.0
        show(screen, status)

    display.show = slow
    play_games(folder, display, clock=clock, sleep=clock.sleep)
    late = np.diff(display.times)[10:]
    assert np.sum(late < 0.001) <= 0.25 / 0.017 + 1
    np.testing.assert_allclose(late[-3:], 0.017)


def test_what_cannot_be_played_is_refused(folder, tmp_path):
    with pytest.raises(NeurozooError, match="action_noise should be a probability from 0 to 1"):
        played(folder, {}, epsilon=1.5)
    with pytest.raises(NeurozooError, match=r"model\.json is missing"):
        played(tmp_path, {})


@pytest.mark.parametrize("place", ["run", "frozen"])
def test_command_plays_a_run_or_a_frozen_folder(folder, tmp_path, monkeypatch, capsys, place):
    class Window(FakeDisplay):
        def __init__(self, title, *, is_heard):
            super().__init__({0: "s" * 9, 10: "q"}, clock=lambda: 0.0)
            assert (title, is_heard) == ("ga/breakout/small/1", False)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            print("closed")

    monkeypatch.setattr("neurozoo.play.WindowDisplay", Window)
    shutil.copytree(folder, tmp_path / "frozen")
    main(["play", str(tmp_path if place == "run" else folder), "--no-sound", "--games", "2"])
    assert capsys.readouterr().out.splitlines() == ["closed", "game 1: score 0 in 2 steps, not finished"]
