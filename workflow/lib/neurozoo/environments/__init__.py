"""Environments in Python, played step by step: `make_world` makes the environment of any game.

They record rollouts, and the native core, which plays the same episodes fast in C++, is tested against them. Importing
this package also registers the river crossing task, the hard maze and the platform game as Gymnasium environments.
"""

import gymnasium

from neurozoo.environments.games import check_game, world_of
from neurozoo.environments.protocols import Protocol
from neurozoo.environments.world import World
from neurozoo.errors import NeurozooError

__all__ = ["World", "make_world"]

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


def make_world(game: str, protocol: Protocol) -> World:
    """Makes the environment of a game.

    Raises:
        NeurozooError: The game is unknown, or cannot be played under the protocol.
    """
    # A plan of many games imports this package, but plays nothing.
    from neurozoo.environments.atari import AtariEnvironment
    from neurozoo.environments.gymnasium_world import GymnasiumWorld
    from neurozoo.environments.hard_maze import HardMazeWorld
    from neurozoo.environments.mazes.world import MazeWorld
    from neurozoo.environments.river_world import RiverCrossingWorld

    if protocol.world != world_of(check_game(game)):
        raise NeurozooError(
            f"{game!r} cannot be played under the protocol {protocol.name!r}. Call protocol_of() to get one that fits."
        )
    makers: dict[str, type[World]] = {
        "atari": AtariEnvironment,
        "river_crossing": RiverCrossingWorld,
        "hard_maze": HardMazeWorld,
        "maze": MazeWorld,
        "gymnasium": GymnasiumWorld,
    }
    return makers[protocol.world](game, protocol)
