"""Describes a bundle as an RO-Crate: archives that give DOIs, such as Zenodo, and other programs can read it.

Source: Sefton et al. 2023, "RO-Crate Metadata Specification 1.1.3", https://w3id.org/ro/crate/1.1.
"""

import datetime
import mimetypes
import os
from pathlib import Path
from urllib.parse import quote

from neurozoo.environments.game_titles import game_title
from neurozoo.files import sha256_of, write_json
from neurozoo.folders import find
from neurozoo.gallery.manifest import Manifest, Run
from neurozoo.gallery.media import portable
from neurozoo.machine import provenance

FILE = "ro-crate-metadata.json"
_SPECIFICATION = "https://w3id.org/ro/crate/1.1"
_SOFTWARE = "#neurozoo"
_LICENCE = "No licence is chosen yet: name one here before you publish."


def write_crate(manifest: Manifest, folder: str | os.PathLike, *, inside: str) -> None:
    """Writes `ro-crate-metadata.json`: all files of a bundle with their hashes, and the runs that they came from.

    `inside` is the path in the bundle to the copies of results, such as `files/`.
    """
    folder = Path(folder)
    paths = {path: path.relative_to(folder).as_posix() for path in find(folder, "**/*")}
    files = [
        {
            "@id": quote(name),
            "@type": "File",
            "name": Path(name).name,
            "contentSize": str(path.stat().st_size),
            "encodingFormat": mimetypes.guess_type(name)[0] or "application/octet-stream",
            "sha256": sha256_of(path),
        }
        for path, name in paths.items()
        if path.is_file() and name != FILE
    ]
    names = [str(file["@id"]) for file in files]
    runs = [_action(run, _below(names, inside + portable(f"runs/{run.id}/"))) for run in manifest.runs]
    made_by = provenance()
    games = sorted({game_title(run.game) for run in manifest.runs})
    whole = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Agents in {', '.join(games)}",
        "description": f"{len(runs)} runs, with settings, logs, scores, figures and movies; index.html shows them.",
        "datePublished": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}",
        "license": _LICENCE,
        "hasPart": _links(names),
        "mentions": _links([run["@id"] for run in runs]),
    }
    software = {
        "@id": _SOFTWARE,
        "@type": "SoftwareApplication",
        "name": "Neurozoo",
        "version": f"{made_by['neurozoo']} ({made_by['commit'] or 'commit unknown'})",
    }
    about = {"@id": FILE, "@type": "CreativeWork", "conformsTo": {"@id": _SPECIFICATION}, "about": {"@id": "./"}}
    context = [f"{_SPECIFICATION}/context", {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}]
    write_json(folder / FILE, {"@context": context, "@graph": [about, whole, software, *runs, *files]})


def _action(run: Run, files: list[str]) -> dict:
    """Describes a run; its score is that of the result, as on its page."""
    score = f", score {run.score.mean:g}" if run.score else ""
    return {
        "@id": f"#{run.id}",
        "@type": "CreateAction",
        "name": f"{run.called}, {run.model}, {game_title(run.game)}, run {run.run}",
        "description": f"{run.state}, {run.frames:,} {run.unit}{score}",
        "instrument": {"@id": _SOFTWARE},
        "result": _links(files),
    }


def _below(names: list[str], folder: str) -> list[str]:
    return [name for name in names if name.startswith(quote(folder))]


def _links(names: list[str]) -> list[dict]:
    return [{"@id": name} for name in names]
