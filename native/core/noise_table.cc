#include "core/noise_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace neurozoo {

NoiseTable::NoiseTable(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat facts;
  if (file < 0 || fstat(file, &facts) != 0) {
    const std::string reason = std::strerror(errno);
    if (file >= 0) close(file);
    throw std::runtime_error("The noise table " + path + " cannot be opened: " + reason + ".");
  }
  size_ = facts.st_size / static_cast<std::int64_t>(sizeof(float));
  void* address = size_ == 0 ? MAP_FAILED : mmap(nullptr, facts.st_size, PROT_READ, MAP_SHARED, file, 0);
  const std::string reason = size_ == 0 ? "it is empty" : std::strerror(errno);
  close(file);
  if (address == MAP_FAILED) throw std::runtime_error("The noise table " + path + " cannot be mapped: " + reason + ".");
  values_ = static_cast<const float*>(address);
}

NoiseTable::~NoiseTable() { munmap(const_cast<float*>(values_), size_ * sizeof(float)); }

const float* NoiseTable::Slice(std::int64_t index, std::int64_t count) const {
  if (index < 0 || index > size_ - count) {
    throw std::out_of_range("Noise index " + std::to_string(index) + " lies outside the table: a network of " +
                            std::to_string(count) + " parameters allows 0 to " + std::to_string(size_ - count) + ".");
  }
  return values_ + index;
}

}  // namespace neurozoo
