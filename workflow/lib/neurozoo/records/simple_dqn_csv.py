"""The statistics of phases (random, train, test) in simple_dqn's CSV: writing it, and reading the original's.

Source: `statistics.py` of simple_dqn (tambetm). Deviations: columns are added at the end; where no game had ended, NaN
stands instead of the partial sum and of the largest integers.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from neurozoo.errors import NeurozooError
from neurozoo.files import written_whole
from neurozoo.games import FRAME_SKIP
from neurozoo.logs import read_log

PHASES = ("random", "train", "test")
# The original's columns, in its order.
COLUMNS = (
    "epoch", "phase", "steps", "nr_games", "average_reward", "min_game_reward", "max_game_reward",
    "last_exploration_rate", "total_train_steps", "replay_memory_count", "meanq", "meancost", "weight_updates",
    "total_time", "epoch_time", "steps_per_second",
)  # fmt: skip
# Ours: the mean cost of the phase, which `meancost` is not; terminals that were learned from, lives among them where
# they count; seconds by the clock since the run began; emulator frames; and the run's seed.
ADDITIONS = ("true_meancost", "nr_lives_games", "wall_time", "frames", "seed")

# Of the random phase: what is reported with it is of the end of the epoch after it.
_OF_RANDOM = {
    "total_train_steps": 0, "weight_updates": 0, "replay_memory_count": None, "meanq": None, "frames": None,
    "wall_time": None, "total_time": None,
}  # fmt: skip
_NO_GAME = 2.0**63  # the original's largest integer, and its negative the smallest, where no game had ended
_WALL_TIMES = ("wall_time", "TimeElapsedTotal")  # of a record, the first that it has


def read_statistics(path: str | os.PathLike) -> pd.DataFrame:
    """Reads the phases of a run, whoever trained it.

    Args:
        path: The original's CSV or ours, our `log.jsonl`, or a run's folder with that (of a run that is still being
            trained, in `state/`).

    Returns:
        A row for each phase of each epoch, with `COLUMNS` and `ADDITIONS`; what the file does not say is NaN.
        `true_meancost` is the mean cost over the phase: of the original's rows, `meancost` times `epoch`, because it
        divides by the updates of the whole run.

    Raises:
        NeurozooError: The file is missing, damaged, or without phases.
    """
    path = Path(path)
    if path.is_dir():
        logs = [path / "log.jsonl", path / "state" / "log.jsonl"]
        path = next((log for log in logs if log.exists()), logs[0])
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            is_csv = file.readline().startswith(COLUMNS[0])
    except FileNotFoundError as error:
        raise NeurozooError(
            f"{path} is missing; a CSV of simple_dqn, or a run's log or folder was expected. Mend the path."
        ) from error
    table = _read_csv(path) if is_csv else pd.DataFrame(_rows(read_log(path)))
    if table.empty:
        raise NeurozooError(
            f"{path} tells no phases apart: its reports have none of the columns "
            f"{', '.join(f'{phase}_average_reward' for phase in PHASES)}. Only runs that learn in epochs have phases."
        )
    return table.reindex(columns=[*COLUMNS, *ADDITIONS])


def write_statistics(log: str | os.PathLike, csv: str | os.PathLike, *, seed: int | None = None) -> None:
    """Writes a run's phases as the original's CSV.

    Args:
        log: What `read_statistics` takes.
        csv: The file to write: `COLUMNS`, then `ADDITIONS`. `meancost` is what the original would say.
        seed: Of the run.

    Raises:
        NeurozooError: As `read_statistics`.
    """
    table = read_statistics(log)
    if seed is not None:
        table["seed"] = seed
    with written_whole(csv) as temporary:
        table.convert_dtypes().to_csv(temporary, index=False, na_rep="nan")  # whole numbers without a point


def read_reference(csv: str | os.PathLike, *, phase: str = "train") -> pd.DataFrame:
    """Reads a learning curve from the original's CSV, in the columns of our own.

    Args:
        csv: The file.
        phase: `train`, whose scores are those of the policy that explores, or `test`.

    Returns:
        `frames`, of the random and all training phases so far, and `score`, the mean over the games of the phase;
        phases in which no game ended are left out.

    Raises:
        NeurozooError: As `read_statistics`, or there is no such phase in it.
    """
    table = read_statistics(csv)
    rows = table[(table["phase"] == phase) & table["min_game_reward"].notna()]
    if rows.empty:
        raise NeurozooError(
            f"{csv} should have games in the phase {phase!r}, but has none. Its phases: "
            f"{', '.join(map(str, table['phase'].unique()))}."
        )
    before = table.loc[table["phase"] == "random", "steps"].sum()
    frames = FRAME_SKIP * (rows["total_train_steps"] + before)
    return pd.DataFrame({"frames": frames.to_numpy(float), "score": rows["average_reward"].to_numpy(float)})


def _read_csv(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_csv(path)
    except (ValueError, UnicodeDecodeError) as error:
        raise NeurozooError(f"{path} is damaged ({error}). Get or write it again.") from error
    if missing := [name for name in COLUMNS if name not in table]:
        raise NeurozooError(
            f"{path} should have the columns of simple_dqn, {', '.join(COLUMNS)}, but lacks {', '.join(missing)}."
        )
    for name in ("min_game_reward", "max_game_reward"):
        values = table[name].astype(float)  # the absolute value of the smallest integer is no integer
        table[name] = values.mask(values.abs() >= _NO_GAME)
    if "true_meancost" not in table:
        table["true_meancost"] = table["meancost"] * table["epoch"]
    return table


def _rows(records: Iterable[Mapping[str, object]]) -> Iterator[dict[str, object]]:
    for record in records:
        for phase in PHASES:
            if f"{phase}_average_reward" not in record:
                continue
            epoch = 0 if phase == "random" else record.get("Iteration")
            row: dict[str, object] = {"epoch": epoch, "phase": phase, "frames": record["frames"]}
            row["wall_time"] = next((record[name] for name in _WALL_TIMES if name in record), None)
            row |= {name: record[f"{phase}_{name}"] for name in (*COLUMNS, *ADDITIONS) if f"{phase}_{name}" in record}
            row.setdefault("total_time", row["wall_time"])
            if phase == PHASES[0]:
                row |= _OF_RANDOM
            row["true_meancost"] = row.get("meancost")
            row["meancost"] = row["true_meancost"] / epoch if epoch and row["true_meancost"] is not None else 0.0
            yield {name: np.nan if value is None else value for name, value in row.items()}
