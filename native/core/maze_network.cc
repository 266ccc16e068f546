#include "core/maze_network.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace neurozoo {
namespace {

#ifdef __AVX512F__
constexpr int kLanes = 16, kTileRows = 12;  // 24 of 32 registers hold sums
#else
constexpr int kLanes = 8, kTileRows = 6;  // 12 of 16 registers hold sums
#endif
constexpr int kParts = 2;                  // vectors of a panel, which fits the first cache with 256 rows
constexpr int kPanel = kParts * kLanes;    // floats of a panel's row
constexpr int kSeen = 144, kCompass = 5;   // features of the view and of the direction
constexpr int kInputs = kSeen + kCompass;  // of the LSTM
constexpr int kChannels = 16, kKernel = 3, kHidden = 32;
constexpr int kOut = Maze::kView - kKernel + 1;  // side of the convolution's output
constexpr int kKinds[3] = {Maze::kEmpty, Maze::kWall, Maze::kGoal};
constexpr int kColours[3] = {0, 5, 1};

using Wide __attribute__((vector_size(4 * kLanes))) = float;
using WideInts __attribute__((vector_size(4 * kLanes))) = std::int32_t;
static_assert(kHidden % kPanel == 0 && MazeNetwork::kUnits % kLanes == 0);

// Source: the polynomial of Cephes (expf). The bounds keep 2^n a normal number.
inline Wide Exp(Wide x) {
  x = x < -87.0f ? Wide{} - 87.0f : x;
  x = x > 87.0f ? Wide{} + 87.0f : x;
  const WideInts n = __builtin_convertvector(x * 1.44269504f + (x < 0.0f ? Wide{} - 0.5f : Wide{} + 0.5f), WideInts);
  const Wide whole = __builtin_convertvector(n, Wide);
  const Wide r = x - whole * 0.693359375f - whole * -2.12194440e-4f;
  Wide sum = r * 1.9875691500e-4f + 1.3981999507e-3f;
  sum = sum * r + 8.3334519073e-3f;
  sum = sum * r + 4.1665795894e-2f;
  sum = sum * r + 1.6666665459e-1f;
  sum = sum * r + 5.0000001201e-1f;
  sum = sum * (r * r) + r + 1.0f;
  const WideInts power = (n + 127) << 23;
  return sum * Wide(power);
}

inline Wide Sigmoid(const Wide& x) { return 1.0f / (1.0f + Exp(-x)); }
inline Wide Tanh(const Wide& x) { return 1.0f - 2.0f / (1.0f + Exp(x + x)); }

// Adds the products of `length` inputs of each row with a panel to sums that begin with `first[i]`; `finish(i, sums)`
// gets those of each row.
template <int kRows, typename Finish>
inline void Tile(const float* const* in, int length, const float* panel, const float* const* first, Finish&& finish) {
  Wide sums[kRows][kParts];
  for (int i = 0; i < kRows; ++i) {
    for (int part = 0; part < kParts; ++part) sums[i][part] = LoadVector<Wide>(first[i] + part * kLanes);
  }
  for (int k = 0; k < length; ++k, panel += kPanel) {
#pragma GCC unroll 12
    for (int i = 0; i < kRows; ++i) {
      const float value = in[i][k];
      for (int part = 0; part < kParts; ++part) sums[i][part] += value * LoadVector<Wide>(panel + part * kLanes);
    }
  }
  for (int i = 0; i < kRows; ++i) finish(i, sums[i]);
}

// Calls Tile for all rows, as many at once as there are registers for; `first_of(row)` is where its sums begin.
template <typename First, typename Finish, std::size_t... kSmaller>
inline void ForTiles(int count, const float* const* in, int length, const float* panel, First&& first_of,
                     Finish&& finish, std::index_sequence<kSmaller...>) {
  const float* first[kTileRows];
  for (int row = 0; row < count; row += kTileRows) {
    const int rows = std::min(kTileRows, count - row);
    for (int i = 0; i < rows; ++i) first[i] = first_of(row + i);
    const auto with_row = [&](int i, const Wide* sums) { finish(row + i, sums); };
    ((rows == static_cast<int>(kSmaller) + 1
          ? Tile<static_cast<int>(kSmaller) + 1>(in + row, length, panel, first, with_row)
          : void()),
     ...);
  }
}

template <typename First, typename Finish>
inline void ForTiles(int count, const float* const* in, int length, const float* panel, First&& first_of,
                     Finish&& finish) {
  ForTiles(count, in, length, panel, first_of, finish, std::make_index_sequence<kTileRows>());
}

// Puts the columns of two gates of some units side by side, and then those of the two others: (rows, 4 * 256) becomes
// (units / lanes, 2, rows, 2, lanes), a panel for each of the first two.
Floats PackGates(const float* weights, int rows) {
  Floats packed;
  packed.reserve(static_cast<std::size_t>(rows) * MazeNetwork::kGates);
  for (int unit = 0; unit < MazeNetwork::kUnits; unit += kLanes) {
    for (const int gates : {0, 2}) {
      for (int row = 0; row < rows; ++row) {
        for (const int gate : {gates, gates + 1}) {
          const float* from = weights + row * MazeNetwork::kGates + gate * MazeNetwork::kUnits + unit;
          packed.insert(packed.end(), from, from + kLanes);
        }
      }
    }
  }
  return packed;
}

// (rows, columns) becomes (columns / panel, rows, panel).
Floats PackColumns(const float* weights, int rows, int columns) {
  Floats packed;
  for (int first = 0; first < columns; first += kPanel) {
    for (int row = 0; row < rows; ++row) {
      const float* from = weights + row * columns + first;
      packed.insert(packed.end(), from, from + kPanel);
    }
  }
  return packed;
}

// Appends zeros to rows.
Floats Padded(const float* weights, int rows, int columns, int wanted) {
  Floats padded(static_cast<std::size_t>(rows) * wanted, 0.0f);
  for (int row = 0; row < rows; ++row) std::copy_n(weights + row * columns, columns, padded.data() + row * wanted);
  return padded;
}

}  // namespace

