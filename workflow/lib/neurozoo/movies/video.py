"""Writes H.264 video with the ffmpeg that comes with imageio-ffmpeg."""

import contextlib
import fcntl
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np

from neurozoo.errors import NeurozooError, explained
from neurozoo.files import open_file, written_whole
from neurozoo.folders import reached

# Browsers take videos of 720 rows and more for BT.709; ffmpeg would write BT.601.
HD_COLOURS = [
    "-vf", "scale=out_color_matrix=bt709:flags=fast_bilinear", "-colorspace", "bt709", "-color_primaries", "bt709",
    "-color_trc", "bt709", "-color_range", "tv",
]  # fmt: skip
SOUND_RATE = 48_000  # samples per second of a movie's sound; every browser plays this rate
_THREADS = 2  # of the encoder; drawing takes a third of a core besides
# A picture of 1920 x 1080 pixels has 8 MB; the kernel's 64 kB would wake the encoder 127 times for it.
_PIPE_BYTES = 2**20
POSTER = ".poster.png"  # takes the place of a movie's suffix
POSTER_AT = 1 / 3  # of the movie's length, because the first frames of a game are empty or fade in


class Filming(TypedDict, total=False):
    """What all movies of rollouts take."""

    max_steps: int  # shows only the first steps; 0 for all
    log: str | os.PathLike | None  # see `Progress`
    terminal: str  # see `Progress`


