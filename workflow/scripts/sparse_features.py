"""Runs `neurozoo.feature_visualization.sparse_features.measure_sparse_features` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.feature_visualization.sparse_features import measure_sparse_features

with plain_errors(snakemake.log[0]):
    measure_sparse_features(
        Path(snakemake.input.record).parent,
        snakemake.input.rollout,
        snakemake.output.picture,
        snakemake.output.table,
        layer=snakemake.wildcards.layer,
        **snakemake.params.statistics,
    )
