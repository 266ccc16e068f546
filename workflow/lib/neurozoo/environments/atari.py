"""Atari games in Python, step by step, in slow and simple code.

The native op plays the same episodes fast in C++. This version records rollouts, which need the emulator's screens and
RAM in Python, and the op is tested against it.
"""

from collections.abc import Callable

import numpy as np
from PIL import Image

from neurozoo.environments.games import action_codes, rom_path
from neurozoo.environments.observations import observation_shape
from neurozoo.environments.protocols import START_STATES, Protocol, start_actions
from neurozoo.environments.single_frame import largest
from neurozoo.environments.splitmix64 import SplitMix64
from neurozoo.errors import NeurozooError

SIZE = 84  # height and width of a resized plane
FRAMES_PER_SECOND = 60  # of the console; 59.92 to be exact
SAMPLES_PER_FRAME = 512  # of sound
LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)  # weights of red, green and blue


class AtariEnvironment:
    """One game under one protocol.

    An episode depends only on the game, the protocol, `noops` and `seed`, because every reset loads the ROM again.

    Args:
        game: Game id.
        protocol: How episodes are played.
        is_heard: Whether the emulator makes `sound`.

    Attributes:
        game: Game id such as `frostbite`.
        protocol: How the episode is played.
        shape: Shape of an observation.
        steps: Steps since the episode's start.
        frames: Emulator frames since the episode's start, after no-ops and FIRE.
        is_done: Whether the episode is over.
    """

    _last_frames: list[np.ndarray]

    def __init__(self, game: str, protocol: Protocol, *, is_heard: bool = False):
        import ale_py

        self.game = game
        self.protocol = protocol
        self.shape = observation_shape(game, protocol)
        self._codes = action_codes(game, protocol.action_set)
        self._start_codes = start_actions(game, protocol)
        self._rom = rom_path(game)
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self._emulator = ale_py.ALEInterface()
        self._emulator.setFloat("repeat_action_probability", protocol.sticky_probability)
        self._emulator.setBool("sound_obs", is_heard)
        self._emulator.loadROM(self._rom)  # makes the shape of the screen known
        self.steps = self.frames = 0
        self.is_done = True

    @property
    def num_actions(self) -> int:
        """Number of actions; `step` takes an index below it."""
        return len(self._codes)

    @property
    def num_outputs(self) -> int:
        """Number of network outputs that `act` takes: one per action."""
        return self.num_actions

    @property
    def screen_shape(self) -> tuple[int, int, int]:
        """(height, width, 3) of `screen`."""
        return (*self._emulator.getScreenDims(), 3)

    @property
    def screen(self) -> np.ndarray:
        """The screen in colour: uint8, shape (height, width, 3); 210 x 160 pixels in most games."""
        return self._emulator.getScreenRGB()

    @property
    def sound(self) -> np.ndarray:
        """The sound of the last emulated frame: uint8, shape (`SAMPLES_PER_FRAME`,); 128 is silence."""
        return self._emulator.getAudio()

    @property
    def ram(self) -> np.ndarray:
        """The console's memory: uint8, shape (128,)."""
        return self._emulator.getRAM()

    @property
    def final_positions(self) -> np.ndarray:
        """Empty, since Atari games have no positions: float32, shape (0, 0)."""
        return np.zeros((0, 0), np.float32)

    @property
    def observation(self) -> np.ndarray:
        """The last planes, oldest first; zeros before the first plane: float32, (height, width, channels * stack).

        Shape (84, 84, 4) in [0, 1]. With `rgb` preprocessing it is one screen with values from 0 to 255.
        """
        return np.concatenate(self._planes, axis=-1)

    @property
    def plane(self) -> np.ndarray:
        """The newest plane of the observation: float32, shape (height, width, channels)."""
        return self._planes[-1]

    def reset(self, *, noops: int = 0, seed: int = 0) -> np.ndarray:
        """Starts an episode.

        Args:
            noops: Number of single-frame no-ops at the start. The caller draws it, so that an episode can be repeated.
            seed: Seed of sticky actions and of random frame skips. Protocols without these ignore it.

        Returns:
            The first observation: planes of zeros, or copies of the first screen, and then the first screen.

        Raises:
            NeurozooError: `noops` or `seed` is negative.
        """
        if noops < 0 or seed < 0:
            raise NeurozooError(f"noops and seed should be 0 or more, but got noops={noops} and seed={seed}.")
        self._emulator.setInt("random_seed", seed)
        self._restart()
        for code, frames in [(0, 1)] * noops + [(code, self.protocol.frame_skip) for code in self._start_codes]:
            for _ in range(frames):
                self._emulate(code)
                if self._emulator.game_over():
                    self._restart()
                    break
        if self.protocol.preprocessing == "area":
            # As ale-py's vector environment, which starts from a single frame.
            self._last_frames = self._last_frames[-1:]
        if self.protocol.preprocessing == "pil_bilinear" and not self._start_codes:
            # As the published wrappers: the one that joins two frames sees no-ops as parts of the reset.
            self._last_frames = self._last_frames[-1:]
        self.steps = self.frames = 0
        self.is_done = False
        self._random = SplitMix64(seed)
        first = self._new_plane()
        before = first if self.shape.repeats_first else np.zeros(self.shape.plane, np.float32)
        self._planes = [before] * (self.shape.stack - 1) + [first]
        return self.observation

    def step(self, action: int, *, watch: Callable[[float], None] | None = None) -> tuple[np.ndarray, float, bool]:
        """Repeats an action for the frames of one step, or until the episode is over.

        Args:
            action: Index into the protocol's action set.
            watch: Called after each frame with its reward.

        Returns:
            The observation, the sum of the frames' rewards in game points, and whether the episode is over.

        Raises:
            NeurozooError: The episode is over, or the action does not exist.
        """
        if self.is_done:
            raise NeurozooError("The episode is over; call reset() to start the next one.")
        if not 0 <= action < self.num_actions:
            raise NeurozooError(f"{self.game} has the actions 0 to {self.num_actions - 1}, but got {action}.")
        reward = 0.0
        for _ in range(self._frame_skip()):
            gained = self._emulate(self._codes[action])
            reward += gained
            self.frames += 1
            self.is_done = self._emulator.game_over() or self.frames >= self.protocol.max_frames
            if watch is not None:
                watch(gained)
            if self.is_done:
                break
        self.steps += 1
        self._planes = [*self._planes[1:], self._new_plane()]
        return self.observation, reward, self.is_done

    def act(self, outputs: np.ndarray) -> tuple[np.ndarray, float, bool]:
        """Plays the action with the largest output (of equal ones the first); see `step`.

        Raises:
            NeurozooError: The episode is over, or the shape of the outputs is not (num_outputs,).
        """
        if np.shape(outputs) != (self.num_outputs,):
            raise NeurozooError(
                f"{self.game} takes {self.num_outputs} outputs, but got an array of shape {np.shape(outputs)}."
            )
        return self.step(largest(outputs))

    def close(self) -> None:
        """Does nothing: the emulator goes with this object."""

    def _frame_skip(self) -> int:
        least, most = self.protocol.least_frame_skip, self.protocol.frame_skip
        return most if least is None else least + self._random.below(most - least + 1)

    def _restart(self) -> None:
        self._emulator.loadROM(self._rom)  # a reset alone keeps the RAM of the last episode
        self._emulator.reset_game()
        if self.protocol.start_state == "2018":
            for index, value in START_STATES[self.game].items():
                self._emulator.setRAM(index, value)
        self._last_frames = [self._frame()]

    def _emulate(self, code: int) -> float:
        reward = self._emulator.act(code)
        self._last_frames = [*self._last_frames[-1:], self._frame()]
        return reward

    def _frame(self) -> np.ndarray:
        is_area = self.protocol.preprocessing == "area"
        return self._emulator.getScreenGrayscale() if is_area else self._emulator.getScreenRGB()

    def _new_plane(self) -> np.ndarray:
        """Joins the last two emulated frames, because the console draws some objects only in every second frame."""
        if self.protocol.preprocessing == "rgb":
            return self._last_frames[-1].astype(np.float32)
        if self.protocol.preprocessing == "pil_bilinear":
            return resize_pil(weighted(np.max(self._last_frames, axis=0).astype(np.float32)))[..., None]
        if self.protocol.preprocessing == "area":
            return resize_area(np.max(self._last_frames, axis=0))[..., None]
        return resize_aligned(np.max([luminance(frame) for frame in self._last_frames], axis=0))[..., None]


