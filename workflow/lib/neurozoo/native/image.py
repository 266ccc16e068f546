"""The container image in which a job runs: what it was built from, and the core that it brings (envs/Dockerfile)."""

import contextlib
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from neurozoo.errors import NeurozooError
from neurozoo.files import read_json, sha256_of, write_json, written_whole
from neurozoo.machine import current_commit, provenance
from neurozoo.native.sources import SOURCES, hash_sources

IMAGE = Path("/opt/neurozoo/image")  # the folder that every image of the project has
FACTS = "image.json"
LIBRARIES = ("libneurozoo_core.so", "libneurozoo_ops.so")

_PROJECT = SOURCES.parent
_BUILD = "build another image: make image (docs/containers.md)"
_DAMAGED = f"Delete this image, and {_BUILD}"


def describe_image(folder: Path, *, commit: str, requirements: Iterable[str], project: Path = _PROJECT) -> None:
    """Writes to `image.json` what an image is built from, so that `check_image` can compare it with another checkout.

    Requirements are names of the lock files whose packages are installed, such as `cpu` for envs/requirements-cpu.txt.
    """
    locks = [f"envs/requirements-{name}.txt" for name in requirements]
    facts = {
        "commit": commit,
        "locks": {lock: sha256_of(project / lock) for lock in locks},
        "native": hash_sources(project / "native"),
    }
    write_json(folder / FACTS, facts)


def check_image(folder: Path = IMAGE, *, project: Path = _PROJECT) -> None:
    """Refuses an image for another commit, whose packages or core are not those that this checkout asks for.

    Commits themselves may differ: pages, rules and the library lie outside of the image and may change. Outside of
    containers there is no image, and nothing to check.

    Raises:
        NeurozooError: The image was built from other lock files or other sources of the core. The message names them
            and both commits.
    """
    if not (folder / FACTS).exists():
        return
    facts = read_json(folder / FACTS, _DAMAGED)
    differing = [
        lock
        for lock, digest in facts["locks"].items()
        if not (project / lock).exists() or sha256_of(project / lock) != digest
    ]
    if hash_sources(project / "native") not in (None, facts["native"]):
        differing.append("native/")
    if differing:
        raise NeurozooError(
            f"This image is for another commit: it was built from {facts['commit']}, but the checkout is "
            f"{current_commit() or 'another one'} and has another {' and '.join(differing)}. Check out the image's "
            f"commit, or {_BUILD}"
        )


def put_libraries(source: Path, folder: Path, facts: Mapping[str, object]) -> None:
    """Copies the native libraries into a folder, with their build.json; if that fails, what was there stays."""
    with contextlib.ExitStack() as files:
        for name in LIBRARIES:
            shutil.copyfile(source / name, files.enter_context(written_whole(folder / name)))
        # Inside, so that a failure here leaves the old ones; a reader never sees a new one with old facts.
        write_json(folder / "build.json", facts)


def take_libraries(folder: Path, *, march: str, image: Path = IMAGE) -> bool:
    """Copies the libraries that the image brings, and their build.json, and returns whether there is an image.

    So no job has to compile them.

    Raises:
        NeurozooError: The image's core is for another commit or another instruction set. Images have no compiler.
    """
    if not (image / FACTS).exists():
        return False
    check_image(image)
    facts = read_json(image / "build.json", _DAMAGED)
    if facts["march"] != march:
        raise NeurozooError(
            f"The core in this image was built for {facts['march']}, but native.march in the configuration is "
            f"{march}. Change that, or {_BUILD} with MARCH={march}"
        )
    put_libraries(image, folder, {**facts, **provenance()})
    return True
