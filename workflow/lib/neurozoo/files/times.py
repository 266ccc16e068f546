"""Times of files, by the clock that gives them: on a shared file system that of its server."""

import os
import tempfile
import time

from neurozoo.folders import opened_folder, opened_parent, reached


def time_in(folder: str | os.PathLike) -> int:
    """Returns the time that a file gets which is written in a folder now, in nanoseconds since 1970.

    If none can be written, it is the time of this machine.
    """
    try:
        with opened_folder(folder) as descriptor, tempfile.TemporaryFile(dir=reached(descriptor)) as probe:
            return os.fstat(probe.fileno()).st_mtime_ns
    except OSError:
        return time.time_ns()


def set_time(path: str | os.PathLike, when: int) -> None:
    """Sets the time of a file or a folder, in nanoseconds since 1970; only its owner may."""
    with opened_parent(path) as (folder, name):
        os.utime(name, ns=(when, when), dir_fd=folder)
