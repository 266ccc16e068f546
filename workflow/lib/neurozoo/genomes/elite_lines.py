"""The lines `Current elite: ...` of a text log, which name the elite's genome after each table.

The published code prints the whole genome. Ours does as long as it is short. The lines of longer ones say what is new,
so that the log does not grow with the square of the generations.
"""

import re

from neurozoo.genomes.genome import Genome
from neurozoo.genomes.packing import common_length

MARK = "Current elite:"
_WHOLE = 20  # mutations of the longest genome that is always printed whole
_TAIL = 4  # mutations of which a table shows the last characters
_SAME = "the one before"
_CHANGE = re.compile(rf"the first (\d+) mutations? of {_SAME}(?:, then (.*))?")
_ENTRY = re.compile(r"\([^()]*\)|[^(),\s]+")


def elite_line(genome: list, before: list | None) -> str:
    """Returns the line about an elite, from its genome, as JSON, and that of the line before, if there is one."""
    kept = 0 if before is None else common_length(before, genome)
    if len(genome) <= 1 + _WHOLE or kept < 1 or before is None:
        return f"{MARK} {Genome.from_json(genome).to_text()}"
    if kept == len(genome) == len(before):
        return f"{MARK} {_SAME}"
    count = f"{kept - 1} mutation{'' if kept == 2 else 's'}"
    added = ", ".join(str((index, power)) for index, power in genome[kept:])
    return f"{MARK} the first {count} of {_SAME}{added and f', then {added}'}"


def elite_tail(genome: list) -> str:
    """Returns a text that ends as the genome's does; tables show only the last characters."""
    return Genome.from_json([genome[0], *genome[1:][-_TAIL:]]).to_text()


class EliteLines:
    """Reads the lines of a log one after the other, and completes those that say only what is new."""

    def __init__(self) -> None:
        self._entries: list[str] | None = None

    def read(self, text: str) -> str | None:
        """Returns the genome's whole text; None if the lines before are missing."""
        change = _CHANGE.fullmatch(text)
        if change is None and text != _SAME:
            self._entries = _ENTRY.findall(text[1:-1]) if text.startswith("(") and text.endswith(")") else None
            return text
        if self._entries is None:
            return None
        if change:
            kept = 1 + int(change[1])
            if kept > len(self._entries):
                self._entries = None
                return None
            del self._entries[kept:]
            self._entries += _ENTRY.findall(change[2] or "")
        return f"({', '.join(self._entries)}{',' if len(self._entries) == 1 else ''})"


def last_elite(text: str) -> str | None:
    """Returns the genome of the last line about an elite in a log, whole; None if the lines before it are missing."""
    found = [part.partition("\n")[0].strip() for part in text.split(MARK)[1:]]
    whole = max((place for place, line in enumerate(found) if not line.startswith("the ")), default=0)
    lines, last = EliteLines(), None
    for line in found[whole:]:
        last = lines.read(line)
    return last
