"""Checks files and folders that a configuration names, before any work."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from neurozoo.errors import NeurozooError
from neurozoo.plan.planned_runs import imported_run, runs_of, start_files
from neurozoo.plan.sweeps import members_of


def check_named_files(config: Mapping, *, with_starts: bool = True) -> None:
    """Checks that the files exist that a configuration names: Snakemake does not miss those of finished results.

    Files in the folder of results are left to Snakemake, because a rule may make them. So are those of agents that are
    imported already. `with_starts` says whether files that runs start from are on this machine, too.

    Raises:
        NeurozooError: A file is in the way of a folder under `pathvars`; a path has braces; or files are missing or
            empty: one per line, with the keys that name them.
    """
    check_folders(config["pathvars"].values(), are_needed=False)
    results = Path(config["pathvars"]["results"])
    named = named_files(config, with_starts=with_starts)
    for key, path in [*named, ("container", config.get("container") or "")]:
        if set("{}") & set(path):
            raise NeurozooError(f"{key}: {path} has braces, which Snakemake takes for wildcards. Give another path.")
    found = [(key, path, _problem(path)) for key, path in named if results not in Path(path).parents]
    if lines := [f"  {key}: {path} {problem}, or remove the entry." for key, path, problem in found if problem]:
        raise NeurozooError("\n".join(["The configuration names files that cannot be used:", *lines]))


def _problem(path: str) -> str:
    """Says what is wrong with a file, without reading it; nothing if it may be sound."""
    if Path(path).is_dir():
        return "is a folder. Name the file in it, such as genome.json of a run"
    if not Path(path).is_file():
        return "is missing. Check the path"
    return "" if Path(path).stat().st_size else "is empty. Copy it again"


def named_files(config: Mapping, *, with_starts: bool = True) -> list[tuple[str, str]]:
    """Lists the files that `check_named_files` checks, as pairs of the key that names a file, and its path."""
    curves = config["figures"]["learning_curves"]["references"]["files"]
    named = [
        (f"figures.learning_curves.references.files.{name}.{game}", path)
        for name, games in curves.items()
        for game, path in games.items()
    ]
    folder = Path(config["pathvars"]["results"], "runs")
    named += [
        (f"imports.{name}.file", entry["file"])
        for name, entry in config.get("imports", {}).items()
        if "file" in entry and not (folder / imported_run(entry).name / "checkpoint.npz").is_file()
    ]
    members = [member for experiment in config["experiments"].values() for member in members_of(experiment)]
    firsts = [{(run.game, run.model): run for run in reversed(runs_of(member))} for member in members]
    for run in (run for runs in firsts for run in runs.values()) if with_starts else ():
        key = f"{run.algo}/{run.game}/{run.model} starts from a file (agent, load_from, fixed_layers_of ...)"
        named += [(key, file) for file in start_files(config, **asdict(run))]
    return named


def check_container(image: str | None) -> None:
    """Checks before any work that there is an image, if jobs are to run in one.

    An address such as `docker://...` is left to Apptainer.
    """
    if image is None:
        raise NeurozooError(
            "--sdm apptainer runs jobs in a container, but the configuration names no image. Build one and set "
            "container: neurozoo.sif (docs/containers.md), or leave the option out."
        )
    if "://" not in image and not Path(image).exists():  # a folder can be an image, too
        raise NeurozooError(f"container: {image} is missing. Build it (docs/containers.md), or check the path.")


def check_folders(paths: Iterable[str | os.PathLike], *, are_needed: bool = True) -> None:
    """Checks before any work that folders can be made, or written if they exist; the message has the reason.

    If they are not `are_needed` now, as in a plan, only a file that is in the way counts.
    """
    sound: set[Path] = set()
    for path in map(Path, paths):
        for place in (path, *path.parents):
            if place in sound:
                break
            sound.add(place)
            if place.is_dir():
                if are_needed and not os.access(place, os.W_OK | os.X_OK):
                    raise NeurozooError(
                        f"{place} may not be written by you, but {path} should be made. Look at its owner and "
                        "permissions (ls -ld), or choose another folder under pathvars.results."
                    )
                break
            if place.is_symlink() and not place.exists():
                raise NeurozooError(
                    f"{place} is a link to {os.readlink(place)}, which is missing. Mount or make that folder, or "
                    "choose another one under pathvars."
                )
            if os.path.lexists(place):
                needed = "" if place == path else f": {path}"
                raise NeurozooError(
                    f"{place} is a file, but a folder is needed{needed}. Move the file, or choose another folder under "
                    "pathvars."
                )


def check_folders_on_storage(folders: Mapping[str, str]) -> None:
    """Checks that folders of results in a cloud are not absolute: they lie below the prefix of the storage."""
    for name, folder in folders.items():
        if os.path.isabs(folder):
            raise NeurozooError(
                f"pathvars.{name} is {folder}, but results are on the storage of --default-storage-prefix, below which "
                "a folder should be relative, such as results/mine."
            )


def check_workdir(folder: str | os.PathLike) -> None:
    """Checks that a folder in which Snakemake was started is there."""
    if not Path(folder).is_dir():
        raise NeurozooError(f"{folder} is not a folder. Name the one in which Snakemake was started, with --directory.")
