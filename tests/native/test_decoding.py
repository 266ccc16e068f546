"""The core makes the same weights from a genome as NumPy, to the bit."""

from pathlib import Path

import numpy as np
import pytest
from neurozoo.environments.protocols import get_protocol
from neurozoo.errors import NeurozooError
from neurozoo.evaluation.native import NativeEvaluator
from neurozoo.genomes.genome import Genome, Mutation, decode
from neurozoo.genomes.reading import read_genome
from neurozoo.networks.catalogue import get_network

VECTOR = Genome(148462608, (Mutation(219531121, 0.002), Mutation(172882699, 0.002)))


def bits(theta):
    return theta.view(np.uint32)  # so that 0 and -0, which noise times 0 gives, differ


def expected(genome, noise, model):
    return decode(genome, noise=noise, layout=get_network(model).layout(18))


@pytest.mark.parametrize("model", ["small", "large", "recurrent_large"])
def test_initial_weights_and_children_are_equal_to_the_bit(evaluators, noise, model):
    evaluator = evaluators(model=model)
    genomes = [Genome(148462608), Genome(0), Genome(5, (Mutation(6, 0.3),)), VECTOR]
    evaluator.pin(genomes)
    for genome in genomes:
        np.testing.assert_array_equal(bits(evaluator.parameters(genome)), bits(expected(genome, noise, model)))


def test_the_published_genome_with_its_265_mutations_is_equal_to_the_bit(evaluators, noise, data_dir):
    genome = read_genome(data_dir / "uber_frostbite_genome.json").genome
    evaluator = evaluators(model="large")
    evaluator.pin([genome])
    np.testing.assert_array_equal(bits(evaluator.parameters(genome)), bits(expected(genome, noise, "large")))


def test_a_child_made_from_its_pinned_parent_equals_one_made_from_scratch(evaluators, noise):
    evaluator = evaluators()
    parent = Genome(9, tuple(Mutation(1000 * i, 0.01) for i in range(30)))
    child = parent.mutated(77, 0.002)
    evaluator.pin([])
    evaluator.pin([child])
    from_scratch = evaluator.parameters(child)
    evaluator.pin([parent])
    evaluator.pin([child, parent])
    from_parent = evaluator.parameters(child)
    np.testing.assert_array_equal(bits(from_parent), bits(from_scratch))
    np.testing.assert_array_equal(bits(from_parent), bits(expected(child, noise, "small")))
    np.testing.assert_array_equal(bits(evaluator.parameters(parent)), bits(expected(parent, noise, "small")))


def test_genomes_keep_their_weights_when_they_change_places(evaluators, noise):
    evaluator = evaluators()
    genomes = [Genome(i) for i in range(4)]
    evaluator.pin(genomes)
    evaluator.pin([genomes[2], genomes[0], Genome(50), genomes[2]])
    for genome in (genomes[2], genomes[0], Genome(50)):
        np.testing.assert_array_equal(bits(evaluator.parameters(genome)), bits(expected(genome, noise, "small")))
    with pytest.raises(KeyError):
        evaluator.parameters(genomes[1])


def test_the_last_slices_of_the_table_can_be_used_and_nothing_beyond(evaluators, noise):
    evaluator = evaluators()
    last = 250_000_000 - 1_008_450
    genome = Genome(last, (Mutation(last, 0.5),))
    evaluator.pin([genome])
    np.testing.assert_array_equal(bits(evaluator.parameters(genome)), bits(expected(genome, noise, "small")))
    for beyond in (Genome(last + 1), Genome(0, (Mutation(last + 1, 0.5),)), Genome(2**62)):
        with pytest.raises(NeurozooError, match="lies outside the table: a network of 1008450 parameters allows 0 to"):
            evaluator.pin([beyond])
    # What was pinned before is still there.
    np.testing.assert_array_equal(bits(evaluator.parameters(genome)), bits(expected(genome, noise, "small")))


def test_the_evaluators_of_a_process_share_one_mapping_of_the_table(core, small_noise_table, tmp_path):
    def mappings():
        return Path("/proc/self/maps").read_text().count(f" {tmp_path}/table.f32")

    def make(name):
        return NativeEvaluator(
            core=core, noise=tmp_path / name, layout=layout, game="pong", protocol=get_protocol("uber2018")
        )

    layout = get_network("small").layout(6)
    (tmp_path / "table.f32").hardlink_to(small_noise_table)
    (tmp_path / "same.f32").hardlink_to(small_noise_table)
    with make("table.f32"):
        with make("table.f32"), make("same.f32"):
            assert mappings() == 1
        assert mappings() == 1
    assert mappings() == 0
