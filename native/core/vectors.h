#ifndef NEUROZOO_CORE_VECTORS_H_
#define NEUROZOO_CORE_VECTORS_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace neurozoo {

// Floats on cache-line boundaries.
template <typename T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};
  AlignedAllocator() = default;
  template <typename U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, kAlignment); }
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
