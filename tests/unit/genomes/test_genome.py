import gc
import hashlib
import json
import math
import time
from collections.abc import Callable

import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.genomes.genome import Genome, Mutation, check_genome, decode
from neurozoo.genomes.reading import read_genome
from neurozoo.networks.catalogue import get_network

# Section 2.5 of the specification, for 18 actions.
VECTOR = Genome(148462608, (Mutation(219531121, 0.002), Mutation(172882699, 0.002)))


def sha256_prefix(theta):
    return hashlib.sha256(theta.astype("<f4").tobytes()).hexdigest()[:16]


def l2(theta):
    return float(np.sqrt(np.sum(theta.astype(float) ** 2)))


def decoded(noise, model, genome=VECTOR):
    return decode(genome, noise=noise, layout=get_network(model).layout(18))


# ---- weights


def test_weights_of_the_large_network_are_the_published_ones(noise):
    theta = decoded(noise, "large")
    assert theta.dtype == np.float32
    assert theta.shape == (4_052_658,)
    np.testing.assert_array_equal(theta[:3], np.array([-0.010014614, 0.053662296, 0.029846968], np.float32))
    np.testing.assert_array_equal(theta[-3:], np.array([-0.00030227611, -0.0012188167, -0.00054737658], np.float32))
    # Printed with six significant digits: half of the last one, 5e-9 in the largest.
    np.testing.assert_allclose(theta[8192:8195], [0.00176434, -0.00122559, 0.00399436], rtol=0, atol=5.1e-9)
    assert np.sum(theta.astype(float)) == pytest.approx(25.546118, abs=5e-7)
    assert l2(theta) == pytest.approx(26.542283, abs=5e-7)
    assert sha256_prefix(theta) == "13f41f2ad23453ca"


@pytest.mark.parametrize(
    ("model", "count", "length", "digest"),
    [
        ("small", 1_008_450, 17.658744, "e5bd8bdf881431ee"),
        ("recurrent_large", 4_061_874, 26.553289, "86a63cf1f5aa047a"),
    ],
)
def test_weights_of_other_networks_are_the_published_ones(noise, model, count, length, digest):
    theta = decoded(noise, model)
    assert theta.shape == (count,)
    assert l2(theta) == pytest.approx(length, abs=5e-7)
    assert sha256_prefix(theta) == digest


def test_the_published_genome_has_the_published_weights(noise, data_dir):
    record = read_genome(data_dir / "uber_frostbite_genome.json")
    assert (record.game, record.model) == ("frostbite", "large")
    assert len(record.genome.mutations) == 265
    theta = decoded(noise, "large", record.genome)
    # Stated as float32, whose steps are 7.6e-6 and 3.8e-6 here. The hash is what is exact.
    assert l2(theta) == pytest.approx(70.462026, abs=7.6e-6)
    assert np.sum(theta.astype(float)) == pytest.approx(-44.010326, abs=3.8e-6)
    assert sha256_prefix(theta) == "3dfa932f045f4f40"


# ---- limits


def test_an_index_is_that_of_a_whole_slice_of_the_table():
    check_genome(Genome(90, (Mutation(0, 0.1), Mutation(90, 0.1))), parameters=10, table_size=100)
    for genome in (Genome(91), Genome(0, (Mutation(91, 0.1),)), Genome(-1)):
        with pytest.raises(
            NeurozooError, match=r"lies outside the noise table: .* allows 0 to 90\. Is it a genome for"
        ):
            check_genome(genome, parameters=10, table_size=100)


def test_a_genome_for_a_smaller_network_may_reach_beyond_the_table_of_a_larger_one(noise):
    genome = Genome(250_000_000 - 1_008_450)  # the last one for `small`
    decoded(noise, "small", genome)
    with pytest.raises(NeurozooError, match="Is it a genome for another network or another table"):
        decoded(noise, "large", genome)


# ---- written forms


def test_powers_survive_json_to_the_bit():
    powers = [0.1 + 0.2, 1 / 3, 5e-324, 1e30]
    genome = Genome(0, tuple(Mutation(i, power) for i, power in enumerate(powers)))
    assert Genome.from_json(json.loads(json.dumps(genome.to_json()))) == genome


def test_bare_integers_are_mutations_of_the_old_power():
    assert Genome.from_json([1, 2, [3, 0.1]]) == Genome(1, (Mutation(2, 0.005), Mutation(3, 0.1)))


