"""Tables of archives: what quality-diversity runs came to, reported and corrected, with intervals over runs."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from neurozoo.errors import NeurozooError
from neurozoo.files import read_json, written_whole
from neurozoo.records.run_config import start_hashes
from neurozoo.records.run_result import read_run_result
from neurozoo.records.statistics import bootstrap_intervals, mean_over_games

CORRECTED = "corrected.json"
_SCORES = ("qd_score", "coverage", "corrected_qd_score", "corrected_coverage")
_KIND = ["game", "algo", "model", "measures", "protocol", "settings_hash", "agent_sha256", "generator_sha256"]


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

    Returns:
        The table.

    Raises:
        NeurozooError: A file is missing or damaged.
    """
    rows = []
    for folder in map(Path, run_dirs):
        facts = read_run_result(folder)
        corrected = read_json(folder / CORRECTED, "Delete it and make it again.")
        rows.append(
            _row(facts)
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
            row |= {name: values.mean(), f"{name}_low": np.nan, f"{name}_high": np.nan, f"{name}_error": np.nan}
            if len(values) > 1:
                ends = bootstrap_intervals(
                    [values], {"mean": mean_over_games}, replications=replications, confidence=confidence, seed=seed
                )["mean"]
                row |= {f"{name}_low": ends[0], f"{name}_high": ends[1]}
                row[f"{name}_error"] = values.std(ddof=1) / np.sqrt(len(values))
        table.append(row)
    found = pd.DataFrame(table).sort_values(["game", "measures", "qd_score"], ascending=[True, True, False])
    with written_whole(csv) as temporary:
        found.to_csv(temporary, index=False, lineterminator="\n", float_format="%.8g")
    return found


def _row(facts: Mapping[str, object]) -> dict[str, object]:
    names = ("game", "algo", "model", "run", "protocol", "settings_hash", "evaluations", "qd_score", "coverage")
    measures = facts.get("measures") or ()
    return {name: facts.get(name) for name in names} | {"measures": " / ".join(map(str, measures))}  # type: ignore[call-overload]