MazeNetwork::MazeNetwork(const float* parameters, std::int64_t count)
    : num_actions_(static_cast<int>((count - kOthers) / kPerAction)) {
  if (count != kOthers + kPerAction * num_actions_ || num_actions_ < 3 || num_actions_ > kMaxActions) {
    throw std::invalid_argument("The network for mazes has 432,698 parameters and 33 for each of 3 to 8 actions, but " +
                                std::to_string(count) + " were given.");
  }
  const auto take = [&parameters](std::int64_t size) {
    const float* const taken = parameters;
    parameters += size;
    return taken;
  };
  const float* convolution = take(kKernel * kKernel * 3 * kChannels);
  for (int cell = 0; cell < kKernel * kKernel; ++cell) {
    const float* of_kind = convolution + cell * 3 * kChannels;
    const float* of_colour = of_kind + kChannels;
    for (int kind = 0; kind < 3; ++kind) {
      for (int c = 0; c < kChannels; ++c) {
        seen_.push_back(static_cast<float>(kKinds[kind]) / 10 * of_kind[c] +
                        static_cast<float>(kColours[kind]) / 10 * of_colour[c]);
      }
    }
  }
  const float* bias = take(kChannels);
  convolution_bias_.assign(bias, bias + kChannels);
  const float* compass = take(4 * kCompass);
  const float* compass_bias = take(kCompass);
  for (int i = 0; i < 4 * kCompass; ++i) directions_.push_back(compass[i] + compass_bias[i % kCompass]);
  kernel_ = PackGates(take(kInputs * kGates), kInputs);
  recurrent_ = PackGates(take(kUnits * kGates), kUnits);
  bias_ = PackGates(take(kGates), 1);
  hidden_ = PackColumns(take(kUnits * kHidden), kUnits, kHidden);
  hidden_bias_ = PackColumns(take(kHidden), 1, kHidden);
  policy_ = Padded(take(kHidden * num_actions_), kHidden, num_actions_, kMaxActions);
  policy_bias_ = Padded(take(num_actions_), 1, num_actions_, kMaxActions);
}

