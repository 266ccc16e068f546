"""Facts about a movie for the page that plays it: size, number of pictures and speed; and its poster picture."""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from neurozoo.errors import NeurozooError
from neurozoo.files import copy_file, open_file, written_whole
from neurozoo.folders import is_reached_by_link
from neurozoo.movies.classic_frame import Box
from neurozoo.movies.video import draw_poster, poster_of, poster_time

_REMEDY = "Delete it and make it again."
_SOUND, _PICTURE = b"soun", b"vide"


@dataclass(frozen=True)
class VideoFacts:
    """Facts from the header of an MP4 file."""

    width: int  # pixels
    height: int
    frames: int
    fps: float
    has_sound: bool


def read_video(path: str | os.PathLike) -> VideoFacts:
    """Reads an MP4 file's header, in a millisecond, and notices a file that was cut off.

    Raises:
        NeurozooError: It is not an MP4 file, was cut off, or holds no pictures.

    Source: ISO/IEC 14496-12, the boxes `moov`, `trak`, `tkhd`, `mdhd`, `hdlr` and `stts`.
    """
    try:
        data = _read_moov(Path(path))
        tracks = [dict(_boxes(track)) for kind, track in _boxes(data) if kind == b"trak"]
        media = [dict(_boxes(track[b"mdia"])) for track in tracks]
        kinds = [medium[b"hdlr"][8:12] for medium in media]
        video = kinds.index(_PICTURE)
        width, height = (side >> 16 for side in struct.unpack(">II", tracks[video][b"tkhd"][-8:]))
        ticks = _ticks_per_second(media[video][b"mdhd"])
        table = dict(_boxes(dict(_boxes(media[video][b"minf"]))[b"stbl"]))[b"stts"]
        runs = list(struct.iter_unpack(">II", table[8 : 8 + 8 * struct.unpack(">I", table[4:8])[0]]))
        frames, duration = sum(count for count, _ in runs), sum(count * length for count, length in runs)
        return VideoFacts(width, height, frames, frames * ticks / duration, _SOUND in kinds)
    except (KeyError, ValueError, IndexError, struct.error, ZeroDivisionError) as error:
        raise NeurozooError(
            f"{path} is not a complete MP4 movie ({error or type(error).__name__}). {_REMEDY}"
        ) from error


def _read_moov(path: Path) -> bytes:
    """Returns the box `moov`, and checks that all boxes are as long as their headers say."""
    found = {}
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        while (start := file.tell()) < size:
            length, kind = struct.unpack(">I4s", file.read(8))
            if length == 1:
                (length,) = struct.unpack(">Q", file.read(8))
            end = start + length if length else size
            if end > size or end < file.tell():
                raise ValueError(f"it should have {end:,} bytes or more, but has {size:,}")
            found[kind] = file.read(end - file.tell()) if kind == b"moov" else b""
            file.seek(end)
    if b"mdat" not in found:
        raise ValueError("it holds no pictures")
    return found[b"moov"]


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    start = 0
    while start + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[start : start + 8])
        if length < 8:
            raise ValueError("its header is damaged")
        yield kind, data[start + 8 : start + length]
        start += length


def _ticks_per_second(header: bytes) -> int:
    return struct.unpack(">I", header[20:24] if header[0] == 1 else header[12:16])[0]


def find_poster(movie: str | os.PathLike, facts: VideoFacts, output: str | os.PathLike) -> None:
    """Gives a movie the picture that the page shows until it is played: the one beside it, or one taken out of it.

    Does nothing if the picture is newer than the movie.

    Raises:
        NeurozooError: The movie cannot be decoded, or ffmpeg is not installed.
    """
    if _is_newer(output, movie):
        return
    beside = poster_of(movie)
    if _is_newer(beside, movie) and not is_reached_by_link(beside):
        copy_file(beside, output, is_durable=False)
    else:
        draw_poster(movie, output, seconds=poster_time(facts.frames, facts.fps))


def crop_picture(picture: str | os.PathLike, box: Box, output: str | os.PathLike) -> None:
    """Writes a part of a picture as a `.png`, unless that file is newer than the picture."""
    if _is_newer(output, picture):
        return
    left, top, width, height = box
    with open_file(picture) as file, Image.open(file) as whole, written_whole(output, is_durable=False) as temporary:
        whole.crop((left, top, left + width, top + height)).save(temporary)


def _is_newer(path: str | os.PathLike, source: str | os.PathLike) -> bool:
    return Path(path).exists() and Path(path).stat().st_mtime >= Path(source).stat().st_mtime
