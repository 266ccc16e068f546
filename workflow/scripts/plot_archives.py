"""Runs `neurozoo.figures.archives.draw_archive_curves`."""

from neurozoo.errors import plain_errors
from neurozoo.figures.archives import draw_archive_curves
from neurozoo.records.tables import read_metrics

with plain_errors(snakemake.log[0]):
    draw_archive_curves(
        read_metrics(snakemake.input.metrics),
        snakemake.output.figures,
        confidence=snakemake.params.confidence,
        seed=snakemake.params.seed,
    )
