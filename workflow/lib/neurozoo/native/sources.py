"""The sources of the core: where they lie, and a hash that changes with them."""

import hashlib
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[4] / "native"

SUFFIXES = {".cc", ".h", ".inc", ".patch", ".txt"}  # .txt: CMakeLists.txt


def hash_sources(folder: Path) -> str | None:
    """Hashes what the core is compiled from, so that it knows its sources again.

    Returns:
        SHA-256 of names and contents, the same wherever the folder lies and whenever its files were written; None if
        it holds no sources, as where the library is installed without them.
    """
    digest = hashlib.sha256()
    # Editors keep hidden files beside those that they have open.
    files = [path for path in folder.rglob("*") if path.suffix in SUFFIXES and not path.name.startswith(".")]
    for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in files):
        content = path.read_bytes()
        digest.update(f"{name}\n{len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest() if files else None
