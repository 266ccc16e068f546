"""The list of files in a results folder that are damaged or not there yet."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from neurozoo.errors import NeurozooError
from neurozoo.folders import is_reached_by_link, search
from neurozoo.gallery.manifest import Missing

REMAKE = "Delete it and make it again."
_A_LINK = "A link leads here. Links in results are not followed."


def _printable(text: str) -> str:
    r"""Returns a text in which the bytes of names that are not UTF-8 are written out, such as `gr\xfc\xdfe.png`."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace(r"\udc", r"\x")


class MissingList:
    """Collects damaged and missing files in `entries`; `results` is the folder with `runs/`."""

    def __init__(self, results: Path):
        self._entries: dict[Missing, None] = {}  # in order, each once
        self._results = results

    def has(self, path: Path) -> bool:
        """Says whether a file or folder is there and may be shown.

        Notes it if a link leads to it, or if its name cannot be written into a page.
        """
        if not os.path.lexists(path) or not self._is_named(path):
            return False
        if is_reached_by_link(path):
            self.note(path, _A_LINK, is_damaged=False)
            return False
        return True

    def find(self, folder: Path, *patterns: str) -> list[Path]:
        """Returns what matches in a folder, as `folders.find`, but for hidden files, and notes as `has` does."""
        found, links = search(folder, *patterns)
        for link in links:
            if not link.name.startswith("."):
                self.note(link, _A_LINK, is_damaged=False)
        return [path for path in found if not path.name.startswith(".") and self._is_named(path)]

    def _is_named(self, path: Path) -> bool:
        if (name := str(path.relative_to(self._results))) == _printable(name):
            return True
        self.note(path, "Its name is not UTF-8, so no page can link to it. Rename it.", is_damaged=True)
        return False

    @property
    def entries(self) -> list[Missing]:
        """Everything that was noted, in order."""
        return list(self._entries)

    def note(self, path: Path, reason: str, *, is_damaged: bool) -> None:
        """Adds an entry, unless it is on the list already."""
        place = path.relative_to(self._results).as_posix()
        entry = Missing(_printable(place), _printable(reason), is_damaged)
        self._entries[entry] = None

    def note_error(self, path: Path, reason: str) -> None:
        """Adds a damaged file. The path of the results folder is cut out, since the pages may be passed on."""
        self.note(path, reason.replace(f"{self._results}{os.sep}", ""), is_damaged=True)

    @contextmanager
    def noting_errors(self, path: Path) -> Iterator[None]:
        """Catches errors about one file and adds them to the list; the scan goes on."""
        try:
            yield
        except NeurozooError as error:
            self.note_error(path, str(error))
        except Exception as error:  # whatever a library raises for a damaged file: one of them must not stop the rest
            reason = f"{type(error).__name__}: {error}"[:200]
            self.note_error(path, f"{path} is damaged ({reason}). {REMAKE}")

    def problem_of(self, folder: Path) -> str:
        """Returns what is wrong with the first damaged file of a folder; empty if none is damaged."""
        place = folder.relative_to(self._results).as_posix()
        return next((e.reason for e in self.entries if e.is_damaged and f"{e.path}/".startswith(f"{place}/")), "")