void MazeNetwork::Project(const std::uint8_t* kinds, const int* directions, int count,
                          float* const* projections) const {
  Floats features(static_cast<std::size_t>(count) * kInputs);
  std::vector<const float*> in(count);
  for (int i = 0; i < count; ++i) {
    float* values = features.data() + i * kInputs;
    in[i] = values;
    const std::uint8_t* view = kinds + i * Maze::kView * Maze::kView;
    for (int x = 0; x < kOut; ++x) {
      for (int y = 0; y < kOut; ++y, values += kChannels) {
        std::copy_n(convolution_bias_.data(), kChannels, values);
        for (int cell = 0; cell < kKernel * kKernel; ++cell) {
          const int kind = view[(x + cell / kKernel) * Maze::kView + y + cell % kKernel];
          const int row = kind == Maze::kEmpty ? 0 : kind == Maze::kWall ? 1 : 2;
          const float* added = seen_.data() + (3 * cell + row) * kChannels;
          for (int c = 0; c < kChannels; ++c) values[c] += added[c];
        }
        for (int c = 0; c < kChannels; ++c) values[c] = std::max(values[c], 0.0f);
      }
    }
    std::copy_n(directions_.data() + directions[i] * kCompass, kCompass, values);
  }
  for (int start = 0; start < kGates; start += kPanel) {
    ForTiles(
        count, in.data(), kInputs, kernel_.data() + start * kInputs, [&](int) { return bias_.data() + start; },
        [&](int row, const Wide* sums) {
          for (int part = 0; part < kParts; ++part) StoreVector(projections[row] + start + part * kLanes, sums[part]);
        });
  }
}

void MazeNetwork::Step(int count, const float* const* projections, const float* const* hidden, float* const* cells,
                       float* const* next_hidden, float* const* preferences) const {
  Floats first_gates(static_cast<std::size_t>(count) * kPanel), activations(static_cast<std::size_t>(count) * kHidden);
  for (int unit = 0; unit < kUnits; unit += kLanes) {
    const int start = unit * 4, second = start + kPanel;
    ForTiles(
        count, hidden, kUnits, recurrent_.data() + start * kUnits, [&](int row) { return projections[row] + start; },
        [&](int row, const Wide* sums) {  // the gates of input and forgetting
          for (int part = 0; part < kParts; ++part) StoreVector(&first_gates[row * kPanel + part * kLanes], sums[part]);
        });
    ForTiles(
        count, hidden, kUnits, recurrent_.data() + second * kUnits, [&](int row) { return projections[row] + second; },
        [&](int row, const Wide* sums) {  // the new content, and the gate of the output
          const float* first = &first_gates[row * kPanel];
          float* cell = cells[row] + unit;
          const Wide kept = Sigmoid(LoadVector<Wide>(first + kLanes)) * LoadVector<Wide>(cell) +
                            Sigmoid(LoadVector<Wide>(first)) * Tanh(sums[0]);
          StoreVector(cell, kept);
          StoreVector(next_hidden[row] + unit, Sigmoid(sums[1]) * Tanh(kept));
        });
  }
  for (int start = 0; start < kHidden; start += kPanel) {
    ForTiles(
        count, next_hidden, kUnits, hidden_.data() + start * kUnits, [&](int) { return hidden_bias_.data() + start; },
        [&](int row, const Wide* sums) {
          for (int part = 0; part < kParts; ++part) {
            StoreVector(&activations[row * kHidden + start + part * kLanes], Tanh(sums[part]));
          }
        });
  }
  for (int row = 0; row < count; ++row) {
    Vector sum = LoadVector(policy_bias_.data());
    for (int k = 0; k < kHidden; ++k) {
      sum += activations[row * kHidden + k] * LoadVector(policy_.data() + k * kMaxActions);
    }
    StoreVector(preferences[row], sum);
  }
}

std::vector<float> MazeNetwork::Preferences(const Maze& maze, const std::int64_t* cells, const std::int64_t* directions,
                                            std::int64_t steps) const {
  Floats hidden(kUnits, 0.0f), next_hidden(kUnits), memory(kUnits, 0.0f), projection(kGates);
  std::vector<float> all;
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto pose = Maze::PoseAt(static_cast<int>(cells[step]), static_cast<int>(directions[step]));
    std::uint8_t kinds[Maze::kView * Maze::kView];
    maze.See(pose, kinds);
    float* const projections = projection.data();
    Project(kinds, &pose.direction, 1, &projections);
    float preferences[kMaxActions];
    float* const to = preferences;
    const float* const from = hidden.data();
    float* const cell = memory.data();
    float* const next = next_hidden.data();
    Step(1, &projections, &from, &cell, &next, &to);
    hidden.swap(next_hidden);
    all.insert(all.end(), preferences, preferences + num_actions_);
  }
  return all;
}

void Exponentials(float* values, int count) {
  float part[kLanes];
  for (int first = 0; first < count; first += kLanes) {
    const int size = std::min(kLanes, count - first);
    std::fill_n(part, kLanes, 0.0f);
    std::copy_n(values + first, size, part);
    StoreVector(part, Exp(LoadVector<Wide>(part)));
    std::copy_n(part, size, values + first);
  }
}

}  // namespace neurozoo
