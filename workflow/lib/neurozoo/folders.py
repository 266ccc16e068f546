"""Opens, makes, moves and deletes what lies in a folder without following links, which may lead anywhere.

Users name files and folders: results, a run, an agent, a bundle. `guard` notes them. Links in such a name are the
user's own choice and are followed; links below the folder may be a stranger's and are refused. All work is done through
the descriptor of the parent folder, so a folder that somebody exchanges for a link meanwhile changes nothing elsewhere.
"""

import contextlib
import ctypes
import errno
import fnmatch
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

_FOLDER = os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_RUN = re.compile(r"(?:(.*)/)?runs/[^/]+/[^/]+/[^/]+/[1-9]\d*(?:/.*)?")  # a run; the group is the results folder
_TEMPORARY = re.compile(r"\.(.+)\.(\d+)-[0-9a-f]{16}(\.[^.]*)?")

RESULTS = "NEUROZOO_RESULTS"  # the variable that tells processes which Snakemake starts where results are

_named: set[str] = set()  # absolute paths of files and folders that the user named
_beside: set[str] = set()  # folders of the files among them


def guard(*paths: str | os.PathLike) -> None:
    """Notes files and folders that the user has named, so that nothing below these folders is reached through links.

    A file is guarded together with what lies beside it. Paths that are part of a run (`.../runs/ALGO/GAME/MODEL/RUN`)
    need no notice: they are always below the folder of `runs`. Processes that Snakemake starts guard the
    folder of results by themselves.
    """
    for path in paths:
        place = _absolute(path)
        _named.add(place)
        if os.path.isfile(place):
            _beside.add(os.path.dirname(place))


def _placed(path: str | os.PathLike) -> tuple[str, str | None]:
    """Returns the absolute path of a file or folder, and of the folder below which links are refused on the way to it.

    That is the results folder of a run, or the innermost guarded folder, whichever is further out; None if there is
    none, or if the user has named `path` itself.
    """
    path = os.fspath(path)
    place = _absolute(path)
    match = _RUN.fullmatch(path) if "runs/" in path else None
    results = _absolute(match[1] or ".") if match else None
    if place in _named:
        return place, results
    end = len(place)
    while (end := place.rfind(os.sep, 0, end)) > 0:
        if (folder := place[:end]) in _named:
            return place, folder if results is None or end < len(results) else results
    if os.sep in _named:
        return place, os.sep
    if results is None and (folder := os.path.dirname(place)) in _beside:
        return place, folder
    return place, results


def _absolute(path: str | os.PathLike) -> str:
    """Returns an absolute path without `..`; what stands before a `..` is resolved, as the system would do."""
    before, dots, name = os.fspath(path).rpartition("/../")
    return os.path.abspath(os.path.join(os.path.realpath(before + dots), name) if dots else name)


if RESULTS in os.environ:
    guard(os.environ[RESULTS])


