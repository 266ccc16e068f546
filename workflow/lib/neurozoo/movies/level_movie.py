"""Films a run of the agent through a level of the platform game."""

import os

import numpy as np

from neurozoo.environments.platformer.drawing import draw_tick
from neurozoo.environments.platformer.simulator import OPS, play, replay
from neurozoo.environments.platformer.tiles import HEIGHT, TILE_SIZE, WIDTH, to_characters
from neurozoo.movies.video import check_fps, video_written_whole

BUDGET = 450  # nodes per tick


def film_level(
    level: np.ndarray,
    output: str | os.PathLike,
    *,
    budget: int = BUDGET,
    fps: int = 24,
    most_frames: int = 700,
    ops: str | os.PathLike = OPS,
) -> dict[str, float | int]:
    """Films the agent in a level, one frame per tick: 896 x 256 pixels, with its way so far.

    Args:
        level: uint8, shape (16, 56), numbers of tiles.
        output: The `.mp4` to write.
        budget: Nodes that the agent may take from its open list per tick.
        fps: Frames per second; the original game has 24.
        most_frames: Where the movie ends if the agent does not.
        ops: The op library.

    Returns:
        `status` (1 won, 2 lost, 3 time is out), `completion`, `jumps`, `kills` and `ticks`.

    Raises:
        NeurozooError: `fps` or `budget` is below 1, the op library is missing, or ffmpeg fails.
    """
    check_fps(fps)
    characters = to_characters(level)
    games = play(characters[None], np.full((1, 1), budget), ops=ops)
    seen = replay(characters, games.buttons, ops=ops)
    with video_written_whole(output, width=WIDTH * TILE_SIZE, height=HEIGHT * TILE_SIZE, fps=fps) as write:
        for tick in range(min(len(seen.status), most_frames)):
            write(draw_tick(level, seen, tick))
    return {
        "status": games.status.item(),
        "completion": round(games.completion.item(), 4),
        "jumps": games.count("jumps").item(),
        "kills": games.count("kills").item(),
        "ticks": games.ticks.item(),
    }
