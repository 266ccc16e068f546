"""Episodes of training: a table with a row for each game that ended, from the reports of a run."""

import os
from collections.abc import Iterator

from neurozoo.errors import NeurozooError
from neurozoo.files.csv import write_csv_rows
from neurozoo.records.run_log import iter_log

# Of a row in a report, in this order. The table has them after `time_s`.
COLUMNS = ("frames", "learner", "actor", "environment", "score", "clipped_return", "steps", "games")


def write_episodes(log: str | os.PathLike, csv: str | os.PathLike) -> None:
    """Collects the games of all reports of a log in one table, to see single games where a report has only means.

    Rows are in the order in which games ended: `time_s` (seconds of the run at the report of the game's epoch), then
    `COLUMNS`: `frames` of the whole run when the game ended; `learner` and `actor`, the ranks that learned from it and
    played it; `environment`, its number in the run; `score`, unclipped; `clipped_return`, the sum of its rewards as
    they were clipped for learning; its `steps`; and `games`, how many games the row stands for: 1, or more where an
    epoch had too many.
    """
    write_csv_rows(csv, ["time_s", *COLUMNS], _rows(log))


def _rows(log: str | os.PathLike) -> Iterator[list]:
    for record in iter_log(log):
        rows = record.get("Episodes", [])
        if not (isinstance(rows, list) and all(map(_is_game, rows))):
            raise NeurozooError(
                f"{log} is damaged: a row of its Episodes should be the numbers {', '.join(COLUMNS)}. "
                "Train the run again."
            )
        yield from ([record.get("TimeElapsedTotal"), *row] for row in rows)


def _is_game(row: object) -> bool:
    return isinstance(row, list) and len(row) == len(COLUMNS) and all(isinstance(cell, int | float) for cell in row)
