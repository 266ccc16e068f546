import os
import stat

import numpy as np
import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.environments.observations import ObservationShape
from neurozoo.errors import NeurozooError
from neurozoo.movies import video
from neurozoo.movies.activation_movie import render_activation_movie
from neurozoo.movies.activations import Ranges
from neurozoo.movies.video import video_written_whole


@pytest.fixture(scope="module")
def movie(frozen_folder, rollout_file, tmp_path_factory):
    path = tmp_path_factory.mktemp("movie") / "activation.mp4"
    render_activation_movie(frozen_folder("large"), rollout_file("large"), path, layout="classic")
    return path


def test_a_movie_has_a_frame_per_step_in_a_format_that_browsers_play(movie, decode):
    frames, facts = decode(movie)
    assert frames.shape == (40, 1000, 550, 3)
    assert facts["fps"] == 60
    assert facts["codec"] == "h264"
    assert facts["pix_fmt"].startswith("yuv420p")
    assert movie.read_bytes().find(b"moov") < movie.read_bytes().find(b"mdat")  # plays before it is all there


def test_the_movie_shows_the_game_and_the_observation_of_each_step(movie, rollout_file, decode):
    frames, _ = decode(movie)
    with np.load(rollout_file("large")) as rollout:
        for step in (0, 17, 39):
            screen = rollout["frames"][step].astype(float)
            shown = frames[step, 580:790, 50:210].astype(float)
            assert np.abs(screen - shown).mean() < 8  # of 255: video halves the resolution of colour
            newest = rollout["observations"][step, ..., 3]
            left = 350 - 341 // 2 + 3 * 85 + 1
            picture = frames[step, 26:110, left : left + 84].mean(axis=-1)
            assert np.corrcoef(newest.ravel(), picture.ravel())[0, 1] > 0.98


def test_a_rollout_that_is_read_in_chunks_is_shown_whole(frozen_folder, rollout_file, tmp_path, monkeypatch):
    monkeypatch.setattr("neurozoo.rollouts.rollout_files.CHUNK", 7)
    seen = []
    compose = "neurozoo.movies.classic_frame.Canvas.compose"
    monkeypatch.setattr(compose, lambda self, step: seen.append(step) or self._base)
    render_activation_movie(frozen_folder("small"), rollout_file("small"), tmp_path / "x.mp4", layout="classic")
    with np.load(rollout_file("small")) as rollout:
        np.testing.assert_array_equal([step.screen for step in seen], rollout["frames"])
        assert [step.score for step in seen] == rollout["score"].tolist()
        model = open_frozen(frozen_folder("small")).load_keras()
        assert [step.action for step in seen] == np.argmax(model(rollout["observations"]), axis=-1).tolist()
    assert [step.number for step in seen] == list(range(40))


def test_maps_are_scaled_one_by_one_and_dense_layers_as_a_whole_over_the_whole_rollout():
    ranges = Ranges([False, False])
    maps = np.array([[0.0, 10.0], [1.0, 30.0]], np.float32).reshape(2, 1, 1, 2)  # (batch, height, width, channels)
    units = np.array([[0.0, 1.0], [2.0, 4.0]], np.float32)
    for step in range(2):  # in two chunks
        ranges.widen([maps[step : step + 1], units[step : step + 1]])
    scaled = ranges.scaled([maps, units])
    assert scaled[0].reshape(2, 2).tolist() == [[0, 0], [255, 255]]
    assert scaled[1].tolist() == [[0, 64], [128, 255]]
    assert scaled[1].dtype == np.uint8


def test_frames_of_an_observation_share_a_scale_although_only_the_older_ones_begin_empty():
    ranges = Ranges([False], like_channels=True)
    frames = np.array([[0.0, 0.2], [0.2, 1.0], [1.0, 0.2]], np.float32).reshape(3, 1, 1, 2)
    ranges.widen([frames])
    assert ranges.scaled([frames])[0].reshape(3, 2).tolist() == [[0, 51], [51, 255], [255, 51]]


@pytest.mark.parametrize(
    ("shape", "is_like"),
    [((84, 84, 1, 4), True), ((20, 20, 3, 1), True), ((20, 20, 6, 1), False), ((1, 1, 4, 1), False)],
)
def test_channels_that_mean_the_same_are_colours_or_frames(shape, is_like):
    assert ObservationShape(*shape).has_like_channels == is_like


