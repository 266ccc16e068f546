"""Opens, makes, moves and deletes what lies in a folder without following links, which may lead anywhere.

Users name files and folders: results, a run, an agent, a bundle. `guard` notes them. Links in such a name are the
user's own choice and are followed; links below the folder may be a stranger's and are refused. All work is done through
the descriptor of the parent folder, so a folder that somebody exchanges for a link meanwhile changes nothing elsewhere.
"""

import contextlib
import errno
import fnmatch
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

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


if RESULTS in os.environ:
    guard(os.environ[RESULTS])


def root_of(path: str | os.PathLike) -> str | None:
    """Returns the absolute path of the folder below which links are refused on the way to `path`.

    It is the results folder of a run, or the innermost guarded folder, whichever is further out; None if there is none,
    or if the user has named `path` itself.
    """
    match = _RUN.fullmatch(os.fspath(path))
    results = _absolute(match[1] or ".") if match else None
    folder = place = _absolute(path)
    if place in _named:
        return results
    while (folder := os.path.dirname(folder)) not in _named:
        if folder == os.path.dirname(folder):
            return results or (os.path.dirname(place) if os.path.dirname(place) in _beside else None)
    return folder if results is None or len(folder) < len(results) else results


def _absolute(path: str | os.PathLike) -> str:
    """Returns an absolute path without `..`; what stands before a `..` is resolved, as the system would do."""
    before, dots, name = os.fspath(path).rpartition("/../")
    return os.path.abspath(os.path.join(os.path.realpath(before + dots), name) if dots else name)


@contextlib.contextmanager
def opened_folder(path: str | os.PathLike, *, make: bool = False) -> Iterator[int]:
    """Opens a folder without following links below its root.

    Args:
        path: The folder.
        make: Whether to make it, and those above it, if it is missing.

    Yields:
        A descriptor for `dir_fd` and `reached`, which ends with the context.

    Raises:
        OSError: It is missing, no folder, or reached through a link (ELOOP, with the link as its file name).
    """
    with _walked(_absolute(path), root_of(path), make=make) as descriptor:
        yield descriptor


