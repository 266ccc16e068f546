#ifndef NEUROZOO_CORE_CHANGED_POSITIONS_H_
#define NEUROZOO_CORE_CHANGED_POSITIONS_H_

#include <cstdint>
#include <vector>

#include "core/network_plan.h"
#include "core/padded_image.h"
#include "core/vectors.h"

namespace neurozoo {

// Follows which outputs of a convolution change, input position by input position.
class ChangedPositions {
 public:
  struct Position {
    std::int64_t y, x;
  };

  ChangedPositions() = default;
  explicit ChangedPositions(const LayerPlan& layer);

  // Starts a new run: compares the input with that of the last call. If `is_new`, every position counts as changed.
  void Compare(const PaddedImage& in, bool is_new);

  // The outputs that see a changed input.
  const std::vector<Position>& outputs() const { return outputs_; }

  // Makes these outputs the changed inputs of the next cycle. Needs a stride of 1.
  void NextCycle();

 private:
  void FindOutputs();

  std::int64_t height_ = 0, width_ = 0, channels_ = 0, out_height_ = 0, out_width_ = 0;
  std::int64_t kernel_ = 0, stride_ = 0, top_ = 0, left_ = 0, row_length_ = 0;
  Floats seen_;                           // (height, width, channels)
  std::vector<std::uint8_t> is_changed_;  // of the inputs, with their border: rows of `row_length_`
  std::vector<std::uint8_t> is_seen_;     // a position and its neighbours on the right, as far as the kernel reaches
  std::vector<Position> outputs_;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_CHANGED_POSITIONS_H_