@pytest.mark.parametrize(
    ("text", "genome"),
    [
        ("(1, (2, 0.002))", Genome(1, (Mutation(2, 0.002),))),
        ("(1,)", Genome(1)),
        ("(1)", Genome(1)),
        (" ( 1 , ( 2 , 0.002 ) , ( 3 , 1e-05 ) , ) ", Genome(1, (Mutation(2, 0.002), Mutation(3, 1e-5)))),
        ("(1, 2, 3)", Genome(1, (Mutation(2, 0.005), Mutation(3, 0.005)))),
        ("(1, (2, -0.002))", Genome(1, (Mutation(2, -0.002),))),
        ("(10, (20, 1), 30)", Genome(10, (Mutation(20, 1.0), Mutation(30, 0.005)))),
    ],
)
def test_text_form_of_the_original_is_read(text, genome):
    assert Genome.from_text(text) == genome


GARBAGE = [
    None, True, 5, 1.5, "", "12", "__import__('os').system('true')", {}, {"a": 1}, [], [[]], [-1], [1.0], [True], ["1"],
    [None], [[1, 0.1]], [1, []], [1, [2]], [1, [2, 0.1, 3]], [1, [2, [3, 0.1]]], [1, [-2, 0.1]], [1, [2.0, 0.1]],
    [1, [2, "0.1"]], [1, [2, True]], [1, [2, None]], [1, [2, math.nan]], [1, [2, math.inf]], [1, [2, 10**400]],
    [1, [2, 1e39]], [1, True], [1, -2], [1, "23"], [1, {"2": 0.1, "3": 0.1}], [2**63],
]  # fmt: skip


@pytest.mark.parametrize("value", GARBAGE, ids=lambda value: ascii(value)[:30])
def test_a_value_that_is_not_a_genome_is_refused_with_a_short_message(value):
    with pytest.raises(NeurozooError, match=r"A genome looks like \[index, \[index, power\], \.\.\.\]") as caught:
        Genome.from_json(value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "text",
    [
        "", "()", "1", "(-1)", "(1.5)", "(1, (2, --0.1))", "(1, (2))", "(1, (2, 0.1, 3))", "(1, ((2, 0.1)))",
        "(1, (2, nan))", "(1, (2, 1e999))", "(1))", "(1, (2, 0.1)", "(1); (2)",
        "(__import__('os').system('true'), (2, 0.1))", "(1, (2, __import__('os').getpid()))", f"({'9' * 5000})",
        "(1" + ", " * 5000,
    ],
    ids=lambda text: text[:30],
)  # fmt: skip
def test_text_that_is_not_a_genome_is_refused_and_never_run(text):
    with pytest.raises(NeurozooError, match="A genome looks like") as caught:
        Genome.from_text(text)
    assert len(str(caught.value)) < 200


# ---- family


def test_a_child_is_its_parent_and_one_mutation():
    parent = Genome(1, (Mutation(2, 0.1),))
    child = parent.mutated(3, 0.2)
    assert child == Genome(1, (Mutation(2, 0.1), Mutation(3, 0.2)))
    assert child.parent == parent
    assert Genome(1).parent is None
    assert len({child, parent, Genome(1, (Mutation(2, 0.1),))}) == 2  # equal genomes are one key


@pytest.mark.long(seconds=20)
def test_ten_times_the_text_takes_about_ten_times_as_long_and_a_long_mistake_is_refused_faster():
    def seconds(read: Callable[[], object]) -> float:
        """The best of three; without collections, whose price depends on what else lives in the process."""
        took = []
        for _ in range(3):
            gc.collect()
            gc.disable()
            try:
                start = time.thread_time()
                read()
                took.append(time.thread_time() - start)
            finally:
                gc.enable()
        return min(took)

    def refuse(text: str) -> None:
        with pytest.raises(NeurozooError, match="A genome looks like"):
            Genome.from_text(text)

    short, long = (
        Genome(1, tuple(Mutation(i, 0.002) for i in range(length))).to_text() for length in (10_000, 100_000)
    )
    assert Genome.from_text(long).to_text() == long
    limit = 40 * seconds(lambda: Genome.from_text(short))  # 100 times, were it quadratic
    assert seconds(lambda: Genome.from_text(long)) < limit
    for slip in ("(1" + " " * 200_000, "(" * 200_000, "(1, (2, 0.1)" * 50_000, "(1" + ",\n" * 100_000 + ")"):
        assert seconds(lambda text=slip: refuse(text)) < limit
