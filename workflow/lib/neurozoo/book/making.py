"""Makes the book: takes the results that are there, and writes its pages."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from neurozoo.book.claims import FOLDER, check_named, read_claims
from neurozoo.book.pages import write_pages
from neurozoo.book.taking import LessThanRecordError, Taking, take
from neurozoo.figures.style import number_range
from neurozoo.plan.named_files import check_workdir


def make_book(
    names: Sequence[str] = (),
    *,
    project: str | os.PathLike = ".",
    workdir: str | os.PathLike = ".",
    replaces: bool = False,
    say: Callable[[str], object] = print,
) -> None:
    """Takes the results that are there, and writes the pages. Nothing is trained.

    Args:
        names: Claims whose results are taken; where there are none, tables and figures of learning curves are made from
            the record again. Without names, the results of all claims are taken.
        project: The project's folder, with claims, configurations and pages.
        workdir: The folder in which Snakemake was started, in which results are.
        replaces: Whether runs count as they are in the results, also if a record has come further, see `take`.
        say: Gets a sentence for each claim that has results, and for each page that has changed.

    Raises:
        NeurozooError: The folder is missing, a claim is unknown, a file is damaged, or the record of a named claim
            would lose runs.
    """
    check_workdir(workdir)
    claims = read_claims(project)
    check_named(list(names), claims)
    for name in names or claims:
        folder = Path(project, FOLDER, name)
        try:
            taking = take(
                name,
                claims[name],
                folder,
                project=Path(project),
                workdir=Path(workdir),
                replaces=replaces,
                draws_again=bool(names),
            )
        except LessThanRecordError as error:
            if names:
                raise
            say(str(error))
            continue
        if taking is not None:
            say(f"{name}: {_told(taking)}")
        elif names:
            wanted = claims[name].configuration
            say(f"{name}: no results of {wanted} are there" if wanted else f"{name}: is computed, nothing is taken")
    for page in write_pages(project):
        say(f"{page}: written")


def _told(taking: Taking) -> str:
    has_results = taking.taken or taking.left_out
    parts = [f"took {number_range([len(taking.taken)], 'run')}" if has_results else "made from the record again"]
    if taking.kept:
        parts.append(f"kept {number_range([len(taking.kept)], 'run')} that only the record has")
    if taking.left_out:
        parts.append(f"left as the record has it, where it is further or as planned: {', '.join(taking.left_out)}")
    if taking.forgotten:
        parts.append(f"forgot: {', '.join(taking.forgotten)}")
    return "; ".join(parts)
