"""Writes files atomically: they appear complete or not at all. Reads text and JSON, computes checksums."""

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from neurozoo.errors import NeurozooError, explained
from neurozoo.folders import (
    delete_folder,
    delete_leftovers,
    move,
    open_descriptor,
    opened_folder,
    opened_parent,
    reached,
    strangers,
    temporary_name,
)

MOST_TEXT = 2**28  # bytes of a file that is read whole: 256 MiB
PLAIN_NAME = "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$"  # what may become part of a path: no slash, and no dot in front


@contextlib.contextmanager
def written_whole(path: str | os.PathLike, *, is_durable: bool = True) -> Iterator[Path]:
    """Gives a temporary path and renames it to `path` on success, so that nobody ever reads half a file.

    Args:
        path: The file to write. Its folder is made if it is missing.
        is_durable: Whether to wait until the disk has the data, so that the file survives a power cut.

    Yields:
        The temporary path to write to: an empty file in the same folder, whose name nobody can guess. It has the suffix
        of `path`, because some writers choose the format by it.

    Raises:
        NeurozooError: The disk is full, or the system refuses the file, or a link below its root leads to it (see
            `neurozoo.folders`). An earlier file at `path` is unchanged.
    """
    temporary = None
    try:
        with opened_parent(path, make=True) as (folder, name):
            temporary = temporary_name(name)
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                descriptor = os.open(temporary, flags, 0o666, dir_fd=folder)
                try:
                    yield reached(folder, temporary)
                    if is_durable:
                        os.fsync(descriptor)
                finally:
                    os.close(descriptor)
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
    except OSError as error:
        is_named = error.filename is not None and not (temporary and os.fspath(error.filename).endswith(temporary))
        raise explained(error, None if is_named else path) from error


@contextlib.contextmanager
def folder_written_whole(path: str | os.PathLike, *, parts: Sequence[str]) -> Iterator[Path]:
    """Yields a temporary folder and renames it to `path` on success. It replaces nothing but an earlier such folder.

    `parts` are the patterns of all that may be in it, see `neurozoo.folders.strangers`.

    Raises:
        NeurozooError: `path` holds other files, or the system refuses it, or a link below its root leads to it. What
            was there before is unchanged.
    """
    path = Path(path)
    try:
        if others := strangers(path, *parts):
            raise NeurozooError(
                f"{path} holds other files ({', '.join(others[:3])}), which would be lost. Give another folder."
            )
        delete_leftovers(path)
        new, old = (path.with_name(temporary_name(path.name)) for _ in range(2))
        try:
            with opened_folder(new, make=True) as folder:
                yield reached(folder)
            with contextlib.suppress(FileNotFoundError):
                move(path, old)
            move(new, path)
        finally:
            delete_folder(new)
            delete_folder(old)
    except OSError as error:
        raise explained(error, path) from error


def copy_file(path: str | os.PathLike, output: str | os.PathLike, *, is_durable: bool = True) -> None:
    """Copies a file; the copy appears whole or not at all, see `open_file` and `written_whole`."""
    try:
        with (
            open_file(path) as file,
            written_whole(output, is_durable=is_durable) as temporary,
            open(temporary, "wb") as copy,
        ):
            shutil.copyfileobj(file, copy, 2**20)
    except OSError as error:
        raise explained(error, path) from error


def write_text(path: str | os.PathLike, text: str) -> None:
    """Writes a text file atomically (UTF-8)."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | os.PathLike, value: object) -> None:
    """Writes JSON atomically. NaN and infinity raise a ValueError, because they are not valid JSON."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def plain_name(name: object) -> str:
    """Returns a name of a stranger's file, or raises ValueError: as part of a path it must lead nowhere else."""
    if not isinstance(name, str) or not re.fullmatch(PLAIN_NAME, name):
        raise ValueError(f"{str(name)[:80]!r} should be a name of letters, digits, '_', '-' and '.'")
    return name


def open_file(path: str | os.PathLike) -> io.BufferedReader:
    """Opens a file to read it. Pipes and devices, which may never end, and links below a root are refused at once.

    `explained` has a sentence for each OSError.
    """
    return open(path, "rb", opener=open_descriptor)


@contextlib.contextmanager
def reached_file(path: str | os.PathLike) -> Iterator[Path]:
    """Opens a file, see `open_file`, for libraries and programs that open it once more by a path.

    The path ends with the context, and with the name of the file, because some tell the format from it.
    """
    with opened_parent(path) as (folder, name):
        os.close(open_descriptor(path, os.O_RDONLY))
        yield reached(folder, name)


def open_to_append(path: str | os.PathLike) -> TextIO:
    """Opens a text file (UTF-8) to write at its end; it is made if it is missing, see `open_descriptor`."""
    return open(path, "a", encoding="utf-8", opener=open_descriptor)


def open_text(path: str | os.PathLike, *, errors: str = "strict", newline: str | None = None) -> TextIO:
    """Opens a text file (UTF-8) to read it, see `open_file`; `errors` and `newline` are those of `open`."""
    return io.TextIOWrapper(open_file(path), encoding="utf-8", errors=errors, newline=newline)


def open_to_write(path: str | os.PathLike) -> TextIO:
    """Opens a text file (UTF-8) to write it anew, as a log is written: line by line, see `open_descriptor`."""
    return open(path, "w", encoding="utf-8", opener=open_descriptor)


def read_text(path: str | os.PathLike, remedy: str, *, most: int = MOST_TEXT) -> str:
    """Reads a whole text file (UTF-8) of at most so many bytes; an error ends with the remedy, a sentence."""
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
    """Reads JSON text.

    Raises:
        ValueError: It is not JSON, too deep, or nobody can write it out again: too many digits, half a character.
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError("too many levels of lists in lists") from error
    if "\\u" in text if isinstance(text, str) else b"\\u" in text:
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # half a character, such as "\ud800", has no bytes
    return value


def read_json(path: str | os.PathLike, remedy: str) -> dict:
    """Reads a JSON object; if it is missing or damaged, the error ends with the remedy, a sentence."""
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
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
