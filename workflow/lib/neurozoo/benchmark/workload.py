"""The episodes of all measurements of a network and a game: always the same few."""

import os
from dataclasses import dataclass

import numpy as np

from neurozoo.environments.layouts import layout_of
from neurozoo.environments.protocols import Protocol, protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode
from neurozoo.genomes.genome import Genome
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.networks.description import Layout

EPISODES = 4
EPISODE_FRAMES = 2_000
POWER = 0.002  # mutation power, as published


@dataclass(frozen=True)
class Workload:
    """Episodes of children of random networks, as the first generation of a genetic algorithm plays them."""

    network: str
    game: str
    protocol: Protocol  # the evaluation protocol
    layout: Layout  # the network and its number of actions
    # The episodes, played again and again; each has its own network, a child of another parent.
    episodes: tuple[Episode, ...]

    @property
    def parents(self) -> tuple[Genome, ...]:
        """The parents of the networks that play."""
        parents = (episode.genome.parent for episode in self.episodes)
        return tuple(parent for parent in parents if parent is not None)  # every genome here is a child


def make_workload(network: str, game: str, *, noise: str | os.PathLike, frames: int = EPISODE_FRAMES) -> Workload:
    """Draws the episodes, which are cut off after `frames`; they depend on the size of the noise table.

    Raises:
        NeurozooError: A name is unknown, the game is not an Atari game, or the table is missing.
    """
    rules = protocol_of(game)
    if rules.world != "atari":
        raise NeurozooError(f"{game!r} is not an Atari game, but the benchmark plays only these. Change --games.")
    layout = layout_of(game, network, rules)
    random = np.random.default_rng(0)
    highest = len(open_noise_table(noise, verify=False)) - layout.parameter_count
    if highest < 1:
        raise NeurozooError(
            f"The noise table {noise} is too small for the network {network!r}. Choose another network."
        )

    def episode() -> Episode:
        parent, mutation = (int(index) for index in random.integers(highest, size=2))
        return Episode(Genome(parent).mutated(mutation, POWER), rules.draw_noops(random), 0, frames)

    return Workload(network, game, rules, layout, tuple(episode() for _ in range(EPISODES)))
