"""Runs `neurozoo.figures.archive_comparison.draw_predictions`."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.figures.archive_comparison import draw_predictions

with plain_errors(snakemake.log[0]):
    draw_predictions([Path(path).parent for path in snakemake.input.results], snakemake.output.figures)
