#include "core/learner/chain.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace neurozoo {
namespace {

constexpr std::int64_t kMostRows = 12;      // of any products
constexpr std::int64_t kRowsOfPart = 64;    // inputs of a dense layer whose gradients a thread computes at a time
constexpr std::int64_t kPanelsOfPart = 2;   // panels of a dense layer that a thread multiplies at a time
constexpr std::int64_t kShards = 16;        // of samples, at most, whose gradients of convolutions are added up
constexpr std::int64_t kSumsOfPart = 2048;  // which a thread adds up at a time
constexpr double kNormEpsilon = 1e-5;       // of layer normalisation

std::int64_t RoundedUp(std::int64_t count) { return (count + kPanel - 1) / kPanel * kPanel; }

ChainLayer Placed(const LayerShape& shape, bool is_first, std::int64_t offset) {
  ChainLayer layer{shape, 0, 0, 0, 0, 0, 0, 0, 0, 0, {}};
  layer.channels = is_first ? shape.in_channels : RoundedUp(shape.in_channels);
  layer.height = shape.in_height;
  layer.width = shape.in_width;
  if (!shape.is_dense) {  // with padding, its patches reach beyond the observation
    layer.height = std::max(layer.height + shape.pad_top, (shape.out_height - 1) * shape.stride + shape.kernel);
    layer.width = std::max(layer.width + shape.pad_left, (shape.out_width - 1) * shape.stride + shape.kernel);
  }
  layer.inputs = (shape.is_dense ? layer.height * layer.width : shape.kernel * shape.kernel) * layer.channels;
  layer.panels = RoundedUp(shape.out_channels) / kPanel;
  layer.weights = offset;
  layer.biases = offset + layer.inputs * layer.columns();
  layer.gains = layer.biases + layer.columns();
  layer.offsets = layer.gains + (shape.is_normalised ? layer.out_size() : 0);
  for (std::int64_t position = 0; position < layer.positions(); ++position) {
    const std::int64_t y = position / layer.out_width, x = position % layer.out_width;
    layer.patch_starts.push_back((y * layer.stride * layer.width + x * layer.stride) * layer.channels);
  }
  return layer;
}

// A sum, or one of products, in 16 lanes, whatever the compiler makes of them.
class LaneSums {
 public:
  void Add(const float* left, const float* right, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += kPanel) {
      for (std::int64_t j = 0; j < kPanel; ++j) {
        lanes_[j] += static_cast<double>(left[i + j]) * (right == nullptr ? 1.0 : static_cast<double>(right[i + j]));
      }
    }
  }
  double total() const { return std::accumulate(lanes_, lanes_ + kPanel, 0.0); }

 private:
  double lanes_[kPanel] = {};
};

// Adds rows, which lie `stride` apart, or their products with others, to sums.
void AddRows(const float* rows, const float* factors, std::int64_t num_rows, std::int64_t stride, std::int64_t count,
             float* sums) {
  for (std::int64_t row = 0; row < num_rows; ++row, rows += stride) {
    for (std::int64_t i = 0; i < count; ++i) sums[i] += factors == nullptr ? rows[i] : rows[i] * factors[i];
    if (factors != nullptr) factors += stride;
  }
}

using Eight = std::uint8_t __attribute__((vector_size(8), aligned(1), may_alias));

Vector Seen(const Eight& bytes, float factor) {
  using Words = std::int32_t __attribute__((vector_size(32)));
  return __builtin_convertvector(__builtin_convertvector(bytes, Words), Vector) * factor;
}

