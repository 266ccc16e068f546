"""Writes and reads `.npz` files whose arrays are larger than memory, a few rows at a time.

Files may come from strangers. What a header says of an array is compared with what the file can hold before memory is
taken for it: 44 MB of zeros that are packed well are 10 GB in memory.
"""

import contextlib
import gzip
import io
import lzma
import math
import os
import struct
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from neurozoo.errors import NeurozooError, explained
from neurozoo.files import open_file, written_whole

BLOCK = 2**22  # bytes per read: 4 MiB
MOST_ROW = 2**26  # bytes of one row: 64 MiB; the largest screen of an environment takes some
MOST_TEXT = 2**24  # bytes of a text: 16 MiB
MOST_HEADER = 2**14  # bytes that say the type and shape of an array
GROWTH = 8  # times that arrays which are read whole may be larger than their file
LEVEL = 4  # of compression: screens take a third more space than with 6, and a third of the time

# What zipfile and NumPy raise for a damaged file. For a damaged header NumPy raises SyntaxError and TokenError; for an
# encrypted member zipfile raises RuntimeError.
DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError,
    EOFError, LookupError, ValueError, RuntimeError, SyntaxError, OverflowError, MemoryError,
)  # fmt: skip


class Spool:
    """Keeps rows in a temporary file until their number is known, which a member of an `.npz` begins with.

    The file has no name and vanishes with the process.
    """

    def __init__(self, folder: str | os.PathLike, row_shape: tuple[int, ...], dtype: DTypeLike):
        self.row_shape = tuple(row_shape)
        self.dtype = np.dtype(dtype)
        self._count = 0
        self._file = tempfile.TemporaryFile(dir=os.fspath(folder))  # noqa: SIM115, lives as long as the spool
        self._packed = gzip.GzipFile(fileobj=self._file, mode="wb", compresslevel=1)

    def __len__(self) -> int:
        return self._count

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self._file.close()

    def append(self, row: ArrayLike) -> None:
        """Adds a row; one of another shape is a ValueError."""
        numbers = np.asarray(row, self.dtype)
        if numbers.shape != self.row_shape:
            raise ValueError(f"a row should have shape {self.row_shape}, but has {numbers.shape}")
        self._packed.write(numbers.tobytes())
        self._count += 1

    def rows(self) -> Iterator[np.ndarray]:
        """Yields the rows in order; no row can be added afterwards."""
        self._packed.close()
        self._file.seek(0)
        row_bytes = math.prod(self.row_shape) * self.dtype.itemsize
        with gzip.GzipFile(fileobj=self._file, mode="rb") as packed:
            for _ in range(self._count):
                yield np.frombuffer(packed.read(row_bytes), self.dtype).reshape(self.row_shape)


