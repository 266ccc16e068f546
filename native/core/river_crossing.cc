#include "core/river_crossing.h"

#include <algorithm>
#include <stdexcept>

#include "core/random.h"

namespace neurozoo {
namespace {

constexpr int kRiverColumn = 14;
constexpr int kTraps = 7;
constexpr int kStones = 17;  // and one for each column of the river
constexpr int kResourceRow = 10;
constexpr int kStartColumn = 1;

constexpr int kFree = 5, kCarrying = 6;  // after the cells: the agent
constexpr int kColours[7][3] = {{0, 0, 0},   {255, 255, 0}, {128, 128, 128}, {0, 128, 255},
                                {255, 0, 0}, {255, 0, 102}, {102, 0, 255}};
constexpr int kObjects = 6;  // resource, stone, water, trap, agent that carries, agent with free hands

constexpr int kEnlargement = 4, kBorder = 2, kPixelSide = 84;

float Grey(int code) {
  const int* colour = kColours[code];
  return static_cast<float>(0.2989 * (colour[0] / 255.0) + 0.587 * (colour[1] / 255.0) + 0.114 * (colour[2] / 255.0));
}

ObservationShape ShapeOf(const std::string& observation) {
  if (observation == "pixels") return {kPixelSide, kPixelSide, 1, 4};
  if (observation == "rgb") return {20, 20, 3, 1};
  if (observation == "greyscale") return {20, 20, 1, 1};
  if (observation == "objects") return {20, 20, kObjects, 1};
  throw std::invalid_argument("The river crossing task is seen as pixels, rgb, greyscale or objects, not as '" +
                              observation + "'.");
}

bool IsFaithful(const std::string& rules) {
  if (rules == "faithful" || rules == "fixed") return rules == "faithful";
  throw std::invalid_argument("The river crossing task has fixed or faithful rules, not '" + rules + "'.");
}

}  // namespace

RiverCrossing::RiverCrossing(const std::string& rules, const std::string& observation)
    : is_faithful_(IsFaithful(rules)), observation_(observation), shape_(ShapeOf(observation)) {}

void RiverCrossing::Reset(std::int64_t /*noops*/, std::int64_t seed) { Start(seed, 0, kLastLevel, kAttempts); }

void RiverCrossing::ResetToWorld(std::int64_t seed, int width) { Start(seed, width, width, 1); }

void RiverCrossing::Start(std::int64_t seed, int first_level, int last_level, int attempts) {
  key_ = SplitMix64(static_cast<std::uint64_t>(seed)).Next();
  level_ = first_level_ = first_level;
  last_level_ = last_level;
  attempts_ = attempts;
  attempt_ = 0;
  fitness_ = 0;
  is_over_ = false;
  final_positions_.clear();
  EnterWorld();
}

void RiverCrossing::EnterWorld() {
  SplitMix64 random(key_ ^ static_cast<std::uint64_t>(attempt_ << 8 | level_));
  age_ = 0;
  carries_ = has_reached_ = false;
  has_changed_ = true;
  column_ = kStartColumn;
  int empty_rows[kSide];
  int num_empty_rows = 0;
  while (num_empty_rows == 0) {
    grid_.fill(kEmpty);
    std::fill_n(&At(kRiverColumn, 0), level_ * kSide, kWater);
    for (int i = 0; i < kTraps; ++i) {
      int column, row;
      do {
        column = static_cast<int>(random.Below(kSide));
        row = static_cast<int>(random.Below(kSide));
      } while (At(column, row) == kWater);
      At(column, row) = kTrap;
    }
    for (int i = 0; i < kStones + level_; ++i) {
      int column, row;
      do {
        column = static_cast<int>(random.Below(kSide));
        row = static_cast<int>(random.Below(kSide));
      } while (column > kRiverColumn || At(column, row) != kEmpty);
      At(column, row) = kStone;
    }
    At(kSide - 1 - (kSide - 1 - (kRiverColumn + level_)) / 2, kResourceRow) = kResource;
    for (int row = 0; row < kSide; ++row) {
      if (is_faithful_ || At(kStartColumn, row) == kEmpty) empty_rows[num_empty_rows++] = row;
    }
  }
  row_ = empty_rows[random.Below(num_empty_rows)];
}

void RiverCrossing::SetCell(int column, int row, Cell cell) {
  At(column, row) = cell;
  age_ = 0;
  has_changed_ = true;
}

void RiverCrossing::MoveAgent(int column, int row) {
  column_ = column;
  row_ = row;
  age_ = 0;
  has_changed_ = true;
}

StepOutcome RiverCrossing::Step(const float* outputs, std::int64_t max_frames) {
  if (is_over_) throw std::logic_error("The episode is over; it has to be reset.");
  const int action = static_cast<int>(std::max_element(outputs, outputs + num_outputs()) - outputs);
  double reward = 0;
  has_changed_ = false;
  if (has_reached_) {  // faithful rules: this action was chosen before the new world was seen
    if (level_ < last_level_) {
      ++level_;
      EnterWorld();
    } else {
      EndAttempt();
      if (is_over_) return {EndEpisode(), 1, true};
    }
  }
  const Event event = Move(action);
  reward = is_faithful_ ? EndStepFaithful(event) : EndStepFixed(event);
  if (!is_over_ && max_frames <= 1) {
    NotePosition();
    reward += EndEpisode();
  }
  return {reward, 1, is_over_};
}

RiverCrossing::Event RiverCrossing::Move(int action) {
  const bool uses_hands = is_faithful_ ? action > kDirections : action >= kDirections;
  const int column = column_ + kColumnSteps[action % kDirections];
  const int row = row_ + kRowSteps[action % kDirections];
  if (column < 0 || column >= kSide || row < 0 || row >= kSide) return Event::kDeath;
  column_ = column;
  row_ = row;
  Cell& cell = At(column, row);
  has_changed_ = has_changed_ || action % kDirections != 0;
  if (uses_hands && cell == (carries_ ? kWater : kStone)) {
    has_changed_ = true;
    cell = kEmpty;
    carries_ = !carries_;
  }
  if (cell == kTrap || cell == kWater) return Event::kDeath;
  return cell == kResource ? Event::kResource : Event::kNothing;
}

double RiverCrossing::EndStepFixed(Event event) {
  ++age_;
  if (event == Event::kResource && level_ < last_level_) {
    ++level_;
    EnterWorld();
  } else if (event != Event::kNothing || age_ >= kStepLimit) {
    EndAttempt();
  }
  return event == Event::kResource ? 1 : 0;
}

double RiverCrossing::EndStepFaithful(Event event) {
  has_reached_ = event == Event::kResource;
  if (event == Event::kDeath) EndAttempt();
  if (!is_over_ && ++age_ >= kStepLimit) {
    NotePosition();
    is_over_ = true;
  }
  return is_over_ ? EndEpisode() : 0;
}

void RiverCrossing::EndAttempt() {
  NotePosition();
  if (is_faithful_) {  // one attempt more is played, and does not count
    is_over_ = attempt_ == attempts_;
    if (!is_over_) fitness_ += level_;
  } else {
    is_over_ = attempt_ == attempts_ - 1;
  }
  if (is_over_) return;
  ++attempt_;
  level_ = first_level_;
  EnterWorld();
}

void RiverCrossing::NotePosition() {
  for (int value : {column_, row_, level_ - first_level_}) final_positions_.push_back(static_cast<float>(value));
}

double RiverCrossing::EndEpisode() {
  is_over_ = true;
  return fitness_;  // 0 under fixed rules, which pay at once
}

void RiverCrossing::Observe(float* plane) {
  if (observation_ == "pixels") {
    float greys[kSide * kSide];
    ObserveGreys(greys);
    std::fill_n(plane, kPixelSide * kPixelSide, 0.0f);
    for (int y = 0; y < kSide * kEnlargement; ++y) {
      float* pixels = plane + (kBorder + y) * kPixelSide + kBorder;
      for (int x = 0; x < kSide * kEnlargement; ++x) {
        pixels[x] = greys[y / kEnlargement * kSide + x / kEnlargement];
      }
    }
    return;
  }
  if (observation_ == "greyscale") return ObserveGreys(plane);
  const bool shows_objects = observation_ == "objects";
  const int agent = carries_ ? kCarrying : kFree;
  std::fill_n(plane, shape_.plane_size(), 0.0f);
  for (int column = 0; column < kSide; ++column) {
    for (int row = 0; row < kSide; ++row) {
      const int place = is_faithful_ ? column * kSide + row : row * kSide + column;
      const bool has_agent = column == column_ && row == row_;
      const int cell = At(column, row);
      if (shows_objects) {  // faithful: plane after plane, though the shape says planes last
        const auto value = [&](int object) -> float& {
          return plane[is_faithful_ ? object * kSide * kSide + place : place * kObjects + object];
        };
        if (cell != kEmpty) value(cell - 1) = 1;
        if (has_agent) value(carries_ ? 4 : 5) = 1;
      } else {
        const int seen = has_agent && !is_faithful_ ? agent : cell;
        for (int i = 0; i < 3; ++i) plane[3 * place + i] = static_cast<float>(kColours[seen][i]) / 255.0f;
      }
    }
  }
  if (!shows_objects && is_faithful_) {  // the published code lacks parentheses around the place
    for (int i = 0; i < 3; ++i) {
      plane[3 * kSide * column_ + row_ + i] = static_cast<float>(kColours[agent][i]) / 255.0f;
    }
  }
}

void RiverCrossing::ObserveGreys(float* plane) {
  static const std::array<float, 7> kGreys = [] {
    std::array<float, 7> greys;
    for (int code = 0; code < 7; ++code) greys[code] = Grey(code);
    return greys;
  }();
  for (int column = 0; column < kSide; ++column) {
    for (int row = 0; row < kSide; ++row) {
      plane[is_faithful_ ? column * kSide + row : row * kSide + column] = kGreys[At(column, row)];
    }
  }
  plane[is_faithful_ ? column_ * kSide + row_ : row_ * kSide + column_] = kGreys[carries_ ? kCarrying : kFree];
}

}  // namespace neurozoo
