"""The random number generator that Python and C++ environments share."""

_MASK = 2**64 - 1
_INCREMENT = 0x9E3779B97F4A7C15


class SplitMix64:
    """Gives the same numbers in Python and in C++, so that both versions of a game draw the same worlds.

    Source: SplitMix64, Steele, Lea and Flood 2014, doi:10.1145/2714064.2660195. In C++: native/core/random.h.
    """

    def __init__(self, seed: int):
        self._state = seed & _MASK

    @classmethod
    def after(cls, seed: int, count: int) -> "SplitMix64":
        """Returns the generator that `seed` makes after `count` numbers."""
        return cls(seed + count * _INCREMENT)

    def next(self) -> int:
        """Draws an integer from 0 to 2^64 - 1."""
        self._state = z = (self._state + _INCREMENT) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def uniform(self) -> float:
        """Draws a number from 0 to below 1."""
        return (self.next() >> 11) * 2.0**-53

    def below(self, n: int) -> int:
        """Draws an integer from 0 to n - 1, for n from 1 to 2^32; the bias is below n / 2^53."""
        return ((self.next() >> 11) * n) >> 53