def test_constant_activations_are_black_and_not_nan():
    ranges = Ranges([False, False])
    constant = [np.full((3, 2, 2, 1), 0.7, np.float32), np.full((3, 4), -5, np.float32)]
    ranges.widen(constant)
    with np.errstate(all="raise"):
        assert [picture.max() for picture in ranges.scaled(constant)] == [0, 0]


def test_a_truncated_rollout_is_refused_and_the_old_movie_stays(frozen_folder, rollout_file, tmp_path):
    data = rollout_file("small").read_bytes()
    (tmp_path / "rollout.npz").write_bytes(data[: len(data) // 2])
    (tmp_path / "x.mp4").write_bytes(b"old")
    with pytest.raises(NeurozooError, match=r"rollout\.npz is damaged or cut off .* Record it again"):
        render_activation_movie(frozen_folder("small"), tmp_path / "rollout.npz", tmp_path / "x.mp4")
    assert (tmp_path / "x.mp4").read_bytes() == b"old"


def test_a_rollout_of_another_agent_with_the_same_network_is_refused(frozen_folder, rollout_file, tmp_path):
    with pytest.raises(NeurozooError, match=r"rollout\.npz is not a rollout of the agent in"):
        render_activation_movie(frozen_folder("small", seed=2), rollout_file("small"), tmp_path / "x.mp4")
    assert not (tmp_path / "x.mp4").exists()


@pytest.mark.parametrize(
    "script", ["echo 'codec on strike' >&2; exit 3", "cat > /dev/null; echo 'codec on strike' >&2; exit 3"]
)
def test_a_failing_ffmpeg_is_quoted_and_leaves_the_old_video(tmp_path, monkeypatch, script):
    ffmpeg = tmp_path / "ffmpeg"
    ffmpeg.write_text(f"#!/bin/sh\n{script}\n")
    ffmpeg.chmod(ffmpeg.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(video, "ffmpeg_path", lambda: str(ffmpeg))
    folder = tmp_path / "movies"
    folder.mkdir()
    (folder / "x.mp4").write_bytes(b"old")

    def encode():
        with video_written_whole(folder / "x.mp4", width=64, height=64, fps=60) as show:
            for _ in range(100):
                show(np.zeros((64, 64, 3), np.uint8))

    with pytest.raises(NeurozooError, match=r"ffmpeg ended with status 3 \(codec on strike\)"):
        encode()
    assert (folder / "x.mp4").read_bytes() == b"old"
    assert os.listdir(folder) == ["x.mp4"]


def test_the_name_of_a_movie_is_no_pattern(tmp_path):
    with video_written_whole(tmp_path / "a%d[1]{x}.mp4", width=64, height=64, fps=60) as show:
        show(np.zeros((64, 64, 3), np.uint8))
    assert sorted(os.listdir(tmp_path)) == ["a%d[1]{x}.mp4", "a%d[1]{x}.poster.png"]


def test_a_missing_ffmpeg_is_named(tmp_path, monkeypatch):
    import imageio_ffmpeg

    def none():
        raise RuntimeError("No ffmpeg exe could be found.")

    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", none)
    with (
        pytest.raises(NeurozooError, match="Reinstall it: pip install --force-reinstall imageio-ffmpeg"),
        video_written_whole(tmp_path / "x.mp4", width=64, height=64, fps=60),
    ):
        pass


def test_an_error_while_drawing_ends_the_encoder_and_leaves_nothing(tmp_path):
    def encode():
        with video_written_whole(tmp_path / "x.mp4", width=64, height=64, fps=60) as show:
            show(np.zeros((64, 64, 3), np.uint8))
            raise ValueError("no colour")

    with pytest.raises(ValueError, match="no colour"):
        encode()
    assert os.listdir(tmp_path) == []


@pytest.mark.long(seconds=12)
def test_a_full_disk_leaves_nothing_and_says_what_to_do(small_disk, frozen_folder, rollout_file):
    message, files = small_disk(
        """
from neurozoo.movies.activation_movie import render_activation_movie
message = refusal(lambda: render_activation_movie(sys.argv[2], sys.argv[3], f"{sys.argv[1]}/x.mp4"))
print(json.dumps([message, os.listdir(sys.argv[1])]))
""",
        frozen_folder("large"),
        rollout_file("large"),
        size="64k",
    )
    assert "x.mp4 could not be written" in message
    assert "No space left on device" in message
    assert files == []
