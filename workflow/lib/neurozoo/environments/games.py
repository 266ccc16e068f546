"""Games: their names, actions, ROMs, behaviours and reference scores."""

import csv
import os
import re
import sys
from collections.abc import Collection
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from neurozoo.errors import NeurozooError, unknown_name

if TYPE_CHECKING:
    import gymnasium

GYMNASIUM_PREFIX = "gym."  # begins the name of a game that is a Gymnasium environment
TRUSTED_MODULES = "NEUROZOO_ENVIRONMENTS"  # environment variable: modules of Gymnasium environments, with commas
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
PLATFORMER_GAMES = ("gym.Platformer-v0", "gym.PlatformerPixels-v0")  # which are played in the op
_GAMES_FOR_SEVERAL = ("combat", "joust", "maze_craze", "warlords")  # loading one ends the process: ALE plays alone
PICTURE_SHAPE = (84, 84)  # of what networks for Atari games see, in pixels


def world_of(game: str) -> str:
    """Returns what plays a game: `atari`, `river_crossing`, `hard_maze`, `maze` or `gymnasium`."""
    if game in ("river_crossing", "hard_maze", "maze"):
        return game
    return "gymnasium" if game.startswith(GYMNASIUM_PREFIX) else "atari"


@cache
def game_names() -> tuple[str, ...]:
    """Returns the names of all Atari games of the installed ale-py for one player, in snake_case and sorted."""
    from ale_py import roms

    return tuple(sorted(set(roms.get_all_rom_ids()).difference(_GAMES_FOR_SEVERAL)))


def check_game(game: str) -> str:
    """Returns `game` if it is valid: an Atari game, one of our own, or `gym.` plus a Gymnasium id.

    Raises:
        NeurozooError: The game is unknown; the message suggests the most similar name.
    """
    if isinstance(game, str) and game.startswith(GYMNASIUM_PREFIX):
        gymnasium_spaces(game)
        return game
    games = (*game_names(), "hard_maze", "maze", "river_crossing")
    if game not in games:
        raise _unknown_game(game, games)
    return game


def _unknown_game(game: object, games: tuple[str, ...]) -> NeurozooError:
    """Explains an unknown game, also what is not a game but a list, an id of Gymnasium's or a domain of levels."""
    import gymnasium

    from neurozoo.environments.game_lists import GAME_LISTS  # which needs this module

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
    """Returns `game` if it is valid and a learner plays its kind of environment.

    Args:
        game: Name of the game.
        learner: Name of the algorithm, for the message.
        worlds: Kinds of environments that it plays, as `world_of` names them.

    Raises:
        NeurozooError: The game is unknown, or no setting lets the learner play it.
    """
    world = world_of(check_game(game))
    if world == "gymnasium" and world in worlds:
        return _check_pictures(game, learner)
    if world in worlds:
        return game
    titles = {"atari": "Atari games", "gymnasium": "gym. games with images"}
    *most, last = [titles.get(each, each) for each in sorted(worlds, key=lambda each: (each == "gymnasium", each))]
    known = f"{', '.join(most)} and {last}" if most else last
    raise NeurozooError(
        f"{learner} plays {known}, and no setting lets it play {game!r}. Choose another game, or an algorithm that "
        "plays it, such as ga or es (docs/your_environment.md)."
    )


def _check_pictures(game: str, learner: str) -> str:
    """Returns the `gym.` game if learners can play it: they keep observations as bytes, and choose actions."""
    spaces = gymnasium_spaces(game)
    if not spaces.are_pictures:
        reason = f"{game!r} shows vectors"
    elif spaces.outputs[0].startswith("OUTPUT_"):
        reason = f"{game!r} takes continuous actions"
    else:
        return game
    raise NeurozooError(
        f"{learner} needs images and a list of actions, but {reason}. Choose another game, or an algorithm that "
        "plays it, such as ga or es (docs/your_environment.md)."
    )


class UntrustedModuleError(NeurozooError):
    """A file names an environment whose module the user has not named: nothing is damaged, and nothing is imported."""


def trust_module_of(game: object) -> None:
    """Lets this process and its children import the module that a game such as `gym.my_package:Maze-v0` names.

    Call it for games that come from the user's configuration or command line, never for those that a file names:
    importing a module runs its code.
    """
    if isinstance(game, str) and (module := _module_of(game)):
        os.environ[TRUSTED_MODULES] = ",".join(sorted({*_trusted_modules(), module}))


def gymnasium_id(game: str) -> str:
    """Returns the Gymnasium id of a game such as `gym.CartPole-v1`.

    Raises:
        UntrustedModuleError: The id names a module that the user has not named.
    """
    module = _module_of(game)
    if module and module not in _trusted_modules():
        raise UntrustedModuleError(
            f"A file names the environment {game!r}. Its module {module!r} is not imported, because that would run its "
            f"code, and neither your configuration nor your command line names it. If you trust the module: "
            f"export {TRUSTED_MODULES}={module}"
        )
    return game.removeprefix(GYMNASIUM_PREFIX)


