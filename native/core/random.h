#ifndef NEUROZOO_CORE_RANDOM_H_
#define NEUROZOO_CORE_RANDOM_H_

#include <cstdint>

namespace neurozoo {

// Random numbers that are the same in every language, compiler and library, unlike the distributions of <random>.
// Twin: environments/splitmix64.py.
//
// Source: SplitMix64, Steele, Lea and Flood 2014, doi:10.1145/2714064.2660195.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

  // The generator that `seed` makes after `count` numbers.
  static SplitMix64 After(std::uint64_t seed, std::uint64_t count) { return SplitMix64(seed + count * kIncrement); }

  std::uint64_t Next() {
    std::uint64_t z = state_ += kIncrement;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  // Uniform from 0 to below 1.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

  // Uniform in 0 .. n - 1, for n from 1 to 2^32; the bias is below n / 2^53.
  std::int64_t Below(std::int64_t n) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::int64_t>((static_cast<Wide>(Next() >> 11) * static_cast<Wide>(n)) >> 53);
  }

 private:
  static constexpr std::uint64_t kIncrement = 0x9E3779B97F4A7C15;

  std::uint64_t state_;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_RANDOM_H_
