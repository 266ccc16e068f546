"""Wraps Gymnasium environments, with vectors or pictures as observations, as a `World`."""

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import gymnasium
import numpy as np

from neurozoo.environments.gymnasium_games import close_environment, gymnasium_id, text_of, without_exit
from neurozoo.environments.protocols import Protocol
from neurozoo.environments.world import SingleFrameWorld, largest
from neurozoo.errors import NeurozooError
from neurozoo.files.npz import MOST_ROW

LONG_EPISODE = 100_000  # steps after which a missing limit is told
LARGEST = 1e30  # of observations, rewards and their sums: networks compute in single precision, which ends at 3.4e38
_API = "reset returns (observation, info), and step (observation, reward, is terminated, is truncated, info)"
_GYMNASIUM = Path(gymnasium.__file__).parent
_NUMBERS = "biuf"  # kinds of arrays


class GymnasiumWorld(SingleFrameWorld):
    """A Gymnasium environment, see `World`.

    The largest output chooses a discrete action; continuous actions are the outputs, clipped to their bounds. The
    environment draws its random numbers from the episode's seed. Pictures become numbers from 0 to 1.

    What the environment returns is checked here, and nowhere else: a NeurozooError says what is wrong, in which step of
    which episode. Its `info` is not read.
    """

    def __init__(self, game: str, protocol: Protocol):
        super().__init__(game, protocol)
        self._environment = _make(game)
        self._is_closed = False
        self._can_draw = self._environment.render_mode is not None
        self._screen_shape: tuple[int, int, int] | None = None  # known when something has been drawn
        try:
            self._start(0, 0)  # refuses observations that are not those of the space
        except BaseException:
            self.close()
            raise

    @property
    def screen(self) -> np.ndarray:
        """The environment's picture: uint8, (height, width, 3); black if it cannot be drawn on this machine."""
        picture = self._draw() if self._can_draw else None
        if picture is None or picture.shape != (self._screen_shape or picture.shape):
            return np.zeros(self._screen_shape or (84, 84, 3), np.uint8)
        self._screen_shape = picture.shape
        return picture

    @property
    def screen_shape(self) -> tuple[int, int, int]:
        """(height, width, 3) of `screen`."""
        return self.screen.shape

    def close(self) -> None:
        """Closes the environment, once."""
        if not self._is_closed:
            self._is_closed = True
            close_environment(self._environment, self.game)

    def _draw(self) -> np.ndarray | None:
        try:
            picture = np.asarray(self._environment.render(), np.uint8)
            if picture.ndim == 2 or picture.shape[2:] == (1,):  # grey
                picture = np.repeat(picture.reshape(*picture.shape[:2], 1), 3, axis=2)
            if picture.ndim != 3 or picture.shape[2] != 3 or not 0 < picture.size <= MOST_ROW:
                raise ValueError(
                    "render should give a picture of shape (height, width, 3), with one to 22 million pixels, but "
                    f"gives {picture.shape}"
                )
        except Exception as error:  # packages and graphics drivers are missing, and each library raises its own kind
            self._can_draw = False
            _say_black(self.game, f"{type(error).__name__}: {text_of(error)}")
            return None
        return picture

    def _start(self, seed: int, noops: int) -> None:
        self._seed, self._score = seed, 0.0
        with self._placed(step=0):
            seen, _ = self._parts(self._environment.reset(seed=seed), of="reset", count=2)
            self._seen = self._checked(seen)

    def _play(self, outputs: np.ndarray, is_last: bool) -> tuple[float, bool]:
        space = self._environment.action_space
        with self._placed(step=self.steps + 1):
            if isinstance(space, gymnasium.spaces.Discrete):
                action: int | np.ndarray = largest(outputs)
            else:
                assert isinstance(space, gymnasium.spaces.Box)  # `gymnasium_spaces` refuses other spaces
                action = np.clip(np.nan_to_num(outputs), space.low, space.high).astype(space.dtype)
            seen, reward, *ends, _ = self._parts(self._environment.step(action), of="step", count=5)
            self._seen = self._checked(seen)
            is_terminated, is_truncated = map(self._checked_end, ends)
            self.is_truncated = is_truncated and not is_terminated
            if self.steps == LONG_EPISODE and not getattr(self._environment.spec, "max_episode_steps", None):
                _say_long(self.game)
            return self._checked_reward(reward), is_terminated or is_truncated

    @contextlib.contextmanager
    def _placed(self, *, step: int) -> Iterator[None]:
        """Lets an error say in which step of which episode it happened, so that it can be repeated."""
        try:
            with without_exit(self.game):
                yield
        except Exception as error:
            place = f"This happened in step {step} of the episode with seed {self._seed} of {self.game!r}."
            if isinstance(error, NeurozooError):
                error.args = (f"{error} {place}",)
            elif _is_of_wrapper(error):
                raise NeurozooError(
                    f"{self.game!r} should have the interface of Gymnasium, but its wrapper fails: "
                    f"{_described(error)}. Mend the environment: {_API}. {place}"
                ) from error
            else:
                error.add_note(place)
            raise

    def _parts(self, returned: object, *, of: str, count: int) -> tuple:
        """Returns the parts of what a method of the environment returned."""
        if isinstance(returned, tuple) and len(returned) == count:
            return returned
        found = f"{len(returned)} values" if isinstance(returned, tuple) else type(returned).__name__
        raise NeurozooError(f"{of} of {self.game!r} returns {found}. Mend it: {_API}.")

    def _checked(self, seen: object) -> np.ndarray:
        """Returns an observation that is what the environment's space says, and finite."""
        array, space = _array(seen), self._environment.observation_space
        is_kind = array.dtype.kind in _NUMBERS if self.shape.height == 1 else array.dtype == np.uint8
        if array.shape != space.shape or not is_kind:
            raise NeurozooError(
                f"{self.game!r} should show {space.dtype} of shape {space.shape}, as its observation_space says, but "
                f"shows {array.dtype} of shape {array.shape}. Mend the environment."
            )
        if not (is_usable := np.abs(array) <= LARGEST).all():  # NaN is not, either
            raise self._beyond("observations", array[~is_usable][0].item())
        return array

    def _checked_reward(self, reward: object) -> float:
        value = _number(reward)
        self._score += value
        if not abs(value) <= LARGEST:
            raise self._beyond("rewards", reward)
        if abs(self._score) > LARGEST:
            raise self._beyond("sums of rewards", self._score)
        return value

    def _beyond(self, what: str, found: object) -> NeurozooError:
        return NeurozooError(
            f"{self.game!r} should have numbers from {-LARGEST:g} to {LARGEST:g} as {what}, but has {found!r:.80}. "
            "Mend the environment."
        )

    def _checked_end(self, is_over: object) -> bool:
        value = _number(is_over)
        if value not in (0, 1):
            raise NeurozooError(
                f"{self.game!r} should say with True or False whether the episode is over, but says {is_over!r:.80}. "
                "Mend the environment."
            )
        return bool(value)

    def _new_plane(self) -> np.ndarray:
        plane = self._seen.astype(np.float32).reshape(self.shape.plane)
        return plane / np.float32(255) if self.shape.height > 1 else plane


