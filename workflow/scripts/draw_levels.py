"""Runs `neurozoo.environments.platformer.corpus.kept_corpus` with the settings of a generator's {preset}."""

from neurozoo.algorithms.quality_diversity.generator_settings import generator_settings
from neurozoo.environments.platformer.corpus import kept_corpus
from neurozoo.errors import plain_errors

with plain_errors(snakemake.log[0]):
    settings = generator_settings(snakemake.wildcards.preset, {})
    kept_corpus(
        snakemake.output.levels,
        settings.corpus_seed,
        count=settings.corpus,
        threads=snakemake.threads,
        core=snakemake.input.library,
    )
