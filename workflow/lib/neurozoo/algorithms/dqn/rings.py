"""The rows of a replay memory, in main memory or in files that outlive the process."""

import contextlib
import os
import zlib
from pathlib import Path

import numpy as np

from neurozoo.compute.memory import check_memory, gigabytes
from neurozoo.errors import NeurozooError
from neurozoo.folders import delete, open_descriptor, reached

PURPOSE = "The replay memory"
MEMORY_REMEDY = "Choose a smaller replay_size, or keep_replay: true, which keeps it on the disk."
DISK_REMEDY = "Choose a smaller replay_size, free some space there, or choose keep_replay: false."


class Rings:
    """Five parallel arrays of `rows` rows each, and checksums that show whether files fit a saved state.

    Files in the folder are not touched before `create` or `open`, because a saved state may need them. Without a folder
    the rows are in main memory. Raises `NeurozooError` if there is too little memory or disk; `remedy` tells the user
    what to do about a missing or damaged file.

    Attributes:
        screens: Shape (rows, height, width), uint8, the screen after the action.
        actions: Shape (rows,), uint8.
        rewards: Shape (rows,), float32, raw.
        terminals: Shape (rows,), bool.
        ages: Shape (rows,), int32, rows since the segment began.
        needed: Bytes that they take.
        available: Bytes that were available for them.
    """

    screens: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    terminals: np.ndarray
    ages: np.ndarray

    def __init__(self, rows: int, shape: tuple[int, int], *, folder: Path | None, remedy: str) -> None:
        self._rows, self._layout, self._folder, self._remedy = rows, _layout(shape), folder, remedy
        self._arrays: dict[str, np.ndarray] = {}
        self.needed = self.bytes_needed(rows, shape)
        if folder is None:
            self.available = check_memory(self.needed, purpose=PURPOSE, remedy=MEMORY_REMEDY)
            self.create()
        else:
            there = sum(path.stat().st_size for path in map(self._path, self._layout) if path.exists())
            missing = max(0, self.needed - there)
            self.available = there + check_memory(missing, folder, purpose=PURPOSE, remedy=DISK_REMEDY)

    @staticmethod
    def bytes_needed(rows: int, shape: tuple[int, int]) -> int:
        """Returns the bytes that so many rows take."""
        return rows * sum(np.dtype(dtype).itemsize * int(np.prod(tail)) for dtype, tail in _layout(shape).values())

    @property
    def is_there(self) -> bool:
        """Whether the arrays can be used; those of a folder only after `create` or `open`."""
        return bool(self._arrays)

    def create(self) -> None:
        """Makes new rows, or raises `NeurozooError` if there is not enough room after all.

        Files get their full size at once, so that a full disk is noticed now and not hours later.
        """
        try:
            for name, (dtype, tail) in self._layout.items():
                self._set(name, self._created(name, dtype, (self._rows, *tail)))
        except (MemoryError, OSError) as error:  # a limit of the shell or of a scheduler, or a full disk
            self._arrays = {}
            for path in map(self._path, self._layout) if self._folder is not None else ():
                with contextlib.suppress(OSError):
                    delete(path)
            place, remedy = ("memory", MEMORY_REMEDY) if self._folder is None else (self._folder, DISK_REMEDY)
            raise NeurozooError(
                f"{PURPOSE} needs {gigabytes(self.needed)} in {place}, but got no more room ({error}). {remedy}"
            ) from error

    def open(self) -> None:
        """Opens the rows in the files of an earlier process; raises `NeurozooError` if one is missing or damaged."""
        for name, (dtype, tail) in self._layout.items():
            path, shape = self._path(name), (self._rows, *tail)
            try:
                with open(path, "rb+", opener=open_descriptor) as file:
                    # First read-only: in write mode, NumPy would fill up a file that was cut off.
                    array = np.lib.format.open_memmap(reached(file.fileno()), mode="r")
                    if (array.dtype, array.shape) != (np.dtype(dtype), shape):
                        raise ValueError(f"{array.dtype} of shape {array.shape}, expected {np.dtype(dtype)} of {shape}")
                    self._set(name, np.lib.format.open_memmap(reached(file.fileno()), mode="r+"))
            except OSError as error:
                raise NeurozooError(
                    f"{path}, which the saved state needs, cannot be opened ({error.strerror}). {self._remedy}"
                ) from error
            except ValueError as error:
                raise NeurozooError(f"{path} is damaged ({error}). {self._remedy}") from error

    def flush(self) -> None:
        """Writes changes of files to disk."""
        for array in self._arrays.values():
            if isinstance(array, np.memmap):
                array.flush()

    def checksum(self, slots: list[int]) -> int:
        """Returns a checksum of some rows."""
        value = 0
        for slot in slots:
            for name in self._layout:
                value = zlib.crc32(getattr(self, name)[slot].tobytes(), value)
        return value

    def _created(self, name: str, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
        if self._folder is None:
            return np.zeros(shape, dtype)
        delete(self._path(name))
        with open(self._path(name), "xb+", opener=open_descriptor) as file:
            array = np.lib.format.open_memmap(reached(file.fileno()), mode="w+", dtype=dtype, shape=shape)
            os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
        return array

    def _set(self, name: str, array: np.ndarray) -> None:
        self._arrays[name] = array
        setattr(self, name, np.asarray(array))  # indexing a np.memmap takes several times as long

    def _path(self, name: str) -> Path:
        assert self._folder is not None  # arrays in memory have no paths
        return self._folder / f"{name}.npy"


def _layout(shape: tuple[int, int]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Returns dtype and shape of one row of each array."""
    return {
        "screens": ("u1", tuple(shape)),
        "actions": ("u1", ()),
        "rewards": ("<f4", ()),
        "terminals": ("?", ()),
        "ages": ("<i4", ()),
    }
