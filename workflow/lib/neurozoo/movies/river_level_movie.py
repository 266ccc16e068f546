"""Worlds of an archive of the river crossing task; the agent in them, drawn and filmed."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from neurozoo.environments.level_domains import get_level_domain
from neurozoo.environments.river_crossing import SIDE, WATER
from neurozoo.environments.rivers.domain import values_of
from neurozoo.environments.rivers.simulator import Walks
from neurozoo.environments.rivers.worlds import NUM_KINDS, starts
from neurozoo.errors import NeurozooError
from neurozoo.files import written_whole
from neurozoo.movies.level_movie import archived_level
from neurozoo.movies.video import video_written_whole
from neurozoo.records.run_config import read_identity
from neurozoo.records.stored_archive import read_stored_archive

GAME = "river_crossing"
CELL = 24  # pixels
FPS = 10
_COLOURS = get_level_domain(GAME).tile_colours
_BRIDGE, _WAY, _STONE = "#a47148", "#26262b", "#c9c9cf"


def is_river_run(source: str | os.PathLike) -> bool:
    """Returns whether a path is the folder of a run, or of an archive alone, of the river crossing task."""
    config, archive = Path(source) / "config.yaml", Path(source) / "archive.npz"
    if config.exists():
        return read_identity(config)["game"] == GAME
    return archive.exists() and read_stored_archive(archive).facts.get("game") == GAME


def world_of(run_dir: str | os.PathLike, *, cell: int | None = None) -> np.ndarray:
    """Reads a world from the archive of a run: uint8, shape (20, 20); see `level_movie.level_of` for the cell."""
    world, path = archived_level(run_dir, cell=cell), Path(run_dir) / "archive.npz"
    if world.shape != (SIDE, SIDE) or world.dtype.kind not in "iu" or not 0 <= world.min() <= world.max() < NUM_KINDS:
        raise NeurozooError(f"{path} holds no worlds of the river crossing task. The file is damaged.")
    return world.astype(np.uint8)


def describe_walk(world: np.ndarray, walks: Walks) -> dict[str, int]:
    """Returns `solved` and `died` (0 or 1), `steps`, `stones_placed` and `planned_steps`, as an archive has them.

    So a failure counts as 200 steps, and -1 stands for no plan.
    """
    values = values_of(world[None], walks)
    return {name: int(values[name][0]) for name in ("solved", "died", "steps", "stones_placed", "planned_steps")}


def draw_walk(world: np.ndarray, walks: Walks, output: str | os.PathLike) -> None:
    """Draws the world as an agent leaves it, with its way: a PNG of 480 x 480 pixels."""
    if Path(output).suffix != ".png":
        raise NeurozooError(f"The picture of a level should be written to a .png, but the file is {output}.")
    *_, picture = _pictures(world, walks)
    with written_whole(output) as temporary:
        picture.save(temporary, format="PNG", optimize=True)


def film_walk(world: np.ndarray, walks: Walks, output: str | os.PathLike) -> None:
    """Films the agent in a world, ten steps per second, and the end for a second: 480 x 480 pixels."""
    with video_written_whole(output, width=SIDE * CELL, height=SIDE * CELL, fps=FPS) as write:
        for picture in _pictures(world, walks):
            write(np.asarray(picture))
        for _ in range(FPS):
            write(np.asarray(picture))


def _pictures(world: np.ndarray, walks: Walks) -> Iterator[Image.Image]:
    """Yields the start of an agent's walk through a world, and what each step leaves."""
    colours = np.array(_COLOURS, object)[world]
    (row,), (column,) = starts(world[None])
    way, carries = [(int(row), int(column))], False
    yield _picture(colours, way, carries)
    for cell, carries_now in zip(walks.cells[0, : walks.steps[0]], walks.carries[0], strict=False):
        way.append((int(cell) // SIDE, int(cell) % SIDE))
        if carries_now != carries:
            colours[way[-1]] = _BRIDGE if world[way[-1]] == WATER else _COLOURS[0]
            carries = carries_now
        yield _picture(colours, way, carries)


def _picture(colours: np.ndarray, way: list[tuple[int, int]], carries: bool) -> Image.Image:
    image = Image.new("RGB", (SIDE * CELL, SIDE * CELL))
    pen = ImageDraw.Draw(image)
    for (row, column), colour in np.ndenumerate(colours):
        pen.rectangle((column * CELL, row * CELL, (column + 1) * CELL - 1, (row + 1) * CELL - 1), fill=colour)
    points = [((column + 0.5) * CELL, (row + 0.5) * CELL) for row, column in way]
    pen.line(points, fill=_WAY, width=3, joint="curve")
    pen.circle(points[-1], CELL * 0.4, fill=_WAY)
    if carries:
        pen.circle(points[-1], CELL * 0.22, fill=_STONE)
    return image
