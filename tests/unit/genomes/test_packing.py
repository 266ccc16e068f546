import json

import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.genomes.genome import Genome, Mutation
from neurozoo.genomes.packing import BLOCK, pack, unpack


def genome(length, *, initial=7, seed=0):
    numbers = np.random.default_rng([seed, 0]).integers(2**62, size=length).tolist()
    powers = np.random.default_rng([seed, 1]).random(length).tolist()
    return Genome(initial, tuple(map(Mutation, numbers, powers)))


def packed_and_back(genomes):
    packed, arrays = pack(genomes)
    return unpack(json.loads(json.dumps(packed)), arrays)


def family(length):
    """Genomes that share all but the last mutations, as parents, elite and best of a run do."""
    stem = genome(length)
    return [stem.mutated(1, 0.1), stem.mutated(2, 0.1).mutated(3, 0.2), stem, Genome(7, stem.mutations[: length // 2])]


@pytest.mark.parametrize("length", [0, 1, BLOCK - 2, BLOCK - 1, BLOCK, 3 * BLOCK, 3 * BLOCK + 5])
def test_genomes_come_back(length):
    genomes = [*family(length), genome(5, initial=9, seed=1), *family(length)]
    assert packed_and_back(genomes) == genomes


def test_what_is_written_in_every_generation_hardly_grows():
    sizes = [len(json.dumps(pack(family(length))[0])) for length in (BLOCK, 40 * BLOCK)]
    assert sizes[1] < sizes[0] + 40 * 30 + BLOCK * 40


def test_a_block_is_written_once_because_its_name_stands_for_its_content():
    before, after = pack(family(5 * BLOCK))[1], pack(family(6 * BLOCK))[1]
    assert len(before) == 5
    assert all(np.array_equal(after[name], array) for name, array in before.items())
    assert not set(before) & set(pack([genome(BLOCK, seed=1)])[1])


@pytest.mark.parametrize(
    "damage", [{"keeps": 10**6, "adds": []}, {"keeps": -1, "adds": []}, {"keeps": 0, "adds": [[-1, 0.1]]}, {"adds": []}]
)
def test_a_damaged_genome_is_refused(damage):
    packed, arrays = pack(family(BLOCK))
    packed["genomes"][1] = damage
    with pytest.raises((ValueError, LookupError, NeurozooError)):
        unpack(packed, arrays)


def test_a_missing_or_a_damaged_block_is_refused():
    packed, arrays = pack(family(BLOCK))
    with pytest.raises(LookupError):
        unpack(packed, {})
    with pytest.raises(ValueError, match="should have 256 mutations"):
        unpack(packed, {name: array[1:] for name, array in arrays.items()})
    with pytest.raises(ValueError, match="has another content than its name says"):
        unpack(packed, {name: array[::-1] for name, array in arrays.items()})


def test_a_small_file_cannot_stand_for_more_mutations_than_fit_into_memory(monkeypatch):
    packed, arrays = pack(family(BLOCK))
    packed["genomes"] += [{"keeps": BLOCK // 2, "adds": []}] * 50
    monkeypatch.setattr("neurozoo.genomes.packing.MOST_MUTATIONS", 40 * BLOCK)
    assert len(unpack(packed, arrays)) == 54
    monkeypatch.setattr("neurozoo.genomes.packing.MOST_MUTATIONS", 20 * BLOCK)
    with pytest.raises(ValueError, match="more than 5,120 mutations"):
        unpack(packed, arrays)
