"""Keeps the result of a run that is trained further or anew, until the training ends.

Snakemake deletes the outputs of a job before the job starts. So the files of the result get second names in `.result/`,
which Snakemake does not know: hard links, which take no space.
"""

import contextlib
import os
from pathlib import Path

from neurozoo.errors import explained
from neurozoo.files import copy_file
from neurozoo.folders import delete, delete_empty_folder, find, make_folder, move, opened_folder, reached
from neurozoo.records.run_result import FILES, OF_TRAINING

FOLDER = ".result"


def keep_result(run_dir: Path) -> None:
    """Links the files of a result into `.result/`, or copies them where that is not possible.

    What is kept already stays if there is no newer result.
    """
    if not any((run_dir / name).exists() for name in FILES.values()):
        return
    begun = run_dir / f"{FOLDER}.begun"
    try:
        with opened_folder(run_dir) as folder:
            _drop(begun)
            make_folder(begun)
            for name in OF_TRAINING:
                with contextlib.suppress(FileNotFoundError), opened_folder(begun) as target:
                    _link_or_copy(name, folder, target)
            drop_kept_result(run_dir)
            move(begun, run_dir / FOLDER)
    except OSError as error:
        raise explained(error, begun) from error


def _link_or_copy(name: str, folder: int, target: int) -> None:
    try:
        os.link(name, name, src_dir_fd=folder, dst_dir_fd=target, follow_symlinks=False)
    except FileNotFoundError:
        raise
    except OSError:  # another user's file, or a file system without hard links
        copy_file(reached(folder, name), reached(target, name))


def kept_files(run_dir: Path) -> list[Path]:
    """Returns the files in `.result/`."""
    return find(run_dir, f"{FOLDER}/*")


def drop_kept_result(run_dir: Path) -> None:
    """Removes `.result/`: there is a newer result, or it has been moved elsewhere."""
    with contextlib.suppress(OSError):
        _drop(run_dir / FOLDER)


def _drop(folder: Path) -> None:
    """Deletes a folder and what `keep_result` puts there; with other files in it, it stays."""
    for name in OF_TRAINING:
        delete(folder / name)
    delete_empty_folder(folder)
