"""Runs `neurozoo.figures.learning_curves.plot_learning_curves`."""

from neurozoo.errors import plain_errors
from neurozoo.figures.learning_curves import plot_learning_curves
from neurozoo.records.curves import read_references
from neurozoo.records.tables import read_scores

with plain_errors(snakemake.log[0]):
    plot_learning_curves(
        read_scores(snakemake.input.metrics),
        snakemake.output.figures,
        confidence=snakemake.params.confidence,
        seed=snakemake.params.seed,
        references=read_references(snakemake.params.references["files"], phase=snakemake.params.references["phase"]),
        reference_frames=snakemake.params.references["frames"],
        **snakemake.params.look,
    )
