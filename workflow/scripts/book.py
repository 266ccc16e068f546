"""Runs `neurozoo.book.update.make_book` for all claims."""

from neurozoo.book.update import make_book
from neurozoo.errors import plain_errors

with plain_errors(snakemake.log[0]):
    make_book()
