"""Builds, opens and sums slices of the noise table: shared Gaussian noise that genomes take their weights from."""

import errno
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.files import open_file, read_json, sha256_of, write_json, written_whole

PUBLISHED_SIZE = 250_000_000  # values, 1 GB
PUBLISHED_SHA256 = "89de6e0b1b4a44ef510ab261ec6484ec6afe9100a6bec7413219454fbb457db2"
SEED = 123
CHUNK = 2_000_000  # values drawn at once: 16 MB of float64
SUMMED_AT_ONCE = 65_536  # values summed at once, which fit into a core's cache: 256 KB

BUILD = "Build it: snakemake --cores 1 results/noise/table.f32"
REMEDY = "Delete it and build it again: snakemake --cores 1 results/noise/table.f32"


def build_noise_table(path: str | os.PathLike, *, size: int = PUBLISHED_SIZE) -> str:
    """Writes the noise table in chunks, which bounds the memory; the bytes are those of a single draw.

    The file is little-endian float32 without a header; `<name>.json` beside it holds its size and SHA-256. The
    published table has 250,000,000 values; smaller ones are for tests.

    Returns:
        SHA-256 of the file.

    Raises:
        NeurozooError: The disk is full, or this NumPy does not draw the published numbers.

    Source: Such et al. 2017, arXiv:1712.06567; `RandomState(123).randn` cast to float32.
    """
    path = Path(path)
    stream = np.random.RandomState(SEED)
    with written_whole(path) as temporary:
        with open(temporary, "wb") as file:
            for start in range(0, size, CHUNK):
                # Not tofile(): its error does not say that the disk is full.
                file.write(stream.randn(min(CHUNK, size - start)).astype("<f4").data)
        digest = sha256_of(temporary)
        if size == PUBLISHED_SIZE and digest != PUBLISHED_SHA256:
            raise NeurozooError(
                f"The noise table has SHA-256 {digest}, but the published one has {PUBLISHED_SHA256}: "
                f"NumPy {np.__version__} draws other numbers. Use the locked NumPy of envs/."
            )
        write_json(_facts_path(path), {"size": size, "seed": SEED, "sha256": digest})
    return digest


def _facts_path(path: Path) -> Path:
    return path.with_suffix(".json")


def open_noise_table(path: str | os.PathLike, *, verify: bool = True) -> np.ndarray:
    """Maps a table that `build_noise_table` wrote into memory, where all runs of a node share it.

    To verify the SHA-256 of the whole file first takes about a second per gigabyte.

    Returns:
        Read-only float32, shape (size,).

    Raises:
        NeurozooError: The file is missing, truncated or damaged, or a limit leaves too little address space.
    """
    path = Path(path)
    if not path.exists():
        raise NeurozooError(f"The noise table {path} is missing. {BUILD}")
    if not _facts_path(path).exists():
        raise NeurozooError(f"{_facts_path(path)} is missing, so {path.name} is no noise table of ours. {BUILD}")
    facts = read_json(_facts_path(path), REMEDY)
    size, sha256 = facts.get("size"), facts.get("sha256")
    if not isinstance(size, int) or not isinstance(sha256, str):
        raise NeurozooError(f"{_facts_path(path)} is damaged: it should hold the table's size and sha256. {REMEDY}")
    if (length := path.stat().st_size) != 4 * size:
        raise NeurozooError(f"The noise table {path} should have {4 * size:,} bytes, but has {length:,}. {REMEDY}")
    expected = PUBLISHED_SHA256 if size == PUBLISHED_SIZE else sha256
    if verify and (digest := sha256_of(path)) != expected:
        raise NeurozooError(f"The noise table {path} is damaged: its SHA-256 is {digest}, not {expected}. {REMEDY}")
    with open_file(path) as file:
        try:
            return np.memmap(file, dtype="<f4", mode="r")
        except OSError as error:
            if error.errno != errno.ENOMEM:
                raise
            raise NeurozooError(
                f"The noise table {path} needs {length:,} bytes of address space, and a limit (ulimit -v, or h_vmem of "
                "Grid Engine) leaves less. Raise the limit by them; memory itself is shared by all runs of a machine."
            ) from error


def weighted_sum(
    noise: np.ndarray, indices: Iterable[int], weights: Sequence[float], *, count: int, threads: int = 1
) -> np.ndarray:
    """Computes a weighted sum of slices of the noise table, block by block in a core's cache.

    Every product and every sum is rounded to float32, in the order of `indices`. The bits therefore depend neither on
    the number of threads nor on the machine's linear algebra library.

    Returns:
        float32, shape (count,): the sum of `weight * noise[index : index + count]`.
    """
    noise = noise.view(np.ndarray)  # slicing a memory map is slow
    total = np.zeros(count, np.float32)
    terms = list(zip(map(int, indices), np.asarray(weights, np.float32), strict=True))

    def add(start: int) -> None:
        block = total[start : start + SUMMED_AT_ONCE]
        product = np.empty_like(block)
        for index, weight in terms:
            np.multiply(noise[index + start : index + start + len(block)], weight, out=product)
            np.add(block, product, out=block)

    starts = range(0, count, SUMMED_AT_ONCE)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(add, starts))
    return total
