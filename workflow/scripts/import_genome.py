"""Runs `neurozoo.agents.agent_import.import_agent` for one imported/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.agents.agent_import import import_agent
from neurozoo.errors import plain_errors

with plain_errors(snakemake.log[0]):
    import_agent(
        noise=snakemake.input.noise, run_dir=Path(snakemake.output.checkpoint).parent, **snakemake.params.choices
    )
