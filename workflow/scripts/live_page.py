"""Runs `neurozoo.play.live_page.write_live_page` for one {algo}/river_crossing/{model}/{run}."""

from neurozoo.errors import plain_errors
from neurozoo.play.live_page import write_live_page

with plain_errors(snakemake.log[0]):
    write_live_page(snakemake.input.checkpoint, snakemake.output.page)