class NpzWriter:
    """Writes the members of an `.npz` one after the other; the same arrays give the same bytes."""

    def __init__(self, file: zipfile.ZipFile):
        self._file = file

    def write(self, name: str, rows: Iterable[np.ndarray], *, shape: tuple[int, ...], dtype: DTypeLike) -> None:
        """Writes the array of a key, of which `rows` may be blocks of rows."""
        header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": tuple(shape)}
        with self._file.open(f"{name}.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array_header_1_0(member, header)
            for row in rows:
                member.write(np.asarray(row, dtype).tobytes())


@contextlib.contextmanager
def npz_written_whole(path: str | os.PathLike) -> Iterator[NpzWriter]:
    """Opens a compressed `.npz` that appears whole or not at all."""
    with (
        written_whole(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as file,
    ):
        yield NpzWriter(file)


class NpzReader:
    """Reads members of an `.npz`, which has to have these keys, block by block; use it in a `with` statement.

    Every error ends with the remedy: what the user can do about a bad file.
    """

    def __init__(self, path: str | os.PathLike, *, keys: Iterable[str], remedy: str):
        self.path, self._remedy = Path(path), remedy
        with contextlib.ExitStack() as stack:
            with self._explained():
                self._file = stack.enter_context(zipfile.ZipFile(stack.enter_context(open_file(self.path))))
            if missing := sorted(set(keys) - {name.removesuffix(".npy") for name in self._file.namelist()}):
                raise NeurozooError(f"{self.path} lacks {', '.join(missing)}. {self._remedy}")
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self._stack.close()

    def shape(self, key: str) -> tuple[int, ...]:
        """Returns a member's shape without reading its numbers."""
        with self._explained(), self._file.open(f"{key}.npy") as member:
            return self._header(member)[0]

    def dtype(self, key: str) -> np.dtype:
        """Returns the type of a member's numbers without reading them."""
        with self._explained(), self._file.open(f"{key}.npy") as member:
            return self._header(member)[1]

    def text(self, key: str) -> str | None:
        """Returns a member that is a short text; None if the file lacks it."""
        if f"{key}.npy" not in self._file.namelist():
            return None
        with self._explained():
            return str(_read_member(self._file, key, most=MOST_TEXT))

    def blocks(self, key: str, rows: int) -> Iterator[np.ndarray]:
        """Yields a member's rows, `rows` at a time (the last block may be shorter)."""
        with self._explained(), self._file.open(f"{key}.npy") as member:
            shape, dtype = self._header(member)
            row_bytes = math.prod(shape[1:]) * dtype.itemsize
            if row_bytes > MOST_ROW:
                raise ValueError(f"a row of {row_bytes:,} bytes")
            for start in range(0, shape[0], rows):
                count = min(rows, shape[0] - start)
                data = b"".join(_exactly(member, count * row_bytes))
                yield np.frombuffer(data, dtype).reshape(count, *shape[1:])

    def _header(self, member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
        shape, is_fortran_ordered, dtype = _read_header(member)
        if is_fortran_ordered or not shape:
            raise ValueError("an array of plain numbers in C order was expected")
        return shape, dtype

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise NeurozooError(f"{self.path} is missing. {self._remedy}") from error
        except OSError as error:
            if error.filename is not None:
                raise explained(error) from error
            raise NeurozooError(f"{self.path} is damaged or cut off ({error}). {self._remedy}") from error
        except DAMAGE as error:
            raise NeurozooError(f"{self.path} is damaged or cut off ({error}). {self._remedy}") from error


def _exactly(member: IO[bytes], size: int) -> Iterator[bytes]:
    while size:
        data = member.read(min(size, BLOCK))
        if not data:
            raise EOFError("it ends too early")
        size -= len(data)
        yield data


def read_npz(path: str | os.PathLike, *, growth: float = GROWTH) -> dict[str, np.ndarray]:
    """Reads all arrays of an `.npz`, at most `growth` times its size; a file from a stranger is safe to open.

    Raises:
        OSError: The file is missing or cannot be read.
        DAMAGE: One of these; the file is not an `.npz`, is cut off, holds objects, or says that it holds more numbers
            than it can.
    """
    arrays = {}
    with open_file(path) as whole, zipfile.ZipFile(whole) as file:
        left = MOST_TEXT + int(growth * os.fstat(whole.fileno()).st_size)
        for name in file.namelist():
            key = name.removesuffix(".npy")
            arrays[key] = _read_member(file, key, most=left)
            left -= arrays[key].nbytes
    return arrays


def _read_member(file: zipfile.ZipFile, key: str, *, most: int) -> np.ndarray:
    """Reads an array of at most so many bytes."""
    with file.open(f"{key}.npy") as member:
        shape, is_fortran_ordered, dtype = _read_header(member)
        size = math.prod(shape) * dtype.itemsize
        if size > most:
            raise ValueError(f"{key} should have at most {most:,} bytes, but says that it has {size:,}")
        numbers = np.frombuffer(bytearray(b"".join(_exactly(member, size))), dtype)
    return numbers.reshape(shape, order="F" if is_fortran_ordered else "C")


def _read_header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Reads the shape of an array, whether it is in Fortran order, and its type, which is a plain one."""
    version = np.lib.format.read_magic(member)
    width = {(1, 0): 2, (2, 0): 4}[version]
    size = b"".join(_exactly(member, width))
    if (length := int.from_bytes(size, "little")) > MOST_HEADER:
        raise ValueError(f"a header of {length:,} bytes")
    header = io.BytesIO(size + b"".join(_exactly(member, length)))
    read = {2: np.lib.format.read_array_header_1_0, 4: np.lib.format.read_array_header_2_0}[width]
    shape, is_fortran_ordered, dtype = read(header, max_header_size=MOST_HEADER)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are never read")
    return shape, is_fortran_ordered, dtype
