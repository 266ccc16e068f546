"""Weights of pinned genomes in main memory; makes the weights of their children."""

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from functools import partial

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.genomes.genome import Genome, Mutation, Weights, check_genome, decode
from neurozoo.networks.chains import Layout


class PinnedWeights:
    """Makes the same weights as the native core, to the bit: it rounds after each product and each sum."""

    def __init__(self, noise: np.ndarray, layout: Layout) -> None:
        self._noise = noise
        self._layout = layout
        self._pinned: dict[Genome, np.ndarray] = {}

    def __getitem__(self, genome: Genome) -> np.ndarray:
        """Returns the weights of a pinned genome: float32, shape (parameters,)."""
        return self._pinned[genome]

    def pin(self, genomes: Iterable[Genome], threads: Executor | None = None) -> None:
        """Keeps these genomes' weights instead of those that were pinned before, which stay if a noise index is wrong.

        A genome that is already pinned costs nothing, a child of one costs one mutation. Others are decoded completely.
        """
        makers = {genome: self._maker(genome) for genome in genomes}
        made = (threads.map if threads else map)(lambda make: make(), makers.values())
        self._pinned = dict(zip(makers, made, strict=True))

    def maker(self, genome: Genome) -> Callable[[], np.ndarray]:
        """Returns a function that makes a genome's weights. It still works after other genomes have been pinned.

        Raises:
            NeurozooError: The genome has mutations or weights of its own, and neither it nor its parent is pinned; or
                a noise index lies outside the table.
        """
        is_near = genome in self._pinned or genome.parent in self._pinned
        if not is_near and (genome.mutations or isinstance(genome.initial, Weights)):
            raise NeurozooError("An episode's genome or its parent must be pinned first.")
        return self._maker(genome)

    def _maker(self, genome: Genome) -> Callable[[], np.ndarray]:
        limits = {"parameters": self._layout.parameter_count, "table_size": len(self._noise)}
        if genome in self._pinned:
            theta = self._pinned[genome]
            return lambda: theta
        if genome.parent in self._pinned:
            mutation = genome.mutations[-1]
            check_genome(Genome(mutation.index), **limits)
            return partial(self._mutated, self._pinned[genome.parent], mutation)
        check_genome(genome, **limits)
        return partial(decode, genome, noise=self._noise, layout=self._layout)

    def _mutated(self, parent: np.ndarray, mutation: Mutation) -> np.ndarray:
        child = self._noise[mutation.index : mutation.index + len(parent)] * np.float32(mutation.power)
        return np.add(parent, child, out=child)
