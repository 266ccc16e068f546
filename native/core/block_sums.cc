#include "core/block_sums.h"

#include <algorithm>
#include <cstring>

namespace neurozoo {
namespace {

constexpr int kMostVectors = 8;  // sums that are held in registers
constexpr int kRowsAtOnce = 8;   // weight rows that are streamed at once
constexpr int kCacheLine = 16;   // floats

// Whether two arrays differ in any bit.
inline bool Differ(const float* a, const float* b, std::int64_t count) {
  Bits bits{};
  std::int64_t k = 0;
  for (; k + kVector <= count; k += kVector) {
    bits |= LoadVector<Bits>(a + k) ^ LoadVector<Bits>(b + k);
  }
  if ((bits[0] | bits[1] | bits[2] | bits[3]) != 0) return true;
  return k < count && std::memcmp(a + k, b + k, (count - k) * sizeof(float)) != 0;
}

inline bool IsZero(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits << 1 == 0;  // whole numbers compare without a branch for NaN
}

}  // namespace

BlockSums::BlockSums(const Shape& shape) : shape_(shape) {
  const std::int64_t blocks = shape.rows * shape.columns;
  const std::int64_t inputs = blocks * shape.lines * shape.line_length;
  seen_.resize(inputs);
  shares_.resize(shape.num_shares());
  has_changed_.resize(blocks);
  changed_.reserve(blocks);
  entries_.resize(inputs + 1);
}

void BlockSums::FindChanges(const float* in, std::int64_t row_stride, std::int64_t column_stride,
                            std::int64_t line_stride) {
  changed_.clear();
  Entry* entry = entries_.data();
  float* seen = seen_.data();
  const std::int64_t blocks = shape_.rows * shape_.columns;
  for (std::int64_t index = 0; index < blocks; ++index, seen += shape_.lines * shape_.line_length) {
    const float* block = in + index / shape_.columns * row_stride + index % shape_.columns * column_stride;
    const std::int64_t length = index == blocks - 1 ? shape_.last_length : shape_.line_length;
    bool has_changed = !has_seen_;
    for (std::int64_t line = 0; line < shape_.lines && !has_changed; ++line) {
      has_changed = Differ(block + line * line_stride, seen + line * shape_.line_length, length);
    }
    has_changed_[index] = has_changed;
    if (!has_changed) continue;
    const Entry* const begin = entry;
    for (std::int64_t line = 0; line < shape_.lines; ++line) {
      const float* values = block + line * line_stride;
      std::copy_n(values, length, seen + line * shape_.line_length);
      std::int64_t weight = index * shape_.block_weights + line * shape_.line_weights;
      for (std::int64_t k = 0; k < length; ++k, weight += shape_.channels) {
        *entry = {values[k], static_cast<std::int32_t>(weight)};
        entry += !IsZero(values[k]);  // a zero is overwritten by the next entry
      }
    }
    changed_.push_back({index, begin, entry});
  }
  has_seen_ = true;
}

std::int64_t BlockSums::multiply_adds() const {
  const std::int64_t entries = changed_.empty() ? 0 : changed_.back().end - entries_.data();
  return entries * shape_.taps * shape_.taps * shape_.channels;
}

// Makes the shares of `kVectors` vectors of channels in `kTaps` outputs.
template <int kTaps, int kVectors>
void BlockSums::AddEntries(const Block& block, const float* const* weights, std::int64_t channels, float* shares) {
  Vector sums[kTaps][kVectors] = {};
  for (const Entry* entry = block.begin; entry != block.end; ++entry) {
#pragma GCC unroll 8
    for (int tap = 0; tap < kTaps; ++tap) {
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) {
        sums[tap][j] += entry->value * LoadVector(weights[tap] + entry->weight + j * kVector);
      }
    }
  }
#pragma GCC unroll 8
  for (int tap = 0; tap < kTaps; ++tap) {
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) StoreVector(shares + tap * channels + j * kVector, sums[tap][j]);
  }
}

void BlockSums::MultiplyByTaps(const float* weights) {
  // Indexed by the number of vectors: how many outputs are summed at once, so that there are enough sums to hide the
  // latency of an addition.
  struct Variant {
    int taps;
    decltype(&AddEntries<1, 1>) several, one;
  };
  static constexpr Variant kVariants[kMostVectors + 1] = {{},
                                                          {4, AddEntries<4, 1>, AddEntries<1, 1>},
                                                          {4, AddEntries<4, 2>, AddEntries<1, 2>},
                                                          {2, AddEntries<2, 3>, AddEntries<1, 3>},
                                                          {2, AddEntries<2, 4>, AddEntries<1, 4>},
                                                          {1, AddEntries<1, 5>, AddEntries<1, 5>},
                                                          {1, AddEntries<1, 6>, AddEntries<1, 6>},
                                                          {1, AddEntries<1, 7>, AddEntries<1, 7>},
                                                          {1, AddEntries<1, 8>, AddEntries<1, 8>}};
  const std::int64_t taps = shape_.taps * shape_.taps;
  const std::int64_t channels = shape_.channels;
  const std::int64_t wide_channels = channels / kVector * kVector;
  const auto weights_of = [&](std::int64_t tap) {
    return weights + tap / shape_.taps * shape_.tap_row_weights + tap % shape_.taps * shape_.tap_weights;
  };
  const auto shares_of = [&](const Block& block, std::int64_t tap) {
    return shares_.data() + (block.index * taps + tap) * channels;
  };
  for (std::int64_t channel = 0; channel < wide_channels;) {
    const std::int64_t vectors = std::min<std::int64_t>(kMostVectors, (wide_channels - channel) / kVector);
    const Variant& variant = kVariants[vectors];
    for (std::int64_t tap = 0; tap < taps;) {
      const bool is_one = tap + variant.taps > taps;
      const auto add = is_one ? variant.one : variant.several;
      const int together = is_one ? 1 : variant.taps;
      const float* from[kMostVectors];
      for (int i = 0; i < together; ++i) from[i] = weights_of(tap + i) + channel;
      for (const Block& block : changed_) add(block, from, channels, shares_of(block, tap) + channel);
      tap += together;
    }
    channel += vectors * kVector;
  }
  if (wide_channels == channels) return;
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const float* from = weights_of(tap);
    for (const Block& block : changed_) {
      float* shares = shares_of(block, tap);
      std::fill(shares + wide_channels, shares + channels, 0.0f);
      for (const Entry* entry = block.begin; entry != block.end; ++entry) {
        for (std::int64_t j = wide_channels; j < channels; ++j) shares[j] += entry->value * from[entry->weight + j];
      }
    }
  }
}

