"""Worlds of an archive of the river crossing task; the agent in them, drawn and filmed."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from neurozoo.environments.level_domains import get_level_domain
from neurozoo.environments.river_crossing import SIDE, WATER
from neurozoo.environments.rivers.agents import make_agent
from neurozoo.environments.rivers.simulator import Walks, play
from neurozoo.environments.rivers.worlds import NUM_KINDS, planned_steps, starts
from neurozoo.errors import NeurozooError
from neurozoo.files import written_whole
from neurozoo.movies.level_movie import archived_level
from neurozoo.movies.video import video_written_whole
from neurozoo.records.run_config import read_identity

GAME = "river_crossing"
CELL = 24  # pixels
FPS = 10
_COLOURS = get_level_domain(GAME).tile_colours
_BRIDGE, _WAY, _STONE = "#a47148", "#26262b", "#c9c9cf"


def is_river_run(source: str | os.PathLike) -> bool:
    """Returns whether a path is the folder of a run in worlds of the river crossing task."""
    config = Path(source) / "config.yaml"
    return config.exists() and read_identity(config)["game"] == GAME


def world_of(run_dir: str | os.PathLike, *, cell: int | None = None) -> np.ndarray:
    """Reads a world from the archive of a run: uint8, shape (20, 20); see `level_movie.level_of` for the cell."""
    world, path = archived_level(run_dir, cell=cell), Path(run_dir) / "archive.npz"
    if world.shape != (SIDE, SIDE) or world.dtype.kind not in "iu" or not 0 <= world.min() <= world.max() < NUM_KINDS:
        raise NeurozooError(f"{path} holds no worlds of the river crossing task. The file is damaged.")
    return world.astype(np.uint8)


def describe_walk(world: np.ndarray, *, agent: str) -> dict[str, float | int]:
    """Lets an agent, by its name or its file, play a world once.

    Returns `solved` and `died` (0 or 1), `steps`, `stones_placed`, and `planned_steps`, those of a planner (0 if it
    has no plan).
    """
    walks = play(make_agent(agent), world[None])
    found = {
        "solved": walks.is_solved, "died": walks.is_dead, "steps": walks.steps, "stones_placed": walks.stones,
        "planned_steps": planned_steps(world[None]),
    }  # fmt: skip
    return {name: int(array[0]) for name, array in found.items()}


def draw_walk(world: np.ndarray, output: str | os.PathLike, *, agent: str) -> None:
    """Draws the world as an agent leaves it, with its way: a PNG of 480 x 480 pixels."""
    if Path(output).suffix != ".png":
        raise NeurozooError(f"The picture of a level should be written to a .png, but the file is {output}.")
    *_, picture = _pictures(world, play(make_agent(agent), world[None]))
    with written_whole(output) as temporary:
        picture.save(temporary, format="PNG", optimize=True)


def film_walk(world: np.ndarray, output: str | os.PathLike, *, agent: str) -> None:
    """Films the agent in a world, ten steps per second, and the end for a second: 480 x 480 pixels."""
    with video_written_whole(output, width=SIDE * CELL, height=SIDE * CELL, fps=FPS) as write:
        for picture in _pictures(world, play(make_agent(agent), world[None])):
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
