"""Names of games as OpenAI Gym and the Atari Zoo write them."""

import re

from neurozoo.errors import NeurozooError
from neurozoo.games import GYMNASIUM_PREFIX, game_names, world_of

_SUFFIX = "NoFrameskip-v4"


def camel_case(game: str) -> str:
    """Returns a game's name such as `MsPacman` for `ms_pacman`."""
    return "".join(part.capitalize() for part in game.split("_"))


def gym_id(game: str) -> str:
    """Returns the id by which the Atari Zoo calls a game, such as `MsPacmanNoFrameskip-v4`.

    What is no Atari game has no such id, and is called `RiverCrossing`; Gymnasium's environments keep their own.
    """
    if game.startswith(GYMNASIUM_PREFIX):
        return game.removeprefix(GYMNASIUM_PREFIX)
    return camel_case(game) + (_SUFFIX if world_of(game) == "atari" else "")


def game_of(name: str) -> str:
    """Returns our name of a game for any of `MsPacmanNoFrameskip-v4`, `MsPacman` and `ms_pacman`.

    Raises:
        NeurozooError: It is no Atari game's.
    """
    plain = re.sub(r"(NoFrameskip|Deterministic)?-v\d$", "", name)
    for game in game_names():
        if plain in (game, camel_case(game)):
            return game
    raise NeurozooError(
        f"{name!r} is no game's name such as SeaquestNoFrameskip-v4 or seaquest. Give the game (--game)."
    )
