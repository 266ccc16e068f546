import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.movies import looping_clip as loop
from neurozoo.movies.looping_clip import best_start, gains_of, make_loop
from neurozoo.movies.video import video_written_whole
from PIL import Image


@pytest.fixture
def movie(tmp_path):
    """A movie of 40 steps, each in its own grey, and noise that is hard to pack."""
    random = np.random.default_rng(0)
    with video_written_whole(tmp_path / "activation.mp4", width=320, height=180, fps=60) as show:
        for step in range(40):
            frame = np.full((180, 320, 3), 6 * step, np.uint8)
            frame[:, 160:] = random.integers(0, 255, (180, 160, 1), np.uint8)
            show(frame)
    return tmp_path / "activation.mp4"


def test_a_loop_shows_each_step_of_a_short_movie_and_repeats_without_end(movie, rollout_file, tmp_path):
    made = make_loop(movie, rollout_file("small"), tmp_path / "loop.webp")
    with Image.open(tmp_path / "loop.webp") as picture:
        assert picture.n_frames == made.pictures == 40
        assert picture.info["loop"] == 0
        assert picture.size == (320, 180)
        picture.seek(30)
        assert abs(np.asarray(picture.convert("L"))[:, :140].mean() - 180) < 4
        assert picture.info["duration"] in (66, 67)  # milliseconds
    assert made.size == (tmp_path / "loop.webp").stat().st_size


def test_a_loop_that_is_too_large_gets_a_lower_quality(movie, rollout_file, tmp_path, monkeypatch):
    large = make_loop(movie, rollout_file("small"), tmp_path / "x.webp").size
    monkeypatch.setattr(loop, "LARGEST", large - 1)
    assert make_loop(movie, rollout_file("small"), tmp_path / "x.webp").size < large
    monkeypatch.setattr(loop, "LARGEST", 1000)
    with pytest.raises(NeurozooError, match="should have at most 1,000 bytes, but has"):
        make_loop(movie, rollout_file("small"), tmp_path / "y.webp")
    assert not (tmp_path / "y.webp").exists()


def test_the_stretch_with_most_points_is_shown():
    gains = np.zeros(100)
    gains[[50, 80]] = 5, 30
    assert 70 < best_start(gains, 10) <= 80
    assert best_start(np.zeros(100), 10) == 45
    assert best_start(np.zeros(5), 5) == 0


def test_points_belong_to_the_step_that_gains_them():
    # -20 is the end of an episode and 0 the beginning of the next one.
    scores = np.array([0, -1, -1, -20, 0, 0, 3])
    assert gains_of(scores, [0, 4], [-21, 3]).tolist() == [0, 0, 0, 0, 0, 3, 0]
    # In a maze, only the last step of an episode gains something.
    assert gains_of(np.zeros(5), [0, 3], [0.9, 0.0]).tolist() == [0, 0, 0.9, 0, 0]


def test_a_movie_of_the_first_steps_has_a_loop_of_these(rollout_file, tmp_path):
    with video_written_whole(tmp_path / "short.mp4", width=32, height=18, fps=60) as show:
        for _ in range(9):  # of 40 steps
            show(np.zeros((18, 32, 3), np.uint8))
    assert make_loop(tmp_path / "short.mp4", rollout_file("small"), tmp_path / "loop.webp").pictures == 9


def test_a_movie_that_cannot_be_read_is_named(rollout_file, tmp_path):
    (tmp_path / "x.mp4").write_bytes(b"no movie")
    with pytest.raises(NeurozooError, match=r"x\.mp4 cannot be decoded \(.*\)\. Delete it and make it again"):
        make_loop(tmp_path / "x.mp4", rollout_file("small"), tmp_path / "loop.webp")
