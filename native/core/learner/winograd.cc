#include "core/learner/winograd.h"

#include <algorithm>

#include "core/vectors.h"

namespace neurozoo {
namespace {

constexpr std::int64_t kPointOfBias = 5;

// The points of a tile among those of several, (point, tile, values).
Pixels PointsOf(float* points, std::int64_t tile, std::int64_t tiles, std::int64_t values) {
  const std::int64_t distance = DistanceOfPoints(tiles, values);
  return {points + tile * values, 0, 4 * distance, distance};
}

// Where the outputs of a tile begin, and how many there are.
struct Tile {
  std::int64_t side, image, y, x, rows, columns;

  Tile(const Winograd& of, std::int64_t number) {
    side = of.side();
    const std::int64_t in_image = number % (of.down() * of.across());
    image = number / (of.down() * of.across());
    y = in_image / of.across() * side;
    x = in_image % of.across() * side;
    rows = std::min(side, of.height - y);
    columns = std::min(side, of.width - x);
  }

  bool IsWhole() const { return rows == side && columns == side; }

  Pixels In(const Pixels& pixels, std::int64_t stride = 1) const {
    Pixels own = pixels;
    own.first += image * pixels.image + stride * (y * pixels.row + x * pixels.column);
    return own;
  }
};

void CopyOutputs(const Tile& tile, const Pixels& from, const Pixels& to, std::int64_t columns) {
  for (std::int64_t y = 0; y < tile.rows; ++y) {
    for (std::int64_t x = 0; x < tile.columns; ++x) {
      std::copy_n(from.first + y * from.row + x * from.column, columns, to.first + y * to.row + x * to.column);
    }
  }
}

// Calls `function` with the place of each input's first weight, and its number among those of all panels.
template <typename Function>
void ForInputs(const Winograd& of, const Function& function) {
  const std::int64_t values = of.stride * of.channels, kernel = of.taps * of.stride;
  for (std::int64_t panel = 0; panel < of.panels; ++panel) {
    for (std::int64_t row = 0; row < of.stride; ++row) {
      for (std::int64_t i = 0; i < values; ++i) {
        function((panel * kernel * kernel * of.channels + row * kernel * of.channels + i) * kPanel,
                 panel * of.inputs() + row * values + i);
      }
    }
  }
}

// Weights of an input as pixels.
Pixels TapsOf(const Winograd& of, float* weights) {
  const std::int64_t values = of.stride * of.channels * kPanel;
  return {weights, 0, of.taps * of.stride * values, values};
}

}  // namespace

void Winograd::TransformWeights(const float* weights, float* points) const {
  ForInputs(*this, [&](std::int64_t place, std::int64_t input) {
    of_taps().of_weights(TapsOf(*this, const_cast<float*>(weights) + place), kPanel,
                         PointsOf(points, input, panels * inputs(), kPanel));
  });
}

void Winograd::AddWeightGradients(const float* point_gradients, float* gradient) const {
  ForInputs(*this, [&](std::int64_t place, std::int64_t input) {
    of_taps().to_weights(PointsOf(const_cast<float*>(point_gradients), input, panels * inputs(), kPanel), kPanel,
                         TapsOf(*this, gradient + place));
  });
}

void Winograd::TransposeWeights(const float* points, float* transposed) const {
  const std::int64_t distance = DistanceOfPoints(inputs(), columns());
  for (std::int64_t point = 0; point < kPoints; ++point, points += distance, transposed += distance) {
    float* to = transposed;
    for (std::int64_t input = 0; input < inputs(); input += kPanel) {
      for (std::int64_t column = 0; column < columns(); ++column, to += kPanel) {
        const float* from = points + (column / kPanel * inputs() + input) * kPanel + column % kPanel;
        for (std::int64_t i = 0; i < kPanel; ++i) to[i] = from[i * kPanel];
      }
    }
  }
}

// Returns how many tiles, at most, are computed together, so that their points stay in the cache. Products in bfloat16
// like whole multiples of 32.
std::int64_t Winograd::tiles_of_block() const { return products.round == nullptr ? 36 : 64; }

// Multiplies each point of tiles by those of weights.
void Winograd::Multiply(const float* in, std::int64_t tiles, std::int64_t num_inputs, const float* weights,
                        std::int64_t num_panels, const float* bias, float* out) const {
  const float* ins[kMostRows];
  float* outs[kMostRows];
  const std::int64_t outputs = num_panels * kPanel, parts = (tiles + products.most_rows - 1) / products.most_rows;
  for (std::int64_t point = 0; point < kPoints; ++point) {
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t first = part * tiles / parts, rows = (part + 1) * tiles / parts - first;
      for (std::int64_t i = 0; i < rows; ++i) {
        ins[i] = in + (first + i) * num_inputs;
        outs[i] = out + (first + i) * outputs;
      }
      products.rows(ins, rows, {1, num_inputs, 0}, {weights, num_inputs * kPanel, num_panels},
                    point == kPointOfBias ? bias : nullptr, Then::kStore, outs);
    }
    in += DistanceOfPoints(tiles, num_inputs);
    out += DistanceOfPoints(tiles, outputs);
    weights += DistanceOfPoints(num_inputs, outputs);
  }
}

