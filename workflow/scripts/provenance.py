"""Runs `neurozoo.gallery.provenance_page.write_provenance`."""

from neurozoo.errors import plain_errors
from neurozoo.gallery.provenance_page import write_provenance

with plain_errors(snakemake.log[0]):
    write_provenance(
        snakemake.input.settings,
        build=snakemake.input.build,
        configuration=snakemake.params.config,
        html=snakemake.output.html,
        json=snakemake.output.json,
    )
