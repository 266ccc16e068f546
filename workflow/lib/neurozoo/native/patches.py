"""Applies a patch without the program of that name, which not every machine has."""

import re
from pathlib import Path

from neurozoo.errors import NeurozooError

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")


def apply_patch(patch: str, folder: Path) -> None:
    """Changes files as a unified diff (`diff -u`, names starting with a/ and b/) says, and only if all of it fits.

    Raises:
        NeurozooError: A line that the diff shows is not what stands in the file; no file is changed then.
    """
    changed = {}
    for part in re.split(r"^--- a/", patch, flags=re.MULTILINE)[1:]:
        name, *lines = part.splitlines(keepends=True)
        name = name.strip()
        old = (folder / name).read_text(encoding="utf-8").splitlines(keepends=True)
        new, position = [], 0
        for line in lines[1:]:  # after "+++ b/name"
            if hunk := _HUNK.match(line):
                start = int(hunk[1]) - 1
                new += old[position:start]
                position = start
            elif line.startswith("+"):
                new.append(line[1:])
            else:
                if old[position : position + 1] != [line[1:]]:
                    raise NeurozooError(
                        f"The patch does not fit {name}: line {position + 1} should be {line[1:].strip()!r}. "
                        "Was the patch made for another version of the sources?"
                    )
                if line.startswith(" "):
                    new.append(line[1:])
                position += 1
        changed[name] = "".join(new + old[position:])
    for name, text in changed.items():
        (folder / name).write_text(text, encoding="utf-8")
