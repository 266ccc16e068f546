from collections import Counter

from neurozoo.environments.splitmix64 import SplitMix64


def test_splitmix64_gives_the_numbers_of_its_reference_implementation():
    # Published test vector of the seed 1234567.
    generator = SplitMix64(1234567)
    assert [generator.next() for _ in range(3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_below_gives_every_number_of_its_range_about_equally_often():
    generator = SplitMix64(0)
    counts = Counter(generator.below(20) for _ in range(20_000))
    assert sorted(counts) == list(range(20))
    # 1,000 each with a standard deviation of 31.
    assert all(850 < count < 1150 for count in counts.values())


def test_below_uses_the_upper_53_bits():
    first = SplitMix64(5).next()
    assert SplitMix64(5).below(2**32) == (first >> 11) * 2**32 // 2**53
    assert SplitMix64(5).below(1) == 0
