"""Packs genomes that share ancestors, so that what is written in every generation hardly grows with their length.

The genomes of a population differ only in their last mutations. A state has the mutations of the first genome in
blocks, which are arrays under the hash of their content and so are written once, and of every genome what differs from
the one before.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from neurozoo.genomes.genome import Genome, Mutation

BLOCK = 256  # mutations
BLOCK_NAME = "genes-[0-9a-f]{16}"  # regular expression
MOST_MUTATIONS = 2**25  # of all unpacked genomes together: 1,000 genomes of 30,000
_TYPE = np.dtype([("index", "<i8"), ("power", "<f8")])


def pack(genomes: Sequence[Genome]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Packs recipes for weights, similar ones beside each other; `unpack` gives the same ones, bit by bit.

    Returns:
        `blocks`, the names of the arrays, `initial`, the index of the first genome's initial weights, and `genomes`:
        how many mutations each keeps of the one before (the first one: of the blocks), those it adds, and its `initial`
        if that differs. Then the arrays.
    """
    if not genomes:
        return {"blocks": [], "initial": None, "genomes": []}, {}
    mutations = genomes[0].mutations
    ends = range(BLOCK, len(mutations) + 1, BLOCK)
    blocks = [_block(mutations[end - BLOCK : end]) for end in ends]
    last = Genome(genomes[0].initial, mutations[: BLOCK * len(blocks)])
    packed = []
    for genome in genomes:
        kept = common_length(last.mutations, genome.mutations) if genome.initial == last.initial else 0
        change: dict[str, Any] = {"keeps": kept, "adds": [list(mutation) for mutation in genome.mutations[kept:]]}
        packed.append(change | ({"initial": genome.initial} if genome.initial != last.initial else {}))
        last = genome
    names = [name for name, _ in blocks]
    return {"blocks": names, "initial": genomes[0].initial, "genomes": packed}, dict(blocks)


def unpack(packed: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> list[Genome]:
    """Returns the genomes that were packed.

    Raises:
        LookupError, TypeError, ValueError, NeurozooError: An array is missing, or something has another form.
    """
    initial, mutations = packed["initial"], []
    for name in packed["blocks"]:
        block = arrays[name]
        if block.dtype != _TYPE or block.shape != (BLOCK,):
            raise ValueError(f"{name} should have {BLOCK} mutations")
        if name != _name_of(block):
            raise ValueError(f"{name} has another content than its name says")
        mutations += [Mutation(index, power) for index, power in block.tolist()]
    last, genomes, total = Genome(initial, tuple(mutations)), [], len(mutations)
    for change in packed["genomes"]:
        kept = change["keeps"]
        if type(kept) is not int or not 0 <= kept <= len(last.mutations):
            raise ValueError("a genome should keep mutations of the one before")
        added = Genome.from_json([change.get("initial", last.initial), *change["adds"]])
        total += kept + len(added.mutations)
        if total > MOST_MUTATIONS:
            raise ValueError(f"more than {MOST_MUTATIONS:,} mutations")
        last = Genome(added.initial, (*last.mutations[:kept], *added.mutations))
        genomes.append(last)
    return genomes


def common_length(first: Sequence, second: Sequence) -> int:
    """Returns how many entries at their beginnings two sequences of one type share.

    Slices are compared instead of entries, because Python does that a hundred times faster.
    """
    low, high = 0, min(len(first), len(second))
    if first[:high] == second[:high]:
        return high
    while high - low > 1:  # the first `low` are equal, the first `high` are not
        middle = (low + high) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle
    return low


@lru_cache(maxsize=1024)
def _block(mutations: tuple[Mutation, ...]) -> tuple[str, np.ndarray]:
    """Returns the name and the content of a block."""
    array = np.array([tuple(mutation) for mutation in mutations], _TYPE)
    array.flags.writeable = False
    return _name_of(array), array


def _name_of(block: np.ndarray) -> str:
    return f"genes-{hashlib.sha256(block.tobytes()).hexdigest()[:16]}"
