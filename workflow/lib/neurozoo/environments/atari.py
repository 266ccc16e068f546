"""An Atari game played step by step, the slow and obvious way.

The native op plays the same episodes fast and inside C++. This twin exists for what needs the emulator in Python: it
records rollouts (screens, RAM) and is the yardstick that the op is tested against.
"""

from collections.abc import Callable

import numpy as np

from neurozoo.environments.randomness import SplitMix64
from neurozoo.environments.single_frame import largest
from neurozoo.errors import NeurozooError
from neurozoo.games import START_STATES, Protocol, action_codes, observation_shape, rom_path, start_actions

SIZE = 84  # height and width of a resized plane
FRAMES_PER_SECOND = 60  # of the console; 59.92 to be exact
SAMPLES_PER_FRAME = 512  # of sound
LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)  # weights of red, green and blue


class AtariEnvironment:
    """One game under one protocol.

    An episode depends on the game, the protocol, `noops` and `seed` alone: every reset loads the ROM again.

    Args:
        game: Game id.
        protocol: How episodes are played.
        is_heard: Whether there is `sound`.

    Attributes:
        game: Game id such as `frostbite`.
        protocol: How the episode is played.
        shape: Shape of an observation.
        steps: Steps since the episode's start.
        frames: Emulator frames since the episode's start, after no-ops and FIRE.
        is_done: Whether the episode is over.
    """

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
        self._emulator.loadROM(self._rom)  # so that the screen has a shape
        self.steps = self.frames = 0
        self.is_done = True

    @property
    def num_actions(self) -> int:
        """Number of actions, which `step` takes by index."""
        return len(self._codes)

    @property
    def num_outputs(self) -> int:
        """Number of network outputs, which `act` takes: one for each action."""
        return self.num_actions

    @property
    def screen_shape(self) -> tuple[int, int, int]:
        """(height, width, 3) of `screen`."""
        return (*self._emulator.getScreenDims(), 3)

    @property
    def screen(self) -> np.ndarray:
        """The screen in colour: uint8, shape (height, width, 3); 210 x 160 in most games."""
        return self._emulator.getScreenRGB()

    @property
    def sound(self) -> np.ndarray:
        """What the last emulated frame sounds like: uint8, shape (`SAMPLES_PER_FRAME`,); 128 is silence."""
        return self._emulator.getAudio()

    @property
    def ram(self) -> np.ndarray:
        """The console's memory: uint8, shape (128,)."""
        return self._emulator.getRAM()

    @property
    def final_positions(self) -> np.ndarray:
        """None: float32, shape (0, 0)."""
        return np.zeros((0, 0), np.float32)

    @property
    def observation(self) -> np.ndarray:
        """The last planes, oldest first, zeros before the first: float32, (height, width, channels * stack).

        (84, 84, 4) in [0, 1]; under `rgb` one screen, 0 to 255.
        """
        return np.concatenate(self._planes, axis=-1)

    @property
    def plane(self) -> np.ndarray:
        """The newest plane of the observation: float32, shape (height, width, channels)."""
        return self._planes[-1]

    def reset(self, *, noops: int = 0, seed: int = 0) -> np.ndarray:
        """Starts an episode.

        Args:
            noops: Single-frame no-ops at the start. The caller draws them, so that an episode can be repeated.
            seed: Seed of the sticky actions and of the numbers of frames; without either it changes nothing.

        Returns:
            The first observation: the first screen after planes of zeros.

        Raises:
            NeurozooError: `noops` or `seed` is negative.
        """
        if noops < 0 or seed < 0:
            raise NeurozooError(
                f"An episode starts with noops >= 0 and seed >= 0, but noops={noops}, seed={seed} came."
            )
        self._emulator.setInt("random_seed", seed)
        self._restart()
        for code, frames in [(0, 1)] * noops + [(code, self.protocol.frame_skip) for code in self._start_codes]:
            for _ in range(frames):
                self._emulate(code)
                if self._emulator.game_over():
                    self._restart()
                    break
        if self.protocol.preprocessing == "area":
            self._last_frames = self._last_frames[-1:]  # ale-py's vector environment starts with one frame alone
        self.steps = self.frames = 0
        self.is_done = False
        self._random = SplitMix64(seed)
        self._planes = [np.zeros(self.shape.plane, np.float32)] * (self.shape.stack - 1) + [self._new_plane()]
        return self.observation

    def step(self, action: int, *, watch: Callable[[float], None] | None = None) -> tuple[np.ndarray, float, bool]:
        """Repeats an action for the protocol's number of frames, or until the episode is over.

        Args:
            action: Index into the protocol's action set.
            watch: Is called after each of the frames, with its reward.

        Returns:
            The observation, the sum of the frames' rewards in game points, and whether the episode is over.

        Raises:
            NeurozooError: The episode is over, or there is no such action.
        """
        if self.is_done:
            raise NeurozooError("The episode is over; call reset() to start the next one.")
        if not 0 <= action < self.num_actions:
            raise NeurozooError(f"{self.game} has the actions 0 to {self.num_actions - 1}, but {action} came.")
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
        """Plays the action with the largest output, the first of equals; see `step`.

        Raises:
            NeurozooError: The episode is over, or the outputs have another shape than (num_outputs,).
        """
        if np.shape(outputs) != (self.num_outputs,):
            raise NeurozooError(f"{self.game} takes {self.num_outputs} outputs, but shape {np.shape(outputs)} came.")
        return self.step(largest(outputs))

    def _frame_skip(self) -> int:
        least, most = self.protocol.least_frame_skip, self.protocol.frame_skip
        return most if least is None else least + self._random.below(most - least + 1)

    def _restart(self) -> None:
        self._emulator.loadROM(self._rom)  # a reset alone would leave RAM as the game before left it
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
        """Joins the last two emulated frames, because the console draws some objects in every second frame only."""
        if self.protocol.preprocessing == "rgb":
            return self._last_frames[-1].astype(np.float32)
        if self.protocol.preprocessing == "area":
            return resize_area(np.max(self._last_frames, axis=0))[..., None]
        return resize_aligned(np.max([luminance(frame) for frame in self._last_frames], axis=0))[..., None]


