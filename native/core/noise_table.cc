#include "core/noise_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <tuple>

namespace neurozoo {

std::shared_ptr<const NoiseTable> NoiseTable::Open(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::tuple<dev_t, ino_t, off_t>, std::weak_ptr<const NoiseTable>> opened;  // device, file, bytes
  const std::lock_guard<std::mutex> lock(mutex);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat facts;
  if (file < 0 || fstat(file, &facts) != 0) {
    const std::string reason = std::strerror(errno);
    if (file >= 0) close(file);
    throw std::runtime_error("The noise table " + path + " cannot be opened: " + reason + ".");
  }
  std::weak_ptr<const NoiseTable>& known = opened[{facts.st_dev, facts.st_ino, facts.st_size}];
  std::shared_ptr<const NoiseTable> table = known.lock();
  if (table == nullptr) {
    const std::int64_t size = facts.st_size / static_cast<std::int64_t>(sizeof(float));
    void* address = size == 0 ? MAP_FAILED : mmap(nullptr, facts.st_size, PROT_READ, MAP_SHARED, file, 0);
    const std::string reason = size == 0 ? "it is empty" : std::strerror(errno);
    if (address == MAP_FAILED) {
      close(file);
      throw std::runtime_error("The noise table " + path + " cannot be mapped: " + reason + ".");
    }
    table.reset(new NoiseTable(static_cast<const float*>(address), size));
    known = table;
  }
  close(file);
  return table;
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
