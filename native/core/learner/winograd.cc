#include "core/learner/winograd.h"

#include <algorithm>

#include "core/vectors.h"

namespace neurozoo {
namespace {

constexpr std::int64_t kTilesOfBlock = 64;  // whose points are computed together, so that they stay in the cache

template <int kOut, int kIn>
struct Matrix {
  float at[kOut][kIn];
};

template <int kOut, int kIn>
constexpr Matrix<kIn, kOut> Transposed(const Matrix<kOut, kIn>& matrix) {
  Matrix<kIn, kOut> transposed{};
  for (int i = 0; i < kOut; ++i) {
    for (int j = 0; j < kIn; ++j) transposed.at[j][i] = matrix.at[i][j];
  }
  return transposed;
}

constexpr Matrix<4, 4> kOfImage{{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}}};
constexpr Matrix<4, 3> kOfWeights{{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}};
constexpr Matrix<2, 4> kToOutputs{{{1, 1, 1, 0}, {0, 1, -1, -1}}};
constexpr Matrix<4, 4> kToImage = Transposed(kOfImage);
constexpr Matrix<3, 4> kToWeights = Transposed(kOfWeights);
constexpr Matrix<4, 2> kOfOutputs = Transposed(kToOutputs);

// The combination of values that a row of a matrix says, with what is 0 left out when this is compiled.
template <int kOut, int kIn, const Matrix<kOut, kIn>& kMatrix, typename Value>
inline Vector Combined(int row, const Value& value) {
  Vector sum{};
  bool is_first = true;
#pragma GCC unroll 4
  for (int k = 0; k < kIn; ++k) {
    if (kMatrix.at[row][k] == 0) continue;
    sum = is_first ? kMatrix.at[row][k] * value(k) : sum + kMatrix.at[row][k] * value(k);
    is_first = false;
  }
  return sum;
}

// Multiplies a square of pixels by a matrix from the left and, transposed, from the right, for each of the channels.
template <int kOut, int kIn, const Matrix<kOut, kIn>& kMatrix, bool kAdds = false>
inline void Transform(const Winograd::Pixels& in, const Winograd::Pixels& out, std::int64_t channels) {
  for (std::int64_t channel = 0; channel < channels; channel += kVector) {
    Vector half[kOut][kIn];
#pragma GCC unroll 4
    for (int j = 0; j < kIn; ++j) {
      const float* column = in.first + j * in.column + channel;
#pragma GCC unroll 4
      for (int i = 0; i < kOut; ++i) {
        half[i][j] = Combined<kOut, kIn, kMatrix>(i, [&](int k) -> Vector { return LoadVector(column + k * in.row); });
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kOut; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kOut; ++j) {
        float* to = out.first + i * out.row + j * out.column + channel;
        const Vector value = Combined<kOut, kIn, kMatrix>(j, [&](int k) { return half[i][k]; });
        StoreVector(to, kAdds ? LoadVector(to) + value : value);
      }
    }
  }
}

Winograd::Pixels At(const Winograd::Pixels& pixels, std::int64_t y, std::int64_t x) {
  return {pixels.first + y * pixels.row + x * pixels.column, pixels.row, pixels.column};
}

// The points of a tile among those of several, (point, tile, channels).
Winograd::Pixels PointsOf(float* points, std::int64_t tile, std::int64_t tiles, std::int64_t channels) {
  const std::int64_t distance = DistanceOfPoints(tiles, channels);
  return {points + tile * channels, 4 * distance, distance};
}

}  // namespace

void Winograd::TransformWeights(const float* weights, float* points) const {
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const float* from = weights + (panel * 9 * channels + c) * kPanel;
      Transform<4, 3, kOfWeights>({const_cast<float*>(from), 3 * channels * kPanel, channels * kPanel},
                                  PointsOf(points, panel * channels + c, panels * channels, kPanel), kPanel);
    }
  }
}

void Winograd::TransposeWeights(const float* points, float* transposed) const {
  const std::int64_t distance = DistanceOfPoints(channels, columns());
  for (std::int64_t point = 0; point < kPoints; ++point, points += distance, transposed += distance) {
    float* to = transposed;
    for (std::int64_t c = 0; c < channels; c += kPanel) {
      for (std::int64_t column = 0; column < columns(); ++column, to += kPanel) {
        const float* from = points + (column / kPanel * channels + c) * kPanel + column % kPanel;
        for (std::int64_t i = 0; i < kPanel; ++i) to[i] = from[i * kPanel];
      }
    }
  }
}

