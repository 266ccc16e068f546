"""Reads `config.yaml` of a run: which run it is, and its settings."""

import os
from pathlib import Path
from types import NoneType
from typing import Any

from neurozoo.errors import NeurozooError
from neurozoo.files import open_text
from neurozoo.files.yaml import read_yaml
from neurozoo.records.format import check_format

IDENTITY = ("algo", "game", "model", "run", "protocol")  # the values that say which run it is

ARCHITECTURE = "architecture"  # the hash of the network's description, see `catalogue.architecture_digest`

_RECORDS = ("protocol_record", "settings_record", "evaluation_record")


STARTS = ("agent_sha256", "generator_sha256")  # hashes of files that a search through levels starts from


def read_architecture(config: str | os.PathLike) -> str | None:
    """Reads the hash of a run's network, without the rest of the file: a plan asks it of every finished run.

    It is None if the file is missing, or its run has no network that was trained.
    """
    start = f"{ARCHITECTURE}: "
    try:
        with open_text(config) as file:
            return next((line.removeprefix(start).strip().strip("'") for line in file if line.startswith(start)), None)
    except (OSError, UnicodeDecodeError):
        return None


def start_hashes(run_dir: str | os.PathLike) -> dict[str, str]:
    """Reads from `config.yaml` the hashes `STARTS` of the files that a run started from; empty without a file."""
    config = Path(run_dir) / "config.yaml"
    settings = read_run_settings(config) if config.exists() else {}
    return {name: str(settings.get(name, "")) for name in STARTS}


def config_of_run(run_dir: str | os.PathLike) -> Path:
    """Returns a run's `config.yaml`, or its copy in `state/`: Snakemake deletes the first if a job fails."""
    config, copy = Path(run_dir, "config.yaml"), Path(run_dir, "state", "config.yaml")
    return copy if copy.exists() and not config.exists() else config


def read_run_settings(config: str | os.PathLike) -> dict[str, Any]:
    """Reads a run's `config.yaml`: its settings, and at least the values of `IDENTITY`, or raises NeurozooError."""
    remedy = "It is written by the run; start the run again."
    found = read_yaml(config, remedy)
    missing = [name for name in IDENTITY if name not in found]
    if missing:
        raise NeurozooError(f"{config} should name {', '.join(IDENTITY)}, but lacks {', '.join(missing)}. {remedy}")
    check_format(found, config)
    are_right = (
        all(isinstance(found[name], str) for name in IDENTITY if name != "run")
        and isinstance(found["run"], int)
        and all(isinstance(found.get(name) or {}, dict) for name in _RECORDS)
        and isinstance(found.get("frames"), int | float | NoneType)
        and isinstance(found.get("commit"), str | NoneType)
    )
    if not are_right:
        raise NeurozooError(
            f"{config} is damaged: {', '.join(IDENTITY)} should be names and a number, and {', '.join(_RECORDS)} "
            f"mappings. {remedy}"
        )
    return found


def read_identity(config: str | os.PathLike) -> dict[str, object]:
    """Reads from a run's `config.yaml` the values of `IDENTITY`: which run it is."""
    found = read_run_settings(config)
    return {name: found[name] for name in IDENTITY}
