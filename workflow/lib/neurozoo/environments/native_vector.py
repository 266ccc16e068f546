"""The op's twin of ale-py's vector environment: the same calls give the same arrays in half the time."""

import ctypes
import os

import numpy as np
from gymnasium.spaces import Discrete

from neurozoo.environments.games import action_codes, rom_path
from neurozoo.errors import NeurozooError
from neurozoo.native import load_functions

_STACK = (4, 84, 84)
_FACTS = 5  # reward, whether the game is over, whether it was cut, lives, frames of the episode: int32 each
_MESSAGE = 500  # bytes of a sentence, at most

_INT, _POINTER = ctypes.c_int32, ctypes.c_void_p
_SENTENCE = (ctypes.c_char_p, ctypes.c_int64)
_MAKE = (ctypes.c_char_p, _POINTER, _INT, ctypes.c_float, _INT, _INT, ctypes.c_int64, _INT, _INT, _POINTER, *_SENTENCE)
_RESET = (_POINTER, _POINTER, _POINTER, _POINTER, _POINTER, *_SENTENCE)


class NativeVectorEnv:
    """Plays copies of an Atari game in threads of the op, with the interface of `ale_py.vector_env.AtariVectorEnv`.

    Screens, rewards, ends, lives and frames equal ale-py's to the bit, for equal seeds. After the end of an episode,
    nothing happens in an environment until its next reset.

    Arguments have ale-py's names and meanings: a step has at least 2 frames (`frameskip`), and episodes begin with
    fewer no-ops than `noop_max`, from none on.

    Raises:
        NeurozooError: The library or the ROM is missing or does not fit, or a thread cannot be started.
    """

    _vector: ctypes.c_void_p | None = None

    def __init__(
        self,
        ops: str | os.PathLike,
        game: str,
        num_envs: int,
        *,
        num_threads: int,
        max_num_frames_per_episode: int,
        repeat_action_probability: float,
        full_action_space: bool,
        frameskip: int,
        noop_max: int,
    ) -> None:
        library = load_functions(ops)
        self._make = _declared(library.neurozoo_atari_vector_make, ctypes.c_bool, _MAKE)
        self._reset = _declared(library.neurozoo_atari_vector_reset, ctypes.c_bool, _RESET)
        self._send = _declared(library.neurozoo_atari_vector_send, None, _RESET[:4])
        self._receive = _declared(library.neurozoo_atari_vector_receive, ctypes.c_bool, (_POINTER, *_SENTENCE))
        self._delete = _declared(library.neurozoo_atari_vector_delete, None, (_POINTER,))
        self._said = ctypes.create_string_buffer(_MESSAGE), _MESSAGE  # where the op writes what went wrong
        codes = np.array(action_codes(game, "full" if full_action_space else "minimal"), np.int32)
        self.single_action_space = Discrete(len(codes))
        self._num_envs = num_envs
        self._stacks, self._facts = self._new_arrays()
        vector = ctypes.c_void_p()
        self._check(
            self._make(
                *(os.fsencode(rom_path(game)), codes.ctypes.data, len(codes), repeat_action_probability, frameskip),
                *(max(noop_max - 1, 0), max_num_frames_per_episode, num_envs, num_threads, ctypes.byref(vector)),
                *self._said,
            )
        )
        self._vector = vector

    def reset(self, *, seed: np.ndarray, options: dict[str, np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Starts episodes in the environments of `options["reset_mask"]`, with a seed for each, and waits for them.

        Returns:
            Stacks of all environments, uint8, shape (num_envs, 4, 84, 84); and `lives` and `episode_frame_number`.
        """
        mask = options["reset_mask"]
        seeds = np.zeros(self._num_envs, np.int64)
        seeds[mask] = seed
        chosen = mask.astype(np.uint8)
        self._stacks, self._facts = self._new_arrays()
        self._check(self._reset(self._handle(), seeds.ctypes.data, chosen.ctypes.data, *self._targets(), *self._said))
        return self._stacks, self._info()

    def send(self, actions: np.ndarray) -> None:
        """Starts a step of all environments and returns at once; int32, shape (num_envs,)."""
        actions = np.ascontiguousarray(actions, np.int32)
        if actions.shape != (self._num_envs,):
            raise NeurozooError(f"{self._num_envs} environments need as many actions, but {actions.shape} came.")
        self._stacks, self._facts = self._new_arrays()  # a receiver may keep the previous ones
        self._send(self._handle(), actions.ctypes.data, *self._targets())

    def recv(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Waits for the step; returns stacks, rewards, what is over, what was cut, and info as `reset` does."""
        self._check(self._receive(self._handle(), *self._said))
        rewards, is_over, is_cut = self._facts[:, 0], self._facts[:, 1] != 0, self._facts[:, 2] != 0
        return self._stacks, rewards, is_over, is_cut, self._info()

    def close(self) -> None:
        """Ends the threads after the step that they play, and frees the memory."""
        if self._vector is not None:
            self._delete(self._vector)
            self._vector = None

    def __del__(self) -> None:
        self.close()

    def _handle(self) -> ctypes.c_void_p:
        if self._vector is None:
            raise NeurozooError("The environments are closed.")
        return self._vector

    def _new_arrays(self) -> tuple[np.ndarray, np.ndarray]:
        return np.empty((self._num_envs, *_STACK), np.uint8), np.empty((self._num_envs, _FACTS), np.int32)

    def _targets(self) -> tuple[int, int]:
        return self._stacks.ctypes.data, self._facts.ctypes.data

    def _info(self) -> dict[str, np.ndarray]:
        return {"lives": self._facts[:, 3], "episode_frame_number": self._facts[:, 4]}

    def _check(self, succeeded: bool) -> None:
        if not succeeded:
            raise NeurozooError(self._said[0].value.decode(errors="replace"))


def _declared(function, result, arguments):
    function.restype, function.argtypes = result, arguments
    return function
