"""Who descends from whom: the selected and the validated individuals of a run with parents, as one small table.

Every report of the genetic algorithm carries the rows of its generation; whoever was selected is in it, so that all
ancestors of anybody in the table are, too.
"""

import os
from collections.abc import Sequence

import pandas as pd

from neurozoo.errors import NeurozooError
from neurozoo.files import written_whole
from neurozoo.logs import read_log

# Of a row in a report. An individual is called by its generation, from 1, and its place in the population, from 0.
# Generation 0 is the genome that all of the first generation descend from, if there is one; it has no row.
COLUMNS = (
    "generation", "individual", "parent_generation", "parent_individual", "power", "fitness", "validation_score",
    "is_parent", "is_elite",
)  # fmt: skip

_TYPES = {
    "iteration": "int64",
    "generation": "int64",
    "individual": "int64",
    "parent_generation": "Int64",
    "parent_individual": "Int64",
    "power": "Float64",
    "fitness": "float64",
    "validation_score": "Float64",
    "is_parent": "bool",
    "is_elite": "bool",
}


def write_lineage(log: str | os.PathLike, parquet: str | os.PathLike) -> None:
    """Collects the rows of all reports.

    Args:
        log: The run's `log.jsonl`.
        parquet: The table to write: `iteration` (the generation that reported the row), then `COLUMNS`. The parent is
            empty for fresh weights, `power` (of the mutation that made it) too; `fitness` is the score of the training
            episode, `validation_score` the mean of the iteration's validation, if it took part.

    Raises:
        NeurozooError: The log is missing or damaged, or its algorithm has no parents.
    """
    records = read_log(log)
    try:
        rows = [[record["Iteration"], *row] for record in records for row in record["Lineage"]]
        table = pd.DataFrame(rows, columns=["iteration", *COLUMNS]).astype(_TYPES)
    except KeyError as error:
        raise NeurozooError(
            f"{log} keeps no lineage. Only the genetic algorithms and random search do, and not in their oldest logs."
        ) from error
    except (ValueError, TypeError) as error:
        raise NeurozooError(f"{log} is damaged: a row of its lineage should have {', '.join(COLUMNS)}.") from error
    with written_whole(parquet) as temporary:
        table.to_parquet(temporary, index=False)


def read_lineage(path: str | os.PathLike) -> pd.DataFrame:
    """Reads what `write_lineage` wrote.

    Raises:
        NeurozooError: The file is missing or something else.
    """
    try:
        table = pd.read_parquet(path)
    except FileNotFoundError as error:
        raise NeurozooError(f"{path} is missing; the rule lineage makes it from a run's log.") from error
    except (OSError, ValueError) as error:
        raise NeurozooError(f"{path} should be a lineage, but cannot be read ({error}). Delete it.") from error
    if list(table.columns) != ["iteration", *COLUMNS]:
        raise NeurozooError(f"{path} should be a lineage with the columns iteration, {', '.join(COLUMNS)}.")
    return table


def individuals(lineage: pd.DataFrame) -> pd.DataFrame:
    """Returns one row per individual, as its own generation reported it, in the order of birth."""
    return lineage.sort_values(["generation", "individual", "iteration"], kind="stable").drop_duplicates(
        ["generation", "individual"], ignore_index=True
    )


def ancestors(lineage: pd.DataFrame, iteration: int | None = None) -> pd.DataFrame:
    """Finds from whom an elite descends.

    Args:
        lineage: As `read_lineage` returns it.
        iteration: Whose elite; None for the last one.

    Returns:
        Rows of `individuals`: the oldest ancestor first, the elite last.

    Raises:
        NeurozooError: There is no such generation.
    """
    elites = lineage[lineage["is_elite"]]
    if iteration is not None:
        elites = elites[elites["iteration"] == iteration]
    if elites.empty:
        raise NeurozooError(f"The lineage has no elite of generation {iteration}. It was made from another log.")
    known = {(row.generation, row.individual): row for row in individuals(lineage).itertuples(index=False)}
    found, birth = [], (elites.iloc[-1]["generation"], elites.iloc[-1]["individual"])
    while birth in known:
        found.append(known[birth])
        birth = (found[-1].parent_generation, found[-1].parent_individual)
        if birth[0] is pd.NA:
            break
    return pd.DataFrame(found[::-1], columns=lineage.columns)


def parent_ages(lineage: pd.DataFrame) -> Sequence[int]:
    """Returns the age of every parent of every generation: generations between its birth and that of its children."""
    parents = lineage[lineage["is_parent"]]
    return (parents["iteration"] + 1 - parents["generation"]).tolist()
