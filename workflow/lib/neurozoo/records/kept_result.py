"""Keeps the result of a finished run under second names, which Snakemake does not know.

Snakemake deletes the outputs of a job before the job starts, so a run that starts anew would find nothing to move to
`superseded/`. Hard links in `.result/` take no space on the disk.
"""

import contextlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from neurozoo.records.run_result import FILES, OF_TRAINING

FOLDER = ".result"


def keep_result(run_dir: Path) -> None:
    """Links the files of a result into `.result/`, or copies them where the file system has no hard links.

    Nothing fails if this does: the result itself is there.

    Args:
        run_dir: Folder of a finished run.
    """
    with contextlib.suppress(OSError):
        shutil.rmtree(run_dir / FOLDER, ignore_errors=True)
        (run_dir / FOLDER).mkdir()
        for path in _files_in(run_dir):
            try:
                os.link(path, run_dir / FOLDER / path.name)
            except OSError:
                shutil.copy2(path, run_dir / FOLDER / path.name)


def keep_results(run_dirs: Iterable[Path]) -> None:
    """Keeps the results of runs that finished before `.result/` was introduced; has to precede Snakemake's first job.

    Args:
        run_dirs: Folders of runs; those without a result are left alone.
    """
    for run_dir in run_dirs:
        if not (run_dir / FOLDER).exists() and any((run_dir / name).exists() for name in FILES.values()):
            keep_result(run_dir)


def bring_back(run_dir: Path) -> None:
    """Gives the files in `.result/` their names again, unless these are taken, and removes the folder."""
    for path in _files_in(run_dir / FOLDER):
        if not (run_dir / path.name).exists():
            os.replace(path, run_dir / path.name)
    shutil.rmtree(run_dir / FOLDER, ignore_errors=True)


def _files_in(folder: Path) -> list[Path]:
    return [path for name in OF_TRAINING if (path := folder / name).exists()]
