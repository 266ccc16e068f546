#ifndef NEUROZOO_CORE_BLOCK_SUMS_H_
#define NEUROZOO_CORE_BLOCK_SUMS_H_

#include <cstdint>
#include <vector>

#include "core/vectors.h"

namespace neurozoo {

// The sums of products of a convolution or a dense layer, without those that need not be computed.
//
// Screens change little from step to step, and half of what a ReLU lets through is zero. So the inputs are cut into
// blocks: squares as wide as the stride with all channels, or 64 inputs of a dense layer. A block is multiplied only
// when it differs from the last time in any bit, zeros are left out, and its shares in the outputs are kept. A sum is
// the bias and then the shares, block by block: the same bits, whatever was kept.
class BlockSums {
 public:
  struct Shape {
    std::int64_t rows = 0, columns = 0;       // of blocks
    std::int64_t taps = 1;                    // rows, and columns, of outputs that a block has a share in
    std::int64_t lines = 1, line_length = 0;  // of a block: consecutive inputs
    std::int64_t last_length = 0;             // of the lines of the last block
    std::int64_t block_weights = 0;           // from the weights of a block to those of the next
    std::int64_t line_weights = 0;            // from the weights of a line to those of the next
    std::int64_t tap_row_weights = 0;         // from the weights for an output to those for the one above
    std::int64_t tap_weights = 0;             // ... and to those for the one on its left
    std::int64_t channels = 0;                // of an output

    std::int64_t num_shares() const { return rows * columns * taps * taps * channels; }
  };

  BlockSums() = default;
  explicit BlockSums(const Shape& shape);

  // Forgets the inputs that were seen, as is needed when the weights change.
  void Forget() { has_seen_ = false; }

  // Looks for blocks that have changed. Block (row, column) begins at `in + row * row_stride + column * column_stride`,
  // its lines lie `line_stride` apart.
  void FindChanges(const float* in, std::int64_t row_stride, std::int64_t column_stride, std::int64_t line_stride);

  // Multiplies the blocks that FindChanges has found: the way for convolutions, whose few weights serve all blocks and
  // stay in the cache ...
  void MultiplyByTaps(const float* weights);

  // ... and the way for dense layers, whose many weights serve once and come in long rows. Needs `taps` of 1.
  void MultiplyByRows(const float* weights);

  // Multiply-adds that the last FindChanges has found to be done.
  std::int64_t multiply_adds() const;

  // Whether FindChanges has found that the output at (y, x) changes.
  bool HasChanged(std::int64_t y, std::int64_t x) const;

  // Adds up the output at (y, x): `channels` values. `bias` may be null.
  void Sum(std::int64_t y, std::int64_t x, const float* bias, bool relu, float* out) const;

  // Adds up the single output that all blocks have a share in.
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