// Interleaves planes of bytes to an image of floats.
void Interleave(const std::uint8_t* planes, std::int64_t plane_stride, std::int64_t channels, std::int64_t count,
                float factor, float* to) {
  using Bytes = std::uint8_t __attribute__((vector_size(16), aligned(1), may_alias));
  std::int64_t i = 0;
  if (channels == 4) {
    const auto load = [&](std::int64_t plane) {
      return *reinterpret_cast<const Bytes*>(planes + plane * plane_stride + i);
    };
    const Bytes low = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23};
    const Bytes high = low + 8;
    using Pairs = std::uint16_t __attribute__((vector_size(16), may_alias));
    const Pairs low_pairs = {0, 8, 1, 9, 2, 10, 3, 11}, high_pairs = low_pairs + 4;
    for (; i + 16 <= count; i += 16) {
      const Bytes a = load(0), b = load(1), c = load(2), d = load(3);
      const Pairs ab[2] = {Pairs(__builtin_shuffle(a, b, low)), Pairs(__builtin_shuffle(a, b, high))};
      const Pairs cd[2] = {Pairs(__builtin_shuffle(c, d, low)), Pairs(__builtin_shuffle(c, d, high))};
      for (int half = 0; half < 2; ++half) {
        const Pairs quads[2] = {__builtin_shuffle(ab[half], cd[half], low_pairs),
                                __builtin_shuffle(ab[half], cd[half], high_pairs)};
        const auto* bytes = reinterpret_cast<const Eight*>(quads);
        for (int part = 0; part < 4; ++part) {
          StoreVector(to + i * 4 + half * 32 + part * 8) = Seen(bytes[part], factor);
        }
      }
    }
  }
  for (; i < count; ++i) {
    for (std::int64_t c = 0; c < channels; ++c) {
      to[i * channels + c] = static_cast<float>(planes[c * plane_stride + i]) * factor;
    }
  }
}

}  // namespace

void ForAll(WorkerThreads* threads, std::int64_t count, const std::function<void(std::int64_t)>& function) {
  if (threads != nullptr && count > 1) {
    threads->Run(static_cast<int>(count), [&](int i) { function(i); });
  } else {
    for (std::int64_t i = 0; i < count; ++i) function(i);
  }
}

Samples::Samples(const Chain& chain, std::int64_t most, bool has_deltas) {
  for (const ChainLayer& layer : chain.layers()) {
    const std::int64_t kept = has_deltas ? most : 0, normalised = layer.is_normalised ? kept : 0;
    images.emplace_back(most * layer.image_size());
    deltas.emplace_back(kept * layer.out_size());
    this->normalised.emplace_back(normalised * layer.out_size());
    inverse_deviations.emplace_back(normalised);
  }
  outputs.resize(most * chain.layers().back().columns());
}

Chain::Chain(const std::vector<LayerShape>& layers, float white, const Products& products)
    : products_(products), factor_(1 / white) {
  if (layers.empty() || !layers.back().is_dense) throw std::invalid_argument("A chain should end with a dense layer.");
  for (const LayerShape& shape : layers) {
    if (!layers_.empty()) {
      const ChainLayer& before = layers_.back();
      num_given_ = shape.in_channels - before.out_channels;
      const bool may_have_given = layers_.size() + 1 == layers.size() && before.out_channels % kPanel == 0;
      if (shape.in_height != before.out_height || shape.in_width != before.out_width || num_given_ < 0 ||
          (num_given_ > 0 && !(may_have_given && before.is_dense)) || (before.is_dense && !shape.is_dense)) {
        throw std::invalid_argument("A layer of the chain does not fit the one before it.");
      }
    }
    layers_.push_back(Placed(shape, layers_.empty(), layers_.empty() ? 0 : layers_.back().end()));
    num_convolutions_ += !shape.is_dense;
  }
}

std::int64_t Chain::Size(std::int64_t number, Part part) const {
  const ChainLayer& layer = layers_.at(number);
  const std::int64_t inputs = layer.inputs / layer.channels * layer.in_channels;
  if (part == Part::kBiases) return layer.out_channels;
  return (part == Part::kWeights ? inputs : layer.positions()) * layer.out_channels;
}

