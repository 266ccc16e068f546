"""A page of an archive: a heat map, and behind every cell its level, the agent's way through it, and its occupancy."""

import base64
import os
from pathlib import Path

import numpy as np

from neurozoo.algorithms.results import read_archive
from neurozoo.comparison.page import fill_template
from neurozoo.environments.level_domains import LevelDomain, get_level_domain, measure_title
from neurozoo.errors import NeurozooError
from neurozoo.files import read_json, write_text
from neurozoo.records.archives import CORRECTED
from neurozoo.records.stored_archive import StoredArchive, agent_of_run, read_stored_archive

MOST_LEVELS = 6_000  # on a page: about a kilobyte each
_SHADES = 255  # of an occupancy; the largest value of a level is stored beside it


def write_archive_page(
    run_dir: str | os.PathLike, output: str | os.PathLike, *, core: str | os.PathLike | None = None
) -> dict[str, int]:
    """Writes a page that shows the archive, and the level in each cell that is clicked; it works offline.

    Its ways are single episodes that begin towards the right, played again for the page by the agent of the run. If
    that agent's file is gone or has changed, there are none, and the page says so. If there are more elites than
    `MOST_LEVELS`, only every second, third ... can be clicked.

    The folder is that of a finished run, with `archive.npz`, `config.yaml` and, if it is there, `corrected.json`.
    Platform levels need the native core; None stands for where the workflow builds it.

    Raises:
        NeurozooError: A file is missing or damaged.
    """
    run_dir = Path(run_dir)
    archive, corrected = run_dir / "archive.npz", run_dir / CORRECTED
    stored, arrays = read_stored_archive(archive), read_archive(archive)
    facts = stored.facts
    domain = get_level_domain(str(facts.get("game")))
    every = max(1, -(-len(stored.cells) // MOST_LEVELS))
    shown = np.arange(0, len(stored.cells), every)
    agent, is_there = agent_of_run(run_dir, domain)
    colours = {
        "Objective": _rounded(stored.objectives),
        "Iteration in which it was found": (stored.iterations + 1).tolist(),
    }
    for name in domain.recorded:
        if f"metadata_{name}" in arrays:
            colours[_words(name)] = _rounded(arrays[f"metadata_{name}"])
    corrections = read_json(corrected, "Delete it and make it again.") if corrected.exists() else None
    data = {
        "run": "/".join(str(facts.get(name)) for name in ("algo", "game", "model", "run")),
        "facts": {name: facts.get(name) for name in ("qd_score", "coverage", "elites", "evaluations", "iteration")},
        "corrected": corrections and {name: corrections[name] for name in ("qd_score", "coverage", "elites", "moved")},
        "dims": list(stored.dims),
        "ranges": stored.ranges.tolist(),
        "titles": [measure_title(domain.name, name) for name in stored.measures],
        "shape": list(domain.shape),
        "tiles": list(domain.tile_colours),
        "cells": stored.cells.tolist(),
        "colours": colours,
        "repeated": [_words(name) for name in stored.measures],  # among the colours
        "every": every,
        "levels": _levels(domain, stored, arrays, shown, agent if is_there else None, core),
        "way": f"of {agent}" if is_there else f"none, because {agent} is missing or has changed",
    }
    write_text(output, fill_template("archive_page.html", data, title=f"Archive of {data['run']}"))
    return {"elites": len(stored.cells), "levels": len(shown)}


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _levels(
    domain: LevelDomain,
    stored: StoredArchive,
    arrays: dict[str, np.ndarray],
    shown: np.ndarray,
    agent: str | None,
    core: str | os.PathLike | None,
) -> list[dict]:
    try:
        if arrays["metadata_level"].dtype.kind not in "iu":
            raise ValueError(f"they are {arrays['metadata_level'].dtype}")
        levels = arrays["metadata_level"][shown].astype(np.uint8).reshape(len(shown), *domain.shape)
        occupancy = arrays["metadata_occupancy"][shown].astype(float).reshape(len(shown), -1)
        evaluations = arrays["metadata_evaluation"][shown]
        predicted = arrays["metadata_predicted"][shown].astype(float)
        measures = arrays["measures"][shown].astype(float)
    except (KeyError, ValueError, IndexError) as error:
        raise NeurozooError(f"The archive lacks its levels ({error}). Train the run again.") from error
    guessed = arrays.get("metadata_predicted_occupancy")
    guessed = None if guessed is None else guessed[shown].astype(float).reshape(len(shown), -1)
    ways = [np.zeros(0, int)] * len(levels) if agent is None else domain.ways(levels, agent, core=core)
    found = []
    for number, elite in enumerate(shown):
        entry = {
            "elite": int(elite),
            "evaluation": int(evaluations[number]),
            "measures": _rounded(measures[number]),
            "level": _packed(levels[number]),
            "way": _packed(ways[number].astype(np.uint16)),
            "occupancy": _shades(occupancy[number]),
        }
        if np.isfinite(predicted[number]).all():
            entry["predicted"] = _rounded(predicted[number])
        if guessed is not None and np.isfinite(guessed[number]).all():
            entry["guessed"] = _shades(np.maximum(guessed[number], 0))
        found.append(entry)
    return found


def _shades(values: np.ndarray) -> list:
    largest = float(values.max())
    shades = np.round(values * (_SHADES / largest)) if largest > 0 else np.zeros_like(values)
    return [round(largest, 3), _packed(shades.astype(np.uint8))]


def _packed(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def _rounded(values: np.ndarray) -> list[float | None]:
    return [round(float(value), 4) if np.isfinite(value) else None for value in values]
