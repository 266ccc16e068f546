"""Runs `neurozoo.play.page.write_play_page` for one {algo}/river_crossing/{model}/{run}."""

from neurozoo.errors import plain_errors
from neurozoo.play.page import write_play_page

with plain_errors(snakemake.log[0]):
    write_play_page(snakemake.input.checkpoint, snakemake.output.page)
