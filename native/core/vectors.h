#ifndef NEUROZOO_CORE_VECTORS_H_
#define NEUROZOO_CORE_VECTORS_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace neurozoo {

// Puts arrays on cache-line boundaries, and large ones in huge pages where the system has some, because a step reads
// megabytes of weights from all over them. Large arrays go back to the system at once: a thread's allocator would keep
// them, and with them the weights of every thread that has ended.
template <typename T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::size_t kCacheLine = 64, kPage = 4096, kHugePage = 2 << 20;
  AlignedAllocator() = default;
  template <typename U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  static bool IsLarge(std::size_t n) { return n * sizeof(T) >= 2 * kHugePage; }
  T* allocate(std::size_t n) {
    const std::size_t size = n * sizeof(T);
    if (!IsLarge(n)) return static_cast<T*>(::operator new(size, std::align_val_t{kCacheLine}));
    const std::size_t reserved = (size / kHugePage + 2) * kHugePage;
    void* memory = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(memory) % kHugePage) % kHugePage;
    char* start = static_cast<char*>(memory) + before;
    if (before > 0) munmap(memory, before);
    munmap(start + Mapped(size), reserved - before - Mapped(size));
#ifdef MADV_HUGEPAGE
    madvise(start, size / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
    return reinterpret_cast<T*>(start);
  }
  void deallocate(T* p, std::size_t n) {
    if (IsLarge(n)) {
      munmap(p, Mapped(n * sizeof(T)));
    } else {
      ::operator delete(p, std::align_val_t{kCacheLine});
    }
  }
  // Bytes of whole pages.
  static std::size_t Mapped(std::size_t size) { return (size + kPage - 1) / kPage * kPage; }
  template <typename U>
  bool operator==(const AlignedAllocator<U>&) const {
    return true;
  }
  template <typename U>
  bool operator!=(const AlignedAllocator<U>&) const {
    return false;
  }
};
using Floats = std::vector<float, AlignedAllocator<float>>;
using Halves = std::vector<std::uint16_t, AlignedAllocator<std::uint16_t>>;  // of bfloat16

using Vector __attribute__((vector_size(32))) = float;
using Bits __attribute__((vector_size(32))) = std::int64_t;
inline constexpr std::int64_t kVector = sizeof(Vector) / sizeof(float);

// Vectors lie at any address. (Clang loses an alignment below that of the type where functions are inlined.)
template <typename Values = Vector>
inline Values LoadVector(const float* from) {
  Values values;
  __builtin_memcpy(&values, from, sizeof(values));
  return values;
}
template <typename Values>
inline void StoreVector(float* to, const Values& values) {
  __builtin_memcpy(to, &values, sizeof(values));
}

inline Vector Relu(const Vector& values) { return values > 0.0f ? values : Vector{}; }

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_VECTORS_H_
