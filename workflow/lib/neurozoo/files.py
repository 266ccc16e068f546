"""Files that appear whole or not at all."""

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from neurozoo.errors import NeurozooError


@contextlib.contextmanager
def written_whole(path: str | os.PathLike, *, is_durable: bool = True) -> Iterator[Path]:
    """Gives a temporary name beside `path` and renames it on success, so that nobody ever reads half a file.

    Args:
        path: The file that is to appear. Its folder is made if it is missing.
        is_durable: Whether it is to survive a power cut from here on, which takes the disk some time.

    Yields:
        The path to write to. It keeps the suffix of `path`, because some writers choose the format by it.

    Raises:
        NeurozooError: The disk is full. What stood at `path` before is untouched.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        if is_durable:
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise explained(error, path) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def explained(error: OSError, path: str | os.PathLike) -> Exception:
    """Turns a full disk into a sentence with the remedy; other errors stay what they are."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return NeurozooError(
            f"{path} could not be written: {os.strerror(error.errno).lower()}. "
            "What stood there before is untouched; free some space and start the same command again."
        )
    return error


def write_text(path: str | os.PathLike, text: str) -> None:
    """Writes a text file whole or not at all (UTF-8)."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | os.PathLike, value: object) -> None:
    """Writes JSON whole or not at all; NaN and infinity are refused, since other readers choke on them."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def read_json(path: str | os.PathLike, remedy: str) -> dict:
    """Reads a JSON object, or says how to mend the file.

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
    except (ValueError, RecursionError) as error:  # no JSON, no UTF-8, a number without end, too deep
        raise NeurozooError(f"{path} is damaged ({error}). {remedy}") from error
    if not isinstance(value, dict):
        raise NeurozooError(f"{path} should hold a JSON object, but holds a {type(value).__name__}. {remedy}")
    return value


def sha256_of(path: str | os.PathLike) -> str:
    """Returns a file's SHA-256 as 64 hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
