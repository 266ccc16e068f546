"""`python -m neurozoo book`: the book of results, docs/results/README.md."""

from pathlib import Path

from neurozoo.cli.arguments import Commands, add_command
from neurozoo.errors import NeurozooError


def add_book_command(commands: Commands) -> None:
    """Adds `book`."""
    book = add_command(
        commands, "book", _book, "take the results that are there into the book of results, and write its pages"
    )
    book.add_argument(
        "claims",
        nargs="*",
        metavar="CLAIM",
        help="of docs/results/book.yaml (default: all); learning curves without results are drawn from the record",
    )
    book.add_argument(
        "--directory",
        type=Path,
        default=Path(),
        help="folder in which Snakemake was started, with the results (default: this one)",
    )
    book.add_argument("--replace", action="store_true", help="take runs also if the record has them further")
    book.add_argument("--pages", action="store_true", help="take nothing, only write the pages from the records")
    book.add_argument("--check", action="store_true", help="write nothing, and fail if a page is out of date")


def _book(options):
    from neurozoo.book.making import make_book
    from neurozoo.book.pages import outdated_pages, write_pages

    if options.check:
        if outdated := outdated_pages():
            pages = ", ".join(outdated)
            raise NeurozooError(f"The book is out of date: {pages}. Write it: python -m neurozoo book --pages")
        print("All pages of the book are up to date")
    elif options.pages:
        for page in write_pages():
            print(f"{page}: written")
    else:
        make_book(options.claims, workdir=options.directory, replaces=options.replace)
