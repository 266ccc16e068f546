"""Corrected archives: elites are evaluated again, because an archive of lucky evaluations promises too much."""

import os
from pathlib import Path

import numpy as np

from neurozoo.algorithms.registry import get_algorithm
from neurozoo.algorithms.results import read_archive
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.errors import NeurozooError, needing
from neurozoo.files import write_json
from neurozoo.randomness import Purpose, generator, run_entropy
from neurozoo.records.run_config import read_run_settings

_CHUNK = 500  # levels that are evaluated at once


def correct_archive(
    run_dir: str | os.PathLike, output: str | os.PathLike, *, ops: str | os.PathLike | None = None, threads: int = 1
) -> dict[str, object]:
    """Evaluates all elites of a run again, puts them where they now belong, and writes what is left of the archive.

    Args:
        run_dir: Folder of a finished run.
        output: The JSON file to write: reported and corrected QD score, coverage and number of elites, `moved` (share
            of elites that left their cells), `mean_shift` (mean distance along each measure, in its unit) and, under
            `replayed`, cell and measures of each elite now.
        ops: The op library, if the agent is a trained one.
        threads: Threads of the op.

    Returns:
        What was written.

    Raises:
        NeurozooError: A file of the run is missing or damaged, the agent's or the generator's file has changed since
            the training, or pyribs is not installed.
    """
    with needing("levels", "A corrected archive"):
        from neurozoo.algorithms.quality_diversity.archives import make_archive
        from neurozoo.algorithms.quality_diversity.level_search import file_hashes, play_of

    run_dir = Path(run_dir)
    arrays = read_archive(run_dir / "archive.npz")
    try:
        record = read_run_settings(run_dir / "config.yaml")
        names = {name: record[name] for name in ("algo", "game", "model")}
        spec = get_algorithm(names["algo"])
        fields = spec.settings.__dataclass_fields__
        settings = resolve_settings(
            names["algo"], preset="demo", overrides={name: record[name] for name in fields if name in record}
        )
        entropy = run_entropy(seed=record["seed"], run=record["run"], **names)
    except (KeyError, TypeError) as error:
        raise NeurozooError(
            f"{run_dir / 'config.yaml'} is missing or damaged ({error}). Train the run again."
        ) from error
    for name, digest in file_hashes(settings).items():
        if record.get(name, digest) != digest:
            kind = name.removesuffix("_sha256")
            raise NeurozooError(
                f"The {kind} {getattr(settings, f'{kind}_file')} has changed since {run_dir} was trained, so its "
                "elites cannot be evaluated again. Restore the file, or train the run again."
            )
    domain = settings.domain(names["game"])
    play = play_of(settings, domain, ops=None if ops is None else Path(ops), threads=threads)
    levels = domain.decode(arrays["solutions"])
    axes, fresh = tuple(settings.axes(domain)), []
    for begin in range(0, len(levels), _CHUNK):
        chosen = range(begin, min(begin + _CHUNK, len(levels)))
        rngs = [generator(entropy, Purpose.LEVEL_EPISODE_AGAIN, number) for number in chosen]
        found = domain.evaluate(levels[begin : chosen.stop], play, rngs)
        fresh.append(np.stack([found.objectives, *(found.values[name] for name in axes)], axis=1))
    again = np.concatenate(fresh) if fresh else np.zeros((0, 1 + len(axes)))
    archive = make_archive(domain, settings, dtype=arrays["solutions"].dtype.type, keeps_best=True)
    if len(again):
        archive.add(arrays["solutions"], again[:, 0], again[:, 1:], evaluation=np.arange(len(again)))
    cells, cells_before = (
        np.asarray(archive.index_of(measures)) if len(again) else np.zeros(0, int)
        for measures in (again[:, 1:], arrays["measures"])
    )
    offset, before = float(archive.qd_score_offset), np.asarray(arrays["objectives"], float)
    kept = np.asarray(archive.data("objective"), float)
    shift = np.abs(again[:, 1:] - arrays["measures"]).mean(axis=0) if len(again) else np.zeros(len(axes))
    written: dict[str, object] = {
        "reported_qd_score": float(np.sum(before - offset)),
        "reported_coverage": len(before) / int(archive.cells),
        "qd_score": float(np.sum(kept - offset)),
        "coverage": len(kept) / int(archive.cells),
        "elites": len(kept),
        "moved": float(np.mean(cells != cells_before)) if len(cells) else 0.0,
        "mean_shift": dict(zip(axes, map(float, shift), strict=True)),
        "replayed": {
            "cell": cells.tolist(),
            **{name: again[:, 1 + number].round(4).tolist() for number, name in enumerate(axes)},
        },
    }
    write_json(output, written)
    return written