void Chain::Copy(std::int64_t number, Part part, bool is_import, float* values, float* parameters) const {
  const ChainLayer& layer = layers_.at(number);
  const auto copy = [&](float* value, float* own) {
    if (is_import) {
      *own = *value;
    } else {
      *value = *own;
    }
  };
  if (part == Part::kWeights) {
    for (std::int64_t out = 0; out < layer.out_channels; ++out) {
      float* panel = parameters + layer.weights + out / kPanel * layer.inputs * kPanel + out % kPanel;
      for (std::int64_t pixel = 0; pixel < layer.inputs / layer.channels; ++pixel) {
        for (std::int64_t c = 0; c < layer.in_channels; ++c) {
          copy(values + (pixel * layer.in_channels + c) * layer.out_channels + out,
               panel + (pixel * layer.channels + c) * kPanel);
        }
      }
    }
    return;
  }
  const std::int64_t starts[] = {layer.weights, layer.biases, layer.gains, layer.offsets};
  float* own = parameters + starts[static_cast<std::int64_t>(part)];
  for (std::int64_t position = 0; position < (part == Part::kBiases ? 1 : layer.positions()); ++position) {
    for (std::int64_t c = 0; c < layer.out_channels; ++c) {
      copy(values + position * layer.out_channels + c, own + position * layer.columns() + c);
    }
  }
}

void Chain::SetState(const Pass& pass, std::int64_t sample) const {
  const ChainLayer& layer = layers_.front();
  const States& states = pass.states;
  const std::int64_t top = layer.is_dense ? 0 : layer.pad_top, left = layer.is_dense ? 0 : layer.pad_left;
  const std::uint8_t* bytes = states.bytes + sample * states.stride;
  float* image = pass.samples->images.front().data() + sample * layer.image_size();
  const std::int64_t rows = layer.width == layer.in_width ? 1 : layer.in_height;
  const std::int64_t length = layer.in_height * layer.in_width / rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    float* to = image + ((row + top) * layer.width + left) * layer.channels;
    if (states.has_planes) {
      Interleave(bytes + row * length, layer.in_height * layer.in_width, layer.channels, length, factor_, to);
    } else {
      Interleave(bytes + row * length * layer.channels, 0, 1, length * layer.channels, factor_, to);
    }
  }
  if (num_given_ > 0) {
    const ChainLayer& last = layers_.back();
    std::copy_n(states.given + sample * num_given_, num_given_,
                pass.samples->images.back().data() + sample * last.inputs + last.in_channels - num_given_);
  }
}

// Returns where a layer writes a row of its output: to the next image, or to the outputs.
float* Chain::Output(std::int64_t number, const Pass& pass, std::int64_t sample, std::int64_t y) const {
  if (number + 1 == static_cast<std::int64_t>(layers_.size())) {
    return pass.samples->outputs.data() + sample * layers_[number].columns();
  }
  const ChainLayer& next = layers_[number + 1];
  const std::int64_t top = next.is_dense ? 0 : next.pad_top, left = next.is_dense ? 0 : next.pad_left;
  return pass.samples->images[number + 1].data() + sample * next.image_size() +
         ((y + top) * next.width + left) * next.channels;
}

// Returns the rows of the next tile, so that all tiles have about the same.
std::int64_t Chain::TileRows(std::int64_t left) const {
  const std::int64_t tiles = (left + products_.most_rows - 1) / products_.most_rows;
  return (left + tiles - 1) / tiles;
}

// ---- forward

