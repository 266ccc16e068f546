"""The provenance page: configuration, commits, versions, machine and protocols behind a folder of results."""

import importlib.metadata
import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from neurozoo.errors import NeurozooError
from neurozoo.files import read_json, write_json, write_text
from neurozoo.files.templates import environment
from neurozoo.folders import find
from neurozoo.machine import machine, provenance
from neurozoo.native import REBUILD
from neurozoo.records.run_config import IDENTITY, read_run_settings

PACKAGES = ("ale-py", "gymnasium", "keras", "numpy", "pandas", "snakemake", "tensorflow-cpu", "tensorflow")
_RUN_FACTS = ("seed", "frames", "neurozoo", "commit", "protocol_record")
_BUILD_FACTS = ("commit", "tensorflow", "ale", "compiler", "march", "sha256")


def write_provenance(
    settings: Iterable[str | os.PathLike],
    *,
    html: str | os.PathLike,
    json: str | os.PathLike,
    build: str | os.PathLike | None = None,
    configuration: Mapping | None = None,
) -> None:
    """Writes everything that a reader needs to make the same results again.

    The `settings` are the runs' `config.yaml`, with version, commit and protocol, and `build` is the `build.json` of
    the native core. The page `html` needs no other files; `json` is the same for programs.

    Raises:
        NeurozooError: A file is missing or damaged.
    """
    runs: list[dict] = []
    protocols: dict[str, list] = {}
    for path in settings:
        settings = read_run_settings(path)
        runs.append({name: settings.get(name) for name in (*IDENTITY, *_RUN_FACTS)})
        record = runs[-1].pop("protocol_record")
        protocols.setdefault(runs[-1]["protocol"], []).extend([record] if record else [])
    facts = {
        "format": "neurozoo provenance 1",
        "made_by": {**provenance(), "python": platform.python_version()},
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "library": {name: read_json(build, REBUILD).get(name) for name in _BUILD_FACTS} if build else None,
        "machine": {name: value for name, value in machine().items() if name != "load_average"},
        "protocols": {name: _distinct(records) for name, records in protocols.items()},
        "runs": runs,
        "configuration": configuration,
    }
    write_json(json, facts)
    text = yaml.safe_dump(configuration, sort_keys=False, allow_unicode=True) if configuration else None
    write_text(html, environment().get_template("provenance.html").render(facts=facts, configuration=text))


def _distinct(records: list) -> list:
    return [record for place, record in enumerate(records) if record not in records[:place]]


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def find_settings(results: str | os.PathLike) -> list[Path]:
    """Returns the `config.yaml` of all runs of a results folder.

    Raises:
        NeurozooError: There are no runs.
    """
    found = find(results, "runs/*/*/*/*/config.yaml")
    if not found:
        raise NeurozooError(
            f"{results} holds no run with a config.yaml. Name a folder with runs/ALGO/GAME/MODEL/RUN/config.yaml with "
            "--results."
        )
    return found
