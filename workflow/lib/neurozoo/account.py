"""Gives processes of accounts without a name or a home what libraries ask for, in the folder where they work."""

import getpass
import os

_FOLDER = ".snakemake/home"


def complete_account() -> None:
    """Sets USER, HOME, XDG_CACHE_HOME and MPLCONFIGDIR where there is no name, no home, or a home that is read-only.

    Containers and some clusters run processes under user ids that no list of users has. Snakemake then ends with an
    error, and Matplotlib complains in every process. Other accounts keep all as it is. Nothing is made here: libraries
    make their folders.
    """
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["USER"] = str(os.getuid())
    if not os.environ.get("HOME"):
        os.environ.pop("HOME", None)  # an empty one would be the root of the file system
    if not os.path.isabs(home := os.path.expanduser("~")) or not os.path.isdir(home):
        os.environ["HOME"] = os.path.abspath(_FOLDER)
    plots = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "matplotlib")
    for name, usual in (("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), ("MPLCONFIGDIR", plots)):
        if not _can_be_written(os.environ.get(name) or usual):
            os.environ[name] = os.path.join(os.path.abspath(_FOLDER), name.lower())


def _can_be_written(folder: str) -> bool:
    """Returns whether files can be put into a folder, which need not exist yet."""
    while not os.path.exists(folder) and folder != (above := os.path.dirname(folder)):
        folder = above
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)