@contextlib.contextmanager
def opened_folder(path: str | os.PathLike, *, make: bool = False) -> Iterator[int]:
    """Opens a folder without following links below its root; yields a descriptor for `dir_fd` and `reached`.

    Raises:
        OSError: It is missing and not to be made, no folder, or reached through a link (ELOOP, with the link as its
            file name).
    """
    descriptor = _walk(*_placed(path), make=make)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def opened_parent(path: str | os.PathLike, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Opens the folder of a file, see `opened_folder`; yields its descriptor and the name of the file in it."""
    place, root = _placed(path)
    folder, name = os.path.split(place)
    descriptor = _walk(folder, root, make=make)
    try:
        yield descriptor, name
    finally:
        os.close(descriptor)


def _walk(place: str, root: str | None, *, make: bool = False) -> int:
    """Opens a folder, below its root without links: at once where the system can, else part by part."""
    root = place if root is None else root
    try:
        descriptor = os.open(root, _FOLDER)
    except FileNotFoundError:
        if not make:
            raise
        os.makedirs(root, exist_ok=True)
        descriptor = os.open(root, _FOLDER)
    done = root.rstrip(os.sep)
    if (whole := _open_without_links(place[len(root) :].strip(os.sep), descriptor)) >= 0:
        os.close(descriptor)
        return whole
    try:
        for part in filter(None, place[len(root) :].split(os.sep)):
            done += os.sep + part
            inner = _step(part, descriptor, make=make)
            os.close(descriptor)
            descriptor = inner
    except OSError as error:
        reason = _named_error(error, done, descriptor)
        os.close(descriptor)
        raise reason from None
    return descriptor


class _How(ctypes.Structure):
    _fields_: ClassVar = [(name, ctypes.c_uint64) for name in ("flags", "mode", "resolve")]


_AT_ONCE = _How(_FOLDER, 0, 0x04)  # RESOLVE_NO_SYMLINKS
_syscall = ctypes.CDLL(None).syscall if sys.platform == "linux" else None
if _syscall is not None:
    _syscall.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    _syscall.restype = ctypes.c_long


def _open_without_links(path: str, folder: int) -> int:
    """Opens a folder with Linux's `openat2`; -1 if it cannot be opened so, whatever the reason.

    Source: openat2(2), Linux 5.6; its number is 437 on x86-64 and ARM.
    """
    if _syscall is None or not path or "\0" in path:  # which would end the name for C
        return -1
    return _syscall(437, folder, os.fsencode(path), ctypes.byref(_AT_ONCE), ctypes.sizeof(_AT_ONCE))


def _step(part: str, folder: int, *, make: bool) -> int:
    try:
        return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(part, dir_fd=folder)
    return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)


def _named_error(error: OSError, path: str, folder: int) -> OSError:
    """Returns an error with the whole path; a link is told from a file that is where a folder is needed."""
    number = error.errno or errno.EIO
    with contextlib.suppress(OSError):
        if number == errno.ENOTDIR and stat.S_ISLNK(os.lstat(os.path.basename(path), dir_fd=folder).st_mode):
            number = errno.ELOOP
    return OSError(number, os.strerror(number), path)


def reached(descriptor: int, name: str = "") -> Path:
    """Returns a path by which libraries and child processes reach an open file, or a file in an open folder."""
    return Path(f"/proc/{os.getpid()}/fd/{descriptor}", name)


def open_descriptor(path: str | os.PathLike, flags: int, mode: int = 0o666) -> int:
    """Opens a file as `os.open` does, but without following links below its root, and never waits for a pipe.

    Raises:
        OSError: The system refuses it, it is a folder, a pipe or a device (ESPIPE), or a link (ELOOP).
    """
    flags |= os.O_CLOEXEC | os.O_NONBLOCK
    place, root = _placed(path)
    if root is not None:
        flags |= os.O_NOFOLLOW
    place, name = os.path.split(place)
    folder = _walk(place, root, make=bool(flags & os.O_CREAT))
    try:
        descriptor = os.open(name, flags, mode, dir_fd=folder)
    except OSError as error:
        raise _named_error(error, os.fspath(path), folder) from None
    finally:
        os.close(folder)
    kind = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(kind):
        os.close(descriptor)
        number = errno.EISDIR if stat.S_ISDIR(kind) else errno.ESPIPE
        raise OSError(number, os.strerror(number), os.fspath(path))
    return descriptor


def is_reached_by_link(path: str | os.PathLike) -> bool:
    """Says whether a path is a link below its root, or lies behind one; False if it does not exist."""
    place, root = _placed(path)
    if root is None:
        return False
    place, name = os.path.split(place)
    try:
        folder = _walk(place, root)
    except OSError as error:
        return error.errno == errno.ELOOP
    try:
        return stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode)
    except OSError:
        return False
    finally:
        os.close(folder)


def find(folder: str | os.PathLike, *patterns: str) -> list[Path]:
    """Returns the files and folders in a folder that match a pattern, sorted, but for links; see `search`."""
    return search(folder, *patterns)[0]


def search(folder: str | os.PathLike, *patterns: str) -> tuple[list[Path], list[Path]]:
    """Finds files and folders by patterns of `Path.glob`, and never looks behind links.

    If the folder is missing, may not be read, or a link leads to it, nothing is found.

    Returns:
        What matches, sorted; and links that match, or behind which something might.
    """
    found: set[Path] = set()
    links: set[Path] = set()
    try:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), opened_folder(folder) as descriptor:
            _search(descriptor, Path(folder), {tuple(pattern.split("/")) for pattern in patterns}, found, links)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
    return sorted(found), sorted(links)


def _search(folder: int, place: Path, patterns: set[tuple[str, ...]], found: set[Path], links: set[Path]) -> None:
    patterns |= {pattern[1:] for pattern in patterns if pattern[0] == "**"}  # which may stand for no folder
    for name, kind in _entries(folder, [pattern[0] for pattern in patterns]):
        rests = {
            pattern if pattern[0] == "**" else pattern[1:]
            for pattern in patterns
            if pattern[0] == "**" or fnmatch.fnmatchcase(name, pattern[0])
        }
        if rests and kind == stat.S_IFLNK:
            links.add(place / name)
        elif () in rests:
            found.add(place / name)
        if kind == stat.S_IFDIR and (rests := rests - {()}):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                inner = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
                try:
                    _search(inner, place / name, rests, found, links)
                finally:
                    os.close(inner)


def _entries(folder: int, patterns: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yields names in an open folder, and whether they are a folder, a link or something else, as `stat.S_IFMT` does.

    If all patterns are plain names, only these are looked up.
    """
    if not any(wild in pattern for pattern in patterns for wild in "*?["):
        for name in patterns:
            with contextlib.suppress(FileNotFoundError, PermissionError):
                yield name, stat.S_IFMT(os.lstat(name, dir_fd=folder).st_mode)
        return
    try:
        readable = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except PermissionError:
        return
    try:
        with os.scandir(readable) as entries:
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                yield entry.name, stat.S_IFLNK if entry.is_symlink() else stat.S_IFDIR if is_folder else stat.S_IFREG
    finally:
        os.close(readable)


def walk(folder: str | os.PathLike, *, but: str = "") -> Iterator[os.DirEntry]:
    """Yields all files and folders in a folder, and makes sure that there are no links: other programs follow them.

    The folder may be a link itself; a missing one is empty. The folder `but` in it, such as `native/build`, is not
    entered.

    Raises:
        OSError: There is a link (ELOOP, with the link as its file name).
    """
    waiting = [os.fspath(folder)]
    while waiting:
        place = waiting.pop()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError), os.scandir(place) as entries:
            for entry in entries:
                if entry.is_symlink():
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), entry.path)
                yield entry
                if entry.is_dir(follow_symlinks=False) and entry.path != os.path.join(folder, but):
                    waiting.append(entry.path)


