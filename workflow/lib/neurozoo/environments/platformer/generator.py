"""The generator of levels: a network of transposed convolutions, which learned elsewhere, in NumPy.

A level needs the upper left corner of the network's picture only, so nothing else is computed.

Source: section 5.2 of the description of DSAGE; `neurozoo.algorithms.quality_diversity.level_networks` trains it.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from neurozoo.environments.platformer.tiles import ALPHABET, HEIGHT, WIDTH
from neurozoo.errors import NeurozooError
from neurozoo.files import written_whole
from neurozoo.files.npz import DAMAGE, read_npz

SOLUTION_SIZE = 32
_KERNEL = 4  # side of the transposed convolutions, which double a picture
_BLOCK = 32  # levels at a time: however many are decoded, each is computed in the same way
_MOST_LAYERS = 8
_REMEDY = "Make one with: python -m neurozoo train-generator, or write grammar for levels without learning."


class Generator:
    """Turns solutions into levels: a linear layer, then convolutions that double the picture; the largest channel wins.

    Args:
        arrays: Float32 arrays. `kernel_0`, shape (32, height, width, channels), makes the first picture; `kernel_1` and
            so on, shape (4, 4, channels before, channels), double it, and the last one has 17 channels, a tile each.
            `scale_0`, `shift_0` and so on, shape (channels,), follow each of them but the last, before the ramp.
            `rectifies`, shape (): 1 if a ramp follows the last one, so that air wins wherever no tile is above 0.

    Raises:
        NeurozooError: They do not fit together, have another type, or are not finite.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays = _checked(arrays)
        layers = sum(name.startswith("kernel") for name in arrays)
        self._first = self.arrays["kernel_0"]
        self._kernels = [_by_phase(self.arrays[f"kernel_{layer}"]) for layer in range(1, layers)]
        self._sizes = [(HEIGHT, WIDTH)]  # of the pictures, as far as they are needed
        for _ in self._kernels:
            self._sizes.insert(0, (self._sizes[0][0] // 2 + 1, self._sizes[0][1] // 2 + 1))

    @classmethod
    def read(cls, path: str | os.PathLike) -> "Generator":
        """Reads what `write` wrote.

        Raises:
            NeurozooError: The file is missing, damaged, or no generator of these levels.
        """
        if not Path(path).exists():
            raise NeurozooError(f"The generator {path} is missing. {_REMEDY}")
        try:
            return cls(read_npz(path))
        except (*DAMAGE, OSError, NeurozooError) as error:
            reason = str(error).rstrip(".")
            raise NeurozooError(f"{path} is not a generator of platform levels: {reason}. {_REMEDY}") from error

    def write(self, path: str | os.PathLike) -> None:
        """Writes the arrays to a file. Equal arrays give equal bytes."""
        with written_whole(path) as temporary:
            np.savez(temporary, allow_pickle=False, **self.arrays)

    def decode(self, solutions: np.ndarray) -> np.ndarray:
        """Makes levels of solutions, shape (levels, 32): uint8, shape (levels, 16, 56), numbers of tiles.

        The level of a solution does not depend on the others.
        """
        solutions = np.asarray(solutions, np.float32).reshape(-1, SOLUTION_SIZE)
        padded = np.pad(solutions, ((0, -len(solutions) % _BLOCK), (0, 0))).reshape(-1, _BLOCK, SOLUTION_SIZE)
        levels = np.zeros((len(padded), _BLOCK, HEIGHT, WIDTH), np.uint8)
        for block, of_block in zip(padded, levels, strict=True):
            of_block[:] = self._picture(block).argmax(axis=-1)
        return levels.reshape(-1, HEIGHT, WIDTH)[: len(solutions)]

    def _picture(self, solutions: np.ndarray) -> np.ndarray:
        """Returns the channels of levels: float32, shape (levels, 16, 56, 17)."""
        rows, columns = (min(have, need) for have, need in zip(self._first.shape[1:3], self._sizes[0], strict=True))
        first = self._first[:, :rows, :columns]
        picture = (solutions @ first.reshape(SOLUTION_SIZE, -1)).reshape(-1, *first.shape[1:])
        for layer, kernels in enumerate(self._kernels):
            picture = np.maximum(picture * self.arrays[f"scale_{layer}"] + self.arrays[f"shift_{layer}"], 0)
            picture = _doubled(picture, kernels)
            rows, columns = self._sizes[layer + 1]
            picture = picture[:, :rows, :columns]
        return np.maximum(picture, 0) if self.arrays["rectifies"] else picture


def _by_phase(kernel: np.ndarray) -> np.ndarray:
    """Sorts a kernel by the pixels of the doubled picture: shape (2, 2, 4 * channels before, channels).

    Pixel 2 i of a line sees pixels i - 1 and i through entries 3 and 1 of the kernel, pixel 2 i + 1 sees i and i + 1
    through entries 2 and 0.
    """
    pairs = ((3, 1), (2, 0))
    return np.stack([
        np.stack([kernel[np.ix_(rows, columns)].reshape(-1, kernel.shape[-1]) for columns in pairs]) for rows in pairs
    ])  # fmt: skip


def _doubled(picture: np.ndarray, kernels: np.ndarray) -> np.ndarray:
    """Doubles pictures by a transposed convolution with strides of 2 and padding of 1; see `_by_phase`."""
    levels, height, width, channels = picture.shape
    padded = np.pad(picture, ((0, 0), (1, 1), (1, 1), (0, 0)))
    doubled = np.empty((levels, 2 * height, 2 * width, kernels.shape[-1]), np.float32)
    for row in range(2):
        for column in range(2):
            corners = [(row + i, column + j) for i in range(2) for j in range(2)]
            seen = np.concatenate([padded[:, i : i + height, j : j + width] for i, j in corners], axis=-1)
            sums = seen.reshape(-1, 4 * channels) @ kernels[row, column]
            doubled[:, row::2, column::2] = sums.reshape(levels, height, width, -1)
    return doubled


def _checked(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the arrays if they are those of a generator."""
    layers = sum(name.startswith("kernel") for name in arrays)
    wanted = {f"kernel_{layer}" for layer in range(layers)} | {"rectifies"}
    wanted |= {f"{name}_{layer}" for layer in range(layers - 1) for name in ("scale", "shift")}
    if not 2 <= layers <= _MOST_LAYERS or set(arrays) != wanted:
        raise NeurozooError(
            f"It should have kernel_0, kernel_1 and so on, a scale and a shift after each of them but the last, and "
            f"rectifies, but has {', '.join(sorted(arrays)) or 'nothing'}."
        )
    first = arrays["kernel_0"]
    if first.ndim != 4 or len(first) != SOLUTION_SIZE or 0 in first.shape:
        raise NeurozooError(
            f"kernel_0 should have shape ({SOLUTION_SIZE}, height, width, channels), because solutions have "
            f"{SOLUTION_SIZE} numbers, but has {first.shape}."
        )
    height, width = (side << (layers - 1) for side in first.shape[1:3])
    if height < HEIGHT or width < WIDTH:
        raise NeurozooError(f"Its picture has {height} x {width} tiles, but levels have {HEIGHT} x {WIDTH}.")
    shapes: dict[str, tuple[int, ...]] = {"kernel_0": first.shape, "rectifies": ()}
    channels = first.shape[-1]
    for layer in range(layers - 1):
        shapes |= {f"scale_{layer}": (channels,), f"shift_{layer}": (channels,)}
        after = len(ALPHABET) if layer == layers - 2 else (0, *arrays[f"kernel_{layer + 1}"].shape)[-1]
        shapes[f"kernel_{layer + 1}"] = (_KERNEL, _KERNEL, channels, after)
        channels = after
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise NeurozooError(f"{name} should have shape {shape}, but has {arrays[name].shape}.")
        if arrays[name].dtype != np.float32:
            raise NeurozooError(f"{name} should be float32, but is {arrays[name].dtype}.")
        if not np.isfinite(arrays[name]).all():
            raise NeurozooError(f"{name} should be finite, but has values that are not.")
    return {name: np.array(arrays[name]) for name in sorted(wanted)}
