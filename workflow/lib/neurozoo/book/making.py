"""Makes the book: takes the results that are there, and writes its pages."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from neurozoo.book.claims import FOLDER, check_named, read_claims
from neurozoo.book.pages import write_pages
from neurozoo.book.taking import LessThanRecordError, take


def make_book(
    names: Sequence[str] = (),
    *,
    project: str | os.PathLike = ".",
    workdir: str | os.PathLike = ".",
    is_forced: bool = False,
    say: Callable[[str], object] = print,
) -> None:
    """Takes the results that are there, and writes the pages. Nothing is trained.

    Args:
        names: Claims whose results are taken; all if there are none.
        project: The project's folder, with claims, configurations and pages.
        workdir: The folder in which Snakemake was started, in which results are.
        is_forced: Whether results that have come less far than a record replace it.
        say: Gets a sentence for each claim that has results, and for each page that has changed.

    Raises:
        NeurozooError: A claim is unknown, a file is damaged, or the record of a named claim has come further than its
            results.
    """
    claims = read_claims(project)
    check_named(list(names), claims)
    for name in names or claims:
        folder = Path(project, FOLDER, name)
        try:
            record = take(name, claims[name], folder, project=Path(project), workdir=Path(workdir), is_forced=is_forced)
        except LessThanRecordError as error:
            if names:
                raise
            say(str(error))
            continue
        if record is not None:
            say(f"{name}: took {len(record.runs)} {'run' if len(record.runs) == 1 else 'runs'}")
        elif names:
            wanted = claims[name].configuration
            say(f"{name}: no results of {wanted} are there" if wanted else f"{name}: is computed, nothing is taken")
    for page in write_pages(project):
        say(f"{page}: written")