void Winograd::Forward(const Pixels& images, std::int64_t count, const float* points, const float* bias, Then then,
                       const Pixels& outputs) const {
  thread_local Floats seen, given, edge;
  edge.resize(side() * side() * columns());
  const Pixels at_edge{edge.data(), 0, side() * columns(), columns()};
  const std::int64_t all = count * down() * across(), blocks = (all + tiles_of_block() - 1) / tiles_of_block();
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t first = block * all / blocks, tiles = (block + 1) * all / blocks - first;
    seen.resize(kPoints * DistanceOfPoints(tiles, inputs()));
    given.resize(kPoints * DistanceOfPoints(tiles, columns()));
    for (std::int64_t i = 0; i < tiles; ++i) {
      transforms().of_blocks(Tile(*this, first + i).In(images, stride), stride, stride * channels,
                             PointsOf(seen.data(), i, tiles, inputs()));
    }
    Multiply(seen.data(), tiles, inputs(), points, panels, bias, given.data());
    const auto to_outputs = then == Then::kStoreRelu ? of_taps().to_relu_outputs : of_taps().to_outputs;
    for (std::int64_t i = 0; i < tiles; ++i) {
      const Tile tile(*this, first + i);
      const Pixels own = tile.In(outputs);
      to_outputs(PointsOf(given.data(), i, tiles, columns()), columns(), tile.IsWhole() ? own : at_edge);
      if (!tile.IsWhole()) CopyOutputs(tile, at_edge, own, columns());
    }
  }
}

void Winograd::Backward(const Pixels& images, std::int64_t count, const Pixels& deltas, const float* transposed,
                        const Pixels& image_gradients, float* point_gradients) const {
  thread_local Floats seen, given, seen_gradient, edge;
  edge.resize(side() * side() * columns());
  const Pixels at_edge{edge.data(), 0, side() * columns(), columns()};
  const std::int64_t all = count * down() * across(), blocks = (all + tiles_of_block() - 1) / tiles_of_block();
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t first = block * all / blocks, tiles = (block + 1) * all / blocks - first;
    const std::int64_t seen_distance = DistanceOfPoints(tiles, inputs());
    const std::int64_t given_distance = DistanceOfPoints(tiles, columns());
    seen.resize(kPoints * seen_distance);
    given.resize(kPoints * given_distance);
    for (std::int64_t i = 0; i < tiles; ++i) {
      const Tile tile(*this, first + i);
      Pixels own = tile.In(deltas);
      if (!tile.IsWhole()) {  // nothing comes back from outputs that are not there
        std::fill(edge.begin(), edge.end(), 0.0f);
        CopyOutputs(tile, own, at_edge, columns());
        own = at_edge;
      }
      transforms().of_blocks(tile.In(images, stride), stride, stride * channels,
                             PointsOf(seen.data(), i, tiles, inputs()));
      of_taps().of_outputs(own, columns(), PointsOf(given.data(), i, tiles, columns()));
    }
    for (std::int64_t point = 0; point < kPoints; ++point) {
      products.columns({seen.data() + point * seen_distance, 1, 0, 1, 0, tiles, inputs()}, inputs(),
                       given.data() + point * given_distance, columns(), panels,
                       point_gradients + point * DistanceOfPoints(inputs(), columns()), inputs() * kPanel);
    }
    if (transposed == nullptr) continue;
    seen_gradient.resize(kPoints * seen_distance);
    Multiply(given.data(), tiles, columns(), transposed, inputs() / kPanel, nullptr, seen_gradient.data());
    for (std::int64_t i = 0; i < tiles; ++i) {
      transforms().to_blocks(PointsOf(seen_gradient.data(), i, tiles, inputs()), stride, stride * channels,
                             Tile(*this, first + i).In(image_gradients, stride));
    }
  }
}

}  // namespace neurozoo
