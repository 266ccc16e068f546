"""Games: their names, lists of them, actions, ROMs, behaviours and reference scores."""

import csv
import re
from collections.abc import Callable, Collection, Iterable
from functools import cache
from importlib import resources
from itertools import chain
from pathlib import Path

import gymnasium

from neurozoo.environments.gymnasium_games import GYMNASIUM_PREFIX, gymnasium_spaces
from neurozoo.errors import NeurozooError, unknown_name

RIVER_ACTIONS = tuple(
    name + hands
    for hands in ("", "+HANDS")
    for name in ("STAY", "DOWNLEFT", "DOWN", "DOWNRIGHT", "LEFT", "RIGHT", "UPLEFT", "UP", "UPRIGHT")
)
MAZE_OUTPUTS = ("TURN", "SPEED")  # of hard_maze; continuous
MAZE_ACTIONS = ("TURN_LEFT", "TURN_RIGHT", "FORWARD", "PICK_UP", "DROP", "TOGGLE", "DONE")  # of maze, as in MiniGrid
BEHAVIOURS = {  # what can describe an episode, by kind of environment
    "atari": ("ram",),
    "river_crossing": ("final_position",),
    "hard_maze": ("final_position",),
    "maze": (),
    "gymnasium": (),
}
POSITION_SIZES = {"river_crossing": 3, "hard_maze": 2}  # coordinates of a final position
RAM_BYTES = 128  # of the Atari console
PLATFORMER_GAMES = ("gym.Platformer-v0", "gym.PlatformerPixels-v0")  # which are played in the core
ATARI5 = ("battle_zone", "double_dunk", "name_this_game", "phoenix", "qbert")  # Aitchison et al. 2022, arXiv:2210.02019
PUBLISHED13 = (  # table 1 of Such et al. 2017, arXiv:1712.06567
    "amidar", "assault", "asterix", "asteroids", "atlantis", "enduro", "frostbite", "gravitar", "kangaroo", "seaquest",
    "skiing", "venture", "zaxxon",
)  # fmt: skip
_OWN = ("hard_maze", "maze", "river_crossing")
_GAMES_FOR_SEVERAL = ("combat", "joust", "maze_craze", "warlords")  # loading one ends the process: ALE plays alone


def world_of(game: str) -> str:
    """Returns what plays a game: `atari`, `river_crossing`, `hard_maze`, `maze` or `gymnasium`."""
    if game in _OWN:
        return game
    return "gymnasium" if game.startswith(GYMNASIUM_PREFIX) else "atari"


@cache
def game_names() -> tuple[str, ...]:
    """Returns the names of all Atari games of the installed ale-py for one player, in snake_case and sorted."""
    from ale_py import roms

    return tuple(sorted(set(roms.get_all_rom_ids()).difference(_GAMES_FOR_SEVERAL)))


@cache
def reference_scores() -> dict[str, tuple[float, float]]:
    """Returns (random, human) scores per game, which human-normalised scores are computed from.

    Source: dqn_zoo/atari_data.py of google-deepmind/dqn_zoo at commit 45061f4 (57 games).
    """
    text = resources.files("neurozoo").joinpath("data/atari_human_random.csv").read_text()
    return {row["game"]: (float(row["random"]), float(row["human"])) for row in csv.DictReader(text.splitlines())}


@cache
def ram_variables(game: str) -> dict[str, int]:
    """Returns the byte of the console's memory that holds each known variable of a game; none for most games.

    Source: AtariARI, Anand et al. 2019, arXiv:1906.08226: atariari/benchmark/ram_annotations.py of
    mila-iqia/atari-representation-learning at commit 1a94116 (some of its 22 games, without single digits of scores).
    Of Frostbite, we leave out the number of igloo blocks (byte 77 is 255 for none, 15 for all) and the positions of two
    ice floes that repeat the others (byte 32 is always 34, byte 31 nearly 33).
    """
    text = resources.files("neurozoo").joinpath("data/ram_variables.csv").read_text()
    rows = csv.DictReader(text.splitlines())
    return {row["variable"]: int(row["byte"]) for row in rows if row["game"] == game}


GAME_LISTS: dict[str, Callable[[], tuple[str, ...]]] = {
    "all": game_names,
    "atari57": lambda: tuple(reference_scores()),
    "atari5": lambda: ATARI5,
    "published13": lambda: PUBLISHED13,
}


def check_ram_variables(game: str) -> dict[str, int]:
    """Returns `ram_variables`.

    Raises:
        NeurozooError: None are known.
    """
    if not (known := ram_variables(game)):
        games = ", ".join(name for name in game_names() if ram_variables(name))
        raise NeurozooError(f"No variables of {game} are known that probes could look for. Known games: {games}.")
    return known


def expand_games(games: Iterable[str]) -> list[str]:
    """Replaces the names of lists by their games, each of which stands once.

    Lists are `all` (every game of the installed ale-py), `atari57` (those with a published score of a human), `atari5`
    (five whose scores predict the median of all) and `published13` (those of the paper on genetic algorithms).
    """
    names = (GAME_LISTS[game]() if game in GAME_LISTS else (game,) for game in games)
    return list(dict.fromkeys(chain.from_iterable(names)))


def check_game(game: str) -> str:
    """Returns `game` if it is valid: an Atari game, one of our own, or `gym.` plus a Gymnasium id.

    Raises:
        NeurozooError: The game is unknown; the message suggests the most similar name.
    """
    if isinstance(game, str) and game.startswith(GYMNASIUM_PREFIX):
        if game.startswith(f"{GYMNASIUM_PREFIX}ALE/"):
            raise _unknown_game(game.removeprefix(GYMNASIUM_PREFIX), game_names())
        gymnasium_spaces(game)
        return game
    games = (*game_names(), *_OWN)
    if game not in games:
        raise _unknown_game(game, games)
    return game


