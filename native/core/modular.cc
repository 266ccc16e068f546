#include "core/modular.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/river_crossing.h"

namespace neurozoo {
namespace {

constexpr int kKinds = 5;   // of cells: grass, resource, stone, water, trap
constexpr int kPlanes = 6;  // of an observation: the kinds but grass, the agent with a stone, the one with free hands
constexpr int kStone = 2, kWater = 3;
constexpr int kMap = LayerPlan::kMapChannels;
constexpr int kMostUnits = 10;
constexpr float kDesired = 0.3f;  // outputs beyond count as 1 or -1, if the agent sees objects
constexpr float kHands = 0.1f;    // outputs from here on use the hands
constexpr float kHighest = 15.0f;
constexpr int kDirections = RiverCrossing::kDirections;
constexpr float kGrass = -1.0f / 255.0f, kGrey = 128.0f / 255.0f;
constexpr float kColours[kKinds][3] = {
    {kGrass, kGrass, kGrass}, {1, 1, 0}, {kGrey, kGrey, kGrey}, {0, kGrey, 1}, {1, 0, 0}};
constexpr float kRing[9] = {0.125f, 0.125f, 0.125f, 0.125f, 0, 0.125f, 0.125f, 0.125f, 0.125f};

int KindAt(const float* planes) {
  for (int kind = 1; kind < kKinds; ++kind) {
    if (planes[kind - 1] > 0.5f) return kind;
  }
  return 0;
}

// Replaces `inputs` values by `units` tanh units in double precision, whose tanh is that of Python.
const float* Dense(const float* weights, int inputs, int units, double* values) {
  double sums[kMostUnits] = {};
  for (int i = 0; i < inputs; ++i) {
    for (int j = 0; j < units; ++j) sums[j] += values[i] * weights[i * units + j];
  }
  for (int j = 0; j < units; ++j) values[j] = std::tanh(sums[j]);
  return weights + inputs * units;
}

float Sign(float value) { return value > kDesired ? 1.0f : value < -kDesired ? -1.0f : 0.0f; }

}  // namespace

void Decide(const LayerPlan& layer, const float* parameters, const PaddedImage& in, const OutputRows& out) {
  std::int64_t agent_y = 0, agent_x = 0;
  bool carries = false, is_found = false;
  for (std::int64_t y = 0; y < layer.in_height && !is_found; ++y) {
    const float* planes = in.Row(y);
    for (std::int64_t x = 0; x < layer.in_width && !is_found; ++x, planes += kPlanes) {
      if (planes[4] + planes[5] <= 0.5f) continue;
      agent_y = y;
      agent_x = x;
      carries = planes[4] > 0.5f;
      is_found = true;
    }
  }
  const bool sees_objects = layer.kind == LayerPlan::kDecisionOnObjects;
  const int agent_kind = KindAt(in.Row(agent_y) + agent_x * kPlanes);
  float desires[kKinds] = {}, hands[kKinds] = {};
  for (int kind = 0; kind < kKinds; ++kind) {
    const float* weights = parameters + layer.weight_offset;
    double values[kMostUnits] = {};
    if (sees_objects) {
      values[kind] = 1;
      values[kKinds] = carries;
      Dense(Dense(weights, 6, 4, values), 4, 5, values);
      hands[kind] = Sign(static_cast<float>(values[0]));
      if (kind == agent_kind) {
        for (int other = 1; other < kKinds; ++other) desires[other] = Sign(static_cast<float>(values[other]));
      }
    } else {
      std::copy_n(kColours[kind], 3, values);
      values[3] = carries;
      Dense(Dense(Dense(weights, 4, 10, values), 10, 8, values), 8, 2, values);
      hands[kind] = static_cast<float>(values[0]);
      if (kind > 0) desires[kind] = static_cast<float>(values[1]);
    }
  }
  const bool picks_up = !carries && hands[kStone] >= kHands, puts_down = carries && hands[kWater] <= -kHands;
  for (std::int64_t y = 0; y < layer.in_height; ++y) {
    const float* planes = in.Row(y);
    float* values = out.At(y, 0, kMap);
    for (std::int64_t x = 0; x < layer.in_width; ++x, planes += kPlanes, values += kMap) {
      const int kind = KindAt(planes);
      values[0] = desires[kind];
      values[1] = (kind == kStone && picks_up) || (kind == kWater && puts_down);
      values[2] = is_found && y == agent_y && x == agent_x;
    }
  }
}

Landscape::Landscape(const LayerPlan& layer) : layer_(layer), row_((layer.in_width + 7) / 8 * 8) {
  // Beyond the right edge no height may be above 0, whatever the kernel is.
  desires_.assign(layer.in_height * row_, std::numeric_limits<float>::lowest());
  heights_.resize(desires_.size());
  positive_ = PaddedImage(layer.in_height, row_, 1, 1, 1);
}

std::int64_t Landscape::Run(const PaddedImage& in, const float* parameters, bool is_new, const OutputRows& out) {
  const std::int64_t height = layer_.in_height, width = layer_.in_width;
  bool has_changed = is_new;
  for (std::int64_t y = 0; y < height; ++y) {
    const float* values = in.Row(y);
    float* desires = &desires_[y * row_];
    for (std::int64_t x = 0; x < width; ++x) {
      has_changed = has_changed || desires[x] != values[x * kMap];
      desires[x] = values[x * kMap];
    }
  }
  if (has_changed) Spread(layer_.weight_offset < 0 ? kRing : parameters + layer_.weight_offset);
  for (std::int64_t y = 0; y < height; ++y) {
    const float* values = in.Row(y);
    float* written = out.At(y, 0, kMap);
    for (std::int64_t x = 0; x < width; ++x, values += kMap, written += kMap) {
      written[0] = heights_[y * row_ + x];
      written[1] = values[1];
      written[2] = values[2];
    }
  }
  return has_changed ? (layer_.cycles - 1) * height * width * 9 : 0;
}

void Landscape::Spread(const float* kernel) {
  const bool pins = layer_.weight_offset < 0;
  heights_ = desires_;  // what the first cycle makes of heights of 0
  for (std::int64_t cycle = 1; cycle < layer_.cycles; ++cycle) {
    for (std::int64_t y = 0; y < layer_.in_height; ++y) {
      const float* __restrict__ heights = &heights_[y * row_];
      float* __restrict__ positive = positive_.Row(y);
      for (std::int64_t x = 0; x < row_; ++x) positive[x] = std::max(heights[x], 0.0f);
    }
    for (std::int64_t y = 0; y < layer_.in_height; ++y) {
      const float *above = positive_.Row(y - 1), *here = positive_.Row(y), *below = positive_.Row(y + 1);
      const float* desires = &desires_[y * row_];
      float* __restrict__ heights = &heights_[y * row_];
      for (std::int64_t x = 0; x < row_; ++x) {
        float sum = above[x - 1] * kernel[0];
        sum += above[x] * kernel[1];
        sum += above[x + 1] * kernel[2];
        sum += here[x - 1] * kernel[3];
        sum += here[x] * kernel[4];
        sum += here[x + 1] * kernel[5];
        sum += below[x - 1] * kernel[6];
        sum += below[x] * kernel[7];
        sum += below[x + 1] * kernel[8];
        sum = std::min(sum + desires[x], kHighest);
        heights[x] = pins && desires[x] == -1.0f ? -1.0f : sum;
      }
    }
  }
}

void Climb(const LayerPlan& layer, const float* parameters, const float* in, float* out) {
  const std::int64_t height = layer.in_height, width = layer.in_width;
  const auto value = [&](std::int64_t y, std::int64_t x, int channel) { return in[(y * width + x) * kMap + channel]; };
  std::int64_t agent_y = 0, agent_x = 0;
  for (std::int64_t place = 0; place < height * width; ++place) {
    if (in[place * kMap + 2] > 0.5f) {
      agent_y = place / width;
      agent_x = place % width;
      break;
    }
  }
  const float own = value(agent_y, agent_x, 0);
  float scores[kDirections], heights[kDirections] = {};
  bool is_possible[kDirections], uses_hands[kDirections] = {};
  for (int i = 0; i < kDirections; ++i) {
    const std::int64_t y = agent_y + RiverCrossing::kRowSteps[i], x = agent_x + RiverCrossing::kColumnSteps[i];
    is_possible[i] = y >= 0 && y < height && x >= 0 && x < width;
    if (is_possible[i]) {
      heights[i] = value(y, x, 0);
      uses_hands[i] = value(y, x, 1) > 0.5f;
    }
    scores[i] = heights[i] - own;
  }
  if (layer.weight_offset >= 0) {
    const auto best = std::max_element(heights + 1, heights + kDirections) - (heights + 1);
    std::copy_n(parameters + layer.weight_offset + best * (kDirections - 1), kDirections - 1, scores + 1);
    for (int i = 0; i < kDirections; ++i) is_possible[i] = i > 0;  // the agent never stays, and may leave the grid
  }
  float lowest = 0;
  for (int i = 0; i < kDirections; ++i) {
    if (is_possible[i]) lowest = std::min(lowest, scores[i]);
  }
  std::fill_n(out, 2 * kDirections, lowest - 1);
  for (int i = 0; i < kDirections; ++i) {
    if (is_possible[i]) out[i + (uses_hands[i] ? kDirections : 0)] = scores[i];
  }
}

}  // namespace neurozoo
