"""Runs `neurozoo.comparison.population_page.write_population_page` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.comparison.population_page import write_population_page
from neurozoo.errors import plain_errors

with plain_errors(snakemake.log[0]):
    write_population_page(Path(snakemake.input.result).parent, snakemake.output.page)
