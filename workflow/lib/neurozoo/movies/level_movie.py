"""Levels of the platform game, taken from files and archives; the agent in them, described, drawn and filmed."""

import os
from pathlib import Path

import numpy as np

from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.algorithms.results import read_archive
from neurozoo.environments.level_domains import get_level_domain
from neurozoo.environments.platformer.domain import A_STAR
from neurozoo.environments.platformer.drawing import draw_tick, draw_way
from neurozoo.environments.platformer.evolved_runner import play_with, read_runner
from neurozoo.environments.platformer.simulator import CORE, Games, Replay, play, replay
from neurozoo.environments.platformer.tiles import HEIGHT, TILE_SIZE, WIDTH, checked_levels, read_level, to_characters
from neurozoo.errors import NeurozooError
from neurozoo.files import written_whole
from neurozoo.movies.video import video_written_whole
from neurozoo.records.run_config import read_identity
from neurozoo.records.stored_archive import agent_of_run

BUDGET = 450  # nodes that the A* agent may take from its open list per tick
FPS = 24  # as the original game
MOST_FRAMES = 700  # where a movie ends if the agent does not


def level_of(source: str | os.PathLike, *, cell: int | None = None) -> np.ndarray:
    """Reads a level, uint8, shape (16, 56), numbers of tiles, from a text file or from the archive of a run's folder.

    The level is that of a cell of the archive; of the elite with the highest objective, the first of equals, if it is
    None.

    Raises:
        NeurozooError: There is no such file or cell, or what is there is no platform level.
    """
    source = Path(source)
    if not source.is_dir():
        if cell is not None:
            raise NeurozooError(f"{source} is no folder of a run, so it has no cell {cell}. Leave --cell out.")
        return read_level(source)
    return checked_levels(archived_level(source, cell=cell)[None], source=str(source / "archive.npz"))[0]


def archived_level(run_dir: str | os.PathLike, *, cell: int | None = None) -> np.ndarray:
    """Reads a level from the archive of a run, as it is there; see `level_of` for the cell and errors."""
    path, config = Path(run_dir) / "archive.npz", Path(run_dir) / "config.yaml"
    if config.exists() and not path.exists():
        algo = str(read_identity(config)["algo"])
        if algo not in ALGORITHMS or ALGORITHMS[algo].result != "archive":
            raise NeurozooError(
                f"{run_dir} is a run of {algo}, which makes no levels. Name a run of a search for levels, such as "
                "map_elites (docs/dsage.md)."
            )
    arrays = read_archive(path)
    levels, cells = arrays.get("metadata_level"), arrays.get("metadata_cell", np.zeros(0))
    if levels is None or not len(levels):
        raise NeurozooError(f"{path} holds no levels. Name a run of the game mario or river_crossing.")
    if cell is None:
        place = int(np.argmax(arrays["objectives"]))
    elif (cells == cell).any():
        place = int(np.argmax(cells == cell))
    else:
        nearest = f" The nearest one with a level is {cells[np.argmin(np.abs(cells - cell))]}." if len(cells) else ""
        raise NeurozooError(f"Cell {cell} of {path} is empty.{nearest} The archive's page shows all.")
    return levels[place]


def agent_of(source: str | os.PathLike, game: str = "mario") -> tuple[str, bool]:
    """Returns the agent for a level: the run's own, or else the scripted one; see `level_of` and `agent_of_run`."""
    is_run, domain = (Path(source) / "config.yaml").exists(), get_level_domain(game)
    # Otherwise it is an archive alone, or a text file.
    return agent_of_run(source, domain) if is_run else (domain.agents[0], True)


def describe_run(level: np.ndarray, *, agent: str = A_STAR, core: str | os.PathLike = CORE) -> dict[str, float | int]:
    """Lets an agent play a level, uint8, shape (16, 56), once: `a_star`, or the file of an evolved one.

    Returns `status` (1 won, 2 lost, 3 time is out), `completion`, `jumps`, `kills` and `ticks`.

    Raises:
        NeurozooError: The native core or the agent's file is missing.
    """
    return _facts(_played(level, agent, core)[0])


def draw_run(
    level: np.ndarray, output: str | os.PathLike, *, agent: str = A_STAR, core: str | os.PathLike = CORE
) -> None:
    """Draws the agent's way through a level: a PNG of 896 x 256 pixels; see `describe_run`."""
    from PIL import Image

    if Path(output).suffix != ".png":
        raise NeurozooError(f"The picture of a level should be written to a .png, but the file is {output}.")
    picture = draw_way(level, _played(level, agent, core)[1])
    with written_whole(output) as temporary:
        Image.fromarray(picture).save(temporary, format="PNG", optimize=True)


def film_level(
    level: np.ndarray, output: str | os.PathLike, *, agent: str = A_STAR, core: str | os.PathLike = CORE
) -> dict[str, float | int]:
    """Films the agent in a level, one frame per tick: 896 x 256 pixels, with its way so far; see `describe_run`."""
    games, seen = _played(level, agent, core)
    with video_written_whole(output, width=WIDTH * TILE_SIZE, height=HEIGHT * TILE_SIZE, fps=FPS) as write:
        for tick in range(min(len(seen.status), MOST_FRAMES)):
            write(draw_tick(level, seen, tick))
    return _facts(games)


def _played(level: np.ndarray, agent: str, core: str | os.PathLike) -> tuple[Games, Replay]:
    characters = to_characters(level)
    if agent == A_STAR:
        games = play(characters[None], np.full((1, 1), BUDGET), core=core)
    else:
        games = play_with(read_runner(agent), characters[None], core=core)
    return games, replay(characters, games.buttons, core=core)


def _facts(games: Games) -> dict[str, float | int]:
    return {
        "status": games.status.item(),
        "completion": round(games.completion.item(), 4),
        "jumps": games.count("jumps").item(),
        "kills": games.count("kills").item(),
        "ticks": games.ticks.item(),
    }
