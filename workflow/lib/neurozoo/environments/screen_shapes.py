"""The shape in which people see a screen."""

ATARI_WIDTH = 160  # pixels of a line; on a television they are wide, and fill a screen of 4:3


def aspect_of(screen_shape: tuple[int, ...]) -> float:
    """Returns width / height of a screen for people: an Atari's as on a television, any other as its pixels are.

    Args:
        screen_shape: (rows, columns, 3).
    """
    rows, columns = screen_shape[:2]
    return 4 / 3 if columns == ATARI_WIDTH else columns / rows