@contextlib.contextmanager
def video_written_whole(
    path: str | os.PathLike,
    *,
    width: int,
    height: int,
    fps: int,
    sound: str | os.PathLike | None = None,
    sound_rate: int = 0,
    is_packed: bool = False,
    poster_at: float = POSTER_AT,
) -> Iterator[Callable[[np.ndarray], None]]:
    """Encodes frames to a video that appears whole or not at all.

    The same frames give the same bytes on any number of cores: the encoder always uses `_THREADS` threads, and writes
    neither date nor version. It runs beside the caller, as a process of its own.

    Width and height are even numbers of pixels. The `sound` is as long as the movie, a file of unsigned bytes, one per
    sample, `sound_rate` per second, without a header; 128 is silence. Packed frames have one number per pixel, see
    `neurozoo.movies.themes`. The poster is the first frame for a `poster_at` of 0, the last one for 1.

    Yields:
        A function that takes a frame: uint8, shape (height, width, 3), or packed pixels, uint32, shape (height, width).

    Raises:
        NeurozooError: `path` has another ending, or ffmpeg is missing or failed; the message quotes its last line.
    """
    if Path(path).suffix != ".mp4":
        raise NeurozooError(f"A movie should be written to an .mp4, but the file is {path}.")
    audio_in = [] if sound is None else ["-f", "u8", "-ar", str(sound_rate), "-ac", "1", "-i", os.fspath(sound)]
    audio_out = [] if sound is None else ["-c:a", "aac", "-b:a", "96k", "-ar", str(SOUND_RATE), "-flags:a", "+bitexact"]
    pixels, colours = ("rgb0", HD_COLOURS) if is_packed else ("rgb24", [])
    shown = 0

    with written_whole(path) as temporary, tempfile.TemporaryFile() as messages:
        command = [
            ffmpeg_path(), "-y", "-loglevel", "error",
            "-f", "rawvideo", "-pix_fmt", pixels, "-s", f"{width}x{height}", "-r", str(fps), "-i", "-", *audio_in,
            "-c:v", "libx264", "-preset", "veryfast", "-crf", "18", "-pix_fmt", "yuv420p", "-threads", str(_THREADS),
            *colours,
            *audio_out,
            "-fflags", "+bitexact", "-flags:v", "+bitexact", "-map_metadata", "-1", "-movflags", "+faststart",
            os.fspath(temporary),
        ]  # fmt: skip
        encoder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=messages, stderr=messages)
        frames = encoder.stdin
        assert frames is not None  # it is a pipe
        with contextlib.suppress(OSError, AttributeError):  # the system may allow less, or not be Linux
            fcntl.fcntl(frames, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

        def show(frame: np.ndarray) -> None:
            nonlocal shown
            shown += 1
            frames.write(np.ascontiguousarray(frame).data)

        try:
            with contextlib.suppress(BrokenPipeError):  # exit status and output then give the reason
                yield show
                frames.close()
            status = encoder.wait()
        finally:
            encoder.kill()
            encoder.wait()
        if status != 0:
            messages.seek(0)
            said = _last_line(messages.read().decode(errors="replace"))
            raise NeurozooError(
                f"{path} could not be written: ffmpeg ended with status {status} ({said}). An older file there is "
                "unchanged. Free some disk space, or check ffmpeg with `python -m imageio_ffmpeg`, and start again."
            )
    # The gallery would take it out of the movie otherwise, one after the other for all runs; so it may fail here.
    with contextlib.suppress(NeurozooError):
        draw_poster(path, poster_of(path), seconds=poster_time(shown, fps, poster_at))


def poster_of(movie: str | os.PathLike) -> Path:
    """Returns the picture that is written beside a movie, to be shown until the movie is played."""
    return Path(movie).with_suffix(POSTER)


def poster_time(frames: int, fps: float, part: float = POSTER_AT) -> float:
    """Returns the second of a movie whose picture is its poster; `part` is 0 for the first frame and 1 for the last."""
    return min(int(frames * part), max(0, frames - 1)) / fps


def draw_poster(movie: str | os.PathLike, output: str | os.PathLike, *, seconds: float) -> None:
    """Takes the picture of a movie that is shown after some seconds, and writes it to a `.png`.

    Raises:
        NeurozooError: The movie cannot be decoded, or ffmpeg is not installed.
    """
    with written_whole(output, is_durable=False) as temporary:
        start = ("-xerror", "-threads", "1", "-ss", f"{seconds:.3f}")
        # Without -update, a %d in the name would be a number.
        decode(movie, "-frames:v", "1", "-update", "1", os.fspath(temporary), before=start)
        if not temporary.stat().st_size:
            raise _undecodable(movie, "it has no such picture")


def decode(movie: str | os.PathLike, *options: str, before: Sequence[str] = ()) -> str:
    """Reads a movie with ffmpeg, which must neither guess a stranger's format nor open other files or addresses.

    The options `before` are those of the input. Returns what ffmpeg writes to its standard output.

    Raises:
        NeurozooError: The file is missing, or cannot be decoded; the message quotes the last line of ffmpeg.
    """
    command = [ffmpeg_path(), "-y", "-loglevel", "error", *before, "-f", "mov", "-protocol_whitelist", "file", "-i"]
    try:
        with open_file(movie) as file:
            command += [f"file:{reached(file.fileno())}", *options]
            answer = subprocess.run(command, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise explained(error, movie) from error
    if answer.returncode != 0:
        raise _undecodable(movie, _last_line(answer.stderr))
    return answer.stdout


def _undecodable(movie: str | os.PathLike, why: str) -> NeurozooError:
    return NeurozooError(f"{movie} cannot be decoded ({why}). Delete it and make it again.")


def _last_line(said: str) -> str:
    return (said.strip().splitlines() or ["ffmpeg wrote no message"])[-1].strip()


def ffmpeg_path() -> str:
    """Returns the path of the ffmpeg of imageio-ffmpeg, or of the one that its environment variable names."""
    import imageio_ffmpeg

    try:
        return imageio_ffmpeg.get_ffmpeg_exe()
    except RuntimeError as error:
        raise NeurozooError(
            "No ffmpeg was found for the movie. Reinstall it: pip install --force-reinstall imageio-ffmpeg; "
            "or name one in the environment variable IMAGEIO_FFMPEG_EXE."
        ) from error
