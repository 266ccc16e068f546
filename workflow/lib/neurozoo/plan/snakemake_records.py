"""What Snakemake has recorded of files, in `.snakemake/`."""

import os
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

from neurozoo.errors import NeurozooError
from neurozoo.files import read_json

_NAME_MAX = 255  # bytes of a file's name, used if the file system does not report its limit


def record_of(file: str | os.PathLike) -> dict[str, Any]:
    """Returns what Snakemake has recorded of how it made a file, with which it compares settings; {} without a record.

    `endtime` is the time of the file when it was made; `input_checksums` has the inputs that are compared by content.
    The path is as rules have it, relative to where Snakemake is started or absolute.
    """
    try:
        return read_json(record_path(Path(".snakemake", "metadata"), file), "Delete it.")
    except NeurozooError:
        return {}


def record_path(folder: Path, file: str | os.PathLike) -> Path:
    """Returns where Snakemake records something of a file: base64 of its path, cut where a name would be too long.

    Source: `snakemake.persistence.file` of Snakemake 9.
    """
    name = urlsafe_b64encode(os.fsencode(file)).decode()
    try:
        size = (os.pathconf(folder, "PC_NAME_MAX") or _NAME_MAX) - 1
    except (OSError, ValueError):
        size = _NAME_MAX - 1
    *parts, last = [name[start : start + size] for start in range(0, len(name), size)]
    return folder.joinpath(*(f"@{part}" for part in parts), last)
