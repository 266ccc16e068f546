"""What Snakemake has recorded of the files that it made, in `.snakemake/`."""

import os
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

from neurozoo.errors import NeurozooError
from neurozoo.files import read_json

_LONGEST_NAME = 255  # bytes of a file's name, on Linux


def is_recorded(file: str | os.PathLike, folder: str | os.PathLike = ".snakemake") -> bool:
    """Returns whether Snakemake has recorded how it made a file, with which it compares settings.

    Args:
        file: Its path as rules have it, relative to where Snakemake is started or absolute.
        folder: Snakemake's own folder.
    """
    return _place_of(file, folder).exists()


def record_of(file: str | os.PathLike, folder: str | os.PathLike = ".snakemake") -> dict[str, Any]:
    """Returns what Snakemake has recorded of a file; nothing if it has no record. Args are those of `is_recorded`.

    `endtime` is the time of the file when it was made; `input_checksums` has the inputs that are compared by content.
    """
    try:
        return read_json(_place_of(file, folder), "Delete it.")
    except NeurozooError:
        return {}


def _place_of(file: str | os.PathLike, folder: str | os.PathLike) -> Path:
    """Returns where a record is.

    Source: `snakemake.persistence.file` of Snakemake 9.
    """
    name = urlsafe_b64encode(os.fsencode(file)).decode()
    size = _LONGEST_NAME - 1
    *parts, last = [name[start : start + size] for start in range(0, len(name), size)]
    return Path(folder, "metadata", *(f"@{part}" for part in parts), last)
