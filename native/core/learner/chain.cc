#include "core/learner/chain.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace neurozoo {
namespace {

constexpr std::int64_t kRowsOfPart = 192;         // inputs of a dense layer whose gradients a thread computes at a time
constexpr std::int64_t kSamplesOfPart = 128;      // whose gradients it adds up together
constexpr std::int64_t kPanelsOfPart = 2;         // panels of a dense layer that a thread multiplies at a time
constexpr std::int64_t kRoundedPanelsOfPart = 8;  // the same in bfloat16, which rounds its left side for each part
constexpr std::int64_t kBlocks = 32;              // of samples, at most, which threads compute side by side
constexpr std::int64_t kMostOfGroup = 4;          // samples that a thread computes together
constexpr std::int64_t kShards = 16;              // of samples, at most, whose gradients of convolutions are added up
constexpr std::int64_t kFewShards = 8;            // at least, if there are as many samples
constexpr std::int64_t kSumsOfPart = 2048;        // which a thread adds up at a time
constexpr double kNormEpsilon = 1e-5;             // of layer normalisation

std::int64_t RoundedUp(std::int64_t count) { return (count + kPanel - 1) / kPanel * kPanel; }

Winograd WinogradOf(const ChainLayer& layer, const Products& products) {
  return {products,    layer.kernel / layer.stride, layer.stride, layer.out_height, layer.out_width, layer.channels,
          layer.panels};
}

bool IsWinograd(const ChainLayer& layer) {
  if (layer.is_dense) return false;
  const std::int64_t taps = layer.kernel / layer.stride;
  return layer.kernel == taps * layer.stride && (taps == 2 || taps == 3) &&
         layer.stride * layer.channels % kPanel == 0 && WinogradOf(layer, Products256()).IsWorthwhile();
}

// Whether its few products are faster in bfloat16, too.
bool IsWinogradRounded(const ChainLayer& layer) {
  const bool keeps_size = layer.kernel == 3 && layer.stride == 1 && layer.pad_top == 1 && layer.pad_left == 1 &&
                          layer.in_height == layer.out_height && layer.in_width == layer.out_width;
  return keeps_size && layer.in_height % 2 == 0 && layer.in_width % 2 == 0 && !layer.has_bias && !layer.is_plain_relu();
}

ChainLayer Placed(const LayerShape& shape, bool is_first, std::int64_t offset) {
  ChainLayer layer{shape, false, false, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {}};
  layer.channels = is_first ? shape.in_channels : RoundedUp(shape.in_channels);
  layer.height = shape.in_height;
  layer.width = shape.in_width;
  layer.panels = RoundedUp(shape.out_channels) / kPanel;
  layer.is_winograd = IsWinograd(layer);
  layer.is_winograd_rounded = !is_first && layer.is_winograd && IsWinogradRounded(layer);
  if (!shape.is_dense) {  // with padding, its patches reach beyond the observation
    layer.height = std::max(layer.height + shape.pad_top, (shape.out_height - 1) * shape.stride + shape.kernel);
    layer.width = std::max(layer.width + shape.pad_left, (shape.out_width - 1) * shape.stride + shape.kernel);
  }
  if (layer.is_winograd) {  // the last tiles may reach beyond it
    const Winograd winograd = WinogradOf(layer, Products256());
    layer.height = std::max(layer.height, winograd.image_height());
    layer.width = std::max(layer.width, winograd.image_width());
  }
  layer.inputs = (shape.is_dense ? layer.height * layer.width : shape.kernel * shape.kernel) * layer.channels;
  layer.weights = offset;
  layer.biases = offset + layer.inputs * layer.columns();
  layer.gains = layer.biases + layer.columns();
  const std::int64_t channels = shape.momentum > 0 ? layer.columns() : 0;
  const std::int64_t normalised = shape.is_normalised ? layer.out_size() : channels;
  layer.offsets = layer.gains + normalised;
  layer.means = layer.offsets + normalised;
  layer.variances = layer.means + channels;
  layer.end = layer.variances + channels;
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

// Interleaves planes of bytes to an image of floats. Compilers make vectors of it where they know the number of
// channels.
void Interleave(const std::uint8_t* planes, std::int64_t plane_stride, std::int64_t num_channels, std::int64_t count,
                float factor, float* __restrict__ to) {
  const auto fill = [=](std::int64_t channels) {
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t c = 0; c < channels; ++c) {
        to[i * channels + c] = static_cast<float>(planes[c * plane_stride + i]) * factor;
      }
    }
  };
  if (num_channels == 4) {
    fill(4);
  } else if (num_channels == 1) {
    fill(1);
  } else {
    fill(num_channels);
  }
}

// Returns how many samples a thread computes together: they share weights that are in its cache, but no thread should
// wait.
std::int64_t GroupOf(std::int64_t samples, const WorkerThreads* threads) {
  const std::int64_t groups = threads == nullptr ? 1 : 4 * (threads->size() + 1);
  std::int64_t group = kMostOfGroup;
  while (group > 1 && samples < groups * group) group /= 2;
  return group;
}