def _array(value: object) -> np.ndarray:
    """Returns an array of what an environment gives; of objects if it is irregular."""
    try:
        return np.asarray(value)
    except ValueError:
        return np.empty((), object)


def _number(value: object) -> float:
    """Returns a number that an environment gives, alone or as an array's only one; NaN if it gives something else."""
    array = _array(value)
    try:
        return float(array.item()) if array.dtype.kind in _NUMBERS + "O" else np.nan
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _is_of_wrapper(error: Exception) -> bool:
    """Whether one of Gymnasium's wrappers could not use the environment; an environment of old Gym does this."""
    path = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
    return path.is_relative_to(_GYMNASIUM) and not path.is_relative_to(_GYMNASIUM / "envs")


def _described(error: Exception) -> str:
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {text_of(error)} ({Path(at.filename).name}, line {at.lineno})"


@cache  # says it once
def _say_black(game: str, reason: str) -> None:
    hint = " Install it: make setup EXTRAS=play." if "pygame" in reason else ""
    told = f"neurozoo: {game} cannot be drawn here, so its screens are black ({reason.rstrip('.')}).{hint}"
    print(told, file=sys.stderr, flush=True)


@cache  # says it once
def _say_long(game: str) -> None:
    told = (
        f"neurozoo: an episode of {game} has lasted {LONG_EPISODE:,} steps, and the environment has no limit. If it "
        "never ends, stop here and give max_episode_steps to gymnasium.register."
    )
    print(told, file=sys.stderr, flush=True)


def try_environment(game: str, protocol: Protocol) -> str | None:
    """Plays the first step of two episodes with one seed, because hours of training may come before the next error.

    Returns:
        A sentence if the episodes differ, so that runs cannot be repeated; None if they are equal.

    Raises:
        NeurozooError: The environment raises an error, or gives something else than its spaces and Gymnasium demand.
    """
    try:
        folder = os.getcwd()
        with contextlib.chdir(folder), contextlib.closing(GymnasiumWorld(game, protocol)) as world:
            first, second = _first_step(world), _first_step(world)
            if os.getcwd() != folder:
                raise NeurozooError(f"{game!r} changes the working directory, where results go. Mend the environment.")
    except NeurozooError:
        raise
    except Exception as error:  # the environment may raise anything
        raise NeurozooError(f"{game!r} fails in its first step: {_described(error)}. Mend the environment.") from error
    if np.array_equal(first, second):
        return None
    return (
        f"Two episodes of {game!r} with the same seed differ, so its runs cannot be repeated, and an interrupted run "
        "continues in another way. Draw all random numbers from self.np_random, which reset(seed=...) seeds."
    )


def _first_step(world: GymnasiumWorld) -> np.ndarray:
    """Returns the first two observations and the reward of an episode, as a vector."""
    start = world.reset(seed=1)
    seen, reward, _ = world.act(np.zeros(world.num_outputs, np.float32))
    return np.concatenate([start.ravel(), seen.ravel(), [reward]])


def _make(game: str) -> gymnasium.Env:
    identifier = gymnasium_id(game)
    environment = gymnasium.make(identifier, disable_env_checker=True)
    if "rgb_array" in environment.metadata.get("render_modes", ()):
        with contextlib.suppress(TypeError):  # its constructor does not take what its class says
            drawn = gymnasium.make(identifier, render_mode="rgb_array", disable_env_checker=True)
            close_environment(environment, game)
            return drawn
    return environment
