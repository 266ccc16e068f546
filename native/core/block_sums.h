#ifndef NEUROZOO_CORE_BLOCK_SUMS_H_
#define NEUROZOO_CORE_BLOCK_SUMS_H_

#include <cstdint>
#include <vector>

#include "core/vectors.h"

namespace neurozoo {

// Computes the sums of a convolution or a dense layer from what has changed since the last time.
//
// Screens change little from step to step, and half of what a ReLU lets through is zero. So the inputs are cut into
// blocks: squares as wide as the stride with all channels, or 64 inputs of a dense layer. A block is multiplied only if
// it differs from the last time in any bit; zeros are left out. Its share in each output is kept. A sum is the bias and
// then the shares, block by block: the same bits, whatever was kept.
//
// A kernel of 4 x 4 with a stride of 2 has 2 x 2 taps: its quarters, each as large as a block.
//
//              blocks of the input               the kernel            output (1, 1) = bias
//          0      1      2      3                                        + block (1, 1) * a
//       +------+------+------+------+          +------+------+           + block (1, 2) * b
//     0 |      |      |      |      |          |  a   |  b   |           + block (2, 1) * c
//       +------+======+======+------+          +------+------+           + block (2, 2) * d
//     1 |      # 1, 1 | 1, 2 #      |          |  c   |  d   |
//       +------+------+------+------+          +------+------+         block (2, 2) has a share in
//     2 |      # 2, 1 | 2, 2 #      |                                    output (1, 1), * d
//       +------+======+======+------+                                    output (1, 2), * c
//     3 |      |      |      |      |                                    output (2, 1), * b
//       +------+------+------+------+                                    output (2, 2), * a
//
// If only block (2, 2) changes, its four shares are multiplied anew and four outputs are added up again. A dense layer
// is one column of blocks with one tap and one output, in which every block has a share.
class BlockSums {
 public:
  struct Shape {
    std::int64_t rows = 0, columns = 0;       // of blocks
    std::int64_t taps = 1;                    // rows, and columns, of taps: a block has taps * taps shares
    std::int64_t lines = 1, line_length = 0;  // of a block: consecutive inputs
    std::int64_t last_length = 0;             // of the lines of the last block
    std::int64_t block_weights = 0;           // floats from the weights of a block to those of the next
    std::int64_t line_weights = 0;            // ... of a line to those of the next
    std::int64_t tap_row_weights = 0;         // ... of a tap to those of the tap below
    std::int64_t tap_weights = 0;             // ... of a tap to those of the tap on its right
    std::int64_t channels = 0;                // of an output

    std::int64_t num_shares() const { return rows * columns * taps * taps * channels; }
  };

  BlockSums() = default;
  explicit BlockSums(const Shape& shape);

  // Forgets the inputs that were seen. Call it when the weights change.
  void Forget() { has_seen_ = false; }

  // Looks for blocks that have changed. Block (row, column) begins at `in + row * row_stride + column * column_stride`,
  // its lines lie `line_stride` apart.
  void FindChanges(const float* in, std::int64_t row_stride, std::int64_t column_stride, std::int64_t line_stride);

  // Multiplies the blocks that FindChanges has found. For convolutions: their few weights serve all blocks and stay in
  // the cache.
  void MultiplyByTaps(const float* weights);

  // The same for dense layers: their many weights serve once and come in long rows. Needs `taps` of 1.
  void MultiplyByRows(const float* weights);

  // The multiply-adds that the last FindChanges has left to do.
  std::int64_t multiply_adds() const;

  // Whether a block that has a share in the output at (y, x) has changed.
  bool HasChanged(std::int64_t y, std::int64_t x) const;

  // Adds up the output at (y, x): `channels` values. `bias` may be null.
  void Sum(std::int64_t y, std::int64_t x, const float* bias, bool relu, float* out) const;

  // Adds up the single output of a dense layer.
  void SumAll(const float* bias, bool relu, float* out) const;

 private:
  // An input that is not zero, and where its weights begin.
  struct Entry {
    float value;
    std::int32_t weight;
  };

  // A block that has changed.
  struct Block {
    std::int64_t index;
    const Entry *begin, *end;
  };

  template <int kTaps, int kVectors>
  static void AddEntries(const Block& block, const float* const* weights, std::int64_t channels, float* shares);

  Shape shape_;
  bool has_seen_ = false;
  Floats seen_;                            // (blocks, lines, line_length): the inputs that `shares_` were made of
  Floats shares_;                          // (blocks, taps, taps, channels)
  std::vector<std::uint8_t> has_changed_;  // (blocks)
  std::vector<Block> changed_;
  std::vector<Entry> entries_;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_BLOCK_SUMS_H_