void BlockSums::MultiplyByRows(const float* weights) {
  const std::int64_t channels = shape_.channels;
  const std::int64_t wide_channels = channels / kCacheLine * kCacheLine;
  for (const Block& block : changed_) {
    float* shares = shares_.data() + block.index * channels;
    std::fill_n(shares, channels, 0.0f);
    const Entry* entry = block.begin;
    for (; entry + kRowsAtOnce <= block.end; entry += kRowsAtOnce) {
      float values[kRowsAtOnce];
      const float* rows[kRowsAtOnce];
      const float* next_rows[kRowsAtOnce];
      for (int i = 0; i < kRowsAtOnce; ++i) {
        values[i] = entry[i].value;
        rows[i] = weights + entry[i].weight;
        next_rows[i] = weights + std::min(entry + kRowsAtOnce + i, changed_.back().end - 1)->weight;
      }
      for (std::int64_t j = 0; j < wide_channels; j += kCacheLine) {
        Vector low = LoadVector(shares + j), high = LoadVector(shares + j + kVector);
#pragma GCC unroll 8
        for (int i = 0; i < kRowsAtOnce; ++i) {
          low += values[i] * LoadVector(rows[i] + j);
          high += values[i] * LoadVector(rows[i] + j + kVector);
          __builtin_prefetch(next_rows[i] + j);  // rows are too short for the processor to see a stream in them
        }
        StoreVector(shares + j, low);
        StoreVector(shares + j + kVector, high);
      }
      for (std::int64_t j = wide_channels; j < channels; ++j) {
        for (int i = 0; i < kRowsAtOnce; ++i) shares[j] += values[i] * rows[i][j];
      }
    }
    for (; entry != block.end; ++entry) {
      const float* row = weights + entry->weight;
      for (std::int64_t j = 0; j < channels; ++j) shares[j] += entry->value * row[j];
    }
  }
}

bool BlockSums::HasChanged(std::int64_t y, std::int64_t x) const {
  bool has_changed = false;
  for (std::int64_t row = y; row < y + shape_.taps; ++row) {
    const std::uint8_t* blocks = has_changed_.data() + row * shape_.columns + x;
    for (std::int64_t column = 0; column < shape_.taps; ++column) has_changed = has_changed || blocks[column] != 0;
  }
  return has_changed;
}

void BlockSums::Sum(std::int64_t y, std::int64_t x, const float* bias, bool relu, float* out) const {
  constexpr int kVectors = 4;
  const std::int64_t channels = shape_.channels;
  const std::int64_t taps = shape_.taps * shape_.taps;
  const auto shares_of = [&](std::int64_t row, std::int64_t column) {
    return shares_.data() + (((y + row) * shape_.columns + x + column) * taps + row * shape_.taps + column) * channels;
  };
  std::int64_t channel = 0;
  for (; channel + kVectors * kVector <= channels; channel += kVectors * kVector) {
    Vector sums[kVectors] = {};
    for (int j = 0; j < kVectors && bias != nullptr; ++j) sums[j] = LoadVector(bias + channel + j * kVector);
    for (std::int64_t row = 0; row < shape_.taps; ++row) {
      for (std::int64_t column = 0; column < shape_.taps; ++column) {
        const float* shares = shares_of(row, column) + channel;
        for (int j = 0; j < kVectors; ++j) sums[j] += LoadVector(shares + j * kVector);
      }
    }
    for (int j = 0; j < kVectors; ++j) StoreVector(out + channel + j * kVector, relu ? Relu(sums[j]) : sums[j]);
  }
  for (; channel < channels; ++channel) {
    float sum = bias == nullptr ? 0.0f : bias[channel];
    for (std::int64_t row = 0; row < shape_.taps; ++row) {
      for (std::int64_t column = 0; column < shape_.taps; ++column) sum += shares_of(row, column)[channel];
    }
    out[channel] = relu ? std::max(sum, 0.0f) : sum;
  }
}

void BlockSums::SumAll(const float* bias, bool relu, float* out) const {
  if (bias != nullptr) {
    std::copy_n(bias, shape_.channels, out);
  } else {
    std::fill_n(out, shape_.channels, 0.0f);
  }
  const float* shares = shares_.data();
  for (std::int64_t block = 0; block < shape_.rows * shape_.columns; ++block, shares += shape_.channels) {
    for (std::int64_t j = 0; j < shape_.channels; ++j) out[j] += shares[j];
  }
  for (std::int64_t j = 0; j < shape_.channels && relu; ++j) out[j] = std::max(out[j], 0.0f);
}

}  // namespace neurozoo
