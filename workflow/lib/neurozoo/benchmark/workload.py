"""What is played in all measurements of a network and a game: the same few episodes."""

import os
from dataclasses import dataclass

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode
from neurozoo.games import Protocol, layout_of, protocol_of
from neurozoo.genomes import Genome
from neurozoo.networks import Layout
from neurozoo.noise import open_noise_table

EPISODES = 4
EPISODE_FRAMES = 2_000
POWER = 0.002  # of the mutations, as published


@dataclass(frozen=True)
class Workload:
    """Episodes of children of random networks, as the first generation of a genetic algorithm plays them.

    Attributes:
        network: Network name.
        game: Game id.
        protocol: How episodes are played.
        layout: The network and its number of actions.
        episodes: What is played, over and over; each by a child of a network of its own.
    """

    network: str
    game: str
    protocol: Protocol
    layout: Layout
    episodes: tuple[Episode, ...]

    @property
    def parents(self) -> tuple[Genome, ...]:
        """Whose children play: genomes to be held."""
        return tuple(episode.genome.parent for episode in self.episodes)


def make_workload(
    network: str, game: str, *, noise: str | os.PathLike, protocol: str | None = None, frames: int = EPISODE_FRAMES
) -> Workload:
    """Draws the episodes, always the same ones.

    Args:
        network: Network name.
        game: Game id of an Atari game.
        noise: The noise table; what is drawn depends on its size.
        protocol: How episodes are played; None for the game's own.
        frames: Longest episode.

    Raises:
        NeurozooError: A name is unknown, the game is no Atari game, or the table is missing.
    """
    rules = protocol_of(game, protocol)
    if rules.world != "atari":
        raise NeurozooError(f"The benchmark plays Atari games, but {game!r} came. Choose others with --games.")
    layout = layout_of(game, network, rules)
    random = np.random.default_rng(0)
    highest = len(open_noise_table(noise, verify=False)) - layout.parameter_count
    if highest < 1:
        raise NeurozooError(f"The noise table {noise} is too small for the network {network!r}.")

    def episode() -> Episode:
        parent, mutation = (int(index) for index in random.integers(highest, size=2))
        noops = int(random.integers(1, rules.max_noops + 1)) if rules.max_noops else 0
        return Episode(Genome(parent).mutated(mutation, POWER), noops, 0, frames)

    return Workload(network, game, rules, layout, tuple(episode() for _ in range(EPISODES)))
