"""`result.json`: the result of a run, in a few lines that every tool can read.

It names the kind of the result, its scores, and its files with their hashes. For runs of earlier versions,
`describe_result` makes it from the files that they have.
"""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType

from neurozoo.errors import NeurozooError
from neurozoo.files import parse_json, read_json, sha256_of, write_json
from neurozoo.npz_files import NpzReader

FILE = "result.json"
GENOME = "genome.json"
LEVELS = "levels.parquet"  # beside an archive: everything that was evaluated
FILES = {"network": "checkpoint.npz", "archive": "archive.npz"}  # the file that holds a result, by its kind
OF_TRAINING = ("config.yaml", "log.jsonl", FILE, GENOME, LEVELS, *FILES.values())  # what only a training writes


def write_run_result(
    run_dir: str | os.PathLike, *, kind: str, facts: Mapping[str, object], files: Sequence[str]
) -> dict[str, object]:
    """Writes `result.json`.

    Args:
        run_dir: Folder of the run.
        kind: `network` or `archive`.
        facts: Names, scores and protocol; plain JSON.
        files: Names of the files in the folder that hold the result.

    Returns:
        What was written.

    Raises:
        NeurozooError: A file is missing, or the disk is full.
    """
    run_dir = Path(run_dir)
    hashes = {}
    for name in files:
        if not (run_dir / name).exists():
            raise NeurozooError(f"{run_dir / name} is missing, so {FILE} cannot name it. Train the run again.")
        hashes[name] = {"sha256": sha256_of(run_dir / name)}
    record = {"kind": kind, **facts, "files": hashes}
    try:
        write_json(run_dir / FILE, record)
    except ValueError as error:  # a number that JSON cannot hold
        raise NeurozooError(f"{run_dir / FILE} cannot be written: a fact in {files[0]} is {error}.") from error
    return record


def describe_result(run_dir: str | os.PathLike) -> dict[str, object]:
    """Writes the `result.json` of a finished run from its other files, unless it is already right.

    Returns:
        Its content.

    Raises:
        NeurozooError: The folder holds no result, or a damaged file.
    """
    run_dir = Path(run_dir)
    kind = next((kind for kind, name in FILES.items() if (run_dir / name).exists()), None)
    if kind is None:
        raise NeurozooError(
            f"{run_dir} should hold {' or '.join(FILES.values())}, but holds neither. Train the run: "
            f"snakemake --cores all {run_dir}/{FILE}"
        )
    facts, has_genome = _facts(run_dir, kind)
    has_levels = kind == "archive" and (run_dir / LEVELS).exists()
    files = [FILES[kind], *([GENOME] if has_genome else []), *([LEVELS] if has_levels else [])]
    if (run_dir / FILE).exists():
        record = read_run_result(run_dir)
        if record.get("kind") == kind and record.get("files") == {n: {"sha256": sha256_of(run_dir / n)} for n in files}:
            return record
    return write_run_result(run_dir, kind=kind, facts=facts, files=files)


def read_run_result(run_dir: str | os.PathLike) -> dict[str, object]:
    """Reads the result of a run: from `result.json`, or from the files of an earlier version.

    Raises:
        NeurozooError: The folder holds no result, or a damaged file.
    """
    run_dir = Path(run_dir)
    remedy = f"Delete it and make it again: snakemake --cores all {run_dir}/{FILE}"
    if (run_dir / FILE).exists():
        return _checked(run_dir / FILE, read_json(run_dir / FILE, remedy))
    if (run_dir / GENOME).exists():
        return {"kind": "network", **_facts(run_dir, "network")[0]}
    raise NeurozooError(
        f"{run_dir} has neither {FILE} nor {GENOME}, which describe the result. Train the run, or copy all its files."
    )


def _facts(run_dir: Path, kind: str) -> tuple[dict[str, object], bool]:
    """Returns what a result says of itself, and whether `genome.json` belongs to it.

    The file of the result says it. Checkpoints of version 0.1 do not; there `genome.json` does. The `genome.json` of an
    old DQN run stays in the folder when the run is trained further, and means nothing then.
    """
    name = FILES[kind]
    facts = None
    if (run_dir / name).exists():
        remedy = "Delete it and train the run again."
        with NpzReader(run_dir / name, keys=(), remedy=remedy) as reader:
            text = reader.text("facts")
        try:
            facts = None if text is None else parse_json(text)
        except ValueError as error:
            raise NeurozooError(f"{run_dir / name} is damaged ({type(error).__name__}). {remedy}") from error
    if facts is not None and not isinstance(facts, dict):
        raise NeurozooError(f"{run_dir / name} is damaged: its facts should be an object.")
    has_genome = (run_dir / GENOME).exists() and (facts is None or "genome" in facts)
    if facts is None:
        facts = read_json(run_dir / GENOME, "Copy all files of the run, or train it again.")
        _checked(run_dir / GENOME, facts)
    return {key: value for key, value in facts.items() if key not in ("genome", "seeds")}, has_genome


def _checked(path: Path, facts: dict) -> dict:
    """Refuses facts whose scores and frames are no numbers."""
    for name in ("frames", "evaluations", "test_score", "test_episodes", "score"):
        if not isinstance(facts.get(name), int | float | NoneType):
            raise NeurozooError(f"{path} is damaged: {name} should be a number. Make it again.")
    return facts


def finite(value: float | None) -> float | None:
    """Returns a number that JSON can hold; None if it is missing or not finite."""
    return None if value is None or not math.isfinite(value) else float(value)
