"""Ten seconds of an activation movie that repeat without end, for a README, a link preview, or a card of the gallery.

WebP, because GitHub, chats and all browsers show it as a picture, without a player. The same frames took 0.2 MB as
AVIF, which READMEs and chats do not show everywhere, 1.9 MB as WebP, and 4.2 MB as GIF with 256 colours.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from neurozoo.errors import NeurozooError
from neurozoo.files import written_whole
from neurozoo.movies.video import decode
from neurozoo.rollouts.rollout_files import RolloutReader

SECONDS, FPS = 10, 15
STRIDE = 2  # steps from one picture to the next: 30 steps per second, twice as fast as the game
WIDTH = 640  # pixels
LARGEST = 2_000_000  # bytes
QUALITIES = (60, 45, 30, 15, 5)  # of the encoder; the first whose file is small enough is taken


@dataclass(frozen=True)
class Loop:
    """Summary of a loop: its first step in the rollout, from 0, the number of pictures, and the size in bytes."""

    first: int
    pictures: int
    size: int


def make_loop(movie: str | os.PathLike, rollout: str | os.PathLike, output: str | os.PathLike) -> Loop:
    """Cuts a loop, a `.webp` of at most `LARGEST` bytes, out of an activation movie, where the agent scores most.

    The movie may show only the first steps of the rollout.

    Raises:
        NeurozooError: A file is missing or damaged, or even the lowest quality is too large.
    """
    with RolloutReader(rollout, keys=("score", "starts", "ep_rewards")) as reader:
        gains = gains_of(reader.whole("score"), reader.whole("starts")[:, 0], reader.whole("ep_rewards"))
    gains = gains[: _count_pictures(movie)]
    steps = min(len(gains), SECONDS * FPS * STRIDE)
    first = best_start(gains, steps)
    stride = STRIDE if steps > SECONDS * FPS else 1
    with written_whole(output) as temporary:
        for quality in QUALITIES:
            _encode(movie, temporary, first=first, steps=steps, stride=stride, quality=quality)
            size = Path(temporary).stat().st_size
            if size <= LARGEST:
                return Loop(first, -(-steps // stride), size)
        raise NeurozooError(
            f"{output} should have at most {LARGEST:,} bytes, but has {size:,} even at the lowest quality. Make the "
            "movie with movie.rows: 720."
        )


def _count_pictures(movie: str | os.PathLike) -> int:
    counted = decode(movie, "-map", "0:v:0", "-c", "copy", "-f", "framemd5", "-")
    return sum(not line.startswith("#") for line in counted.splitlines())


def gains_of(scores: npt.ArrayLike, starts: npt.ArrayLike, totals: npt.ArrayLike) -> np.ndarray:
    """Returns the points that each step gains; losses count as none.

    `scores` are those before each step, `starts` the first steps of the episodes, and `totals` their final scores.
    """
    before = np.asarray(scores, float)
    after = np.append(before[1:], 0.0)
    after[np.append(np.asarray(starts)[1:], len(before)) - 1] = totals
    return np.maximum(after - before, 0)


def best_start(gains: np.ndarray, steps: int) -> int:
    """Returns the first step of the stretch of `steps` in which most points are gained; in the middle if none are."""
    total = np.concatenate([[0.0], np.cumsum(gains)])
    gains = total[steps:] - total[: len(total) - steps]
    best = np.flatnonzero(gains == gains.max())
    return int(best[len(best) // 2])


def _encode(movie: str | os.PathLike, output: Path, *, first: int, steps: int, stride: int, quality: int) -> None:
    chosen = rf"between(n\,{first}\,{first + steps - 1})*not(mod(n-{first}\,{stride}))"
    decode(
        movie, "-an", "-vf", f"select={chosen},setpts=N/{FPS}/TB,scale='min({WIDTH},iw)':-2:flags=lanczos",
        "-r", str(FPS), "-c:v", "libwebp_anim", "-loop", "0", "-q:v", str(quality), "-compression_level", "4",
        "-threads", "1", "-fflags", "+bitexact", "-map_metadata", "-1", "-f", "webp", os.fspath(output),
    )  # fmt: skip