def _module_of(game: str) -> str:
    """Returns the module that Gymnasium would import for a game; empty if there is none."""
    module, colon, _ = game.removeprefix(GYMNASIUM_PREFIX).partition(":")
    return module if colon and game.startswith(GYMNASIUM_PREFIX) else ""


def _trusted_modules() -> list[str]:
    return [module for module in os.environ.get(TRUSTED_MODULES, "").split(",") if module]


class Spaces(NamedTuple):
    """What a Gymnasium environment shows and takes.

    Attributes:
        shape: (numbers,) of a vector, or (84, 84) of a grey picture.
        outputs: Names of a network's outputs: those of `get_action_meanings` if the environment has it, `ACTION_0` ...,
            or `OUTPUT_0` ... if they are continuous.
    """

    shape: tuple[int, ...]
    outputs: tuple[str, ...]

    @property
    def are_pictures(self) -> bool:
        """Whether observations are pictures."""
        return len(self.shape) > 1


@cache
def gymnasium_spaces(game: str) -> Spaces:
    """Returns what a Gymnasium environment shows and takes.

    Raises:
        NeurozooError: Gymnasium cannot make the environment, or it shows or takes something else.
    """
    import gymnasium

    identifier = gymnasium_id(game)
    if "/" in identifier:
        if identifier.startswith("ALE/"):
            raise _unknown_game(identifier, game_names())
        raise NeurozooError(
            f"{game!r} has a slash, but games are names of folders. Register the environment without a namespace, such "
            f"as {identifier.rpartition('/')[2]!r}."
        )
    try:
        environment = gymnasium.make(identifier)
    except Exception as error:  # of Gymnasium, of an import, or of the environment's own constructor
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        module, dot, name = identifier.rpartition(".")
        is_module = dot and ":" not in identifier and find_spec(module.partition(".")[0]) is not None
        hint = f" Did you mean '{GYMNASIUM_PREFIX}{module}:{name}'?" if is_module else ""
        raise NeurozooError(
            f"Gymnasium cannot make the environment {game!r} here: {reason.rstrip('.?')}.{hint}"
        ) from error
    sees, acts = environment.observation_space, environment.action_space
    named = _action_meanings(environment)
    close_environment(environment, game)
    version = None if environment.spec is None else environment.spec.version
    if version is not None and not identifier.endswith(f"-v{version}"):
        raise NeurozooError(
            f"{game!r} is the latest version, which may be another environment one day. Write '{game}-v{version}'."
        )
    shape = sees.shape if isinstance(sees, gymnasium.spaces.Box) else ()
    if sees.dtype == "uint8" and shape == (*PICTURE_SHAPE, 1):
        shape = PICTURE_SHAPE
    if len(shape) != 1 and (sees.dtype != "uint8" or shape != PICTURE_SHAPE):
        raise NeurozooError(
            f"{game!r} should have vectors as observations, or grey pictures of 84 x 84 bytes, but has {sees}. Wrap "
            "it, for example in FlattenObservation, or in GrayscaleObservation and ResizeObservation, of "
            "gymnasium.wrappers (docs/your_environment.md)."
        )
    if isinstance(acts, gymnasium.spaces.Discrete) and acts.start == 0:
        is_named = len(set(named)) == len(named) == acts.n
        return Spaces(shape, named if is_named else tuple(f"ACTION_{i}" for i in range(acts.n)))
    if isinstance(acts, gymnasium.spaces.Box) and len(acts.shape) == 1:
        return Spaces(shape, tuple(f"OUTPUT_{i}" for i in range(acts.shape[0])))
    raise NeurozooError(
        f"{game!r} should take one of n actions that begin at 0, or a vector, but takes {acts}. Wrap it in "
        "gymnasium.wrappers.TransformAction (docs/your_environment.md)."
    )


def close_environment(environment: "gymnasium.Env", game: str) -> None:
    """Closes a Gymnasium environment; if that fails, says so and goes on, because what was played is not wrong."""
    try:
        environment.close()
    except Exception as error:  # each library raises its own kind
        told = f"neurozoo: {game} cannot be closed ({type(error).__name__}: {error}). Results are not affected."
        print(told, file=sys.stderr, flush=True)


def _action_meanings(environment: "gymnasium.Env") -> tuple[str, ...]:
    """Returns the names that an environment gives its actions; none if it has no names, or unusable ones."""
    try:
        named = tuple(environment.get_wrapper_attr("get_action_meanings")())
    except Exception:  # an environment may raise anything; names are a courtesy
        return ()
    is_usable = all(isinstance(name, str) and re.fullmatch(r"(?!OUTPUT_)[A-Za-z0-9_+ -]{1,40}", name) for name in named)
    return named if is_usable else ()


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


@cache
def reference_scores() -> dict[str, tuple[float, float]]:
    """Returns (random, human) scores per game, which human-normalised scores are computed from.

    Source: dqn_zoo/atari_data.py of google-deepmind/dqn_zoo at commit 45061f4 (57 games).
    """
    text = resources.files("neurozoo").joinpath("data/atari_human_random.csv").read_text()
    return {row["game"]: (float(row["random"]), float(row["human"])) for row in csv.DictReader(text.splitlines())}
