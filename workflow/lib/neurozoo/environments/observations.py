"""Which observations a network has of a game, and the values in them."""

from dataclasses import dataclass

from neurozoo.environments.games import screen_size
from neurozoo.environments.gymnasium_games import gymnasium_spaces
from neurozoo.environments.protocols import Protocol
from neurozoo.errors import NeurozooError
from neurozoo.networks.maze_network import MAZE_OBSERVATION


@dataclass(frozen=True)
class ObservationShape:
    """The shape of an observation: the last `stack` planes joined along the channels, oldest first."""

    height: int  # rows of a plane; 1 for a vector
    width: int  # columns of a plane; 1 for a vector
    channels: int  # channels of a plane
    stack: int = 1  # number of planes in an observation
    repeats_first: bool = False  # whether copies of an episode's first plane stand before it; otherwise zeros

    @property
    def plane(self) -> tuple[int, int, int]:
        """(height, width, channels) of the plane that is new in each step."""
        return (self.height, self.width, self.channels)

    @property
    def observation(self) -> tuple[int, int, int]:
        """(height, width, channels * stack)."""
        return (self.height, self.width, self.channels * self.stack)

    @property
    def is_in_colour(self) -> bool:
        """Whether the channels are red, green and blue."""
        return self.stack == 1 and self.channels == 3 and self.height > 1

    @property
    def has_like_channels(self) -> bool:
        """Whether all channels mean the same: they are colours of one picture, or pictures of several frames."""
        return self.is_in_colour or (self.stack > 1 and self.channels == 1 and self.height > 1)


SCREENS = (84, 84, 4)  # (height, width, pictures) of what learners see

_RIVER_OBSERVATIONS = {
    "pixels": ObservationShape(84, 84, 1, 4),
    "rgb": ObservationShape(20, 20, 3),
    "greyscale": ObservationShape(20, 20, 1),
    "objects": ObservationShape(20, 20, 6),
}


def observation_shape(game: str, protocol: Protocol) -> ObservationShape:
    """Returns the shape of a game's observations."""
    if protocol.world == "river_crossing":
        return _RIVER_OBSERVATIONS[protocol.observation]
    if protocol.world == "hard_maze":
        return ObservationShape(1, 1, 11)
    if protocol.world == "maze":
        return ObservationShape(*MAZE_OBSERVATION)
    if protocol.world == "gymnasium":
        spaces = gymnasium_spaces(game)
        if spaces.are_pictures:
            return ObservationShape(spaces.shape[0], spaces.shape[1], 1, 4)
        return ObservationShape(1, 1, spaces.shape[0])
    if protocol.preprocessing == "rgb":
        return ObservationShape(*screen_size(game), 3)
    return ObservationShape(84, 84, 1, 4, repeats_first=protocol.preprocessing == "pil_bilinear")


def check_screens(game: str, protocol: Protocol) -> None:
    """Checks that a game shows what learners keep in bytes: the last four grey pictures of 84 x 84.

    Raises:
        NeurozooError: It shows something else.
    """
    if (seen := observation_shape(game, protocol).observation) != SCREENS:
        remedy = "Set observation to pixels." if protocol.observation else "Choose another game or protocol."
        raise NeurozooError(
            f"Learners see {' x '.join(map(str, SCREENS))} pixels, but {game!r} shows "
            f"{' x '.join(map(str, seen))}. {remedy}"
        )


def brightest(protocol: Protocol) -> float:
    """Returns the value of white in the observations, or the largest one in mazes; black is 0."""
    if protocol.world == "maze":
        return 8.0  # a goal
    return 255.0 if protocol.preprocessing == "rgb" else 1.0


def byte_scale(protocol: Protocol) -> float:
    """Returns what bytes are divided by to become observations: learners keep observations as bytes.

    It is 1 in mazes, whose observations are whole numbers, and 255 for screens.
    """
    return 1.0 if protocol.world == "maze" else 255.0
