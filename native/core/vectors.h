#ifndef NEUROZOO_CORE_VECTORS_H_
#define NEUROZOO_CORE_VECTORS_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace neurozoo {

// Floats on cache-line boundaries; large arrays in huge pages where the system has some, since a step reads
// megabytes of weights from all over them.
template <typename T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::size_t kCacheLine = 64, kHugePage = 2 << 20;
  AlignedAllocator() = default;
  template <typename U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  static bool IsLarge(std::size_t n) { return n * sizeof(T) >= 2 * kHugePage; }
  static std::align_val_t Alignment(std::size_t n) { return std::align_val_t{IsLarge(n) ? kHugePage : kCacheLine}; }
  T* allocate(std::size_t n) {
    void* memory = ::operator new(n * sizeof(T), Alignment(n));
    if (IsLarge(n)) madvise(memory, n * sizeof(T) / kHugePage * kHugePage, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* p, std::size_t n) { ::operator delete(p, Alignment(n)); }
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

// Eight floats, or the bits of eight, that may lie anywhere.
using Vector = float __attribute__((vector_size(32), aligned(4), may_alias));
using Bits = std::int64_t __attribute__((vector_size(32), aligned(4), may_alias));
inline constexpr std::int64_t kVector = sizeof(Vector) / sizeof(float);

inline const Vector& LoadVector(const float* from) { return *reinterpret_cast<const Vector*>(from); }
inline Vector& StoreVector(float* to) { return *reinterpret_cast<Vector*>(to); }

inline Vector Relu(const Vector& values) { return values > 0.0f ? values : Vector{}; }

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_VECTORS_H_