def luminance(screen: np.ndarray) -> np.ndarray:
    """Turns colours into greys as floats; rounding to bytes would change what published agents do.

    Args:
        screen: uint8, shape (height, width, 3).

    Returns:
        float32 in [0, 1], shape (height, width).
    """
    return weighted(screen.astype(np.float32) / np.float32(255))


def weighted(colours: np.ndarray) -> np.ndarray:
    """Weights red, green and blue, one after the other: float32, from shape (height, width, 3) to (height, width)."""
    return colours[..., 0] * LUMINANCE[0] + colours[..., 1] * LUMINANCE[1] + colours[..., 2] * LUMINANCE[2]


def resize_aligned(image: np.ndarray) -> np.ndarray:
    """Resizes bilinearly with the corners of both images aligned, in the arithmetic of TensorFlow 1.

    Today's default, half-pixel centres, changes the score of every published agent that we tried.

    Args:
        image: float32, shape (height, width).

    Returns:
        float32, shape (84, 84).

    Source: `resize_bilinear` of TensorFlow 1 with `align_corners=True`; float32 throughout.
    """
    top, bottom, y_weight = _samples(image.shape[0])
    left, right, x_weight = _samples(image.shape[1])
    rows = image[:, left] + (image[:, right] - image[:, left]) * x_weight
    return rows[top] + (rows[bottom] - rows[top]) * y_weight[:, None]


