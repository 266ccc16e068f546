"""Runs `neurozoo.rollouts.epsilon_greedy.play_epsilon_greedily` for one {algo}/{game}/{model}/{run}."""

from pathlib import Path

from neurozoo.errors import plain_errors
from neurozoo.rollouts.epsilon_greedy import play_epsilon_greedily

with plain_errors(snakemake.log[0]):
    play_epsilon_greedily(
        Path(snakemake.input.record).parent,
        snakemake.output.test,
        log=snakemake.log[0],
        terminal=snakemake.resources.terminal,
        **snakemake.params.test,
    )
