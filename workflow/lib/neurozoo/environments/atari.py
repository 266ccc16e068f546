"""Atari games in Python, step by step, in slow and simple code.

The native core plays the same episodes fast. This version records rollouts, which need the emulator's screens and RAM
in Python, and the core is tested against it.
"""

from collections.abc import Callable

import numpy as np
from PIL import Image

from neurozoo.environments.games import action_codes, rom_path
from neurozoo.environments.protocols import START_STATES, Protocol, start_actions
from neurozoo.environments.splitmix64 import SplitMix64
from neurozoo.environments.world import World, largest
from neurozoo.errors import NeurozooError

SIZE = 84  # height and width of a resized plane
ATARI_WIDTH = 160  # pixels of a line; on a television they are wide, and fill a screen of 4:3
FRAMES_PER_SECOND = 60  # of the console; 59.92 to be exact
SAMPLES_PER_FRAME = 512  # of sound
LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)  # weights of red, green and blue


class AtariEnvironment(World):
    """One Atari game under one protocol, see `World`. Every reset loads the ROM again.

    With `rgb` preprocessing an observation is one screen with values from 0 to 255; otherwise (84, 84, 4) in [0, 1].
    The emulator makes `sound` only if it `is_heard`.
    """

    _last_frames: list[np.ndarray]

    def __init__(self, game: str, protocol: Protocol, *, is_heard: bool = False):
        import ale_py

        super().__init__(game, protocol)
        self._codes = action_codes(game, protocol.action_set)
        self._start_codes = start_actions(game, protocol)
        self._rom = rom_path(game)
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self._emulator = ale_py.ALEInterface()
        self._emulator.setFloat("repeat_action_probability", protocol.sticky_probability)
        self._emulator.setBool("sound_obs", is_heard)
        self._emulator.loadROM(self._rom)  # makes the shape of the screen known

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

    def set_ram(self, address: int, value: int) -> None:
        """Writes a byte of the console's memory, which shows in the next frame."""
        self._emulator.setRAM(address, value)

    def save(self) -> tuple:
        """Returns the state of the running episode: the emulator's with its random numbers, and what is kept here."""
        emulator = self._emulator.cloneState(include_rng=True)
        return emulator, self._random, self._last_frames, self._planes, self.steps, self.frames, self.is_done

    def restore(self, saved: tuple) -> None:
        """Goes back to the state that `save` returned; `screen` and `sound` show it from the next frame on."""
        emulator, self._random, self._last_frames, self._planes, self.steps, self.frames, self.is_done = saved
        self._emulator.restoreState(emulator)

    def _start(self, seed: int, noops: int) -> None:
        self._emulator.setInt("random_seed", seed)
        self._random = SplitMix64(seed)
        self._restart()
        for code, frames in [(0, 1)] * noops + [(code, self.protocol.frame_skip) for code in self._start_codes]:
            for _ in range(frames):
                self._emulate(code)
                if self._emulator.game_over():
                    self._restart()
                    break
        # ale-py's vector environment starts from a single frame; of the published wrappers, the one that joins two
        # frames sees no-ops as parts of the reset.
        preprocessing = self.protocol.preprocessing
        if preprocessing == "area" or (preprocessing == "pil_bilinear" and not self._start_codes):
            self._last_frames = self._last_frames[-1:]

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
        self._check_running()
        if not 0 <= action < self.num_outputs:
            raise NeurozooError(f"{self.game} has the actions 0 to {self.num_outputs - 1}, but got {action}.")
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
        """Plays the action with the largest output; see `World.act`."""
        self._check_outputs(outputs)
        return self.step(largest(outputs))

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
    """Turns colours into greys in [0, 1] as floats; rounding to bytes would change what published agents do."""
    return weighted(screen.astype(np.float32) / np.float32(255))


def weighted(colours: np.ndarray) -> np.ndarray:
    """Weights red, green and blue, one after the other: float32, from shape (height, width, 3) to (height, width)."""
    return colours[..., 0] * LUMINANCE[0] + colours[..., 1] * LUMINANCE[1] + colours[..., 2] * LUMINANCE[2]


def resize_aligned(image: np.ndarray) -> np.ndarray:
    """Resizes float32 to 84 x 84 bilinearly with the corners of both images aligned, in float32.

    Today's default, half-pixel centres, changes the score of every published agent that we tried.

    Source: `resize_bilinear` of TensorFlow 1 with `align_corners=True`.
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
    """Resizes bytes by averaging the area that each new pixel covers, as OpenCV's INTER_AREA does.

    The result is float32 in [0, 1], rounded to multiples of 1/255, shape (84, 84).
    """
    means = _area_means(_area_means(image.astype(float)).T).T
    return np.rint(means).astype(np.float32) / np.float32(255)


def _area_means(image: np.ndarray) -> np.ndarray:
    """Averages along the first axis: takes the cumulative sum at the edges of the new pixels and subtracts."""
    size = len(image)
    edges = np.arange(SIZE + 1) * size / SIZE
    whole = edges.astype(int)
    sums = np.concatenate([np.zeros_like(image[:1]), np.cumsum(image, axis=0)])
    at_edges = sums[whole] + (edges - whole)[:, None] * image[np.minimum(whole, size - 1)]
    return np.diff(at_edges, axis=0) * SIZE / size


def resize_pil(image: np.ndarray) -> np.ndarray:
    """Resizes float32 in [0, 255] with PIL's bilinear filter, which averages where it shrinks.

    The result is float32 in [0, 1], cut to multiples of 1/255, shape (84, 84).
    Source: the published wrappers of the distributed code of Such et al. 2017.
    """
    resized = np.asarray(Image.fromarray(image).resize((SIZE, SIZE), Image.Resampling.BILINEAR))
    return resized.astype(np.uint8).astype(np.float32) / np.float32(255)


def aspect_of(screen_shape: tuple[int, ...]) -> float:
    """Returns width / height of a screen, (rows, columns, 3), for people: an Atari's as on a television."""
    rows, columns = screen_shape[:2]
    return 4 / 3 if columns == ATARI_WIDTH else columns / rows
