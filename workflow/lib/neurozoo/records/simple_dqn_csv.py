"""Writes and reads the statistics of phases (random, train, test) in the CSV format of simple_dqn.

Source: `statistics.py` of simple_dqn (tambetm). Deviations: there are more columns at the end. If no game has ended in
a phase, the rewards are NaN instead of a partial sum and the largest integers.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurozoo.environments.protocols import FRAME_SKIP
from neurozoo.errors import NeurozooError
from neurozoo.files import open_text
from neurozoo.files.csv import write_csv_table
from neurozoo.records.csv_tables import read_csv_table
from neurozoo.records.run_log import current_log, iter_log

PHASES = ("random", "train", "test")
# The original's columns, in its order.
COLUMNS = (
    "epoch", "phase", "steps", "nr_games", "average_reward", "min_game_reward", "max_game_reward",
    "last_exploration_rate", "total_train_steps", "replay_memory_count", "meanq", "meancost", "weight_updates",
    "total_time", "epoch_time", "steps_per_second",
)  # fmt: skip
# Our own columns: the true mean cost of the phase (`meancost` is not); the number of terminals that were learned from
# (including lost lives if these are terminals); wall time in seconds since the run began; emulator frames; the seed.
ADDITIONS = ("true_meancost", "nr_lives_games", "wall_time", "frames", "seed")

# Values of the random phase. The report has those at the end of the first epoch, which follows it.
_OF_RANDOM = {
    "total_train_steps": 0, "weight_updates": 0, "replay_memory_count": None, "meanq": None, "frames": None,
    "wall_time": None, "total_time": None,
}  # fmt: skip
_NO_GAME = 2.0**63  # the original writes its largest and smallest integers if no game has ended
_WALL_TIMES = ("wall_time", "TimeElapsedTotal")  # the first of these that a record has counts


def read_statistics(path: str | os.PathLike) -> pd.DataFrame:
    """Reads the phases of a run of ours or of simple_dqn.

    `path` is a CSV of simple_dqn or ours, a `log.jsonl` of ours, or a run's folder with one (in `state/` while the run
    is in progress).

    Returns:
        A row for each phase of each epoch, with `COLUMNS` and `ADDITIONS`; values that the file lacks are NaN.
        `true_meancost` is the mean cost over the phase. For simple_dqn it is `meancost` times `epoch`, because its
        `meancost` is divided by the updates of the whole run.
    """
    path = Path(path)
    if path.is_dir():
        path = current_log(path) or path / "log.jsonl"
    try:
        with open_text(path, errors="replace") as file:
            is_csv = file.readline(100).startswith(COLUMNS[0])
    except FileNotFoundError as error:
        raise NeurozooError(
            f"{path} is missing. Expected a CSV of simple_dqn, or a run's log or folder. Correct the path."
        ) from error
    try:
        table = _read_csv(path) if is_csv else pd.DataFrame(_rows(iter_log(path)))
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise NeurozooError(f"{path} is damaged ({type(error).__name__}: {error}). Start the run again.") from error
    if table.empty:
        raise NeurozooError(
            f"{path} has no phases: its reports have none of the fields "
            f"{', '.join(f'{phase}_average_reward' for phase in PHASES)}. "
            "Use a run of dqn; metrics.csv has the reports of all others."
        )
    return table.reindex(columns=[*COLUMNS, *ADDITIONS])


def write_statistics(log: str | os.PathLike, csv: str | os.PathLike, *, seed: int | None = None) -> None:
    """Writes the phases of anything that `read_statistics` reads as a CSV of simple_dqn, with the seed of the run.

    It has `COLUMNS`, then `ADDITIONS`. `meancost` is divided as in the original.
    """
    table = read_statistics(log)
    if seed is not None:
        table["seed"] = seed
    write_csv_table(csv, table.convert_dtypes(), na="nan")  # whole numbers without a point


def read_reference(csv: str | os.PathLike, *, phase: str = "train") -> pd.DataFrame:
    """Reads a learning curve from a CSV of simple_dqn, in the columns of our own curves.

    The `phase` is `test`, or `train`, whose scores are of the exploring policy.

    Returns:
        `frames`, counted over the random and all training phases so far, and `score`, the mean over the games of the
        phase. Phases in which no game ended are left out; others have to be there.
    """
    table = read_statistics(csv)
    rows = table[(table["phase"] == phase) & table["min_game_reward"].notna()]
    if rows.empty:
        raise NeurozooError(
            f"{csv} should have finished games in the phase {phase!r}, but has none. Its phases: "
            f"{', '.join(map(str, table['phase'].unique()))}."
        )
    before = table.loc[table["phase"] == "random", "steps"].sum()
    frames = FRAME_SKIP * (rows["total_train_steps"] + before)
    return pd.DataFrame({"frames": frames.to_numpy(float), "score": rows["average_reward"].to_numpy(float)})


def _read_csv(path: Path) -> pd.DataFrame:
    table = read_csv_table(
        path,
        numbers=[name for name in COLUMNS if name != "phase"],
        texts=("phase",),
        more_numbers=ADDITIONS,
        remedy="It should have the columns of simple_dqn. Download or write it again.",
    )
    for name in ("min_game_reward", "max_game_reward"):
        values = table[name].astype(float)  # as float: the smallest integer has no absolute value
        table[name] = values.mask(values.abs() >= _NO_GAME)
    if "true_meancost" not in table:
        table["true_meancost"] = table["meancost"] * table["epoch"]
    return table


def _rows(records: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for record in records:
        for phase in PHASES:
            if f"{phase}_average_reward" not in record:
                continue
            epoch = 0 if phase == "random" else record.get("Iteration")
            row: dict[str, Any] = {"epoch": epoch, "phase": phase, "frames": record["frames"]}
            row["wall_time"] = next((record[name] for name in _WALL_TIMES if name in record), None)
            row |= {name: record[f"{phase}_{name}"] for name in (*COLUMNS, *ADDITIONS) if f"{phase}_{name}" in record}
            row.setdefault("total_time", row["wall_time"])
            if phase == PHASES[0]:
                row |= _OF_RANDOM
            row["true_meancost"] = row.get("meancost")
            row["meancost"] = row["true_meancost"] / epoch if epoch and row["true_meancost"] is not None else 0.0
            yield {name: np.nan if value is None else value for name, value in row.items()}
