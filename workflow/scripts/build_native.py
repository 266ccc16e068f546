"""Runs `neurozoo.native.build.build_native`."""

import os
from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.native.build import build_native

os.nice(2)  # what is played and filmed meanwhile comes first

with plain_errors(snakemake.log[0]):
    build_native(
        snakemake.input.source,
        Path(snakemake.output.core).parent,
        build_dir=Path(snakemake.output.core).parent / "build",
        march=snakemake.params.march,
        jobs=snakemake.threads,
        log=snakemake.log[0],
    )
