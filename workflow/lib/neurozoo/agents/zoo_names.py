"""Converts the names of games to and from those of OpenAI Gym and the Atari Zoo."""

import re

from neurozoo.environments.games import game_names, world_of
from neurozoo.environments.gymnasium_games import GYMNASIUM_PREFIX
from neurozoo.errors import NeurozooError

_SUFFIX = "NoFrameskip-v4"


def camel_case(game: str) -> str:
    """Returns a game's name in camel case: `MsPacman` for `ms_pacman`."""
    return "".join(part.capitalize() for part in game.split("_"))


def gym_id(game: str) -> str:
    """Returns the Atari Zoo's id of a game, such as `MsPacmanNoFrameskip-v4`.

    Games that are not on the Atari get names such as `RiverCrossing`; Gymnasium's environments keep their own ids.
    """
    if game.startswith(GYMNASIUM_PREFIX):
        return game.removeprefix(GYMNASIUM_PREFIX)
    return camel_case(game) + (_SUFFIX if world_of(game) == "atari" else "")


def game_of(name: str) -> str:
    """Returns our name of a game for names such as `MsPacmanNoFrameskip-v4`, `MsPacman` and `ms_pacman`.

    Raises:
        NeurozooError: No game has this name.
    """
    plain = re.sub(r"(NoFrameskip|Deterministic)?-v\d$", "", name)
    for game in game_names():
        if plain in (game, camel_case(game)):
            return game
    raise NeurozooError(
        f"{name!r} is not the name of a game; expected one such as SeaquestNoFrameskip-v4 or seaquest. Give the game "
        "(--game)."
    )