def _unknown_game(game: object, games: tuple[str, ...]) -> NeurozooError:
    """Explains an unknown game, also what is not a game but a list, an id of Gymnasium's or a domain of levels."""
    if game in _GAMES_FOR_SEVERAL:
        return NeurozooError(
            f"The game {game!r} is for several players, but the emulator plays with one. Choose another."
        )
    if str(game) in GAME_LISTS:
        return NeurozooError(f"{game!r} is a list of games, for the games of an experiment. Name one game here.")
    own = re.sub(r"^ALE/|(NoFrameskip|Deterministic)?(-ram)?(-v\d+)?$", "", str(game))
    known = {name.replace("_", ""): name for name in games}
    if own != game and own.lower() in known:
        return NeurozooError(
            f"game {game!r} is unknown: this is Gymnasium's id of it. Write {known[own.lower()]!r}; the protocol "
            "decides about frame skip and sticky actions."
        )
    if str(game).startswith("gym:"):
        game = str(game).removeprefix("gym:")
    if str(game) in gymnasium.registry or ":" in str(game):
        return NeurozooError(
            f"game {game!r} is unknown; did you mean '{GYMNASIUM_PREFIX}{game}', the environment of Gymnasium?"
        )
    if game == "mario":
        return NeurozooError(
            f"'mario' is for searches through levels (cma_me, dsage ...). Agents play it as {PLATFORMER_GAMES[0]!r} "
            f"(vectors) or {PLATFORMER_GAMES[1]!r} (pictures)."
        )
    if (plain := re.sub(r"[\W_]", "", str(game).lower())) in GAME_LISTS:
        return NeurozooError(
            f"game {game!r} is unknown; did you mean {plain!r}, a list for the games of an experiment?"
        )
    if re.search(r"-v\d+$", str(game)):
        return NeurozooError(
            f"game {game!r} is unknown. If a module of yours registers it with Gymnasium, write "
            f"{GYMNASIUM_PREFIX}MODULE:{game} (docs/your_environment.md)."
        )
    return unknown_name("game", str(game), games)


def check_played(game: str, learner: str, worlds: Collection[str]) -> str:
    """Returns `game` if it is valid and a learner plays its kind of environment, of which `worlds` has the names.

    Raises:
        NeurozooError: The game is unknown, or no setting lets the learner play it.
    """
    world = world_of(check_game(game))
    other = "Choose another game, or an algorithm that plays it, such as ga or es (docs/your_environment.md)."
    if world not in worlds:
        titles = {"atari": "Atari games", "gymnasium": "gym. games with images"}
        *most, last = [titles.get(each, each) for each in sorted(worlds, key=lambda each: (each == "gymnasium", each))]
        known = f"{', '.join(most)} and {last}" if most else last
        raise NeurozooError(f"{learner} plays {known}, and no setting lets it play {game!r}. {other}")
    if world == "gymnasium":  # learners keep observations as bytes, and choose actions
        spaces, reason = gymnasium_spaces(game), ""
        if not spaces.are_pictures:
            reason = f"{game!r} shows vectors"
        elif spaces.outputs[0].startswith("OUTPUT_"):
            reason = f"{game!r} takes continuous actions"
        if reason:
            raise NeurozooError(f"{learner} needs images and a list of actions, but {reason}. {other}")
    return game


def check_behaviour(game: str, behaviour: str) -> str:
    """Returns `behaviour` if it can describe an episode of the game, or if it is `none`.

    Raises:
        NeurozooError: The game does not have this behaviour.
    """
    given = ("none", *BEHAVIOURS[world_of(check_game(game))])
    if behaviour not in given:
        raise NeurozooError(f"{game!r} does not have the behaviour {behaviour!r}. Choose one of: {', '.join(given)}.")
    return behaviour


def rom_path(game: str) -> Path:
    """Returns the path of the game's ROM, which comes with ale-py.

    Raises:
        NeurozooError: The game is unknown, or its ROM file is missing.
    """
    from ale_py import roms

    if game not in game_names():
        raise unknown_name("game", game, game_names())
    path = roms.get_rom_path(game)
    if path is None or not Path(path).exists():
        raise NeurozooError(
            f"The ROM of {game!r} is missing, but should come with ale-py. "
            "Reinstall: pip install --force-reinstall ale-py"
        )
    return Path(path)


def action_names(game: str, action_set: str) -> tuple[str, ...]:
    """Returns the names of a game's actions in the order of the network's outputs, such as ('NOOP', 'FIRE').

    Raises:
        NeurozooError: The game is unknown.
    """
    return tuple(action.name for action in _actions(game)[action_set])


def action_codes(game: str, action_set: str) -> tuple[int, ...]:
    """Returns the ALE codes of a game's actions in the order of the network's outputs."""
    return tuple(int(action.value) for action in _actions(game)[action_set])


@cache
def _actions(game: str) -> dict[str, list]:
    emulator = _emulator(game)
    return {"minimal": emulator.getMinimalActionSet(), "full": emulator.getLegalActionSet()}


@cache
def screen_size(game: str) -> tuple[int, int]:
    """Returns (height, width) of an Atari game's screen in pixels."""
    return tuple(_emulator(game).getScreenDims())


def _emulator(game: str):
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    emulator = ale_py.ALEInterface()
    emulator.loadROM(rom_path(game))
    return emulator