void Chain::ForwardConvolutions(const Pass& pass, std::int64_t sample) const {
  for (std::int64_t number = 0; number < num_convolutions_; ++number) {
    const ChainLayer& layer = layers_[number];
    const float* image = pass.samples->images[number].data() + sample * layer.image_size();
    const float* patches[kMostRows];
    float* targets[kMostRows];
    std::int64_t x = 0, y = 0;
    for (std::int64_t first = 0, rows = 0; first < layer.positions(); first += rows) {
      rows = TileRows(layer.positions() - first);
      for (std::int64_t i = 0; i < rows; ++i) {
        patches[i] = image + layer.patch_starts[first + i];
        targets[i] = Output(number, pass, sample, y) + x * layer.columns();
        if (++x == layer.out_width) x = 0, ++y;
      }
      products_.rows(patches, rows, layer.patch(), layer.WeightPanels(pass.parameters, 0, layer.panels),
                     layer.has_bias ? pass.parameters + layer.biases : nullptr, layer.then(), targets);
    }
    if (layer.is_normalised) Normalise(number, pass, sample);
  }
}

void Chain::MultiplyDense(std::int64_t number, const Pass& pass, std::int64_t first_panel, std::int64_t panels) const {
  const ChainLayer& layer = layers_[number];
  const float* inputs[kMostRows];
  float* targets[kMostRows];
  for (std::int64_t first = 0, rows = 0; first < pass.samples->count; first += rows) {
    rows = TileRows(pass.samples->count - first);
    for (std::int64_t i = 0; i < rows; ++i) {
      inputs[i] = pass.samples->images[number].data() + (first + i) * layer.inputs;
      targets[i] = Output(number, pass, first + i, 0) + first_panel * kPanel;
    }
    products_.rows(inputs, rows, layer.patch(), layer.WeightPanels(pass.parameters, first_panel, panels),
                   layer.has_bias ? pass.parameters + layer.biases + first_panel * kPanel : nullptr, layer.then(),
                   targets);
  }
}

// Scales all outputs of a sample together, in place.
void Chain::Normalise(std::int64_t number, const Pass& pass, std::int64_t sample) const {
  const ChainLayer& layer = layers_[number];
  const std::int64_t length = layer.out_width * layer.columns();
  LaneSums sums, squares;  // what stands in the padding is 0
  for (std::int64_t y = 0; y < layer.out_height; ++y) {
    const float* row = Output(number, pass, sample, y);
    sums.Add(row, nullptr, length);
    squares.Add(row, row, length);
  }
  const double count = layer.positions() * layer.out_channels;
  const double mean = sums.total() / count, variance = std::max(0.0, squares.total() / count - mean * mean);
  const float shift = mean, inverse = 1 / std::sqrt(variance + kNormEpsilon);
  const bool is_kept = !pass.samples->normalised[number].empty();
  if (is_kept) pass.samples->inverse_deviations[number][sample] = inverse;
  for (std::int64_t y = 0; y < layer.out_height; ++y) {
    float* row = Output(number, pass, sample, y);
    const float* gains = pass.parameters + layer.gains + y * length;
    const float* offsets = pass.parameters + layer.offsets + y * length;
    float* kept = pass.samples->normalised[number].data() + (is_kept ? sample * layer.out_size() + y * length : 0);
    for (std::int64_t i = 0; i < length; ++i) {
      const float value = (row[i] - shift) * inverse, after = value * gains[i] + offsets[i];
      if (is_kept) kept[i] = value;
      row[i] = layer.is_relu && !(after > 0.0f) ? 0.0f : after;
    }
  }
}

void Chain::Forward(const std::vector<Pass>& passes, WorkerThreads* threads) const {
  std::int64_t most = 0;
  for (const Pass& pass : passes) most = std::max(most, pass.samples->count = pass.states.count);
  const std::int64_t num_passes = passes.size();
  const auto for_samples = [&](const auto& function) {
    ForAll(threads, num_passes * most, [&](std::int64_t i) {
      const Pass& pass = passes[i % num_passes];
      if (i / num_passes < pass.samples->count) function(pass, i / num_passes);
    });
  };
  for_samples([&](const Pass& pass, std::int64_t sample) {
    SetState(pass, sample);
    ForwardConvolutions(pass, sample);
  });
  for (std::int64_t number = num_convolutions_; number < static_cast<std::int64_t>(layers_.size()); ++number) {
    const std::int64_t panels = layers_[number].panels;
    const std::int64_t parts = (panels + kPanelsOfPart - 1) / kPanelsOfPart;
    ForAll(threads, num_passes * parts, [&](std::int64_t i) {
      const std::int64_t first = i / num_passes * kPanelsOfPart;
      MultiplyDense(number, passes[i % num_passes], first, std::min(kPanelsOfPart, panels - first));
    });
    if (layers_[number].is_normalised) {
      for_samples([&](const Pass& pass, std::int64_t sample) { Normalise(number, pass, sample); });
    }
  }
}

