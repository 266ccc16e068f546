// The sums of a tile take up to 28 of the 32 registers of AVX-512. Compiled for it whatever the rest is compiled for.

namespace {
using Wide __attribute__((vector_size(64))) = float;
constexpr int kTileRows = 12, kTilePanels = 2, kColumns[] = {16, 12};
}  // namespace

#include "core/learner/products.inc"
#include "core/learner/transforms.inc"

namespace neurozoo {

const Products& Products512() {
  static constexpr Products kProducts{kTileRows, nullptr, MultiplyRows, AddColumns, &kTransforms};
  return kProducts;
}

}  // namespace neurozoo
