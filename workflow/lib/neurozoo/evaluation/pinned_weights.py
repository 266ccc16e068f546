"""Weights of held genomes in the host's memory, and those of their children when they are needed."""

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from functools import partial

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.genomes import Genome, Mutation, Weights, check_genome, decode
from neurozoo.networks import Layout


class HeldWeights:
    """Makes the weights that the native op makes, to the bit: products and sums are rounded one by one.

    Args:
        noise: The noise table, float32, shape (size,).
        layout: The network.
    """

    def __init__(self, noise: np.ndarray, layout: Layout) -> None:
        self._noise = noise
        self._layout = layout
        self._held: dict[Genome, np.ndarray] = {}

    def __getitem__(self, genome: Genome) -> np.ndarray:
        """Returns the weights of a held genome: float32, shape (parameters,)."""
        return self._held[genome]

    def hold(self, genomes: Iterable[Genome], threads: Executor) -> None:
        """Keeps these genomes' weights instead of the ones held before.

        What is held already, or is a child of it, costs no or one mutation; everything else is decoded from scratch.

        Args:
            genomes: Which.
            threads: What they are made in.

        Raises:
            NeurozooError: A noise index lies outside the table, or weights are not the network's; nothing is changed.
        """
        makers = {genome: self._maker(genome) for genome in genomes}
        made = threads.map(lambda make: make(), makers.values())
        self._held = dict(zip(makers, made, strict=True))

    def maker(self, genome: Genome) -> Callable[[], np.ndarray]:
        """Returns what will make a genome's weights; what it needs stays, whatever is held by then.

        Raises:
            NeurozooError: The genome is neither held nor a child of a held one nor without mutations, or reaches beyond
                the noise table.
        """
        is_near = genome in self._held or genome.parent in self._held
        if not is_near and (genome.mutations or isinstance(genome.initial, Weights)):
            raise NeurozooError("An episode's genome or its parent must be held first.")
        return self._maker(genome)

    def _maker(self, genome: Genome) -> Callable[[], np.ndarray]:
        if genome in self._held:
            theta = self._held[genome]
            return lambda: theta
        if genome.parent in self._held:
            mutation = genome.mutations[-1]
            self._check(Genome(mutation.index))
            return partial(self._mutated, self._held[genome.parent], mutation)
        self._check(genome)
        return partial(decode, genome, noise=self._noise, layout=self._layout)

    def _check(self, genome: Genome) -> None:
        count = self._layout.parameter_count
        if isinstance(genome.initial, Weights) and genome.initial.theta.shape != (count,):
            raise NeurozooError(
                f"The network has {count:,} parameters, but weights of shape {genome.initial.theta.shape} came."
            )
        check_genome(genome, parameters=count, table_size=len(self._noise))

    def _mutated(self, parent: np.ndarray, mutation: Mutation) -> np.ndarray:
        child = self._noise[mutation.index : mutation.index + len(parent)] * np.float32(mutation.power)
        return np.add(parent, child, out=child)
