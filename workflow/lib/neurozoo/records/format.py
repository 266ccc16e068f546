"""The number of the form in which the files of a run are written. A file of another form is refused, not guessed at."""

from collections.abc import Mapping

from neurozoo.errors import NeurozooError

KEY = "format"
FORMAT = 1


class FormatError(NeurozooError):
    """A file of another form."""


def check_format(found: object, source: object, remedy: str = "Make it again.") -> None:
    """Refuses a file, by its content or the header of its content, that has another number than this version reads.

    Raises:
        FormatError: None counts as 0. The message ends with the remedy.
    """
    if (number := found.get(KEY, 0) if isinstance(found, Mapping) else 0) != FORMAT:
        raise FormatError(f"{source} has format {str(number)[:40]}, but this version reads format {FORMAT}. {remedy}")
