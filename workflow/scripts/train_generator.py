"""Runs `neurozoo.algorithms.quality_diversity.generator_training.make_generator` for one {preset}."""

from neurozoo.algorithms.quality_diversity.generator_settings import generator_settings
from neurozoo.algorithms.quality_diversity.generator_training import make_generator
from neurozoo.compute.gpus import claim_requested
from neurozoo.environments.platformer.corpus import read_corpus
from neurozoo.errors import plain_errors
from neurozoo.files import open_to_append

with plain_errors(snakemake.log[0]), open_to_append(snakemake.log[0]) as log:
    claim_requested(snakemake.resources.get("gpu"))
    make_generator(
        generator_settings(snakemake.wildcards.preset, {}),
        read_corpus(snakemake.input.levels),
        snakemake.output.weights,
        state=snakemake.params.state,
        threads=snakemake.threads,
        core=snakemake.input.library,
        report=lambda line: print(line, file=log, flush=True),
    )