void Chain::CopyOutputs(const Samples& samples, float* outputs) const {
  const ChainLayer& last = layers_.back();
  for (std::int64_t i = 0; i < samples.count; ++i) {
    std::copy_n(samples.outputs.data() + i * last.columns(), last.out_channels, outputs + i * last.out_channels);
  }
}

// ---- backward

Floats Chain::Transposed(std::int64_t number, const float* parameters) const {
  const ChainLayer& layer = layers_[number];
  Floats transposed(layer.inputs * layer.columns());
  for (std::int64_t out = 0; out < layer.columns(); ++out) {
    const float* panel = parameters + layer.weights + out / kPanel * layer.inputs * kPanel + out % kPanel;
    for (std::int64_t first = 0; first < layer.inputs; first += kPanel) {
      float* to = transposed.data() + first * layer.columns() + out * kPanel;
      for (std::int64_t j = 0; j < kPanel; ++j) to[j] = panel[(first + j) * kPanel];
    }
  }
  return transposed;
}

void Chain::BackwardDense(std::int64_t number, const Pass& pass, const float* transposed_deltas, std::int64_t first,
                          std::int64_t count, float* gradient) const {
  const ChainLayer& layer = layers_[number];
  const std::int64_t samples = pass.samples->count;
  const float* image = pass.samples->images[number].data();
  const float* deltas = pass.samples->deltas[number].data();
  if (number > 0) {
    const ChainLayer& before = layers_[number - 1];
    float* below = pass.samples->deltas[number - 1].data();
    const std::int64_t padded = RoundedUp(samples);
    Floats products(kMostRows * padded);
    const Rows shape{layer.panels, kPanel, layer.inputs * kPanel};
    const Panels panels{transposed_deltas, layer.columns() * kPanel, padded / kPanel};
    const float* weights[kMostRows];
    float* targets[kMostRows];
    const std::int64_t end = std::min(first + count, before.out_size());  // then come given inputs
    for (std::int64_t row = first, rows = 0; row < end; row += rows) {
      rows = TileRows(end - row);
      for (std::int64_t i = 0; i < rows; ++i) {
        weights[i] = pass.parameters + layer.weights + (row + i) * kPanel;
        targets[i] = products.data() + i * padded;
      }
      products_.rows(weights, rows, shape, panels, nullptr, Then::kStore, targets);
      for (std::int64_t sample = 0; sample < samples; ++sample) {
        const float* seen = image + sample * layer.inputs + row;
        float* to = below + sample * before.out_size() + row;
        for (std::int64_t i = 0; i < rows; ++i) {
          to[i] = before.is_relu && !(seen[i] > 0.0f) ? 0.0f : products[i * padded + sample];
        }
      }
    }
  }
  for (std::int64_t panel = 0; panel < layer.panels; ++panel) {
    std::fill_n(gradient + layer.weights + (panel * layer.inputs + first) * kPanel, count * kPanel, 0.0f);
  }
  products_.columns({image + first, 1, 0, samples, layer.inputs}, count, deltas, layer.columns(), layer.panels,
                    gradient + layer.weights + first * kPanel, layer.inputs * kPanel);
}

