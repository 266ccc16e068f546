"""The claims of the book: what was published, and which configuration tests it."""

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from neurozoo.errors import NeurozooError
from neurozoo.files.yaml import read_yaml
from neurozoo.plan.config_sections import Section
from neurozoo.plan.configuration import check_config
from neurozoo.validation import Number, Whole, explain, json_schema

FOLDER = Path("docs", "results")  # of pages and records, in the project
FILE = FOLDER / "book.yaml"

Text = Annotated[str, Field(min_length=1)]
# What a claim shows: `result_tables` has a reader for each.
Kind = Literal[
    "scores", "scores_at_equal_frames", "scores_at_equal_hours", "comparison", "archives", "imports", "elites", "speed",
    "cost", "core_hours",
]  # fmt: skip
# Tables of results that were made before there were records.
EarlierKind = Literal["scores", "archives", "evaluation", "elites"]


class Published(Section):
    """A published value."""

    value: Text = Field(description="The value, as it was published.")
    what: Text = Field(description="What was measured, and after how many frames.")
    source: Text = Field(description="Write who published it and where: a paper with its table, or a repository.")


class KnownMean(Section):
    """A mean of more runs than a record has."""

    value: Number = Field(description="The mean.")
    runs: Whole = Field(ge=1, description="The number of its runs.")


class Earlier(Section):
    """A result from before records were kept."""

    kind: EarlierKind = Field(description="The kind of the table.")
    table: Text = Field(description="The table, as a path in the project.")
    how: Text = Field(description="In some words: runs, frames, protocol, time, machine, as far as they are known.")
    note: Text = Field(description="What is known of how it was made.")
    game: str = Field(default="", description="The game whose rows count; empty for all.")
    figure: str = Field(default="", description="A figure of it, as a path in the project.")


class Claim(Section):
    """A claim of the literature, and how it is tested here."""

    title: Text = Field(description="The claim in one line.")
    about: Text = Field(description="What is claimed and what is tested, for somebody who does not know the paper.")
    written_for: Whole | None = Field(
        default=None,
        ge=0,
        description="How many finished runs `about` and `deviates` speak of; with others, the page says so.",
    )
    published: Annotated[list[Published], Field(min_length=1)] = Field(description="Published values.")
    configuration: str = Field(
        default="", description="The configuration whose results are taken; empty if nothing is trained."
    )
    command: str = Field(default="", description="The command that repeats it, in place of the configuration's.")
    extras: str = Field(default="", description="Packages that it needs besides, as `make setup EXTRAS=` takes them.")
    shows: Annotated[list[Kind], Field(min_length=1)] = Field(description="What is shown, the most important first.")
    statistic: Literal["mean", "median"] = Field(default="mean", description="Statistic of the runs' test scores.")
    baseline: str = Field(default="", description="The search to whose QD score others are related.")
    baseline_score: KnownMean | None = Field(
        default=None, description="The QD score of the baseline, if more runs of it are known than the record has."
    )
    highest: Number | None = Field(default=None, description="The highest possible test score, if scores need it.")
    reaches: Number | None = Field(default=None, description="A test score; the runs that reach it are counted.")
    fields_: list[Text] = Field(default=[], alias="fields", description="Fields of the log shown for every run.")
    keeps_state: bool = Field(
        default=False,
        description="Whether the record keeps its runs' states, some kilobytes each, to continue elsewhere.",
    )
    movies: list[Text] = Field(default=[], description="Movies that the configuration makes, as paths.")
    deviates: list[Text] = Field(default=[], description="What differs from what was published, a sentence each.")
    earlier: list[Earlier] = Field(default=[], description="Results from before records were kept.")

    @property
    def again(self) -> str:
        """The command that makes the results again from nothing."""
        return self.command or f"snakemake --profile local --configfile {self.configuration}"


class Book(Section):
    """The file with the claims."""

    claims: Annotated[dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], Claim], Field(min_length=1)] = Field(
        description="Claims by name, in the order of the book."
    )


def read_claims(project: str | os.PathLike = ".") -> dict[str, Claim]:
    """Reads the claims of the book, in its order.

    Args:
        project: The project's folder.

    Raises:
        NeurozooError: The file is missing or damaged, a claim lacks a source or another key, or names a file that is
            missing. The message has a line for each problem.
    """
    path = Path(project, FILE)
    given = read_yaml(path, "It comes with the project: git checkout.")
    try:
        claims = Book.model_validate(given).claims
    except ValidationError as error:
        raise _wrong(path, list(explain(error, json_schema(Book)))) from error
    problems = [problem for name, claim in claims.items() for problem in _problems(name, claim, Path(project))]
    if problems:
        raise _wrong(path, problems)
    return claims


def _problems(name: str, claim: Claim, project: Path) -> list[str]:
    place = f"claims.{name}"
    found = []
    if not claim.configuration and not claim.command:
        found.append(f"{place} should have a configuration, or a command that repeats it, but has neither.")
    named = [("configuration", claim.configuration)]
    named += [(f"earlier[{number}].table", each.table) for number, each in enumerate(claim.earlier)]
    named += [(f"earlier[{number}].figure", each.figure) for number, each in enumerate(claim.earlier)]
    found += [
        f"{place}.{key}: the file {file} is missing. Correct the path, or write the file."
        for key, file in named
        if file and not (project / file).is_file()
    ]
    return found


def _wrong(path: Path, problems: list[str]) -> NeurozooError:
    count = "one problem" if len(problems) == 1 else f"{len(problems)} problems"
    return NeurozooError("\n".join([f"{path} has {count}:", *(f"  {line}" for line in problems)]))


def read_configuration(path: str | os.PathLike) -> dict:
    """Reads a claim's configuration and fills in its defaults.

    Raises:
        NeurozooError: It is missing or invalid.
    """
    return check_config(read_yaml(path, "Correct its path in docs/results/book.yaml."), source=str(path))
