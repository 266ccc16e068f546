import json
import subprocess

import numpy as np
import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.environments.atari import AtariEnvironment
from neurozoo.errors import NeurozooError
from neurozoo.movies.game_movie import film_game
from neurozoo.movies.screens import LINE
from neurozoo.movies.video import ffmpeg_path
from neurozoo.rollouts.rollout import record_rollout

STEPS = 60


@pytest.fixture(scope="module")
def noisy(frozen_folder, tmp_path_factory):
    """A frozen model and a rollout of a game with sticky actions that has sound from early on."""
    folder = frozen_folder("small", game="space_invaders", protocol="machado2018")
    rollout = tmp_path_factory.mktemp("noisy") / "rollout.npz"
    record_rollout(folder, rollout, max_steps=STEPS, seed=1)
    return folder, rollout


@pytest.fixture(scope="module")
def movie(noisy, tmp_path_factory):
    path = tmp_path_factory.mktemp("movie") / "game.mp4"
    facts = film_game(*noisy, path)
    return path, facts


def frame_by_frame(folder, rollout):
    """The slow twin: returns screen and sound of every frame."""
    frozen = open_frozen(folder)
    emulator = AtariEnvironment(frozen.game, frozen.protocol, is_heard=True)
    screens, sounds = [], []
    with np.load(rollout) as file:
        ((_, noops, seed),) = file["starts"].tolist()
        emulator.reset(noops=noops, seed=seed)
        for action in file["actions"]:
            emulator.step(action, watch=lambda _: (screens.append(emulator.screen), sounds.append(emulator.sound)))
    return np.array(screens), np.array(sounds)


def heard(path):
    """Decodes a movie's sound: float, 48,000 samples a second."""
    command = [ffmpeg_path(), "-loglevel", "error", "-i", str(path), "-vn", "-f", "f32le", "-ac", "1", "-"]
    return np.frombuffer(subprocess.run(command, capture_output=True, check=True).stdout, np.float32)


@pytest.mark.long(seconds=7)
def test_every_frame_of_the_console_is_shown_at_its_own_speed(movie, noisy, decode):
    path, facts = movie
    frames, told = decode(path)
    screens, _ = frame_by_frame(*noisy)
    assert frames.shape[1:] == (420 + 2 * LINE, 320, 3)
    assert len(frames) == len(screens) == facts.frames == 4 * STEPS
    assert (told["fps"], told["codec"], told["audio_codec"]) == (60, "h264", "aac")
    assert told["pix_fmt"].startswith("yuv420p")
    assert path.read_bytes().find(b"moov") < path.read_bytes().find(b"mdat")  # plays before it is all there
    for number in (0, 1, 2, 3, 117, len(frames) - 1):
        screen = screens[number].repeat(2, axis=0).repeat(2, axis=1).astype(float)
        assert np.abs(frames[number, :420] - screen).mean() < 8  # of 255: video halves the resolution of colour


def test_the_sound_is_that_of_the_console_and_as_long_as_the_movie(movie, noisy):
    path, facts = movie
    _, sounds = frame_by_frame(*noisy)
    sound = heard(path)
    assert abs(len(sound) / 48_000 - facts.seconds) < 1 / 60
    loudness = sound[: 800 * len(sounds)].reshape(-1, 800).std(axis=1)  # of each frame
    played = sounds.astype(float).std(axis=1)
    assert played.max() > 10
    fits = [np.corrcoef(np.roll(loudness, shift), played)[0, 1] for shift in range(-3, 4)]
    assert np.argmax(fits) == 3
    assert fits[3] > 0.9


def test_a_movie_can_be_shorter_and_without_overlay(noisy, tmp_path, decode):
    film_game(*noisy, tmp_path / "x.mp4", overlay=False, max_steps=5)
    assert decode(tmp_path / "x.mp4")[0].shape == (20, 420, 320, 3)
    assert {path.name for path in tmp_path.iterdir()} == {"x.mp4", "x.poster.png"}  # no file of sound is left


def test_points_appear_with_the_frame_that_gives_them(noisy, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "neurozoo.movies.screens.ScreenView.draw",
        lambda self, image, corner, screen, **facts: seen.append((facts["step"], facts["action"], facts["score"])),
    )
    film_game(*noisy, tmp_path / "x.mp4")
    with np.load(noisy[1]) as file:
        assert [(step, action) for step, action, _ in seen[::4]] == list(enumerate(file["actions"].tolist(), 1))
        assert [score for _, _, score in seen[3::4]] == [*file["score"][1:].tolist(), file["ep_rewards"][0]]
        assert file["ep_rewards"][0] > 0


def test_episodes_follow_each_other(own_copy, tmp_path, monkeypatch):
    record = json.loads((own_copy / "model.json").read_text())
    record["protocol"]["max_frames"] = 12
    (own_copy / "model.json").write_text(json.dumps(record))
    record_rollout(own_copy, tmp_path / "r.npz", episodes=3)
    steps = []
    monkeypatch.setattr("neurozoo.movies.screens.ScreenView.draw", lambda *_, **facts: steps.append(facts["step"]))
    film_game(own_copy, tmp_path / "r.npz", tmp_path / "x.mp4")
    assert steps == [1] * 4 + [2] * 4 + [3] * 4 + [1] * 4 + [2] * 4 + [3] * 4 + [1] * 4 + [2] * 4 + [3] * 4


def test_perturbed_episodes_are_replayed_as_they_were(frozen_folder, tmp_path):
    folder = frozen_folder("small")  # its protocol has no sticky actions
    record_rollout(folder, tmp_path / "r.npz", max_steps=40, action_noise=0.5, sticky_probability=0.5)
    movie = film_game(folder, tmp_path / "r.npz", tmp_path / "x.mp4")  # compares the screens
    assert movie.frames == 160


def test_a_world_without_frames_between_steps_has_a_slow_silent_movie(frozen_folder, tmp_path, decode):
    folder = frozen_folder("small", game="river_crossing")
    record_rollout(folder, tmp_path / "r.npz", max_steps=30)
    movie = film_game(folder, tmp_path / "r.npz", tmp_path / "x.mp4")
    frames, told = decode(tmp_path / "x.mp4")
    with np.load(tmp_path / "r.npz") as file:
        assert movie.frames == len(frames) == len(file["frames"])
        screen = file["frames"][-1].repeat(2, axis=0).repeat(2, axis=1).astype(float)
    assert np.abs(frames[-1, : len(screen)] - screen).mean() < 8
    assert told["fps"] == 15
    assert not told.get("audio_codec")
    assert not movie.has_sound


def test_an_episode_that_cannot_be_replayed_is_refused_and_the_old_movie_stays(noisy, tmp_path, rewritten):
    folder, rollout = noisy
    with np.load(rollout) as file:
        actions = file["actions"].copy()
    actions[20:] = (actions[20:] + 5) % 18
    wrong = rewritten(rollout, tmp_path / "x.npz", actions=actions)
    (tmp_path / "x.mp4").write_bytes(b"old")
    with pytest.raises(NeurozooError, match=r"cannot be replayed as space_invaders .* at step \d+\. Another model"):
        film_game(folder, wrong, tmp_path / "x.mp4")
    assert (tmp_path / "x.mp4").read_bytes() == b"old"