// Turns the gradient after the normalisation of a sample into that before it.
void Chain::BackwardNormalise(std::int64_t number, const Pass& pass, std::int64_t sample) const {
  const ChainLayer& layer = layers_[number];
  const std::int64_t size = layer.out_size();
  const float* gains = pass.parameters + layer.gains;
  const float* normalised = pass.samples->normalised[number].data() + sample * size;
  float* deltas = pass.samples->deltas[number].data() + sample * size;
  for (std::int64_t i = 0; i < size; ++i) deltas[i] *= gains[i];
  LaneSums sums, products;
  sums.Add(deltas, nullptr, size);
  products.Add(deltas, normalised, size);
  const double count = layer.positions() * layer.out_channels;
  const float mean = sums.total() / count, slope = products.total() / count;
  const float inverse = pass.samples->inverse_deviations[number][sample];
  for (std::int64_t i = 0; i < size; ++i) {
    deltas[i] = i % layer.columns() < layer.out_channels ? inverse * (deltas[i] - mean - normalised[i] * slope) : 0.0f;
  }
}

// Adds the gradients of all convolutions of a sample, while it is in the cache.
void Chain::BackwardConvolutions(const Pass& pass, const std::vector<Floats>& transposed, std::int64_t sample,
                                 float* gradient) const {
  for (std::int64_t number = num_convolutions_ - 1; number >= 0; --number) {
    const ChainLayer& layer = layers_[number];
    const std::int64_t size = layer.out_size();
    const float* deltas = pass.samples->deltas[number].data() + sample * size;
    if (layer.is_normalised) {
      AddRows(deltas, pass.samples->normalised[number].data() + sample * size, 1, size, size, gradient + layer.gains);
      AddRows(deltas, nullptr, 1, size, size, gradient + layer.offsets);
      BackwardNormalise(number, pass, sample);
    }
    if (layer.has_bias) {
      AddRows(deltas, nullptr, layer.positions(), layer.columns(), layer.columns(), gradient + layer.biases);
    }
    AddPatches(number, pass, sample, gradient);
    if (number > 0) BackwardImage(number, pass, transposed[number], sample);
  }
}

void Chain::AddPatches(std::int64_t number, const Pass& pass, std::int64_t sample, float* gradient) const {
  const ChainLayer& layer = layers_[number];
  const std::int64_t length = layer.kernel * layer.channels, row = layer.width * layer.channels;
  const float* image = pass.samples->images[number].data() + sample * layer.image_size();
  const float* deltas = pass.samples->deltas[number].data() + sample * layer.out_size();
  for (std::int64_t run = 0; run < layer.kernel; ++run) {
    products_.columns(
        {image + run * row, layer.out_height, layer.stride * row, layer.out_width, layer.stride * layer.channels},
        length, deltas, layer.columns(), layer.panels, gradient + layer.weights + run * length * kPanel,
        layer.inputs * kPanel);
  }
}

// Computes the deltas of the layer before a convolution, pixel of the patches by pixel, so that each order is fixed.
void Chain::BackwardImage(std::int64_t number, const Pass& pass, const Floats& transposed, std::int64_t sample) const {
  const ChainLayer& layer = layers_[number];
  const ChainLayer& before = layers_[number - 1];
  thread_local Floats below;
  below.assign(layer.image_size(), 0.0f);
  const float* delta = pass.samples->deltas[number].data() + sample * layer.out_size();
  const float* deltas[kMostRows];
  float* targets[kMostRows];
  for (std::int64_t pixel = 0; pixel < layer.kernel * layer.kernel; ++pixel) {
    const std::int64_t shift = (pixel / layer.kernel * layer.width + pixel % layer.kernel) * layer.channels;
    const Panels panels{transposed.data() + pixel * layer.channels * layer.columns(), layer.columns() * kPanel,
                        layer.channels / kPanel};
    for (std::int64_t first = 0, rows = 0; first < layer.positions(); first += rows) {
      rows = TileRows(layer.positions() - first);
      for (std::int64_t i = 0; i < rows; ++i) {
        deltas[i] = delta + (first + i) * layer.columns();
        targets[i] = below.data() + shift + layer.patch_starts[first + i];
      }
      products_.rows(deltas, rows, {1, layer.columns(), 0}, panels, nullptr, Then::kAdd, targets);
    }
  }
  const float* image = pass.samples->images[number].data() + sample * layer.image_size();
  float* to = pass.samples->deltas[number - 1].data() + sample * before.out_size();
  for (std::int64_t y = 0; y < layer.in_height; ++y) {
    const std::int64_t from = ((y + layer.pad_top) * layer.width + layer.pad_left) * layer.channels;
    for (std::int64_t i = 0; i < layer.in_width * layer.channels; ++i, ++to) {
      *to = before.is_relu && !(image[from + i] > 0.0f) ? 0.0f : below[from + i];
    }
  }
}

