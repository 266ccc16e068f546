"""Corrected archives: elites are evaluated again, because an archive of lucky evaluations promises too much."""

import os
from dataclasses import asdict
from pathlib import Path

import numpy as np

from neurozoo.algorithms.registry import get_algorithm
from neurozoo.algorithms.results import read_archive
from neurozoo.errors import NeurozooError, needing
from neurozoo.files import write_json
from neurozoo.randomness import Purpose, generator, run_entropy
from neurozoo.records.run_config import read_run_settings

_CHUNK = 500  # levels that are evaluated at once


def correct_archive(
    run_dir: str | os.PathLike, output: str | os.PathLike, *, core: str | os.PathLike | None = None, threads: int = 1
) -> dict[str, object]:
    """Evaluates all elites of a run again, puts them where they now belong, and writes what is left of the archive.

    The JSON file has reported and corrected QD score, coverage and number of elites, `moved` (share of elites that left
    their cells), `mean_shift` (mean distance along each measure, in its unit) and, under `replayed`, cell and measures
    of each elite now. This is also returned. A trained agent plays in the `core`, in `threads` threads.

    Raises:
        NeurozooError: A file of the run is missing or damaged, the agent's or the generator's file has changed since
            the training, or pyribs is not installed.
    """
    with needing("levels", "A corrected archive"):
        from neurozoo.algorithms.quality_diversity.archives import make_archive

    run_dir = Path(run_dir)
    arrays = read_archive(run_dir / "archive.npz")
    record = read_run_settings(run_dir / "config.yaml")
    names = {name: record[name] for name in ("algo", "game", "model")}
    preset = get_algorithm(names["algo"]).presets["demo"]
    settings = preset.changed({name: record[name] for name in asdict(preset) if name in record})
    entropy = run_entropy(seed=settings.seed, run=record["run"], **names)
    for name, digest in settings.file_hashes().items():
        if record.get(name) != digest:
            kind = name.removesuffix("_sha256")
            raise NeurozooError(
                f"The {kind} {settings.files[kind]} has changed since {run_dir} was trained, so its "
                "elites cannot be evaluated again. Restore the file, or train the run again."
            )
    domain = settings.domain(names["game"])
    play = settings.play(domain, core=None if core is None else Path(core), threads=threads)
    levels = domain.decode(arrays["solutions"])
    axes, fresh = tuple(settings.axes(domain)), []
    for begin in range(0, len(levels), _CHUNK):
        chosen = levels[begin : begin + _CHUNK]
        rngs = [generator(entropy, Purpose.LEVEL_EPISODE_AGAIN, begin + number) for number in range(len(chosen))]
        found = domain.evaluate(chosen, play, rngs)
        fresh.append(np.column_stack([found.objectives, *(found.values[name] for name in axes)]))
    again, before = np.concatenate(fresh), arrays["measures"]
    measures = again[:, 1:]
    archive = make_archive(domain, settings, dtype=arrays["solutions"].dtype.type, keeps_best=True)
    archive.add(arrays["solutions"], again[:, 0], measures, evaluation=np.arange(len(again)))
    cells = archive.index_of(measures)
    objectives_before, objectives = (
        np.asarray(each, float) for each in (arrays["objectives"], archive.data("objective"))
    )
    offset = float(archive.qd_score_offset)
    written: dict[str, object] = {
        "reported_qd_score": float(np.sum(objectives_before - offset)),
        "reported_coverage": len(before) / int(archive.cells),
        "qd_score": float(np.sum(objectives - offset)),
        "coverage": len(objectives) / int(archive.cells),
        "elites": len(objectives),
        "moved": float(np.mean(cells != archive.index_of(before))),
        "mean_shift": dict(zip(axes, np.abs(measures - before).mean(axis=0).tolist(), strict=True)),
        "replayed": {
            "cell": cells.tolist(),
            **{name: column.round(4).tolist() for name, column in zip(axes, measures.T, strict=True)},
        },
    }
    write_json(output, written)
    return written