// Returns the rows of the next tile, so that all tiles have about the same.
std::int64_t TileRows(const Products& products, std::int64_t left) {
  const std::int64_t tiles = (left + products.most_rows - 1) / products.most_rows;
  return (left + tiles - 1) / tiles;
}

// Rounds panels that many products share, if products round.
void RoundPanels(const Products& products, const Panels& panels, std::int64_t inputs, Halves* rounded) {
  if (products.round == nullptr) return;
  rounded->resize(panels.count * RoundedSize(inputs));
  products.round(panels, inputs, rounded->data());
}

}  // namespace

void ForAll(WorkerThreads* threads, std::int64_t count, const std::function<void(std::int64_t)>& function) {
  if (threads != nullptr && count > 1) {
    threads->Join(static_cast<int>(count), [&](int i) { function(i); });
  } else {
    for (std::int64_t i = 0; i < count; ++i) function(i);
  }
}

Samples::Samples(const Chain& chain, std::int64_t most, bool has_deltas) {
  for (const ChainLayer& layer : chain.layers()) {
    places.push_back(has_deltas || chain.IsKept(images.size()) ? most : std::min(most, kBlocks));
    const std::int64_t kept = has_deltas ? most : 0, normalised = layer.is_normalised ? kept : 0;
    const std::int64_t in_batch = layer.momentum > 0 ? kept : 0;
    images.emplace_back(places.back() * layer.image_size());
    rounded.emplace_back();
    points.emplace_back(layer.is_winograd ? WinogradOf(layer, Products256()).num_weights() : 0);
    deltas.emplace_back(kept * layer.out_size());
    this->normalised.emplace_back((normalised + in_batch) * layer.out_size());
    inverse_deviations.emplace_back(normalised);
    statistics.emplace_back(in_batch > 0 ? 4 * layer.columns() : 0);
    channel_sums.resize(std::max(channel_sums.size(), static_cast<std::size_t>(in_batch * 2 * layer.columns())));
  }
  outputs.resize(most * chain.layers().back().columns());
}

Chain::Chain(const std::vector<LayerShape>& layers, float white, const Products& products)
    : products_(products), factor_(1 / white) {
  if (layers.empty() || !layers.back().is_dense) throw std::invalid_argument("A chain should end with a dense layer.");
  for (const LayerShape& shape : layers) {
    if (!layers_.empty()) {
      const ChainLayer& before = layers_.back();
      num_given_ = shape.in_channels - before.out_channels - shape.tiles;
      if (shape.tiles > 0) tiled_ = layers_.size();
      const bool may_have_given = layers_.size() + 1 == layers.size() && before.out_channels % kPanel == 0;
      if (shape.in_height != before.out_height || shape.in_width != before.out_width || num_given_ < 0 ||
          (num_given_ > 0 && !(may_have_given && before.is_dense)) || (before.is_dense && !shape.is_dense)) {
        throw std::invalid_argument("A layer of the chain does not fit the one before it.");
      }
      if (shape.adds && (layers_.size() < 2 || shape.momentum == 0 || before.in_channels != shape.out_channels ||
                         before.in_height != shape.out_height || before.in_width != shape.out_width)) {
        throw std::invalid_argument("A residual block of the chain does not fit what it adds to.");
      }
    }
    if (shape.is_dense && (shape.leak > 0 || shape.momentum > 0 || shape.tiles > 0)) {
      throw std::invalid_argument("Only convolutions of a chain have leaks, batch normalisation or tiles.");
    }
    layers_.push_back(Placed(shape, layers_.empty(), layers_.empty() ? 0 : layers_.back().end));
    num_convolutions_ += !shape.is_dense;
  }
}

std::int64_t Chain::num_results() const {
  return num_outputs() + (tiled_ > 0 ? layers_[tiled_ - 1].positions() * layers_[tiled_ - 1].out_channels : 0);
}

std::int64_t Chain::state_size() const {
  const ChainLayer& first = layers_.front();
  return first.in_height * first.in_width * (first.tiles > 0 ? 1 : first.in_channels);
}

std::int64_t Chain::Size(std::int64_t number, Part part) const {
  const ChainLayer& layer = layers_.at(number);
  const std::int64_t inputs = layer.inputs / layer.channels * layer.in_channels;
  if (part == Part::kWeights) return inputs * layer.out_channels;
  return (part == Part::kBiases || layer.momentum > 0 ? 1 : layer.positions()) * layer.out_channels;
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
  const std::int64_t starts[] = {layer.weights, layer.biases, layer.gains, layer.offsets, layer.means, layer.variances};
  float* own = parameters + starts[static_cast<std::int64_t>(part)];
  for (std::int64_t position = 0; position < Size(number, part) / layer.out_channels; ++position) {
    for (std::int64_t c = 0; c < layer.out_channels; ++c) {
      copy(values + position * layer.out_channels + c, own + position * layer.columns() + c);
    }
  }
}

