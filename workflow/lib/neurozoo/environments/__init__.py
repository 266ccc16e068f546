"""The worlds in Python, step by step: they record rollouts, and are the yardstick that the native op is tested against.

The op plays the same episodes fast and inside C++. `make_world` gives what both have in common; the river crossing task
and the hard maze are Gymnasium environments, too, registered when this package is imported.
"""

from typing import Protocol as Interface

import gymnasium
import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.games import ObservationShape, Protocol, check_game, world_of

for _id, _class in (("RiverCrossing", "RiverCrossingEnvironment"), ("HardMaze", "HardMazeEnvironment")):
    if f"neurozoo/{_id}-v0" not in gymnasium.registry:
        gymnasium.register(f"neurozoo/{_id}-v0", entry_point=f"neurozoo.environments.gymnasium_environments:{_class}")


class World(Interface):
    """One game under one protocol.

    An episode depends on the game, the protocol, `noops` and `seed` alone.

    Attributes:
        game: Game id.
        protocol: How the episode is played.
        shape: Shape of an observation.
        num_outputs: Network outputs that `act` takes.
        steps: Steps since the episode's start.
        frames: Frames since the episode's start.
        is_done: Whether the episode is over.
        observation: float32, `shape.observation`: the last planes, oldest first, zeros before the first.
        plane: float32, `shape.plane`: the newest plane.
        screen: A picture for people: uint8, `screen_shape`.
        screen_shape: (height, width, 3).
        ram: The world's memory: uint8, shape (bytes,); (0,) where there is none.
        final_positions: float32, (rows, coordinates): see `EpisodeResult.behaviour`; (0, 0) where there is none.
    """

    game: str
    protocol: Protocol
    shape: ObservationShape
    num_outputs: int
    steps: int
    frames: int
    is_done: bool
    observation: np.ndarray
    plane: np.ndarray
    screen: np.ndarray
    screen_shape: tuple[int, int, int]
    ram: np.ndarray
    final_positions: np.ndarray

    def reset(self, *, noops: int = 0, seed: int = 0) -> np.ndarray:
        """Starts an episode and returns the first observation."""

    def act(self, outputs: np.ndarray) -> tuple[np.ndarray, float, bool]:
        """Does what a network's outputs say, float32 of shape (num_outputs,): the largest, or all if continuous.

        Returns:
            The observation, the reward in points, and whether the episode is over.

        Raises:
            NeurozooError: The episode is over.
        """


def make_world(game: str, protocol: Protocol) -> World:
    """Makes a world.

    Raises:
        NeurozooError: The game does not exist, or cannot be played under the protocol.
    """
    if protocol.world != world_of(check_game(game)):
        raise NeurozooError(f"{game!r} cannot be played under the protocol {protocol.name!r}; see protocol_of().")
    if protocol.world == "river_crossing":
        from neurozoo.environments.river_world import RiverCrossingWorld

        return RiverCrossingWorld(game, protocol)
    if protocol.world == "hard_maze":
        from neurozoo.environments.hard_maze import HardMazeWorld

        return HardMazeWorld(game, protocol)
    if protocol.world == "gymnasium":
        from neurozoo.environments.gymnasium_world import GymnasiumWorld

        return GymnasiumWorld(game, protocol)
    from neurozoo.environments.atari import AtariEnvironment

    return AtariEnvironment(game, protocol)