def luminance(screen: np.ndarray) -> np.ndarray:
    """Turns colours into greys without rounding them to bytes, which would change what evolved agents do.

    Args:
        screen: uint8, shape (height, width, 3).

    Returns:
        float32 in [0, 1], shape (height, width).
    """
    colours = screen.astype(np.float32) / np.float32(255)
    return colours[..., 0] * LUMINANCE[0] + colours[..., 1] * LUMINANCE[1] + colours[..., 2] * LUMINANCE[2]


def resize_aligned(image: np.ndarray) -> np.ndarray:
    """Resizes bilinearly with the corners of both images aligned, in the arithmetic of TensorFlow 1.

    Half-pixel centres, today's habit, would change the score of every published agent that was tried.

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
    """Resizes by averaging the area that each new pixel covers, as OpenCV's INTER_AREA, and rounds to bytes.

    Args:
        image: uint8, shape (height, width).

    Returns:
        float32 in [0, 1], multiples of 1/255, shape (84, 84).
    """
    means = _area_means(_area_means(image.astype(float)).T).T
    return np.rint(means).astype(np.float32) / np.float32(255)


def _area_means(image: np.ndarray) -> np.ndarray:
    """Averages along the first axis: differences of the running sum, read at the new pixels' edges."""
    size = len(image)
    edges = np.arange(SIZE + 1) * size / SIZE
    whole = edges.astype(int)
    sums = np.concatenate([np.zeros_like(image[:1]), np.cumsum(image, axis=0)])
    at_edges = sums[whole] + (edges - whole)[:, None] * image[np.minimum(whole, size - 1)]
    return np.diff(at_edges, axis=0) * SIZE / size