// Sets the inputs that say which tile is where.
void Chain::SetTiles(std::int64_t number, const Pass& pass, std::int64_t sample) const {
  const ChainLayer& layer = layers_[number];
  const std::uint8_t* tile = pass.states.bytes + sample * pass.states.stride;
  const std::int64_t first = layer.in_channels - layer.tiles;
  for (std::int64_t y = 0; y < layer.in_height; ++y) {
    float* pixel = Seen(number, *pass.samples, sample, y);
    for (std::int64_t x = 0; x < layer.in_width; ++x, ++tile, pixel += layer.channels) {
      std::fill(pixel + first, pixel + layer.channels, 0.0f);
      if (*tile < layer.tiles) pixel[first + *tile] = 1.0f;
    }
  }
}

void Chain::SetState(const Pass& pass, std::int64_t sample) const {
  const ChainLayer& layer = layers_.front();
  if (layer.tiles > 0) return SetTiles(0, pass, sample);
  const States& states = pass.states;
  const std::int64_t top = layer.is_dense ? 0 : layer.pad_top, left = layer.is_dense ? 0 : layer.pad_left;
  const std::uint8_t* bytes = states.bytes + sample * states.stride;
  float* image = Image(0, *pass.samples, sample);
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

float* Chain::Image(std::int64_t number, const Samples& samples, std::int64_t sample) const {
  const std::int64_t place = sample % samples.places[number] * layers_[number].image_size();
  return const_cast<float*>(samples.images[number].data()) + place;
}

// Returns a row of what a layer sees, without the border.
float* Chain::Seen(std::int64_t number, const Samples& samples, std::int64_t sample, std::int64_t y) const {
  const ChainLayer& layer = layers_[number];
  const std::int64_t top = layer.is_dense ? 0 : layer.pad_top, left = layer.is_dense ? 0 : layer.pad_left;
  return Image(number, samples, sample) + ((y + top) * layer.width + left) * layer.channels;
}

// Returns where a layer writes a row of its output: to the next image, or to the outputs.
float* Chain::Output(std::int64_t number, const Pass& pass, std::int64_t sample, std::int64_t y) const {
  if (number + 1 < static_cast<std::int64_t>(layers_.size())) return Seen(number + 1, *pass.samples, sample, y);
  return pass.samples->outputs.data() + sample * layers_[number].columns();
}

Bfloat16Convolution Chain::Bfloat16Of(std::int64_t number) const {
  const ChainLayer& layer = layers_[number];
  return {layer.out_height, layer.out_width, layer.channels, layer.panels};
}

Pixels Chain::ImagePixels(std::int64_t number, float* image) const {
  const ChainLayer& layer = layers_[number];
  return {image, layer.image_size(), layer.width * layer.channels, layer.channels};
}

Pixels Chain::Deltas(std::int64_t number, const Samples& samples, std::int64_t sample) const {
  const ChainLayer& layer = layers_[number];
  float* first = const_cast<float*>(samples.deltas[number].data()) + sample * layer.out_size();
  return {first, layer.out_size(), layer.out_width * layer.columns(), layer.columns()};
}

// ---- forward

// Returns the layer before which all samples meet: that after the next batch normalisation, or the first dense one.
std::int64_t Chain::EndOfStage(std::int64_t number, bool is_training) const {
  while (number < num_convolutions_ && !(layers_[number].momentum > 0 && is_training)) ++number;
  return std::min(number + 1, num_convolutions_);
}

// Transforms or rounds the weights of a convolution as its way wants them.
void Chain::PrepareWeights(std::int64_t number, const Pass& pass) const {
  const ChainLayer& layer = layers_[number];
  const Products& products = ProductsOf(number, pass);
  if (WayOf(number, pass) == Way::kWinograd) {
    WinogradOf(layer, products).TransformWeights(pass.parameters + layer.weights, pass.samples->points[number].data());
  } else {
    RoundPanels(products, layer.WeightPanels(pass.parameters, 0, layer.panels), layer.inputs,
                &pass.samples->rounded[number]);
  }
}

// Computes a convolution for samples that follow each other.
void Chain::ForwardConvolution(std::int64_t number, const Pass& pass, std::int64_t first, std::int64_t count) const {
  const ChainLayer& layer = layers_[number];
  const std::int64_t stride = layers_[number + 1].channels;
  const Way way = WayOf(number, pass);
  for (std::int64_t sample = first; sample < first + count; ++sample) {
    if (number == tiled_ && number > 0) SetTiles(number, pass, sample);
    if (way == Way::kPatches) MultiplyPatches(number, pass, sample);
    if (way == Way::kDirect) {
      thread_local Halves seen;
      seen.resize(layer.image_size());
      Bfloat16Of(number).Forward(Image(number, *pass.samples, sample), pass.samples->rounded[number].data(),
                                 seen.data(), Output(number, pass, sample, 0), layers_[number + 1].width * stride,
                                 stride);
    }
  }
  if (way == Way::kWinograd) {
    WinogradOf(layer, ProductsOf(number, pass))
        .Forward(ImagePixels(number, Image(number, *pass.samples, first)), count, pass.samples->points[number].data(),
                 layer.has_bias ? pass.parameters + layer.biases : nullptr, layer.then(),
                 ImagePixels(number + 1, Output(number, pass, first, 0)));
  }
  for (std::int64_t sample = first; sample < first + count; ++sample) {
    if (layer.is_normalised) Normalise(number, pass, sample);
    if (layer.leak == 0 || layer.momentum > 0) continue;
    const float slope = layer.slope();
    for (std::int64_t y = 0; y < layer.out_height; ++y) {
      float* row = Output(number, pass, sample, y);
      for (std::int64_t i = 0; i < layer.out_width * stride; ++i) row[i] *= row[i] > 0.0f ? 1.0f : slope;
    }
  }
}

void Chain::MultiplyPatches(std::int64_t number, const Pass& pass, std::int64_t sample) const {
  const ChainLayer& layer = layers_[number];
  const float* image = Image(number, *pass.samples, sample);
  const std::int64_t stride = layers_[number + 1].channels;
  const float* patches[kMostRows];
  float* targets[kMostRows];
  std::int64_t x = 0, y = 0;
  const Products& products = ProductsOf(number, pass);
  const Halves& rounded = pass.samples->rounded[number];
  Panels panels = layer.WeightPanels(pass.parameters, 0, layer.panels);
  panels.rounded = rounded.empty() ? nullptr : rounded.data();
  for (std::int64_t first = 0, rows = 0; first < layer.positions(); first += rows) {
    rows = TileRows(products, layer.positions() - first);
    for (std::int64_t i = 0; i < rows; ++i) {
      patches[i] = image + layer.patch_starts[first + i];
      targets[i] = Output(number, pass, sample, y) + x * stride;
      if (++x == layer.out_width) x = 0, ++y;
    }
    products.rows(patches, rows, layer.patch(), panels, layer.has_bias ? pass.parameters + layer.biases : nullptr,
                  layer.then(), targets);
  }
}

void Chain::MultiplyDense(std::int64_t number, const Pass& pass, std::int64_t first_panel, std::int64_t panels) const {
  const ChainLayer& layer = layers_[number];
  const Products& products = ProductsOf(number, pass);
  const float* inputs[kMostRows];
  float* targets[kMostRows];
  for (std::int64_t first = 0, rows = 0; first < pass.samples->count; first += rows) {
    rows = TileRows(products, pass.samples->count - first);
    for (std::int64_t i = 0; i < rows; ++i) {
      inputs[i] = pass.samples->images[number].data() + (first + i) * layer.inputs;
      targets[i] = Output(number, pass, first + i, 0) + first_panel * kPanel;
    }
    products.rows(inputs, rows, layer.patch(), layer.WeightPanels(pass.parameters, first_panel, panels),
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

// Adds up, over all samples, the outputs of each channel and their squares, and keeps means and variances; or, going
// backward, the gradients by what is normalised and their products with it, and keeps the means of both.
void Chain::AddChannels(std::int64_t number, Samples* samples, WorkerThreads* threads, bool is_backward) const {
  const ChainLayer& layer = layers_[number];
  const std::int64_t columns = layer.columns(), width = layer.out_width, size = layer.out_size();
  const std::int64_t stride = is_backward ? columns : layers_[number + 1].channels;
  ForAll(threads, samples->count, [&](std::int64_t sample) {
    double* sums = samples->channel_sums.data() + sample * 2 * columns;
    std::fill_n(sums, 2 * columns, 0.0);
    for (std::int64_t y = 0; y < layer.out_height; ++y) {
      const float *left = Seen(number + 1, *samples, sample, y), *right = left;
      if (is_backward) {
        left = samples->deltas[number].data() + sample * size + y * width * columns;
        right = samples->normalised[number].data() + sample * size + y * width * columns;
      }
      for (std::int64_t first = 0; first < columns; first += kVector) {
        Vector row[2] = {};
        for (std::int64_t i = first; i < first + width * stride; i += stride) {
          row[0] += LoadVector(left + i);
          row[1] += LoadVector(left + i) * LoadVector(right + i);
        }
        for (std::int64_t j = 0; j < kVector; ++j) {
          sums[first + j] += static_cast<double>(row[0][j]);
          sums[columns + first + j] += static_cast<double>(row[1][j]);
        }
      }
    }
  });
  const double count = static_cast<double>(samples->count * layer.positions());
  float* means = samples->statistics[number].data() + (is_backward ? 2 * columns : 0);
  for (std::int64_t i = 0; i < columns; ++i) {
    double mean = 0, other = 0;
    for (std::int64_t sample = 0; sample < samples->count; ++sample) {
      mean += samples->channel_sums[sample * 2 * columns + i] / count;
      other += samples->channel_sums[(sample * 2 + 1) * columns + i] / count;
    }
    means[i] = static_cast<float>(mean);
    means[columns + i] = static_cast<float>(is_backward ? other : std::max(0.0, other - mean * mean));
  }
}

// Normalises channels by the statistics of the batch, if it is learned from, or by moving averages, in place; then adds
// what a residual block adds, and lets through what a ReLU lets through.
void Chain::NormaliseBatch(std::int64_t number, const Pass& pass, std::int64_t sample) const {
  const ChainLayer& layer = layers_[number];
  const bool is_kept = !pass.samples->normalised[number].empty();
  const std::int64_t columns = layer.columns(), stride = layers_[number + 1].channels;
  const float* means = is_kept ? pass.samples->statistics[number].data() : pass.parameters + layer.means;
  const float *gains = pass.parameters + layer.gains, *offsets = pass.parameters + layer.offsets;
  const float slope = layer.slope();
  Floats inverse(columns), unkept(columns), zeros(columns);
  for (std::int64_t i = 0; i < columns; ++i) inverse[i] = 1 / std::sqrt(means[columns + i] + float{kNormEpsilon});
  float* kept = is_kept ? pass.samples->normalised[number].data() + sample * layer.out_size() : unkept.data();
  for (std::int64_t y = 0; y < layer.out_height; ++y) {
    float* pixel = Output(number, pass, sample, y);
    const float* added = layer.adds ? Seen(number - 1, *pass.samples, sample, y) : zeros.data();
    for (std::int64_t x = 0; x < layer.out_width; ++x, pixel += stride) {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < columns; ++i) {
        kept[i] = (pixel[i] - means[i]) * inverse[i];
        const float after = kept[i] * gains[i] + offsets[i] + added[i];
        pixel[i] = after > 0.0f ? after : after * slope;
      }
      if (is_kept) kept += columns;
      if (layer.adds) added += layers_[number - 1].channels;
    }
  }
}

void Chain::MoveAverages(const Samples& samples, float* parameters) const {
  for (std::int64_t number = 0; number < num_convolutions_; ++number) {
    const ChainLayer& layer = layers_[number];
    const float rest = static_cast<float>(layer.momentum) / 100.0f;
    for (std::int64_t i = 0; i < (layer.momentum > 0 ? 2 * layer.columns() : 0); ++i) {
      float& average = parameters[layer.means + i];
      average = average * rest + samples.statistics[number][i] * (1 - rest);
    }
  }
}

void Chain::Forward(const std::vector<Pass>& passes, WorkerThreads* threads) const {
  const std::int64_t num_passes = passes.size();
  const std::int64_t group = GroupOf(num_passes * std::min(kBlocks, passes.front().states.count), threads);
  const auto for_groups = [&](const auto& function) {
    ForAll(threads, num_passes * kBlocks / group, [&](std::int64_t i) {
      const Pass& pass = passes[i % num_passes];
      for (std::int64_t first = i / num_passes * group; first < pass.samples->count; first += kBlocks) {
        function(pass, first, std::min(group, pass.samples->count - first));
      }
    });
  };
  ForAll(threads, num_convolutions_ * num_passes, [&](std::int64_t i) {
    const Pass& pass = passes[i % num_passes];
    const Samples& samples = *pass.samples;
    if (samples.weights != pass.weights || samples.is_rounded != pass.is_rounded) PrepareWeights(i / num_passes, pass);
  });
  for (const Pass& pass : passes) {
    pass.samples->count = pass.states.count;
    pass.samples->weights = pass.weights;
    pass.samples->is_rounded = pass.is_rounded;
  }
  const bool is_training = !passes.front().samples->deltas.back().empty();
  for (std::int64_t begin = 0, is_left = 1; is_left;) {
    const std::int64_t end = EndOfStage(begin, is_training);
    for_groups([&](const Pass& pass, std::int64_t first, std::int64_t count) {
      for (std::int64_t sample = first; sample < first + count; ++sample) {
        if (begin == 0) SetState(pass, sample);
        if (begin > 0) NormaliseBatch(begin - 1, pass, sample);
      }
      for (std::int64_t number = begin; number < end; ++number) {
        ForwardConvolution(number, pass, first, count);
        if (layers_[number].momentum == 0 || is_training) continue;
        for (std::int64_t sample = first; sample < first + count; ++sample) NormaliseBatch(number, pass, sample);
      }
    });
    is_left = is_training && begin < end && layers_[end - 1].momentum > 0;
    if (is_left) AddChannels(end - 1, passes.front().samples, threads, false);
    begin = end;
  }
  for (std::int64_t number = num_convolutions_; number < static_cast<std::int64_t>(layers_.size()); ++number) {
    const std::int64_t panels = layers_[number].panels;
    const bool is_rounded = ProductsOf(number, passes.front()).round != nullptr;
    const std::int64_t of_part = is_rounded ? kRoundedPanelsOfPart : kPanelsOfPart;
    ForAll(threads, num_passes * ((panels + of_part - 1) / of_part), [&](std::int64_t i) {
      const std::int64_t first = i / num_passes * of_part;
      MultiplyDense(number, passes[i % num_passes], first, std::min(of_part, panels - first));
    });
    if (layers_[number].is_normalised) {
      for_groups([&](const Pass& pass, std::int64_t first, std::int64_t count) {
        for (std::int64_t sample = first; sample < first + count; ++sample) Normalise(number, pass, sample);
      });
    }
  }
}

void Chain::CopyResults(const Samples& samples, float* results) const {
  for (std::int64_t sample = 0; sample < samples.count; ++sample) {
    results = std::copy_n(samples.outputs.data() + sample * layers_.back().columns(), num_outputs(), results);
    for (std::int64_t y = 0; y < (tiled_ > 0 ? layers_[tiled_].in_height : 0); ++y) {
      const float* pixel = Seen(tiled_, samples, sample, y);
      for (std::int64_t x = 0; x < layers_[tiled_].in_width; ++x, pixel += layers_[tiled_].channels) {
        results = std::copy_n(pixel, layers_[tiled_ - 1].out_channels, results);
      }
    }
  }
}

// ---- backward

Transposed Chain::TransposeWeights(std::int64_t number, const Pass& pass) const {
  const ChainLayer& layer = layers_[number];
  const Products& products = ProductsOf(number, pass);
  Transposed all;
  if (WayOf(number, pass) == Way::kWinograd) {
    const Floats& points = pass.samples->points[number];
    all.weights.resize(points.size());
    WinogradOf(layer, products).TransposeWeights(points.data(), all.weights.data());
    return all;
  }
  all.weights.resize(layer.inputs * layer.columns());
  float* transposed = all.weights.data();
  for (std::int64_t out = 0; out < layer.columns(); ++out) {
    const float* panel = pass.parameters + layer.weights + out / kPanel * layer.inputs * kPanel + out % kPanel;
    for (std::int64_t first = 0; first < layer.inputs; first += kPanel) {
      float* to = transposed + first * layer.columns() + out * kPanel;
      for (std::int64_t j = 0; j < kPanel; ++j) to[j] = panel[(first + j) * kPanel];
    }
  }
  RoundPanels(products, {transposed, layer.columns() * kPanel, layer.inputs / kPanel}, layer.columns(), &all.rounded);
  return all;
}

void Chain::BackwardDense(std::int64_t number, const Pass& pass, const float* transposed_deltas, std::int64_t first,
                          std::int64_t count, float* gradient) const {
  const ChainLayer& layer = layers_[number];
  const std::int64_t samples = pass.samples->count;
  const float* image = pass.samples->images[number].data();
  const float* deltas = pass.samples->deltas[number].data();
  const Products& products = ProductsOf(number, pass);
  if (number > 0) {
    const ChainLayer& before = layers_[number - 1];
    float* below = pass.samples->deltas[number - 1].data();
    const float slope = before.slope();
    const std::int64_t padded = RoundedUp(samples);
    Floats gradients(kMostRows * padded);
    const Rows shape{layer.panels, kPanel, layer.inputs * kPanel};
    const Panels panels{transposed_deltas, layer.columns() * kPanel, padded / kPanel};
    const float* weights[kMostRows];
    float* targets[kMostRows];
    const std::int64_t end = std::min(first + count, before.out_size());  // then come given inputs
    for (std::int64_t row = first, rows = 0; row < end; row += rows) {
      rows = TileRows(products, end - row);
      for (std::int64_t i = 0; i < rows; ++i) {
        weights[i] = pass.parameters + layer.weights + (row + i) * kPanel;
        targets[i] = gradients.data() + i * padded;
      }
      products.rows(weights, rows, shape, panels, nullptr, Then::kStore, targets);
      for (std::int64_t sample = 0; sample < samples; ++sample) {
        const float* seen = image + sample * layer.inputs + row;
        float* to = below + sample * before.out_size() + row;
        for (std::int64_t i = 0; i < rows; ++i) {
          to[i] = gradients[i * padded + sample] * (seen[i] > 0.0f ? 1.0f : slope);
        }
      }
    }
  }
  for (std::int64_t panel = 0; panel < layer.panels; ++panel) {
    std::fill_n(gradient + layer.weights + (panel * layer.inputs + first) * kPanel, count * kPanel, 0.0f);
  }
  for (std::int64_t sample = 0; sample < samples; sample += kSamplesOfPart) {
    const std::int64_t part = std::min(kSamplesOfPart, samples - sample);
    products.columns({image + sample * layer.inputs + first, 1, 0, 1, 0, part, layer.inputs}, count,
                     deltas + sample * layer.columns(), layer.columns(), layer.panels,
                     gradient + layer.weights + first * kPanel, layer.inputs * kPanel);
  }
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
  for (std::int64_t i = 0; i < size; ++i) deltas[i] = inverse * (deltas[i] - mean - normalised[i] * slope);
  if (layer.columns() == layer.out_channels) return;
  for (std::int64_t i = layer.columns(); i <= size; i += layer.columns()) {
    std::fill(deltas + i - layer.columns() + layer.out_channels, deltas + i, 0.0f);
  }
}

// The same with the normalisation of a batch, whose sums are known. A residual block hands on what came to it.
void Chain::BackwardNormaliseBatch(std::int64_t number, const Pass& pass, std::int64_t sample) const {
  const ChainLayer& layer = layers_[number];
  const std::int64_t columns = layer.columns(), size = layer.out_size();
  const float* gains = pass.parameters + layer.gains;
  const float* statistics = pass.samples->statistics[number].data();
  const float *variances = statistics + columns, *means = variances + columns, *slopes = means + columns;
  const float* normalised = pass.samples->normalised[number].data() + sample * size;
  float* deltas = pass.samples->deltas[number].data() + sample * size;
  if (layer.adds) std::copy_n(deltas, size, pass.samples->deltas[number - 2].data() + sample * size);
  Floats factors(columns);
  for (std::int64_t i = 0; i < columns; ++i) factors[i] = gains[i] / std::sqrt(variances[i] + float{kNormEpsilon});
  for (std::int64_t position = 0; position < layer.positions(); ++position, deltas += columns, normalised += columns) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < columns; ++i) {
      deltas[i] = factors[i] * (deltas[i] - means[i] - normalised[i] * slopes[i]);
    }
  }
}

// Adds the gradients of a convolution of samples that follow each other: those of weights or, with Winograd, of points.
void Chain::BackwardConvolution(std::int64_t number, const Pass& pass, const std::vector<Transposed>& transposed,
                                std::int64_t first, std::int64_t count, float* gradient, float* point_gradients) const {
  const ChainLayer& layer = layers_[number];
  const std::int64_t size = layer.out_size();
  const bool is_winograd = WayOf(number, pass) == Way::kWinograd;
  for (std::int64_t sample = first; sample < first + count; ++sample) {
    const float* deltas = pass.samples->deltas[number].data() + sample * size;
    if (layer.is_normalised) {
      AddRows(deltas, pass.samples->normalised[number].data() + sample * size, 1, size, size, gradient + layer.gains);
      AddRows(deltas, nullptr, 1, size, size, gradient + layer.offsets);
      BackwardNormalise(number, pass, sample);
    }
    if (layer.momentum > 0) BackwardNormaliseBatch(number, pass, sample);
    if (layer.has_bias) {
      AddRows(deltas, nullptr, layer.positions(), layer.columns(), layer.columns(), gradient + layer.biases);
    }
    if (!is_winograd) AddPatches(number, pass, sample, gradient);
  }
  thread_local Floats below;
  if (number > 0) below.assign(count * layer.image_size(), 0.0f);
  if (is_winograd) {
    WinogradOf(layer, ProductsOf(number, pass))
        .Backward(ImagePixels(number, Image(number, *pass.samples, first)), count, Deltas(number, *pass.samples, first),
                  number > 0 ? transposed[number].weights.data() : nullptr, ImagePixels(number, below.data()),
                  point_gradients);
  }
  for (std::int64_t i = 0; i < (number > 0 ? count : 0); ++i) {
    float* image = below.data() + i * layer.image_size();
    if (!is_winograd) AddImage(number, pass, transposed[number], first + i, image);
    BackwardImage(number, pass, first + i, image);
  }
}

void Chain::AddPatches(std::int64_t number, const Pass& pass, std::int64_t sample, float* gradient) const {
  const ChainLayer& layer = layers_[number];
  const std::int64_t length = layer.kernel * layer.channels, row = layer.width * layer.channels;
  const float* image = pass.samples->images[number].data() + sample * layer.image_size();
  const float* deltas = pass.samples->deltas[number].data() + sample * layer.out_size();
  const Columns patches{
      image, layer.kernel, row, layer.out_height, layer.stride * row, layer.out_width, layer.stride * layer.channels};
  ProductsOf(number, pass)
      .columns(patches, length, deltas, layer.columns(), layer.panels, gradient + layer.weights, layer.inputs * kPanel);
}

// Adds the gradient of what a convolution sees, pixel of the patches by pixel, so that each order is fixed.
void Chain::AddImage(std::int64_t number, const Pass& pass, const Transposed& transposed, std::int64_t sample,
                     float* below) const {
  const ChainLayer& layer = layers_[number];
  const Products& products = ProductsOf(number, pass);
  const float* delta = pass.samples->deltas[number].data() + sample * layer.out_size();
  const float* deltas[kMostRows];
  float* targets[kMostRows];
  for (std::int64_t pixel = 0; pixel < layer.kernel * layer.kernel; ++pixel) {
    const std::int64_t shift = (pixel / layer.kernel * layer.width + pixel % layer.kernel) * layer.channels;
    Panels panels{transposed.weights.data() + pixel * layer.channels * layer.columns(), layer.columns() * kPanel,
                  layer.channels / kPanel};
    if (!transposed.rounded.empty()) {
      panels.rounded = transposed.rounded.data() + pixel * panels.count * RoundedSize(layer.columns());
    }
    for (std::int64_t first = 0, rows = 0; first < layer.positions(); first += rows) {
      rows = TileRows(products, layer.positions() - first);
      for (std::int64_t i = 0; i < rows; ++i) {
        deltas[i] = delta + (first + i) * layer.columns();
        targets[i] = below + shift + layer.patch_starts[first + i];
      }
      products.rows(deltas, rows, {1, layer.columns(), 0}, panels, nullptr, Then::kAdd, targets);
    }
  }
}

// Makes of it the deltas of the layer before.
void Chain::BackwardImage(std::int64_t number, const Pass& pass, std::int64_t sample, const float* below) const {
  const ChainLayer& layer = layers_[number];
  const ChainLayer& before = layers_[number - 1];
  const float* image = pass.samples->images[number].data() + sample * layer.image_size();
  float* to = pass.samples->deltas[number - 1].data() + sample * before.out_size();
  const std::int64_t columns = before.columns();
  const float slope = before.slope();
  const bool is_seen_twice = layer.tiles > 0 || layers_[number + 1].adds;  // the other gradient is there
  for (std::int64_t y = 0; y < layer.in_height; ++y) {
    std::int64_t from = ((y + layer.pad_top) * layer.width + layer.pad_left) * layer.channels;
    for (std::int64_t x = 0; x < layer.in_width; ++x, from += layer.channels, to += columns) {
      if (!is_seen_twice) std::fill_n(to, columns, 0.0f);
      for (std::int64_t i = 0; i < columns; ++i) {
        to[i] = (to[i] + below[from + i]) * (image[from + i] > 0.0f ? 1.0f : slope);
      }
      if (layer.tiles > 0) std::fill(to + before.out_channels, to + columns, 0.0f);
    }
  }
}

void Chain::SetDeltas(const float* deltas, Samples* samples) const {
  const std::int64_t columns = layers_.back().columns();
  for (std::int64_t sample = 0; sample < samples->count; ++sample) {
    std::copy_n(deltas, num_outputs(), samples->deltas.back().data() + sample * columns);
    deltas += num_outputs();
    if (tiled_ == 0) continue;
    const ChainLayer& layer = layers_[tiled_ - 1];
    float* own = samples->deltas[tiled_ - 1].data() + sample * layer.out_size();
    for (std::int64_t i = 0; i < layer.positions(); ++i, own += layer.columns(), deltas += layer.out_channels) {
      std::copy_n(deltas, layer.out_channels, own);
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
    std::fill_n(gradient + layer.biases, layer.end - layer.biases, 0.0f);
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
  std::vector<Transposed> transposed(num_convolutions_);
  ForAll(threads, num_convolutions_ - 1, [&](std::int64_t i) { transposed[i + 1] = TransposeWeights(i + 1, pass); });
  const std::int64_t few = std::min(kFewShards, samples), size = layers_[num_convolutions_ - 1].end;
  const std::int64_t num_shards = std::clamp((samples + kMostOfGroup - 1) / kMostOfGroup, few, kShards);
  Floats& sums = pass.samples->sums;
  sums.assign(num_shards * size, 0.0f);
  for (std::int64_t begin = 0, end = num_convolutions_; end > 0; end = begin) {
    const ChainLayer& last = layers_[end - 1];
    if (last.momentum > 0) {
      AddChannels(end - 1, pass.samples, threads, true);
      const float* means = pass.samples->statistics[end - 1].data() + 2 * last.columns();
      for (std::int64_t i = 0; i < last.columns(); ++i) {
        sums[last.offsets + i] = means[i] * static_cast<float>(samples * last.positions());
        sums[last.gains + i] = means[last.columns() + i] * static_cast<float>(samples * last.positions());
      }
    }
    begin = end - 1;
    while (begin > 0 && layers_[begin - 1].momentum == 0) --begin;
    ForAll(threads, num_shards, [&](std::int64_t shard) {
      thread_local std::vector<Floats> points;
      float* gradients = sums.data() + shard * size;
      points.resize(std::max<std::int64_t>(points.size(), num_convolutions_));
      for (std::int64_t number = begin; number < end; ++number) {
        if (WayOf(number, pass) == Way::kWinograd) points[number].assign(pass.samples->points[number].size(), 0.0f);
      }
      const std::int64_t past = (shard + 1) * samples / num_shards;
      for (std::int64_t first = shard * samples / num_shards, count = 0; first < past; first += count) {
        count = std::min(kMostOfGroup, past - first);
        for (std::int64_t number = end - 1; number >= begin; --number) {  // while the samples are in the cache
          BackwardConvolution(number, pass, transposed, first, count, gradients, points[number].data());
        }
      }
      for (std::int64_t number = begin; number < end; ++number) {
        if (WayOf(number, pass) != Way::kWinograd) continue;
        const ChainLayer& layer = layers_[number];
        WinogradOf(layer, products_).AddWeightGradients(points[number].data(), gradients + layer.weights);
      }
    });
  }
  in_parts(size, kSumsOfPart, [&](std::int64_t first, std::int64_t count) {
    std::fill_n(gradient + first, count, 0.0f);
    AddRows(sums.data() + first, nullptr, num_shards, size, count, gradient + first);
  });
}

}  // namespace neurozoo