def make_folder(path: str | os.PathLike) -> None:
    """Makes a folder, and those above it, if it is missing."""
    with opened_folder(path, make=True):
        pass


def delete(path: str | os.PathLike) -> None:
    """Deletes a file, or a link itself; nothing if it is missing."""
    with contextlib.suppress(FileNotFoundError), opened_parent(path) as (folder, name):
        os.unlink(name, dir_fd=folder)


def delete_folder(path: str | os.PathLike) -> None:
    """Deletes a folder that this program has made, with all that is in it; links are deleted, not followed."""
    with contextlib.suppress(FileNotFoundError), opened_parent(path) as (folder, name):
        try:
            is_folder = stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode)
            shutil.rmtree(name, dir_fd=folder) if is_folder else os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _named_error(error, _absolute(path), folder) from None


def delete_empty_folder(path: str | os.PathLike) -> None:
    """Deletes a folder if nothing is in it; nothing if it is missing."""
    with contextlib.suppress(FileNotFoundError), opened_parent(path) as (folder, name):
        os.rmdir(name, dir_fd=folder)


def strangers(path: str | os.PathLike, *patterns: str) -> list[str]:
    """Returns the names of what lies in a folder, at any depth, and matches none of the patterns; sorted.

    A missing folder is empty; links in it are not followed. Patterns are of paths in the folder, such as `variables/*`;
    `*` stands for anything but a slash.
    """
    try:
        with opened_folder(path) as folder:
            found = [
                os.path.normpath(os.path.join(place, name))
                for place, folders, files, _ in os.fwalk(".", dir_fd=folder)
                for name in (*folders, *files)
            ]
    except FileNotFoundError:
        return []
    known = [pattern.split("/") for pattern in patterns]
    return sorted(name for name in found if not any(_matches(name.split("/"), pattern) for pattern in known))


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    return len(parts) == len(pattern) and all(map(fnmatch.fnmatchcase, parts, pattern))


def move(source: str | os.PathLike, target: str | os.PathLike) -> None:
    """Renames a file or folder; the folder of the target is made if it is missing."""
    with opened_parent(source) as (before, old), opened_parent(target, make=True) as (after, new):
        os.rename(old, new, src_dir_fd=before, dst_dir_fd=after)


def temporary_name(name: str) -> str:
    """Returns a hidden name that nobody can guess, with the suffix of `name`, for what is still being written."""
    stem, suffix = os.path.splitext(name)
    return f".{stem}.{os.getpid()}-{secrets.token_hex(8)}{suffix}"


def delete_leftovers(path: str | os.PathLike) -> None:
    """Deletes what processes that were killed while they wrote a file or folder have left beside it."""
    stem, suffix = os.path.splitext(os.path.basename(path))
    for leftover in find(os.path.dirname(path) or ".", ".*"):
        match = _TEMPORARY.fullmatch(leftover.name)
        if match and (match[1], match[3] or "") == (stem, suffix) and not os.path.exists(f"/proc/{match[2]}"):
            delete_folder(leftover) if leftover.is_dir() else delete(leftover)