std::int64_t Winograd::rows_of_block() const { return std::max<std::int64_t>(1, kTilesOfBlock / across); }

// Multiplies each point of tiles by those of weights.
void Winograd::Multiply(const float* in, std::int64_t tiles, std::int64_t inputs, const float* weights,
                        std::int64_t num_panels, float* out) const {
  const float* ins[kMostRows];
  float* outs[kMostRows];
  const std::int64_t outputs = num_panels * kPanel, parts = (tiles + products.most_rows - 1) / products.most_rows;
  for (std::int64_t point = 0; point < kPoints; ++point) {
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t first = part * tiles / parts, rows = (part + 1) * tiles / parts - first;
      for (std::int64_t i = 0; i < rows; ++i) {
        ins[i] = in + (first + i) * inputs;
        outs[i] = out + (first + i) * outputs;
      }
      products.rows(ins, rows, {1, inputs, 0}, {weights, inputs * kPanel, num_panels}, nullptr, Then::kStore, outs);
    }
    in += DistanceOfPoints(tiles, inputs);
    out += DistanceOfPoints(tiles, outputs);
    weights += DistanceOfPoints(inputs, outputs);
  }
}

void Winograd::Forward(const Pixels& image, const float* points, const Pixels& outputs) const {
  thread_local Floats seen, given;
  for (std::int64_t top = 0; top < down; top += rows_of_block()) {
    const std::int64_t tiles = std::min(rows_of_block(), down - top) * across;
    seen.resize(kPoints * DistanceOfPoints(tiles, channels));
    given.resize(kPoints * DistanceOfPoints(tiles, columns()));
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const Pixels from = At(image, 2 * (top + tile / across), 2 * (tile % across));
      Transform<4, 4, kOfImage>(from, PointsOf(seen.data(), tile, tiles, channels), channels);
    }
    Multiply(seen.data(), tiles, channels, points, panels, given.data());
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const Pixels to = At(outputs, 2 * (top + tile / across), 2 * (tile % across));
      Transform<2, 4, kToOutputs>(PointsOf(given.data(), tile, tiles, columns()), to, columns());
    }
  }
}

void Winograd::Backward(const Pixels& image, const Pixels& deltas, const float* transposed,
                        const Pixels& image_gradient, float* gradient) const {
  thread_local Floats seen, given, seen_gradient, points;
  points.assign(num_weights(), 0.0f);
  for (std::int64_t top = 0; top < down; top += rows_of_block()) {
    const std::int64_t tiles = std::min(rows_of_block(), down - top) * across;
    const std::int64_t seen_distance = DistanceOfPoints(tiles, channels);
    const std::int64_t given_distance = DistanceOfPoints(tiles, columns());
    seen.resize(kPoints * seen_distance);
    seen_gradient.resize(kPoints * seen_distance);
    given.resize(kPoints * given_distance);
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const std::int64_t y = 2 * (top + tile / across), x = 2 * (tile % across);
      Transform<4, 4, kOfImage>(At(image, y, x), PointsOf(seen.data(), tile, tiles, channels), channels);
      Transform<4, 2, kOfOutputs>(At(deltas, y, x), PointsOf(given.data(), tile, tiles, columns()), columns());
    }
    for (std::int64_t point = 0; point < kPoints; ++point) {
      products.columns({seen.data() + point * seen_distance, 1, 0, 1, 0, tiles, channels}, channels,
                       given.data() + point * given_distance, columns(), panels,
                       points.data() + point * DistanceOfPoints(channels, columns()), channels * kPanel);
    }
    Multiply(given.data(), tiles, columns(), transposed, channels / kPanel, seen_gradient.data());
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const Pixels to = At(image_gradient, 2 * (top + tile / across), 2 * (tile % across));
      Transform<4, 4, kToImage, true>(PointsOf(seen_gradient.data(), tile, tiles, channels), to, channels);
    }
  }
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    for (std::int64_t c = 0; c < channels; ++c) {
      float* to = gradient + (panel * 9 * channels + c) * kPanel;
      Transform<3, 4, kToWeights, true>(PointsOf(points.data(), panel * channels + c, panels * channels, kPanel),
                                        {to, 3 * channels * kPanel, channels * kPanel}, kPanel);
    }
  }
}

}  // namespace neurozoo
