"""Runs `neurozoo.native.build.build_native`."""

import os
from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.native.build import build_native

os.nice(10)  # what is played and filmed meanwhile comes first

with plain_errors(snakemake.log[0]):
    build_native(
        snakemake.input.source,
        Path(snakemake.output.core).parent,
        build_dir=Path(snakemake.output.core).parent / "build",
        march=snakemake.params.march,
        jobs=snakemake.threads + 1,  # takes what the jobs beside it leave
        log=snakemake.log[0],
    )
