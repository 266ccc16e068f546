"""`result.json`: the result of a run, in a few lines that every tool can read.

It names the kind of the result, its scores, and its files with their hashes.
"""

import math
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType

from neurozoo.errors import NeurozooError
from neurozoo.files import read_json, sha256_of, write_json
from neurozoo.records.format import FORMAT, KEY, check_format

FILE = "result.json"
GENOME = "genome.json"
LEVELS = "levels.parquet"  # beside an archive: everything that was evaluated
FILES = {"network": "checkpoint.npz", "archive": "archive.npz"}  # the file that holds a result, by its kind
OF_TRAINING = ("config.yaml", "log.jsonl", FILE, GENOME, LEVELS, *FILES.values())  # what only a training writes


def write_run_result(
    run_dir: str | os.PathLike, *, kind: str, facts: Mapping[str, object], files: Sequence[str]
) -> dict[str, object]:
    """Writes `result.json`, and returns what was written.

    `kind` is `network` or `archive`, and `facts` (plain JSON) are names, scores and protocol. `files` of the folder
    hold the result.
    """
    run_dir = Path(run_dir)
    hashes = {}
    for name in files:
        if not (run_dir / name).exists():
            raise NeurozooError(f"{run_dir / name} is missing, so {FILE} cannot name it. Train the run again.")
        hashes[name] = {"sha256": sha256_of(run_dir / name)}
    record = {KEY: FORMAT, "kind": kind, **facts, "files": hashes}
    try:
        write_json(run_dir / FILE, record)
    except ValueError as error:  # a number that JSON cannot hold
        raise NeurozooError(f"{run_dir / FILE} cannot be written: a fact in {files[0]} is {error}.") from error
    return record


def read_run_result(run_dir: str | os.PathLike) -> dict[str, object]:
    """Reads the `result.json` of a run."""
    path = Path(run_dir, FILE)
    if not path.exists():
        raise NeurozooError(f"{path} is missing, which describes the result. Train the run, or copy all its files.")
    found = read_json(path, f"Delete it and make it again: snakemake --cores all {shlex.quote(str(path))}")
    check_format(found, path)
    for name in ("frames", "evaluations", "test_score", "test_episodes", "score"):
        if not isinstance(found.get(name), int | float | NoneType):
            raise NeurozooError(f"{path} is damaged: {name} should be a number. Make it again.")
    return found


def finite(value: float | None) -> float | None:
    """Returns a number that JSON can hold; None if it is missing or not finite."""
    return None if value is None or not math.isfinite(value) else float(value)
