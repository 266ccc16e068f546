"""The exception for errors that users can fix, and helpers that word its message."""

import bisect
import contextlib
import difflib
import errno
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator

from neurozoo.folders import open_descriptor
from neurozoo.signals import Stopped

_LONGEST = 80  # characters of a name in a message
_MANY_NAMES, _NEIGHBOURS = 40, 4  # names, of which an error lists so many on each side of the similar one


class NeurozooError(Exception):
    """An error that the user can fix. The message says what is wrong, what was expected and what to do."""


def nearest(name: str, allowed: Iterable[str]) -> str | None:
    """Finds the valid name, if any, that a user probably meant, so that error messages can suggest it."""
    by_letters = {_letters(each): each for each in map(str, allowed)}
    matches = difflib.get_close_matches(_letters(str(name)), by_letters, n=1, cutoff=0.6)
    return by_letters[matches[0]] if matches else None


def _letters(name: str) -> str:
    """Returns a name without what people write in several ways: `Atari-5` and `atari_5` are `atari5`."""
    return re.sub(r"[\W_]", "", name.lower()) or name


def unknown_name(kind: str, name: str, allowed: Iterable[str], *, owner: str = "") -> NeurozooError:
    """Makes the error for an unknown name, with the most similar valid name as a suggestion.

    All valid names are listed; if they are many, only the neighbours in the alphabet. `kind` is what the name stands
    for, such as "game"; `owner` is what has these names, such as "ga" for its settings.
    """
    allowed = sorted(map(str, allowed))
    shown = repr(name)
    shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."
    guess = nearest(shown.strip("'"), allowed)
    hint = f"; did you mean {guess!r}?" if guess else "."
    if len(allowed) > _MANY_NAMES:
        place = allowed.index(guess) if guess else bisect.bisect(allowed, shown.strip("'"))
        some = allowed[max(0, place - _NEIGHBOURS) : place + _NEIGHBOURS + 1]
        known = f"{len(allowed)} names, among them {', '.join(some)}"
    else:
        known = ", ".join(allowed) or "none"
    problem = f"{owner} has no {kind} {shown}" if owner else f"{kind} {shown} is unknown"
    return NeurozooError(f"{problem}{hint} Known: {known}.")


_FULL = (
    "could not be written: {reason}. An earlier file of that name is unchanged; free some space and start the same "
    "command again."
)
_FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FILE_IN_THE_WAY = "cannot be used, because a file is where a folder is needed. Move it, or choose another folder."
_FORBIDDEN = "may not be used by you: {reason}. Look at its owner and permissions (ls -ld), or choose another folder."
_SENTENCES = {
    **dict.fromkeys(_FULL_DISK, _FULL),
    errno.EROFS: "could not be written, because its file system is read-only. Choose a folder on another one.",
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.ENAMETOOLONG: "has a name that is too long for its file system. Choose a shorter name or folder.",
    errno.ENOTDIR: _FILE_IN_THE_WAY,
    errno.EEXIST: _FILE_IN_THE_WAY,
    errno.EISDIR: "cannot be used, because a folder is where a file is needed. Move it, or choose another name.",
    errno.ESPIPE: "should be a file, but is a pipe, a socket or a device. Put a file there, or give another path.",
    errno.ENOENT: "is missing. Check the path.",
    errno.ELOOP: (
        "is a link. Links in a folder of results are not followed, because they may lead anywhere. Put the file or "
        "folder itself there, or delete the link."
    ),
}


def explained(error: OSError, path: str | os.PathLike | None = None) -> Exception:
    """Returns a `NeurozooError` that says what the system refused and what to do; `error` itself if no file is known.

    A full disk needs no file: standard output may be on it. `path` is the file that was wanted; None for the one that
    the error names. A link is always named itself.
    """
    is_named = error.filename is not None and (path is None or error.errno == errno.ELOOP)
    place = error.filename if is_named else path
    if place is None and error.errno in _FULL_DISK:
        return NeurozooError(
            f"What this program writes or prints finds no room ({os.strerror(error.errno).lower()}). Free some space "
            "and start the same command again."
        )
    if place is None or error.errno is None:
        return error
    reason = os.strerror(error.errno).lower()
    sentence = _SENTENCES.get(error.errno, "could not be read or written: {reason}. Check its disk, and try again.")
    return NeurozooError(f"{os.fspath(place)} {sentence.format(reason=reason)}")


@contextlib.contextmanager
def naming(source: object) -> Iterator[None]:
    """Puts the name of a file before the sentence of a NeurozooError that does not name it."""
    try:
        yield
    except NeurozooError as error:
        if str(source) in str(error):
            raise
        raise NeurozooError(f"{source}: {error}") from error


@contextlib.contextmanager
def needing(extra: str, purpose: str) -> Iterator[None]:
    """Explains a package that is missing because only some users need it.

    `extra` is the group of packages that has it, such as `compare`: envs/requirements-compare.in. `purpose` is what
    needs it, as the subject of a sentence: "A Dask cluster".
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if str(error.name).startswith("neurozoo"):
            raise
        raise NeurozooError(
            f"{purpose} needs the package {error.name}, which is not installed. Run: make setup EXTRAS={extra} "
            f"(without the project's folder: pip install 'neurozoo[{extra}]')"
        ) from error


@contextlib.contextmanager
def plain_errors(log: str | os.PathLike | None = None) -> Iterator[None]:
    """Ends a program with one sentence instead of a traceback if the user can fix the error, or a signal stops it.

    The sentence, or the traceback of an unexpected error, is appended to `log`, too. What the system refuses
    (`OSError`) is such an error, too, if a file is known or the disk is full.

    Raises:
        SystemExit: Status 1, after the message of a `NeurozooError` was written to standard error.
        Stopped: A signal came; after the sentence.
    """
    try:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise explained(error) from error
    except NeurozooError as error:
        _say(f"neurozoo: {error}\n", log)
        raise SystemExit(1) from None
    except Stopped as stop:
        _say(f"neurozoo: {stop}\n", log)
        raise
    except Exception:
        _append(log, traceback.format_exc())
        raise


def _say(sentence: str, log: str | os.PathLike | None) -> None:
    _append(log, sentence)
    with contextlib.suppress(OSError):  # the terminal may be gone
        sys.stderr.write(sentence)
        sys.stderr.flush()


def _append(log: str | os.PathLike | None, text: str) -> None:
    if log is not None:
        with contextlib.suppress(OSError):
            descriptor = open_descriptor(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            with open(descriptor, "a", encoding="utf-8") as file:
                file.write(text)
