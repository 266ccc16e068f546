import hashlib
import json

import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.genomes.noise_table import (
    CHUNK,
    PUBLISHED_SHA256,
    PUBLISHED_SIZE,
    SUMMED_AT_ONCE,
    build_noise_table,
    open_noise_table,
    weighted_sum,
)


@pytest.fixture(scope="module")
def verified(noise_table):
    return open_noise_table(noise_table)


def test_the_table_has_the_published_hash_and_cannot_be_written(verified):
    # Opening it has compared the hash of all of it with this one, which the specification states.
    assert PUBLISHED_SHA256 == "89de6e0b1b4a44ef510ab261ec6484ec6afe9100a6bec7413219454fbb457db2"
    assert verified.shape == (250_000_000,)
    assert verified.dtype == np.float32
    assert not verified.flags.writeable


@pytest.mark.parametrize(
    ("start", "values"),
    [
        (0, [-1.0856307, 0.99734545, 0.2829785, -1.5062947, -0.57860023]),
        (148462608, [-0.15826288, 0.9037968, 0.48933378, -1.9819595]),
        (219531121, [-0.89357585, 0.30740458, -0.45000705, 0.04547378]),
        (PUBLISHED_SIZE - 3, [-0.012098734, -1.7635791, 2.3304408]),
    ],
)
def test_the_table_has_the_published_values(noise, start, values):
    np.testing.assert_array_equal(noise[start : start + len(values)], np.array(values, np.float32))


def test_drawing_in_chunks_gives_the_stream_of_one_draw(tmp_path):
    size = CHUNK + 12_345
    digest = build_noise_table(tmp_path / "table.f32", size=size)
    expected = np.random.RandomState(123).randn(size).astype("<f4")
    assert (tmp_path / "table.f32").read_bytes() == expected.tobytes()
    assert digest == hashlib.sha256(expected.tobytes()).hexdigest()


def truncate(path):
    path.write_bytes(path.read_bytes()[:-4])


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[2000] ^= 1
    path.write_bytes(content)


def lose_the_facts(path):
    path.with_suffix(".json").unlink()


def garble_the_size(path):
    path.with_suffix(".json").write_text(json.dumps({"size": "many", "sha256": "0" * 64}))


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (truncate, "should have 4,000 bytes, but has 3,996"),
        (flip_a_bit, "is damaged: its SHA-256 is [0-9a-f]{64}, not [0-9a-f]{64}"),
        (garble_the_size, "is damaged: it should hold"),
        (lose_the_facts, "is missing"),
    ],
)
def test_a_damaged_table_is_refused_with_the_remedy_and_left_alone(tmp_path, damage, complaint):
    path = tmp_path / "table.f32"
    build_noise_table(path, size=1000)
    damage(path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(NeurozooError, match=f"{complaint}.*snakemake --cores 1 results/noise/table.f32"):
        open_noise_table(path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_missing_table_is_refused_with_the_remedy(tmp_path):
    with pytest.raises(NeurozooError, match=r"table\.f32 is missing\. Build it: snakemake"):
        open_noise_table(tmp_path / "table.f32")


def test_a_table_of_the_published_size_needs_the_published_hash(tmp_path, monkeypatch):
    build_noise_table(tmp_path / "table.f32", size=1000)
    monkeypatch.setattr("neurozoo.genomes.noise_table.PUBLISHED_SIZE", 1000)
    with pytest.raises(NeurozooError, match=f"is damaged: .*not {PUBLISHED_SHA256}"):
        open_noise_table(tmp_path / "table.f32")


def test_a_limit_of_address_space_is_told_in_a_sentence(python, noise_table):
    code = (
        "import resource, sys\nfrom neurozoo.genomes.noise_table import open_noise_table\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 500_000_000,) * 2)\n"
        "open_noise_table(sys.argv[1], verify=False)"
    )
    ended = python(code, str(noise_table), check=False)
    assert "NeurozooError: The noise table" in ended.stderr
    assert "needs 1,000,000,000 bytes of address space" in ended.stderr


def test_a_numpy_that_draws_other_numbers_is_noticed_and_nothing_appears(tmp_path, monkeypatch):
    monkeypatch.setattr("neurozoo.genomes.noise_table.PUBLISHED_SIZE", 1000)
    with pytest.raises(NeurozooError, match=r"NumPy .* draws other numbers\. Use the locked NumPy"):
        build_noise_table(tmp_path / "table.f32", size=1000)
    assert not list(tmp_path.iterdir())


def test_building_onto_a_full_disk_leaves_the_old_table_and_says_so(small_disk):
    message, opens, names = small_disk(
        """
from pathlib import Path
from neurozoo.genomes.noise_table import build_noise_table, open_noise_table
path = Path(sys.argv[1]) / "table.f32"
build_noise_table(path, size=1000)
message = refusal(lambda: build_noise_table(path, size=1_000_000))
print(json.dumps([message, len(open_noise_table(path)), sorted(os.listdir(sys.argv[1]))]))
""",
        size="1m",
    )
    assert "table.f32 could not be written: no space left on device" in message
    assert "An earlier file of that name is unchanged; free some space" in message
    assert opens == 1000
    assert names == ["table.f32", "table.json"]


def test_building_takes_little_memory(python, tmp_path):
    # A single draw of 40 million values would take 320 MB as float64 and 160 MB as float32.
    code = """
import resource, sys
from neurozoo.genomes.noise_table import build_noise_table
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
build_noise_table(sys.argv[1], size=20_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    grown = int(python(code, tmp_path / "table.f32").stdout)  # KiB
    assert grown < 60 * 1024


def test_a_weighted_sum_adds_slices_of_the_table():
    table = np.array([1, 2, 4, 8, 16], np.float32)
    # 0.5 * (2, 4, 8) - 3 * (1, 2, 4) + 0.25 * (4, 8, 16)
    total = weighted_sum(table, [1, 0, 2], [0.5, -3.0, 0.25], count=3)
    assert total.dtype == np.float32
    assert total.tolist() == [-1.0, -2.0, -4.0]
    assert weighted_sum(table, [], [], count=2).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_weighted_sum_is_rounded_term_by_term_whatever_the_number_of_threads(small_noise_table, threads):
    table = open_noise_table(small_noise_table)
    count = 2 * SUMMED_AT_ONCE + 7
    random = np.random.default_rng(0)
    indices, weights = random.integers(len(table) - count + 1, size=9), random.normal(size=9)
    expected = np.zeros(count, np.float32)
    for index, weight in zip(indices, weights, strict=True):
        expected = expected + np.float32(weight) * table[index : index + count]
    np.testing.assert_array_equal(
        weighted_sum(table, indices, weights, count=count, threads=threads), expected, strict=True
    )
