"""H.264 video through the ffmpeg that imageio-ffmpeg brings along."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.files import written_whole

SOUND_RATE = 48_000  # samples per second of the sound in a movie, which every browser plays


@dataclass(frozen=True)
class Sound:
    """Sound for a movie.

    Attributes:
        path: A file of unsigned bytes, one per sample, without a header; 128 is silence.
        rate: Samples per second.
    """

    path: str | os.PathLike
    rate: int


def check_fps(fps: int) -> None:
    """Refuses a movie that would stand still.

    Raises:
        NeurozooError: `fps` is below 1.
    """
    if fps < 1:
        raise NeurozooError(f"A movie has fps >= 1, but {fps} came.")


@contextlib.contextmanager
def video_written_whole(
    path: str | os.PathLike, *, width: int, height: int, fps: int, sound: Sound | None = None
) -> Iterator[Callable[[np.ndarray], None]]:
    """Encodes frames to a video that appears whole or not at all.

    The encoder runs beside the caller in one thread, and writes neither date nor version, so that the same frames give
    the same bytes on any number of cores.

    Args:
        path: The `.mp4` to write.
        width: Pixels, even.
        height: Pixels, even.
        fps: Frames per second.
        sound: What is heard, as long as the movie; None for a silent one.

    Yields:
        A function that takes a frame: uint8, shape (height, width, 3).

    Raises:
        NeurozooError: ffmpeg is missing or failed; its last words are in the message.
    """
    listen = [] if sound is None else ["-f", "u8", "-ar", str(sound.rate), "-ac", "1", "-i", os.fspath(sound.path)]
    speak = [] if sound is None else ["-c:a", "aac", "-b:a", "96k", "-ar", str(SOUND_RATE), "-flags:a", "+bitexact"]
    with written_whole(path) as temporary, tempfile.TemporaryFile() as words:
        command = [
            ffmpeg_path(), "-y", "-loglevel", "error",
            "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(fps), "-i", "-", *listen,
            "-c:v", "libx264", "-preset", "veryfast", "-crf", "18", "-pix_fmt", "yuv420p", "-threads", "1", *speak,
            "-fflags", "+bitexact", "-flags:v", "+bitexact", "-map_metadata", "-1", "-movflags", "+faststart",
            os.fspath(temporary),
        ]  # fmt: skip
        encoder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=words, stderr=words)
        try:
            with contextlib.suppress(BrokenPipeError):  # then its exit status and its words say why
                yield lambda frame: encoder.stdin.write(np.ascontiguousarray(frame, np.uint8))
                encoder.stdin.close()
            status = encoder.wait()
        finally:
            encoder.kill()
            encoder.wait()
        if status != 0:
            words.seek(0)
            said = words.read().decode(errors="replace").strip().splitlines() or ["it said nothing"]
            raise NeurozooError(
                f"{path} could not be written: ffmpeg ended with status {status} ({said[-1].strip()}). What stood "
                "there before is untouched. Free some space, or try `python -m imageio_ffmpeg`, and start again."
            )


def ffmpeg_path() -> str:
    """Returns the ffmpeg that imageio-ffmpeg brings along, or that its environment variable names.

    Raises:
        NeurozooError: There is none.
    """
    import imageio_ffmpeg

    try:
        return imageio_ffmpeg.get_ffmpeg_exe()
    except RuntimeError as error:
        raise NeurozooError(
            "No ffmpeg was found for the movie. Reinstall it: pip install --force-reinstall imageio-ffmpeg; "
            "or name one in the environment variable IMAGEIO_FFMPEG_EXE."
        ) from error
