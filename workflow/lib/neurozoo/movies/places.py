"""Positions of the layers on an activation movie, for pages that link to them."""

from neurozoo.agents.frozen import FrozenModel
from neurozoo.movies.panels import Canvas, Place
from neurozoo.movies.scene import ROWS, SceneLayout


def places_on(
    frozen: FrozenModel, *, screen_shape: tuple[int, int, int], width: int, height: int, steps: int
) -> tuple[Place, ...]:
    """Returns the positions of screen, observation and layers on a movie of some size, wide or classic.

    Args:
        frozen: The agent.
        screen_shape: (height, width, 3) of the game's screen.
        width: Pixels of the movie.
        height: Pixels of the movie.
        steps: Frames of the movie.

    Returns:
        The positions; none if an activation movie of this agent has another size.
    """
    layout: SceneLayout | Canvas
    if height in ROWS and width > height:
        layout = SceneLayout(frozen, screen_shape=screen_shape, rows=height)
    else:
        layout = Canvas(frozen, screen_shape=screen_shape, steps=steps)
    return layout.places if (layout.width, layout.height) == (width, height) else ()
