"""Lineages: a table of a run's selected and validated individuals with their parents.

Every report of the genetic algorithm has the rows of its generation. All selected individuals are among them, so the
table has all ancestors of each of its individuals.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import islice

import pandas as pd

from neurozoo.errors import NeurozooError
from neurozoo.files import open_file, written_whole
from neurozoo.records.run_log import iter_log

# Columns of a row in a report. Generations count from 1, individuals (places in the population) from 0. Generation 0 is
# the common ancestor of the first generation, if there is one; it has no row.
COLUMNS = (
    "generation", "individual", "parent_generation", "parent_individual", "power", "fitness", "validation_score",
    "is_parent", "is_elite",
)  # fmt: skip

_AT_ONCE = 500  # reports
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
    """Collects the lineage rows of all reports of a `log.jsonl` in one table.

    It has `iteration` (the generation that reported the row), then `COLUMNS`. The parent and `power` (of the mutation)
    are empty for newly initialised weights. `fitness` is the score of the training episode. `validation_score` is the
    mean of that iteration's validation, or empty for individuals that were not validated.
    """
    try:
        table = pd.concat(_tables(log), ignore_index=True)
    except KeyError as error:
        raise NeurozooError(f"{log} has no lineage. Only the genetic algorithms and random search log one.") from error
    except (ValueError, TypeError) as error:
        raise NeurozooError(
            f"{log} is damaged: a row of its lineage should have {', '.join(COLUMNS)}. Train the run again."
        ) from error
    with written_whole(parquet) as temporary:
        table.to_parquet(temporary, index=False)


def _tables(log: str | os.PathLike) -> Iterator[pd.DataFrame]:
    """Yields the rows of many reports at a time: as lists, the rows of a long log would take ten times the memory."""
    reports = iter_log(log)
    while records := list(islice(reports, _AT_ONCE)):
        rows = [[record["Iteration"], *row] for record in records for row in record["Lineage"]]
        yield pd.DataFrame(rows, columns=["iteration", *COLUMNS]).astype(_TYPES)


def read_lineage(path: str | os.PathLike) -> pd.DataFrame:
    """Reads a table that `write_lineage` wrote."""
    remedy = "Delete it; the rule lineage makes it again."
    try:
        with open_file(path) as file:
            table = pd.read_parquet(file)
    except FileNotFoundError as error:
        raise NeurozooError(f"{path} is missing. The rule lineage makes it from a run's log.") from error
    except Exception as error:  # Arrow has its own kinds
        reason = f"{type(error).__name__}: {error}"[:200]
        raise NeurozooError(f"{path} should be a lineage, but cannot be read ({reason}). {remedy}") from error
    if list(table.columns) != ["iteration", *COLUMNS]:
        raise NeurozooError(
            f"{path} should have the columns iteration, {', '.join(COLUMNS)}, but has "
            f"{', '.join(map(str, table.columns))}. {remedy}"
        )
    try:
        return table.astype(_TYPES)
    except Exception as error:  # as above
        reason = f"{type(error).__name__}: {error}"[:200]
        raise NeurozooError(f"{path} should be a lineage, but has other types ({reason}). {remedy}") from error


def individuals(lineage: pd.DataFrame) -> pd.DataFrame:
    """Returns one row per individual, as its own generation reported it, in the order of birth."""
    return lineage.sort_values(["generation", "individual", "iteration"], kind="stable").drop_duplicates(
        ["generation", "individual"], ignore_index=True
    )


def ancestors(lineage: pd.DataFrame, iteration: int | None = None) -> pd.DataFrame:
    """Finds the ancestors of the elite of a generation, or of the last one, as rows of `individuals`.

    The oldest ancestor comes first, the elite last.

    Raises:
        NeurozooError: The lineage has no elite of this generation.
    """
    elites = lineage[lineage["is_elite"]]
    if iteration is not None:
        elites = elites[elites["iteration"] == iteration]
    if elites.empty:
        raise NeurozooError(
            f"The lineage has no elite of generation {iteration}: it was made from another log. Delete it; the rule "
            "lineage makes it again."
        )
    known = {(row.generation, row.individual): row for row in individuals(lineage).itertuples(index=False)}
    found, birth = [], (elites.iloc[-1]["generation"], elites.iloc[-1]["individual"])
    while birth in known:
        found.append(known.pop(birth))  # nobody is their own ancestor
        birth = (found[-1].parent_generation, found[-1].parent_individual)
        if birth[0] is pd.NA:
            break
    return pd.DataFrame(found[::-1], columns=lineage.columns)


def parent_ages(lineage: pd.DataFrame) -> Sequence[int]:
    """Returns the ages of all parents of all generations: generations from their birth to that of their children.

    Those that the last generation selected have no children yet.
    """
    parents = lineage[lineage["is_parent"] & (lineage["iteration"] < lineage["iteration"].max())]
    return (parents["iteration"] + 1 - parents["generation"]).tolist()
