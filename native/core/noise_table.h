#ifndef NEUROZOO_CORE_NOISE_TABLE_H_
#define NEUROZOO_CORE_NOISE_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>

namespace neurozoo {

// The noise table, mapped read-only: all processes of a node share one copy. Thread-safe.
class NoiseTable {
 public:
  // Maps a file once, however often it is opened, as long as somebody holds it. Throws std::runtime_error if `path`
  // cannot be mapped.
  static std::shared_ptr<const NoiseTable> Open(const std::string& path);
  ~NoiseTable();
  NoiseTable(const NoiseTable&) = delete;
  NoiseTable& operator=(const NoiseTable&) = delete;

  // The `count` values from `index` on. Throws std::out_of_range if the table is too short.
  const float* Slice(std::int64_t index, std::int64_t count) const;

 private:
  NoiseTable(const float* values, std::int64_t size) : values_(values), size_(size) {}

  const float* const values_;
  const std::int64_t size_;  // values
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_NOISE_TABLE_H_
