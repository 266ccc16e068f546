"""Runs `neurozoo.imports.import_genome` for one imported/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.imports import import_genome

with plain_errors(snakemake.log[0]):
    import_genome(
        noise=snakemake.input.noise, run_dir=Path(snakemake.output.checkpoint).parent, **snakemake.params.choices
    )
