import os
import shutil
import subprocess

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.gallery.video_facts import VideoFacts, crop_picture, find_poster, read_video
from neurozoo.movies.video import ffmpeg_path
from PIL import Image

MOVIE = "runs/ga/frostbite/small/1/activation.mp4"


def test_a_movie_s_facts_are_read_without_decoding_it(pristine):
    assert read_video(pristine / MOVIE) == VideoFacts(width=550, height=1000, frames=90, fps=60.0, has_sound=False)


def test_sound_and_another_rate_are_noticed(tmp_path):
    path = tmp_path / "sound.mp4"
    inputs = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=15:duration=2", "-f", "lavfi", "-i", "sine=duration=2"]
    subprocess.run([ffmpeg_path(), "-v", "error", *inputs, "-pix_fmt", "yuv420p", str(path)], check=True)
    assert read_video(path) == VideoFacts(width=64, height=48, frames=30, fps=15.0, has_sound=True)


@pytest.mark.parametrize("size", [0, 5, 40, 2000, -1])
def test_a_movie_that_was_cut_off_is_refused(pristine, tmp_path, size):
    path = tmp_path / "cut.mp4"
    path.write_bytes((pristine / MOVIE).read_bytes()[:size])
    with pytest.raises(NeurozooError, match=r"cut\.mp4 is not a complete MP4 movie .* make it again"):
        read_video(path)


def test_the_poster_is_a_picture_of_the_movie_and_made_once(pristine, tmp_path):
    poster, screen = tmp_path / "poster.png", tmp_path / "screen.png"
    facts = read_video(pristine / MOVIE)
    find_poster(pristine / MOVIE, facts, poster)
    crop_picture(poster, (50, 580, 160, 210), screen)
    with Image.open(screen) as picture:
        assert picture.size == (160, 210)
        digits = [picture.convert("L").getpixel((16 * digit + 8, 8)) > 128 for digit in range(8)]
    assert sum(digit << place for place, digit in enumerate(digits)) == 30  # a third of the movie
    poster.write_bytes(b"mine")
    find_poster(pristine / MOVIE, facts, poster)
    assert poster.read_bytes() == b"mine"


def test_the_picture_that_the_movies_job_has_left_is_taken_without_decoding_the_movie(pristine, tmp_path):
    beside = pristine / MOVIE.replace(".mp4", ".poster.png")
    with Image.open(beside) as picture:
        assert picture.size == (550, 1000)
    path = tmp_path / "activation.mp4"
    path.write_bytes(b"no movie")
    shutil.copyfile(beside, tmp_path / "activation.poster.png")
    find_poster(path, VideoFacts(550, 1000, 90, 60.0, has_sound=False), tmp_path / "found.png")
    assert (tmp_path / "found.png").read_bytes() == beside.read_bytes()


def test_a_picture_beside_a_newer_movie_or_behind_a_link_is_not_taken(pristine, tmp_path):
    facts = read_video(pristine / MOVIE)
    path, beside = tmp_path / "activation.mp4", tmp_path / "activation.poster.png"
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    shutil.copyfile(pristine / MOVIE, path)
    beside.write_bytes(b"old")
    os.utime(beside, (1, 1))
    for number in (1, 2):
        find_poster(path, facts, tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").read_bytes().startswith(b"\x89PNG")
        beside.unlink()
        beside.symlink_to(secret)


def test_a_movie_that_cannot_be_decoded_is_named(pristine, tmp_path):
    path = tmp_path / "noise.mp4"
    shutil.copy(pristine / MOVIE, path)
    with open(path, "rb+") as file:
        start = file.read().index(b"mdat") + 4
        file.seek(start)
        file.write(bytes(path.stat().st_size - start))
    with pytest.raises(NeurozooError, match=r"noise\.mp4 cannot be decoded"):
        find_poster(path, read_video(path), tmp_path / "poster.png")
    assert not (tmp_path / "poster.png").exists()
