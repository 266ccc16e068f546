// The sums of a tile take 12 of the 16 registers of AVX2.

namespace {
using Wide __attribute__((vector_size(32))) = float;
constexpr int kTileRows = 6, kTilePanels = 1, kColumns[] = {6, 6};
}  // namespace

#include "core/learner/products.inc"
#include "core/learner/transforms.inc"

namespace neurozoo {

const Products& Products256() {
  static constexpr Products kProducts{kTileRows, nullptr, MultiplyRows, AddColumns, &kTransforms};
  return kProducts;
}

#ifndef NEUROZOO_HAS_512
const Products& Products512() { return Products256(); }
#endif

const Products& WidestProducts() {
#ifdef NEUROZOO_HAS_512
  if (__builtin_cpu_supports("avx512f")) return Products512();
#endif
  return Products256();
}

}  // namespace neurozoo
