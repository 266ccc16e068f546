"""The exception for errors that users can fix, and helpers that word its message."""

import contextlib
import difflib
import os
import sys
from collections.abc import Iterable, Iterator


class NeurozooError(Exception):
    """An error that the user can fix. The message says what is wrong, what was expected and what to do."""


def nearest(name: str, allowed: Iterable[str]) -> str | None:
    """Finds the name that a user probably meant, so that error messages can suggest it.

    Args:
        name: The name that the user gave.
        allowed: The valid names.

    Returns:
        The most similar valid name, or None if none is similar.
    """
    matches = difflib.get_close_matches(str(name), list(allowed), n=1, cutoff=0.6)
    return matches[0] if matches else None


def unknown_name(kind: str, name: str, allowed: Iterable[str]) -> NeurozooError:
    """Makes the error for an unknown name, with the most similar valid name as a suggestion.

    Args:
        kind: What the name stands for, such as "game".
        name: The name that the user gave.
        allowed: All valid names.

    Returns:
        The error, for the caller to raise.
    """
    allowed = sorted(map(str, allowed))
    guess = nearest(name, allowed)
    hint = f"; did you mean {guess!r}?" if guess else "."
    return NeurozooError(f"{kind} {name!r} is unknown{hint} Known: {', '.join(allowed)}.")


@contextlib.contextmanager
def plain_errors(log: str | os.PathLike | None = None) -> Iterator[None]:
    """Ends a program with one sentence instead of a traceback if the user can fix the error.

    Args:
        log: Optional file to which the sentence is appended, too.

    Raises:
        SystemExit: Status 1, after the message of a `NeurozooError` was written to standard error.
    """
    try:
        yield
    except NeurozooError as error:
        print(f"neurozoo: {error}", file=sys.stderr, flush=True)
        if log is not None:
            with contextlib.suppress(OSError), open(log, "a", encoding="utf-8") as file:
                file.write(f"neurozoo: {error}\n")
        raise SystemExit(1) from None