@contextlib.contextmanager
def opened_parent(path: str | os.PathLike, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Opens the folder of a file, see `opened_folder`; yields its descriptor and the name of the file in it."""
    folder, name = os.path.split(_absolute(path))
    with _walked(folder, root_of(path), make=make) as descriptor:
        yield descriptor, name


@contextlib.contextmanager
def _walked(place: str, root: str | None, *, make: bool) -> Iterator[int]:
    root = place if root is None else root
    if make:
        os.makedirs(root, exist_ok=True)
    descriptor = os.open(root, _FOLDER)
    try:
        parts = [] if root == place else os.path.relpath(place, root).split(os.sep)
        for depth, part in enumerate(parts, start=1):
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=descriptor)
            with _naming(os.path.join(root, *parts[:depth]), descriptor):
                inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _naming(path: str, folder: int) -> Iterator[None]:
    """Gives errors of the block the whole path, and tells a link from a file that is where a folder is needed."""
    try:
        yield
    except OSError as error:
        number = error.errno or errno.EIO
        with contextlib.suppress(OSError):
            if number == errno.ENOTDIR and stat.S_ISLNK(os.lstat(os.path.basename(path), dir_fd=folder).st_mode):
                number = errno.ELOOP
        raise OSError(number, os.strerror(number), path) from None


def reached(descriptor: int, name: str = "") -> Path:
    """Returns a path by which libraries and child processes reach an open file, or a file in an open folder."""
    return Path(f"/proc/{os.getpid()}/fd/{descriptor}", name)


def open_descriptor(path: str | os.PathLike, flags: int, mode: int = 0o666) -> int:
    """Opens a file as `os.open` does, but without following links below its root, and never waits for a pipe.

    Raises:
        OSError: The system refuses it, it is a folder, a pipe or a device (ESPIPE), or a link (ELOOP).
    """
    flags |= os.O_CLOEXEC | os.O_NONBLOCK
    if root_of(path) is not None:
        flags |= os.O_NOFOLLOW
    with opened_parent(path, make=bool(flags & os.O_CREAT)) as (folder, name), _naming(os.fspath(path), folder):
        descriptor = os.open(name, flags, mode, dir_fd=folder)
    kind = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(kind):
        os.close(descriptor)
        number = errno.EISDIR if stat.S_ISDIR(kind) else errno.ESPIPE
        raise OSError(number, os.strerror(number), os.fspath(path))
    return descriptor


def is_reached_by_link(path: str | os.PathLike) -> bool:
    """Says whether a path is a link below its root, or lies behind one; False if it does not exist."""
    if root_of(path) is None:
        return False
    try:
        with opened_parent(path) as (folder, name):
            return stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode)
    except OSError as error:
        return error.errno == errno.ELOOP


def find(folder: str | os.PathLike, *patterns: str) -> list[Path]:
    """Returns the files and folders in a folder that match a pattern, sorted, but for links; see `search`."""
    return search(folder, *patterns)[0]


def search(folder: str | os.PathLike, *patterns: str) -> tuple[list[Path], list[Path]]:
    """Finds files and folders, and never looks behind links: what lies there is not even named.

    Args:
        folder: Where to look. If it is missing, or a link leads to it, nothing is found.
        *patterns: As those of `Path.glob`.

    Returns:
        What matches, sorted; and links that match, or behind which something might.

    Raises:
        OSError: The system refuses it. Folders that may not be read count as empty.
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


def check_no_links(folder: str | os.PathLike, *, but: str = "") -> None:
    """Checks that a folder has no links in it, for programs that would follow them.

    Args:
        folder: The folder, which may be a link itself; a missing one has no links.
        but: Path of a folder in it, such as `native/build`, that is left out.

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
                if entry.is_dir(follow_symlinks=False) and entry.path != os.path.join(folder, but):
                    waiting.append(entry.path)


def make_folder(path: str | os.PathLike) -> None:
    """Makes a folder, and those above it, if it is missing.

    Raises:
        OSError: The system refuses it, or a link is on the way.
    """
    with opened_folder(path, make=True):
        pass


def delete(path: str | os.PathLike) -> None:
    """Deletes a file, or a link itself; nothing if it is missing.

    Raises:
        OSError: The system refuses it, it is a folder, or a link is on the way.
    """
    with contextlib.suppress(FileNotFoundError), opened_parent(path) as (folder, name):
        os.unlink(name, dir_fd=folder)


def delete_folder(path: str | os.PathLike) -> None:
    """Deletes a folder that this program has made, with all that is in it; links are deleted, not followed.

    Raises:
        OSError: The system refuses it, or a link is on the way.
    """
    with (
        contextlib.suppress(FileNotFoundError),
        opened_parent(path) as (folder, name),
        _naming(_absolute(path), folder),
    ):
        is_folder = stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode)
        shutil.rmtree(name, dir_fd=folder) if is_folder else os.unlink(name, dir_fd=folder)


def delete_empty_folder(path: str | os.PathLike) -> None:
    """Deletes a folder if nothing is in it; nothing if it is missing.

    Raises:
        OSError: It is not empty, the system refuses it, or a link is on the way.
    """
    with contextlib.suppress(FileNotFoundError), opened_parent(path) as (folder, name):
        os.rmdir(name, dir_fd=folder)


def strangers(path: str | os.PathLike, *patterns: str) -> list[str]:
    """Returns the names of what lies in a folder, at any depth, and matches none of the patterns; sorted.

    Args:
        path: The folder; a missing one is empty. Links in it are not followed.
        *patterns: Of the paths in the folder, such as `variables/*`; `*` stands for anything but a slash.

    Raises:
        OSError: It is a link or reached through one, or may not be read.
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
    """Renames a file or folder; the folder of the target is made if it is missing.

    Raises:
        OSError: The system refuses it, or a link is on the way.
    """
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
