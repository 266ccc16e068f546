"""Games that are environments of Gymnasium: their ids, which modules may be imported for them, and their spaces."""

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import gymnasium

from neurozoo.errors import NeurozooError

GYMNASIUM_PREFIX = "gym."  # begins the name of a game that is a Gymnasium environment
TRUSTED_MODULES = "NEUROZOO_ENVIRONMENTS"  # environment variable: modules of Gymnasium environments, with commas
MOST_OUTPUTS = 10_000  # of a network: it computes one for each action
PICTURE_SHAPE = (84, 84)  # of what networks for Atari games see, in pixels


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
    """What a Gymnasium environment shows and takes."""

    shape: tuple[int, ...]  # (numbers,) of a vector, or (84, 84) of a grey picture
    # Names of a network's outputs: those of `get_action_meanings` if the environment has it, `ACTION_0` ..., or
    # `OUTPUT_0` ... if they are continuous.
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
    identifier = gymnasium_id(game)
    if "/" in identifier:
        raise NeurozooError(
            f"{game!r} has a slash, but games are names of folders. Register the environment without a namespace, such "
            f"as {identifier.rpartition('/')[2]!r}."
        )
    try:
        with without_exit(game):
            environment = gymnasium.make(identifier, disable_env_checker=True)  # `GymnasiumWorld` checks
    except Exception as error:  # of Gymnasium, of an import, or of the environment's own constructor
        reason = (text_of(error).strip().splitlines() or [type(error).__name__])[0]
        module, dot, name = identifier.rpartition(".")
        is_module = dot and ":" not in identifier and find_spec(module.partition(".")[0]) is not None
        hint = f" Did you mean '{GYMNASIUM_PREFIX}{module}:{name}'?" if is_module else ""
        raise NeurozooError(
            f"Gymnasium cannot make the environment {game!r} here: {reason.rstrip('.?')}.{hint}"
        ) from error
    sees, acts = (getattr(environment, name, None) for name in ("observation_space", "action_space"))
    named = _action_meanings(environment)
    close_environment(environment, game)
    version = None if environment.spec is None else environment.spec.version
    if version is not None and not identifier.endswith(f"-v{version}"):
        raise NeurozooError(
            f"{game!r} is the latest version, which may be another environment one day. Write '{game}-v{version}'."
        )
    shape = sees.shape if isinstance(sees, gymnasium.spaces.Box) else ()
    are_pictures = shape in (PICTURE_SHAPE, (*PICTURE_SHAPE, 1)) and getattr(sees, "dtype", None) == "uint8"
    if not are_pictures and (len(shape) != 1 or not shape[0]):
        raise NeurozooError(
            f"{game!r} should have vectors as observations, or grey pictures of 84 x 84 bytes, but has {sees}. Wrap "
            "it, for example in FlattenObservation, or in GrayscaleObservation and ResizeObservation, of "
            "gymnasium.wrappers (docs/your_environment.md)."
        )
    shape = PICTURE_SHAPE if are_pictures else shape
    if isinstance(acts, gymnasium.spaces.Discrete) and acts.start == 0 and acts.n <= MOST_OUTPUTS:
        is_named = len(set(named)) == len(named) == acts.n
        return Spaces(shape, named if is_named else tuple(f"ACTION_{i}" for i in range(acts.n)))
    if isinstance(acts, gymnasium.spaces.Box) and len(acts.shape) == 1 and 0 < acts.shape[0] <= MOST_OUTPUTS:
        return Spaces(shape, tuple(f"OUTPUT_{i}" for i in range(acts.shape[0])))
    raise NeurozooError(
        f"{game!r} should take one of n actions that begin at 0, or a vector, with n up to {MOST_OUTPUTS:,}, but takes "
        f"{acts}. Wrap it in gymnasium.wrappers.TransformAction (docs/your_environment.md)."
    )


@contextlib.contextmanager
def without_exit(game: str) -> Iterator[None]:
    """Makes an error of sys.exit in an environment, which would end the program without a word."""
    try:
        yield
    except SystemExit as error:
        if isinstance(error, KeyboardInterrupt):  # `signals.Stopped`
            raise
        raise NeurozooError(
            f"{game!r} calls sys.exit({error.code!r}), which would end the program. Mend the environment."
        ) from error


def text_of(error: Exception) -> str:
    """Returns the message of an environment's error; that, too, may be code that fails."""
    try:
        return str(error)
    except Exception:
        return "its message cannot be shown"


def close_environment(environment: gymnasium.Env, game: str) -> None:
    """Closes a Gymnasium environment; if that fails, says so and goes on, because what was played is not wrong."""
    try:
        with without_exit(game):
            environment.close()
    except Exception as error:  # each library raises its own kind
        reason = f"{type(error).__name__}: {text_of(error)}"
        told = f"neurozoo: {game} cannot be closed ({reason}). Results are not affected."
        print(told, file=sys.stderr, flush=True)


def _action_meanings(environment: gymnasium.Env) -> tuple[str, ...]:
    """Returns the names that an environment gives its actions; none if it has no names, or unusable ones."""
    try:
        named = tuple(environment.get_wrapper_attr("get_action_meanings")())
    except Exception:  # an environment may raise anything; names are a courtesy
        return ()
    is_usable = all(isinstance(name, str) and re.fullmatch(r"(?!OUTPUT_)[A-Za-z0-9_+ -]{1,40}", name) for name in named)
    return named if is_usable else ()
