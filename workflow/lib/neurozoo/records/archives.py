"""Tables of archives: what quality-diversity runs came to, reported and corrected, with intervals over runs."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurozoo.errors import NeurozooError
from neurozoo.files import read_json
from neurozoo.files.csv import write_csv_table
from neurozoo.records.run_config import STARTS, start_hashes
from neurozoo.records.run_result import read_run_result
from neurozoo.records.statistics import bootstrap_intervals, mean_over_games

CORRECTED = "corrected.json"
_SCORES = ("qd_score", "coverage", "corrected_qd_score", "corrected_coverage")
_NAMES = ["game", "algo", "model", "protocol", "settings_hash", "evaluations", "qd_score", "coverage"]
_KIND = ["game", "algo", "model", "measures", "protocol", "settings_hash", *STARTS]


def archive_table(
    run_dirs: Sequence[str | os.PathLike],
    csv: str | os.PathLike,
    *,
    replications: int = 50_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Writes a row per algorithm, variant, settings, agent, generator and budget: means over runs, with intervals.

    Args:
        run_dirs: Folders of finished runs with `result.json` and `corrected.json`.
        csv: The table to write: `runs`, the `evaluations` that each of them had, and for `qd_score`, `coverage` and the
            two corrected scores the mean, `..._low`, `..._high` (empty for a single run) and `..._error`, the standard
            error of the mean, as the paper has it.
        replications: Bootstrap resamples.
        confidence: Confidence level of the intervals.
        seed: Seed of the bootstrap.
    """
    rows = []
    for folder in map(Path, run_dirs):
        facts: Mapping[str, Any] = read_run_result(folder)
        corrected = read_json(folder / CORRECTED, "Delete it and make it again.")
        rows.append(
            {name: facts[name] for name in _NAMES}
            | {"measures": " / ".join(facts["measures"])}
            | start_hashes(folder)
            | {f"corrected_{name}": corrected[name] for name in ("qd_score", "coverage")}
        )
    if not rows:
        raise NeurozooError("There is no archive to tabulate; plan at least one run of quality diversity.")
    table = []
    for kind, group in pd.DataFrame(rows).groupby([*_KIND, "evaluations"], sort=False, dropna=False):
        *names, evaluations = kind
        row = dict(zip(_KIND, names, strict=True)) | {"runs": len(group), "evaluations": evaluations}
        for name in _SCORES:
            values = group[name].to_numpy(float)
            ends: tuple[Any, Any] = (np.nan, np.nan)
            if len(values) > 1:
                ends = bootstrap_intervals(
                    [values], {"mean": mean_over_games}, replications=replications, confidence=confidence, seed=seed
                )["mean"]
            row |= {name: values.mean(), f"{name}_low": ends[0], f"{name}_high": ends[1]}
            row[f"{name}_error"] = group[name].sem()
        table.append(row)
    found = pd.DataFrame(table).sort_values(["game", "measures", "qd_score"], ascending=[True, True, False])
    write_csv_table(csv, found, digits=8)
    return found
