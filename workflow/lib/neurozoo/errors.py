"""The one exception that users see, and the sentence that helps them to go on."""

import contextlib
import difflib
import os
import sys
from collections.abc import Iterable, Iterator


class NeurozooError(Exception):
    """Something that the user can mend: says what was expected, what came and what to do."""


def nearest(name: str, allowed: Iterable[str]) -> str | None:
    """Finds the name that was probably meant, so that a slip of the finger costs no search.

    Args:
        name: What came.
        allowed: What would have been accepted.

    Returns:
        The closest allowed name, or None if none is close.
    """
    matches = difflib.get_close_matches(str(name), list(allowed), n=1, cutoff=0.6)
    return matches[0] if matches else None


def unknown_name(kind: str, name: str, allowed: Iterable[str]) -> NeurozooError:
    """Words the error for a name that is not in a list, with the nearest one that is.

    Args:
        kind: What is named, such as "game".
        name: What came.
        allowed: All names that would have been accepted.

    Returns:
        The error, for the caller to raise.
    """
    allowed = sorted(map(str, allowed))
    guess = nearest(name, allowed)
    hint = f"; did you mean {guess!r}?" if guess else "."
    return NeurozooError(f"{kind} {name!r} is unknown{hint} Known: {', '.join(allowed)}.")


@contextlib.contextmanager
def plain_errors(log: str | os.PathLike | None = None) -> Iterator[None]:
    """Ends a program that people start with one sentence instead of a traceback, where they can mend the cause.

    Args:
        log: Optional file that gets the sentence, too.

    Raises:
        SystemExit: Status 1, after a `NeurozooError` was written to standard error.
    """
    try:
        yield
    except NeurozooError as error:
        print(f"neurozoo: {error}", file=sys.stderr, flush=True)
        if log is not None:
            with contextlib.suppress(OSError), open(log, "a", encoding="utf-8") as file:
                file.write(f"neurozoo: {error}\n")
        raise SystemExit(1) from None
