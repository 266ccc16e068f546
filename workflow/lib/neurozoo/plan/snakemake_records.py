"""What Snakemake has recorded of the files that it made, in `.snakemake/`."""

import os
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

from neurozoo.errors import NeurozooError
from neurozoo.files import read_json

_LONGEST_NAME = 255  # bytes of a file's name, on Linux


def record_of(file: str | os.PathLike, folder: str | os.PathLike = ".snakemake") -> dict[str, Any]:
    """Returns what Snakemake has recorded of how it made a file, with which it compares settings; {} without a record.

    `endtime` is the time of the file when it was made; `input_checksums` has the inputs that are compared by content.

    Args:
        file: Its path as rules have it, relative to where Snakemake is started or absolute.
        folder: Snakemake's own folder.

    Source: `snakemake.persistence.file` of Snakemake 9.
    """
    name = urlsafe_b64encode(os.fsencode(file)).decode()
    size = _LONGEST_NAME - 1
    *parts, last = [name[start : start + size] for start in range(0, len(name), size)]
    try:
        return read_json(Path(folder, "metadata", *(f"@{part}" for part in parts), last), "Delete it.")
    except NeurozooError:
        return {}
