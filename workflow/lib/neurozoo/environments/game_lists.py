"""Lists of games that have a name, so that an experiment need not write out its games."""

from collections.abc import Callable, Iterable
from itertools import chain

from neurozoo.environments.games import game_names, reference_scores

ATARI5 = ("battle_zone", "double_dunk", "name_this_game", "phoenix", "qbert")  # Aitchison et al. 2022, arXiv:2210.02019
PUBLISHED13 = (  # table 1 of Such et al. 2017, arXiv:1712.06567
    "amidar",
    "assault",
    "asterix",
    "asteroids",
    "atlantis",
    "enduro",
    "frostbite",
    "gravitar",
    "kangaroo",
    "seaquest",
    "skiing",
    "venture",
    "zaxxon",
)
GAME_LISTS: dict[str, Callable[[], tuple[str, ...]]] = {
    "all": game_names,
    "atari57": lambda: tuple(reference_scores()),
    "atari5": lambda: ATARI5,
    "published13": lambda: PUBLISHED13,
}


def expand_games(games: Iterable[str]) -> list[str]:
    """Replaces the names of lists by their games, each of which stands once.

    Args:
        games: Names of games, and any of `all` (every game of the installed ale-py), `atari57` (those with a published
            score of a human), `atari5` (five whose scores predict the median of all) and `published13` (those of the
            paper on genetic algorithms).
    """
    names = (GAME_LISTS[game]() if game in GAME_LISTS else (game,) for game in games)
    return list(dict.fromkeys(chain.from_iterable(names)))
