"""The version and commit that a result comes from."""

import contextlib
import subprocess
from pathlib import Path

from neurozoo import __version__


def current_commit() -> str | None:
    """Returns the Git commit of this library's sources, or None if they are not in a Git checkout."""
    folder = Path(__file__).resolve().parent
    with contextlib.suppress(OSError):
        result = subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True)
        if result.returncode == 0:
            return result.stdout.strip()
    return None


def provenance() -> dict[str, str | None]:
    """Returns the package's version and commit, to be written beside every result."""
    return {"neurozoo": __version__, "commit": current_commit()}
