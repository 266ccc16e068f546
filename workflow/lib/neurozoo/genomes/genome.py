"""Genomes of the neuroevolution family: recipes that build an agent's weights from slices of the noise table.

A genome is an index for the initial weights and a list of (index, power) mutations. Its JSON form is
`[i0, [i1, p1], [i2, p2], ...]`, as published (Such et al. 2017, arXiv:1712.06567, section 3.1).
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.networks.chains import Layout

DECODED_AT_ONCE = 65_536  # parameters
MOST_SEEDS = 100_000  # takes hours to decode; a longer list is a mistake
KEEPS_BEST_ELITE = ("validated",)  # elite rules under which a run's result is the best elite, not the last one
_MOST_POWER = 1e30  # weights of thousands of mutations stay finite in float32
OLD_POWER = 0.005  # power of mutations without one (the distributed code of 2017)


class Mutation(NamedTuple):
    """One step of Gaussian noise: `power * noise[index : index + parameters]`."""

    index: int  # type: ignore[assignment]  # hides the method `tuple.index`, which nothing calls
    power: float


@dataclass(frozen=True)
class Weights:
    """Weights that do not come from the noise table, such as those of an evolution strategy."""

    digest: str  # SHA-256 of the numbers, by which weights are compared
    theta: np.ndarray = field(compare=False, repr=False)  # float32, shape (parameters,), read-only

    @classmethod
    def of(cls, theta: np.ndarray) -> "Weights":
        """Wraps a copy of a parameter vector."""
        theta = np.array(theta, np.float32)
        theta.flags.writeable = False
        return cls(hashlib.sha256(theta.data).hexdigest(), theta)


@dataclass(frozen=True)
class Genome:
    """A recipe for weights, a few bytes per generation instead of 16 MB."""

    # Index of the initial weights in the noise table, or the initial weights themselves. Only the index has a JSON
    # form.
    initial: int | Weights
    mutations: tuple[Mutation, ...] = ()  # one `Mutation` per ancestor, oldest first

    @property
    def is_recipe(self) -> bool:
        """Whether the noise table is enough to make the weights; only then is there a JSON form."""
        return not isinstance(self.initial, Weights)

    @classmethod
    def from_json(cls, value: Any) -> "Genome":
        """Reads the published list form; a bare integer after the first is a mutation of power 0.005.

        Raises:
            NeurozooError: `value` is not such a list.
        """
        try:
            initial, *rest = value
            return cls(_index(initial), tuple(_mutation(gene) for gene in rest))
        except (TypeError, ValueError, OverflowError) as error:
            raise NeurozooError(
                f"A genome looks like [index, [index, power], ...], but got: {str(value)[:80]}"
            ) from error

    @classmethod
    def from_text(cls, text: str) -> "Genome":
        """Reads a genome as the original prints it, `(1, (2, 0.002))`, without evaluating anything.

        Raises:
            NeurozooError: `text` is not a genome.
        """
        try:
            if not re.fullmatch(r"\s*\((?:[0-9.,()\s]|-(?=[0-9])|(?<=[0-9.])[eE][-+]?(?=[0-9]))*\)\s*", text):
                raise ValueError(text)
            brackets = text.translate(str.maketrans("()", "[]"))
            value = json.loads(re.sub(r",\s*\]", "]", brackets))
            return cls.from_json(value)
        except (ValueError, RecursionError, NeurozooError) as error:
            raise NeurozooError(f"A genome looks like (index, (index, power), ...), but got: {text[:80]}") from error

    def to_text(self) -> str:
        """Returns the genome as the original prints it, such as `(1, (2, 0.002))`."""
        return repr((self.initial, *(tuple(mutation) for mutation in self.mutations)))

    def to_json(self) -> list:
        """Returns the published list form."""
        return [self.initial, *map(list, self.mutations)]

    def mutated(self, index: int, power: float) -> "Genome":
        """Returns a child: this genome and one more mutation."""
        return Genome(self.initial, (*self.mutations, Mutation(index, power)))

    @property
    def parent(self) -> "Genome | None":
        """The genome without its last mutation; None for initial weights."""
        return Genome(self.initial, self.mutations[:-1]) if self.mutations else None


def _index(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise ValueError("an index should be a whole number")
    return value


def _mutation(gene: Any) -> Mutation:
    if isinstance(gene, int):
        return Mutation(_index(gene), OLD_POWER)
    index, power = gene
    if isinstance(power, bool) or not isinstance(power, (int, float)) or not abs(power) <= _MOST_POWER:
        raise ValueError(f"a power should be a number of at most {_MOST_POWER:g}")
    return Mutation(_index(index), float(power))


def check_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """Checks a list of seeds and returns it as a tuple.

    Raises:
        NeurozooError: The list is empty or too long, or a seed is not an unsigned 32-bit integer.
    """
    if isinstance(seeds, (str, bytes)) or not isinstance(seeds, Sequence) or not seeds:
        raise NeurozooError(f"Seeds look like [4070460811, 2393459932], but got: {str(seeds)[:80]}")
    if len(seeds) > MOST_SEEDS:
        raise NeurozooError(f"A genome should have at most {MOST_SEEDS:,} seeds, but has {len(seeds):,}.")
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**32:
            raise NeurozooError(f"A seed should be a whole number from 0 to 4,294,967,295, but is {str(seed)[:40]}.")
    return tuple(map(int, seeds))


def check_genome(genome: Genome, *, parameters: int, table_size: int) -> None:
    """Refuses a genome whose slices reach beyond the noise table, before any memory outside it is read.

    Raises:
        NeurozooError: An index lies outside 0 ... `table_size - parameters`.
    """
    initial = () if isinstance(genome.initial, Weights) else (genome.initial,)
    for index in (*initial, *(mutation.index for mutation in genome.mutations)):
        if not 0 <= index <= table_size - parameters:
            raise NeurozooError(
                f"The genome's index {index:,} lies outside the noise table: a network of {parameters:,} parameters "
                f"allows 0 to {table_size - parameters:,}. Is it a genome for another network or another table?"
            )


def decode(genome: Genome, *, noise: np.ndarray, layout: Layout) -> np.ndarray:
    """Decodes a genome to weights in a slow and obvious way; the native core gives the same bits.

    Returns:
        float32, shape (parameters,). The initial weights are scaled noise; the mutations are added unscaled, in order.

    Raises:
        NeurozooError: The genome does not fit the table.

    Source: specification of the published code. Every product and every sum is rounded to float32.
    """
    count = layout.parameter_count
    check_genome(genome, parameters=count, table_size=len(noise))
    if isinstance(genome.initial, Weights):
        theta = genome.initial.theta.copy()
    else:
        theta = layout.initialise(noise[genome.initial : genome.initial + count])
    for start in range(0, count, DECODED_AT_ONCE):  # the sums of a block stay in the cache
        stop = min(start + DECODED_AT_ONCE, count)
        block = theta[start:stop]
        for index, power in genome.mutations:
            block += np.float32(power) * noise[index + start : index + stop]
    return theta
