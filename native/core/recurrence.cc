#include "core/recurrence.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace neurozoo {

Recurrence::Recurrence(const LayerPlan& layer, const PaddedImage& image) : layer_(layer) {
  between_.assign(layer.cycles, image);
  if (layer.skip == LayerPlan::kInput) scaled_input_ = image;
  if (layer.skip == LayerPlan::kGated) channel_cycles_.resize(layer.out_channels);
}

void Recurrence::SetParameters(const float* parameters) {
  for (std::size_t c = 0; c < channel_cycles_.size(); ++c) {
    // Halves go to the even number, as NumPy and TensorFlow round. Written so that NaN means no cycle.
    const float wanted = std::nearbyint(std::abs(parameters[layer_.vector_offset + c] * layer_.cycles));
    channel_cycles_[c] = !(wanted > 0) ? 0 : wanted < layer_.cycles ? static_cast<int>(wanted) : layer_.cycles;
  }
}

std::int64_t Recurrence::NumCycles() const {
  if (layer_.skip != LayerPlan::kGated) return layer_.cycles;
  // At least one, even if all gates are closed: it copies the input to the output.
  return std::max<std::int64_t>(1, *std::max_element(channel_cycles_.begin(), channel_cycles_.end()));
}

void Recurrence::MultiplyByIotas(const PaddedImage& in, const float* iotas) {
  const std::int64_t row_length = layer_.in_width * layer_.in_channels;
  for (std::int64_t y = 0; y < layer_.in_height; ++y) {
    const float* values = in.Row(y);
    float* scaled = scaled_input_.Row(y);
    for (std::int64_t k = 0; k < row_length; k += layer_.in_channels) {
      for (std::int64_t c = 0; c < layer_.in_channels; ++c) scaled[k + c] = values[k + c] * iotas[c];
    }
  }
}

// Overwrites the channels whose cycles are over with their state before this cycle.
void Recurrence::KeepStates(std::int64_t cycle, const std::vector<ChangedPositions::Position>& outputs,
                            const PaddedImage& state, bool relu, const OutputRows& out) const {
  const std::int64_t channels = layer_.out_channels;
  for (const auto [y, x] : outputs) {
    const float* before = state.Row(y) + x * channels;
    float* after = out.At(y, x, channels);
    for (std::int64_t c = 0; c < channels; ++c) {
      if (cycle >= channel_cycles_[c]) after[c] = relu ? std::max(before[c], 0.0f) : before[c];
    }
  }
}

std::int64_t Recurrence::Run(const PaddedImage& in, const float* parameters, ChangedPositions* changes,
                             const OutputRows& out) {
  const bool adds_input = layer_.skip == LayerPlan::kInput;
  if (adds_input) MultiplyByIotas(in, parameters + layer_.vector_offset);
  const std::int64_t cycles = NumCycles();
  std::int64_t multiply_adds = 0;
  const PaddedImage* state = &in;
  for (std::int64_t cycle = 0; cycle < cycles; ++cycle) {
    const bool is_last = cycle == cycles - 1;
    PaddedImage& next = between_[cycle];
    if (cycle > 0) changes->NextCycle();
    const OutputRows target = is_last ? out : OutputRows{next.Row(0), next.row_stride()};
    const bool relu = layer_.inner_relu != 0 || (is_last && layer_.sums_end_in_relu());
    const PaddedImage* residual = adds_input ? &scaled_input_ : state;
    multiply_adds += Convolve(layer_, parameters, changes->outputs(), *state, residual, relu, target);
    if (layer_.skip == LayerPlan::kGated) KeepStates(cycle, changes->outputs(), *state, relu, target);
    state = &next;
  }
  return multiply_adds;
}

}  // namespace neurozoo
