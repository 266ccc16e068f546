"""Runs `neurozoo.native.build.build_native_op`."""

from pathlib import Path

from neurozoo.native.build import build_native_op

build_native_op(
    snakemake.input.source,
    snakemake.output.library,
    snakemake.output.build_info,
    build_dir=Path(snakemake.output.library).parent / "build",
    march=snakemake.params.march,
    jobs=snakemake.threads,
    log=snakemake.log[0],
)
