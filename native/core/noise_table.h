#ifndef NEUROZOO_CORE_NOISE_TABLE_H_
#define NEUROZOO_CORE_NOISE_TABLE_H_

#include <cstdint>
#include <string>

namespace neurozoo {

// The noise table, mapped read-only: all processes of a node share one copy. Thread-safe.
class NoiseTable {
 public:
  // Throws std::runtime_error if `path` cannot be mapped.
  explicit NoiseTable(const std::string& path);
  ~NoiseTable();
  NoiseTable(const NoiseTable&) = delete;
  NoiseTable& operator=(const NoiseTable&) = delete;

  // The `count` values from `index` on. Throws std::out_of_range if the table is too short.
  const float* Slice(std::int64_t index, std::int64_t count) const;

 private:
  const float* values_ = nullptr;
  std::int64_t size_ = 0;  // values
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_NOISE_TABLE_H_