def _samples(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    scale = np.float32(size - 1) / np.float32(SIZE - 1)
    position = np.arange(SIZE, dtype=np.float32) * scale
    lower = np.minimum(position.astype(int), size - 1)
    return lower, np.minimum(lower + 1, size - 1), position - lower.astype(np.float32)


def resize_area(image: np.ndarray) -> np.ndarray:
    """Resizes by averaging the area that each new pixel covers, as OpenCV's INTER_AREA does, and rounds to bytes.

    Args:
        image: uint8, shape (height, width).

    Returns:
        float32 in [0, 1], multiples of 1/255, shape (84, 84).
    """
    means = _area_means(_area_means(image.astype(float)).T).T
    return np.rint(means).astype(np.float32) / np.float32(255)


def resize_pil(image: np.ndarray) -> np.ndarray:
    """Resizes with PIL's bilinear filter, which averages where it shrinks, and cuts to bytes.

    Args:
        image: float32 in [0, 255], shape (height, width).

    Returns:
        float32 in [0, 1], multiples of 1/255, shape (84, 84).

    Source: the published wrappers of the distributed code of Such et al. 2017.
    """
    resized = np.asarray(Image.fromarray(image).resize((SIZE, SIZE), Image.Resampling.BILINEAR))
    return resized.astype(np.uint8).astype(np.float32) / np.float32(255)


def _area_means(image: np.ndarray) -> np.ndarray:
    """Averages along the first axis: takes the cumulative sum at the edges of the new pixels and subtracts."""
    size = len(image)
    edges = np.arange(SIZE + 1) * size / SIZE
    whole = edges.astype(int)
    sums = np.concatenate([np.zeros_like(image[:1]), np.cumsum(image, axis=0)])
    at_edges = sums[whole] + (edges - whole)[:, None] * image[np.minimum(whole, size - 1)]
    return np.diff(at_edges, axis=0) * SIZE / size
