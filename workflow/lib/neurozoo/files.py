"""Writes files atomically: they appear complete or not at all. Reads text and JSON, computes checksums."""

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from neurozoo.errors import NeurozooError, explained

MOST_TEXT = 2**28  # bytes of a file that is read whole: 256 MiB


@contextlib.contextmanager
def written_whole(path: str | os.PathLike, *, is_durable: bool = True) -> Iterator[Path]:
    """Gives a temporary path and renames it to `path` on success, so that nobody ever reads half a file.

    Args:
        path: The file to write. Its folder is made if it is missing.
        is_durable: Whether to wait until the disk has the data, so that the file survives a power cut.

    Yields:
        The temporary path to write to, in the same folder. It has the suffix of `path`, because some writers choose
        the format by it.

    Raises:
        NeurozooError: The disk is full, or the system refuses the file. An earlier file at `path` is unchanged.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        if is_durable:
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        is_named = error.filename is not None and os.fspath(error.filename) != os.fspath(temporary)
        raise explained(error, None if is_named else path) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike, text: str) -> None:
    """Writes a text file atomically (UTF-8)."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | os.PathLike, value: object) -> None:
    """Writes JSON atomically. NaN and infinity raise a ValueError, because they are not valid JSON."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def read_text(path: str | os.PathLike, remedy: str, *, most: int = MOST_TEXT) -> str:
    """Reads a whole text file (UTF-8). Pipes and devices, which may never end, are refused.

    Args:
        path: The file.
        remedy: A sentence that tells the user what to do if it is missing or damaged.
        most: Bytes that it may have.

    Raises:
        NeurozooError: The file is missing, too large, not UTF-8, or not a regular file.
    """
    try:
        # Without waiting: a pipe that nobody writes to is opened at once.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise NeurozooError(f"{path} should be a file, but is a {_kind(facts.st_mode)}. {remedy}")
            data = file.read(most + 1)
    except FileNotFoundError as error:
        raise NeurozooError(f"{path} is missing. {remedy}") from error
    except OSError as error:
        raise explained(error, path) from error
    except ValueError as error:  # the path contains a null character
        raise NeurozooError(f"{os.fspath(path)!r} is not a path. {remedy}") from error
    if len(data) > most:
        raise NeurozooError(f"{path} should have at most {most:,} bytes, but has more. {remedy}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NeurozooError(f"{path} is damaged: it is not text ({error.reason}). {remedy}") from error


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}
    return kinds.get(stat.S_IFMT(mode), "device")


def read_json(path: str | os.PathLike, remedy: str) -> dict:
    """Reads a JSON object.

    Args:
        path: The file.
        remedy: A sentence that tells the user what to do if it is missing or damaged.

    Raises:
        NeurozooError: The file is missing, cut off, or not a JSON object.
    """
    text = read_text(path, remedy)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:  # not JSON, too many digits, too deep
        raise NeurozooError(f"{path} is damaged ({error}). {remedy}") from error
    if not isinstance(value, dict):
        raise NeurozooError(f"{path} should hold a JSON object, but holds a {type(value).__name__}. {remedy}")
    return value


def sha256_of(path: str | os.PathLike) -> str:
    """Returns a file's SHA-256 as 64 hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
