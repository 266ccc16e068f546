"""Environments in Python, played step by step: `make_world` makes the environment of any game.

They record rollouts, and the native op, which plays the same episodes fast in C++, is tested against them. Importing
this package also registers the river crossing task, the hard maze and the platform game as Gymnasium environments.
"""

from typing import Protocol as Interface

import gymnasium
import numpy as np

from neurozoo.environments.games import check_game, world_of
from neurozoo.environments.observations import ObservationShape
from neurozoo.environments.protocols import Protocol
from neurozoo.errors import NeurozooError

_PLATFORMER = "platformer.environment:PlatformerEnvironment"
_PIXELS = {"obs_type": "pixels"}
for _id, _entry_point, _choices in (
    ("neurozoo/RiverCrossing-v0", "gymnasium_environments:RiverCrossingEnvironment", {}),
    ("neurozoo/HardMaze-v0", "gymnasium_environments:HardMazeEnvironment", {}),
    ("neurozoo/Platformer-v0", _PLATFORMER, {}),
    ("neurozoo/PlatformerPixels-v0", _PLATFORMER, _PIXELS),
    ("Platformer-v0", _PLATFORMER, {}),  # the game gym.Platformer-v0: paths have no slash
    ("PlatformerPixels-v0", _PLATFORMER, _PIXELS),
):
    if _id not in gymnasium.registry:
        gymnasium.register(_id, entry_point=f"neurozoo.environments.{_entry_point}", kwargs=dict(_choices))


class World(Interface):
    """An environment: one game under one protocol.

    An episode depends only on the game, the protocol, `noops` and `seed`.

    Attributes:
        game: Game id.
        protocol: How the episode is played. Its `max_frames` may be replaced between episodes.
        shape: Shape of an observation.
        steps: Steps since the episode's start.
        is_done: Whether the episode is over.
    """

    game: str
    protocol: Protocol
    shape: ObservationShape
    steps: int
    is_done: bool

    @property
    def num_outputs(self) -> int:
        """Number of network outputs that `act` takes."""

    @property
    def frames(self) -> int:
        """Frames since the episode's start."""

    @property
    def observation(self) -> np.ndarray:
        """The last planes, oldest first; zeros before the first plane: float32, `shape.observation`."""

    @property
    def plane(self) -> np.ndarray:
        """The newest plane: float32, `shape.plane`."""

    @property
    def screen(self) -> np.ndarray:
        """A picture for people, in colour: uint8, `screen_shape`."""

    @property
    def screen_shape(self) -> tuple[int, int, int]:
        """(height, width, 3)."""

    @property
    def ram(self) -> np.ndarray:
        """The console's memory: uint8, shape (bytes,); (0,) for games without it."""

    @property
    def final_positions(self) -> np.ndarray:
        """float32, (rows, coordinates): see `EpisodeResult.behaviour`; (0, 0) for games without it."""

    def reset(self, *, noops: int = 0, seed: int = 0) -> np.ndarray:
        """Starts an episode and returns the first observation."""

    def act(self, outputs: np.ndarray) -> tuple[np.ndarray, float, bool]:
        """Plays one step with a network's outputs.

        Args:
            outputs: float32, shape (num_outputs,). The largest chooses the action; continuous outputs are all used.

        Returns:
            The observation, the reward in points, and whether the episode is over.

        Raises:
            NeurozooError: The episode is over.
        """

    def close(self) -> None:
        """Gives back what the game holds, such as windows and processes; afterwards it cannot be played."""


def make_world(game: str, protocol: Protocol) -> World:
    """Makes the environment of a game.

    Raises:
        NeurozooError: The game is unknown, or cannot be played under the protocol.
    """
    if protocol.world != world_of(check_game(game)):
        raise NeurozooError(
            f"{game!r} cannot be played under the protocol {protocol.name!r}. Call protocol_of() to get one that fits."
        )
    if protocol.world == "river_crossing":
        from neurozoo.environments.river_world import RiverCrossingWorld

        return RiverCrossingWorld(game, protocol)
    if protocol.world == "hard_maze":
        from neurozoo.environments.hard_maze import HardMazeWorld

        return HardMazeWorld(game, protocol)
    if protocol.world == "maze":
        from neurozoo.environments.mazes.world import MazeWorld

        return MazeWorld(game, protocol)
    if protocol.world == "gymnasium":
        from neurozoo.environments.gymnasium_world import GymnasiumWorld

        return GymnasiumWorld(game, protocol)
    from neurozoo.environments.atari import AtariEnvironment

    return AtariEnvironment(game, protocol)