void Chain::Backward(const Pass& pass, WorkerThreads* threads, float* gradient) const {
  const std::int64_t samples = pass.samples->count, padded = RoundedUp(samples);
  const auto in_parts = [&](std::int64_t count, std::int64_t part, const auto& function) {
    ForAll(threads, (count + part - 1) / part,
           [&](std::int64_t i) { function(i * part, std::min(part, count - i * part)); });
  };
  Floats transposed_deltas;
  for (std::int64_t number = static_cast<std::int64_t>(layers_.size()) - 1; number >= num_convolutions_; --number) {
    const ChainLayer& layer = layers_[number];
    const float* deltas = pass.samples->deltas[number].data();
    std::fill_n(gradient + layer.biases, layer.end() - layer.biases, 0.0f);
    if (layer.is_normalised) {
      const float* normalised = pass.samples->normalised[number].data();
      AddRows(deltas, normalised, samples, layer.columns(), layer.columns(), gradient + layer.gains);
      AddRows(deltas, nullptr, samples, layer.columns(), layer.columns(), gradient + layer.offsets);
      ForAll(threads, samples, [&](std::int64_t sample) { BackwardNormalise(number, pass, sample); });
    }
    if (layer.has_bias) {
      AddRows(deltas, nullptr, samples, layer.columns(), layer.columns(), gradient + layer.biases);
    }
    transposed_deltas.assign(padded * layer.columns(), 0.0f);
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      const float* delta = deltas + sample * layer.columns();
      float* to = transposed_deltas.data() + sample / kPanel * layer.columns() * kPanel + sample % kPanel;
      for (std::int64_t i = 0; i < layer.columns(); ++i) to[i * kPanel] = delta[i];
    }
    in_parts(layer.inputs, kRowsOfPart, [&](std::int64_t first, std::int64_t count) {
      BackwardDense(number, pass, transposed_deltas.data(), first, count, gradient);
    });
  }
  if (num_convolutions_ == 0) return;
  std::vector<Floats> transposed(num_convolutions_);
  ForAll(threads, num_convolutions_ - 1,
         [&](std::int64_t i) { transposed[i + 1] = Transposed(i + 1, pass.parameters); });
  const std::int64_t num_shards = std::min(kShards, samples), size = layers_[num_convolutions_ - 1].end();
  Floats& sums = pass.samples->sums;
  sums.assign(num_shards * size, 0.0f);
  ForAll(threads, num_shards, [&](std::int64_t shard) {
    for (std::int64_t i = shard * samples / num_shards; i < (shard + 1) * samples / num_shards; ++i) {
      BackwardConvolutions(pass, transposed, i, sums.data() + shard * size);
    }
  });
  in_parts(size, kSumsOfPart, [&](std::int64_t first, std::int64_t count) {
    std::fill_n(gradient + first, count, 0.0f);
    AddRows(sums.data() + first, nullptr, num_shards, size, count, gradient + first);
  });
}

}  // namespace neurozoo
