"""Writes files atomically: they appear complete or not at all. Reads JSON, computes checksums."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from neurozoo.errors import NeurozooError, explained


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


def read_json(path: str | os.PathLike, remedy: str) -> dict:
    """Reads a JSON object.

    Args:
        path: The file.
        remedy: A sentence that tells the user what to do if it is missing or damaged.

    Raises:
        NeurozooError: The file is missing, cut off, or not a JSON object.
    """
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NeurozooError(f"{path} is missing. {remedy}") from error
    except (ValueError, RecursionError) as error:  # not JSON, not UTF-8, too many digits, too deep
        raise NeurozooError(f"{path} is damaged ({error}). {remedy}") from error
    if not isinstance(value, dict):
        raise NeurozooError(f"{path} should hold a JSON object, but holds a {type(value).__name__}. {remedy}")
    return value


def sha256_of(path: str | os.PathLike) -> str:
    """Returns a file's SHA-256 as 64 hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
