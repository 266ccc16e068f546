"""Keeps the result of a run that is trained further or anew, until the training ends.

Snakemake deletes the outputs of a job before the job starts. So the files of the result get second names in `.result/`,
which Snakemake does not know: hard links, which take no space.
"""

import os
import shutil
from pathlib import Path

from neurozoo.errors import explained
from neurozoo.records.run_result import FILES, OF_TRAINING

FOLDER = ".result"


def keep_result(run_dir: Path) -> None:
    """Links the files of a result into `.result/`, or copies them where that is not possible.

    What is kept already stays if there is no newer result.

    Args:
        run_dir: Folder of a run, which need not exist.

    Raises:
        NeurozooError: The folder may not be written, or the disk is full.
    """
    if not any((run_dir / name).exists() for name in FILES.values()):
        return
    begun = run_dir / f"{FOLDER}.begun"
    shutil.rmtree(begun, ignore_errors=True)
    try:
        begun.mkdir()
        for name in OF_TRAINING:
            if (path := run_dir / name).exists():
                _link_or_copy(path, begun / name)
        drop_kept_result(run_dir)
        begun.rename(run_dir / FOLDER)
    except OSError as error:
        raise explained(error, begun) from error


def _link_or_copy(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except OSError:  # another user's file, or a file system without hard links
        shutil.copy2(path, target)


def kept_files(run_dir: Path) -> list[Path]:
    """Returns the files in `.result/`."""
    return sorted((run_dir / FOLDER).glob("*"))


def drop_kept_result(run_dir: Path) -> None:
    """Removes `.result/`: there is a newer result, or it has been moved elsewhere."""
    shutil.rmtree(run_dir / FOLDER, ignore_errors=True)
