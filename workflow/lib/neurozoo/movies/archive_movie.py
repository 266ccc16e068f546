"""Films how an archive fills, iteration after iteration."""

import os

import numpy as np

from neurozoo.movies.panels import write_fitting
from neurozoo.movies.screens import enlarged, even
from neurozoo.movies.video import check_fps, video_written_whole
from neurozoo.records.level_table import read_levels
from neurozoo.records.stored_archive import StoredArchive, read_stored_archive

_HEAD = 28  # pixels above the archive, for a line of text
_LEAST = 480  # pixels of the wider side of the archive
_MOST_FRAMES = 250  # as in the paper's movies
_EMPTY = np.array([235, 235, 235], np.uint8)


def film_archive(
    archive: str | os.PathLike, levels: str | os.PathLike, output: str | os.PathLike, *, fps: int = 20
) -> int:
    """Films how the archive of a run filled: one frame per iteration, at most 250, by the run's own records.

    Args:
        archive: The run's `archive.npz`.
        levels: Its `levels.parquet`.
        output: The `.mp4` to write. The first measure runs to the right, the second upwards.
        fps: Frames per second.

    Returns:
        The number of frames.

    Raises:
        NeurozooError: A file is missing or damaged, or ffmpeg fails.
    """
    check_fps(fps)
    stored = read_stored_archive(archive)
    frames = replayed(stored, read_levels(levels, ["iteration", "objective", "failed", *stored.measures]))
    zoom = max(1, -(-_LEAST // max(stored.dims)))
    height, width = even(stored.dims[1] * zoom) + _HEAD, even(stored.dims[0] * zoom)
    with video_written_whole(output, width=width, height=height, fps=fps) as write:
        for number, grid in frames:
            write(_frame(grid, number, zoom=zoom, height=height, width=width))
    return len(frames)


def replayed(stored: StoredArchive, levels: dict[str, np.ndarray]) -> list[tuple[int, np.ndarray]]:
    """Fills the archive again from the levels.

    Args:
        stored: The archive, for its cells.
        levels: `iteration`, `objective`, `failed` and both measures of all levels.

    Returns:
        Numbers of iterations, from 1, and objectives on the grid after them, NaN where there is no elite.
    """
    low, high = stored.ranges[:, 0], stored.ranges[:, 1]
    measures = np.stack([levels[name] for name in stored.measures], axis=1).astype(np.float32)
    dims, good = np.array(stored.dims), ~levels["failed"].astype(bool)
    places = np.zeros(measures.shape, int)
    # As pyribs has it, in single precision, with its small number that lifts rounded measures over a border.
    places[good] = (dims * (measures[good] - np.float32(low)) + np.float32(1e-6)) / np.float32(high - low)
    places = np.clip(places, 0, dims - 1)
    grid = np.full(stored.dims, np.nan)
    count = int(levels["iteration"].max()) + 1 if len(measures) else 0
    shown = set(np.unique(np.linspace(0, count - 1, min(count, _MOST_FRAMES)).round().astype(int)).tolist())
    frames = []
    for iteration in range(count):
        for level in np.flatnonzero(good & (levels["iteration"] == iteration)):
            place = tuple(places[level])
            if not levels["objective"][level] <= grid[place]:
                grid[place] = levels["objective"][level]
        if iteration in shown:
            frames.append((iteration + 1, grid.copy()))
    return frames


def _frame(grid: np.ndarray, number: int, *, zoom: int, height: int, width: int) -> np.ndarray:
    from matplotlib import colormaps

    picture = (colormaps["viridis"](np.clip(np.nan_to_num(grid), 0, 1))[..., :3] * 255).astype(np.uint8)
    picture[np.isnan(grid)] = _EMPTY
    picture = enlarged(np.ascontiguousarray(picture.transpose(1, 0, 2)[::-1]), zoom)
    frame = np.full((height, width, 3), 255, np.uint8)
    frame[_HEAD : _HEAD + picture.shape[0], : picture.shape[1]] = picture
    filled = int(np.isfinite(grid).sum())
    text = f"iteration {number}: {filled:,} elites, coverage {100 * filled / grid.size:.2f} %"
    write_fitting(frame, text, width // 2, _HEAD // 2, width - 16)
    return frame
