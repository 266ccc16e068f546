"""Wraps Gymnasium environments, with vectors or pictures as observations, as a `World`."""

import contextlib
import math
import sys
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import gymnasium
import numpy as np

from neurozoo.environments.gymnasium_games import close_environment, gymnasium_id
from neurozoo.environments.protocols import Protocol
from neurozoo.environments.world import SingleFrameWorld, largest
from neurozoo.errors import NeurozooError

LONG_EPISODE = 100_000  # steps after which a missing limit is told
_API = "reset returns (observation, info), and step (observation, reward, is terminated, is truncated, info)"


class GymnasiumWorld(SingleFrameWorld):
    """A Gymnasium environment, see `World`.

    The largest output chooses a discrete action; continuous actions are the outputs, clipped to their bounds. The
    environment draws its random numbers from the episode's seed. Pictures become numbers from 0 to 1.
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
            if picture.ndim != 3 or picture.shape[2] != 3:
                raise ValueError(f"render should give a picture of shape (height, width, 3), but gives {picture.shape}")
        except Exception as error:  # packages and graphics drivers are missing, and each library raises its own kind
            self._can_draw = False
            _say_black(self.game, f"{type(error).__name__}: {error}")
            return None
        return picture

    def _start(self, seed: int, noops: int) -> None:
        self._seed = seed
        with self._placed(step=0):
            begun = self._environment.reset(seed=seed)
            if not isinstance(begun, tuple) or len(begun) != 2:
                raise NeurozooError(f"reset of {self.game!r} returns {type(begun).__name__}. Mend it: {_API}.")
            self._seen = self._checked(begun[0])

    def _play(self, outputs: np.ndarray, is_last: bool) -> tuple[float, bool]:
        space = self._environment.action_space
        with self._placed(step=self.steps + 1):
            if isinstance(space, gymnasium.spaces.Discrete):
                action: int | np.ndarray = largest(outputs)
            else:
                assert isinstance(space, gymnasium.spaces.Box)  # `gymnasium_spaces` refuses other spaces
                action = np.clip(np.nan_to_num(outputs), space.low, space.high).astype(space.dtype)
            seen, reward, is_terminated, is_truncated, _ = self._environment.step(action)
            self._seen = self._checked(seen)
            self.is_truncated = bool(is_truncated and not is_terminated)
            if self.steps == LONG_EPISODE and not getattr(self._environment.spec, "max_episode_steps", None):
                _say_long(self.game)
            return self._checked_reward(reward), bool(is_terminated or is_truncated)

    @contextlib.contextmanager
    def _placed(self, *, step: int) -> Iterator[None]:
        """Lets an error say in which step of which episode it happened, so that it can be repeated."""
        try:
            yield
        except Exception as error:
            place = f"This happened in step {step} of the episode with seed {self._seed} of {self.game!r}."
            if isinstance(error, NeurozooError):
                error.args = (f"{error} {place}",)
            else:
                error.add_note(place)
            raise

    def _checked(self, seen: object) -> np.ndarray:
        """Returns an observation that is what the environment's space says, and finite."""
        array, space = np.asarray(seen), self._environment.observation_space
        if array.shape != space.shape or (self.shape.height > 1 and array.dtype != np.uint8):
            raise NeurozooError(
                f"{self.game!r} should show {space.dtype} of shape {space.shape}, as its observation_space says, but "
                f"shows {array.dtype} of shape {array.shape}. Mend the environment."
            )
        with np.errstate(over="ignore"):
            is_finite = np.isfinite(array.astype(np.float32)).all()  # which is what agents see
        if not is_finite:
            raise NeurozooError(f"{self.game!r} shows numbers that are not finite. Mend the environment.")
        return array

    def _checked_reward(self, reward: object) -> float:
        try:
            value = float(reward)  # type: ignore[arg-type]  # an environment may return anything
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            raise NeurozooError(
                f"{self.game!r} should give a finite number as reward, but gives {reward!r:.80}. Mend the environment."
            )
        return value

    def _new_plane(self) -> np.ndarray:
        plane = self._seen.astype(np.float32).reshape(self.shape.plane)
        return plane / np.float32(255) if self.shape.height > 1 else plane


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
        with contextlib.closing(GymnasiumWorld(game, protocol)) as world:
            first, second = _first_step(world), _first_step(world)
    except NeurozooError:
        raise
    except Exception as error:  # the environment may raise anything
        at = traceback.extract_tb(error.__traceback__)[-1]
        raise NeurozooError(
            f"{game!r} fails in its first step: {type(error).__name__}: {error} ({Path(at.filename).name}, line "
            f"{at.lineno}). Mend the environment: {_API}."
        ) from error
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
    environment = gymnasium.make(identifier)
    if "rgb_array" in environment.metadata.get("render_modes", ()):
        with contextlib.suppress(TypeError):  # its constructor does not take what its class says
            drawn = gymnasium.make(identifier, render_mode="rgb_array")
            close_environment(environment, game)
            return drawn
    return environment
