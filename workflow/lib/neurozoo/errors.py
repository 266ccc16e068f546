"""The one exception that users see, and the sentence that helps them to go on."""

import difflib
from collections.abc import Iterable


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
