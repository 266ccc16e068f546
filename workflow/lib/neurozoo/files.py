"""Writes files atomically: they appear complete or not at all. Reads text and JSON, computes checksums."""

import contextlib
import errno
import hashlib
import io
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from neurozoo.errors import NeurozooError, explained

MOST_TEXT = 2**28  # bytes of a file that is read whole: 256 MiB
PLAIN_NAME = "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$"  # what may become part of a path: no slash, and no dot in front


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


def plain_name(name: object) -> str:
    """Returns a name that a stranger's file gives, after checking that as part of a path it leads nowhere else.

    Raises:
        ValueError: It is not text, or has a slash, a dot in front or other characters that paths here do not have.
    """
    if not isinstance(name, str) or not re.fullmatch(PLAIN_NAME, name):
        raise ValueError(f"{str(name)[:80]!r} should be a name of letters, digits, '_', '-' and '.'")
    return name


def open_file(path: str | os.PathLike) -> BinaryIO:
    """Opens a file to read it. Pipes and devices, which may never end, are refused at once.

    Raises:
        OSError: The file is missing, cannot be read, or is none. `explained` has a sentence for each.
    """
    # Without waiting: opening a pipe would wait until somebody writes to it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    kind = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(kind):
        os.close(descriptor)
        number = errno.EISDIR if stat.S_ISDIR(kind) else errno.ESPIPE
        raise OSError(number, os.strerror(number), os.fspath(path))
    return open(descriptor, "rb")


def open_text(path: str | os.PathLike, *, errors: str = "strict", newline: str | None = None) -> TextIO:
    """Opens a text file (UTF-8) to read it, see `open_file`; `errors` and `newline` are those of `open`."""
    return io.TextIOWrapper(open_file(path), encoding="utf-8", errors=errors, newline=newline)


def read_text(path: str | os.PathLike, remedy: str, *, most: int = MOST_TEXT) -> str:
    """Reads a whole text file (UTF-8).

    Args:
        path: The file.
        remedy: A sentence that tells the user what to do if it is missing or damaged.
        most: Bytes that it may have.

    Raises:
        NeurozooError: The file is missing, too large, or not text.
    """
    try:
        with open_file(path) as file:
            data = file.read(most + 1)
    except FileNotFoundError as error:
        raise NeurozooError(f"{path} is missing. {remedy}") from error
    except OSError as error:
        raise explained(error, path) from error
    except ValueError as error:  # the name contains a null character
        raise NeurozooError(f"{os.fspath(path)!r} is not the name of a file. {remedy}") from error
    if len(data) > most:
        raise NeurozooError(f"{path} should have at most {most:,} bytes, but has more. {remedy}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NeurozooError(f"{path} is damaged: it is not text ({error.reason}). {remedy}") from error


def parse_json(text: str | bytes) -> Any:
    """Reads JSON text. Any damage is a ValueError: too deep, too many digits, half a character.

    Raises:
        ValueError: It is not JSON, or holds what nobody can write out again.
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError("too many levels of lists in lists") from error
    if "\\u" in text if isinstance(text, str) else b"\\u" in text:
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # half a character, such as "\ud800", has no bytes
    return value


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
        value = parse_json(text)
    except ValueError as error:
        raise NeurozooError(f"{path} is damaged ({error}). {remedy}") from error
    if not isinstance(value, dict):
        raise NeurozooError(f"{path} should hold a JSON object, but holds a {type(value).__name__}. {remedy}")
    return value


def sha256_of(path: str | os.PathLike) -> str:
    """Returns a file's SHA-256 as 64 hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
