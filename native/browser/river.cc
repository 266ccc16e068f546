// The river crossing task and a modular agent, compiled to WebAssembly for a page in a browser (make browser).
//
// The page opens one agent and starts worlds. After each change, the agent plans: what it desires, its landscape, its
// next action. Arrays belong to this module and stay valid until the next call; they are row-major.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <vector>

#include "core/modular.h"
#include "core/network_plan.h"
#include "core/padded_image.h"
#include "core/river_crossing.h"

namespace neurozoo {
namespace {

constexpr int kSide = RiverCrossing::kSide;
constexpr int kKinds = 5;   // of cells, as RiverCrossing::Cell
constexpr int kPlanes = 6;  // of an observation: the kinds but empty, the agent that carries, the one with free hands
constexpr int kMap = LayerPlan::kMapChannels;
constexpr int kActions = 18, kDirections = RiverCrossing::kDirections;
constexpr std::size_t kMostMoments = 1000;  // that can be taken back
constexpr int kLongestPath = kSide * kSide;

class Scene {
 public:
  Scene(const NetworkPlan& plan, const float* parameters)
      : decision_(plan.layers.at(0)),
        landscape_(plan.layers.at(1)),
        climb_(plan.layers.at(2)),
        parameters_(parameters, parameters + plan.parameter_count()) {
    Start(0, 0);
  }

  void Start(std::int64_t seed, int width) {
    moments_.clear();
    moments_.emplace_back("fixed", "objects");
    river().ResetToWorld(seed, width);
    Plan();
  }

  void Step() {
    if (river().is_over()) return;
    Keep();
    river().Step(scores_, INT32_MAX);
    Plan();
  }

  void Back() {
    if (moments_.size() == 1) return;
    moments_.pop_back();
    Plan();
  }

  // Not in a world that is over: its last step is taken back first.
  void Edit(int column, int row, int kind) {
    Keep();
    if (kind < kKinds) {
      river().SetCell(column, row, static_cast<RiverCrossing::Cell>(kind));
    } else {
      river().MoveAgent(column, row);
    }
    Plan();
  }

  const std::int32_t* facts() const { return facts_; }
  const std::uint8_t* cells() const { return cells_; }
  const float* map() const { return map_.Row(0); }
  const float* scores() const { return scores_; }
  const float* desires() const { return desires_; }

  const float* Heights(int cycles) {
    Spread(cycles);
    for (int place = 0; place < kSide * kSide; ++place) heights_[place] = spread_[place * kMap];
    FollowPath();
    return heights_;
  }

  const std::int16_t* path() const { return path_; }

 private:
  RiverCrossing& river() { return moments_.back(); }

  // Begins the next moment as a copy of this one.
  void Keep() {
    if (moments_.size() == kMostMoments) moments_.pop_front();
    moments_.push_back(river());
  }

  void Plan() {
    river().Observe(observation_.Row(0));
    Decide(decision_, parameters_.data(), observation_, {map_.Row(0), map_.row_stride()});
    Spread(static_cast<int>(landscape_.cycles));
    Climb(climb_, parameters_.data(), spread_, scores_);
    for (int row = 0; row < kSide; ++row) {
      for (int column = 0; column < kSide; ++column) cells_[row * kSide + column] = river().cell(column, row);
    }
    for (int carries : {0, 1}) Ask(carries != 0, desires_ + carries * kKinds * 2);
    const int action = static_cast<int>(std::max_element(scores_, scores_ + kActions) - scores_);
    const int facts[] = {river().column(),
                         river().row(),
                         river().carries(),
                         river().width(),
                         river().age(),
                         river().is_over(),
                         action,
                         static_cast<int>(landscape_.cycles),
                         moments_.size() > 1};
    std::copy(std::begin(facts), std::end(facts), facts_);
  }

  // Writes the map as it is after some cycles of the landscape.
  void Spread(int cycles) {
    LayerPlan layer = landscape_;
    layer.cycles = cycles;
    Landscape(layer).Run(map_, parameters_.data(), true, {spread_, kSide * kMap});
  }

  // Writes where the agent would climb if nothing changed on its way: places (row * 20 + column), and then -1.
  void FollowPath() {
    int column = river().column(), row = river().row(), length = 0;
    spread_[(row * kSide + column) * kMap + 2] = 0;
    while (length < kLongestPath) {
      const int place = row * kSide + column;
      float scores[kActions];
      path_[length++] = static_cast<std::int16_t>(place);
      spread_[place * kMap + 2] = 1;
      Climb(climb_, parameters_.data(), spread_, scores);
      spread_[place * kMap + 2] = 0;
      const int direction = static_cast<int>(std::max_element(scores, scores + kActions) - scores) % kDirections;
      column += RiverCrossing::kColumnSteps[direction];
      row += RiverCrossing::kRowSteps[direction];
      const bool is_outside = column < 0 || column >= kSide || row < 0 || row >= kSide;
      if (is_outside || std::find(path_, path_ + length, row * kSide + column) < path_ + length) break;
    }
    path_[length] = -1;
  }

  // Writes (desire, whether hands are used) for each kind of cells, if the agent carries a stone or not: what the
  // decision makes of a row with a cell of each kind, in which the agent stands on the kind that it stands on now.
  void Ask(bool carries, float* answers) {
    LayerPlan layer = decision_;
    layer.in_height = layer.out_height = 1;
    layer.in_width = layer.out_width = kKinds;
    PaddedImage row(1, kKinds, kPlanes, 0, 0);
    for (int kind = 1; kind < kKinds; ++kind) row.Row(0)[kind * kPlanes + kind - 1] = 1;
    const int under = river().cell(river().column(), river().row());
    row.Row(0)[under * kPlanes + (carries ? 4 : 5)] = 1;
    float values[kKinds * kMap];
    Decide(layer, parameters_.data(), row, {values, kKinds * kMap});
    for (int kind = 0; kind < kKinds; ++kind) std::copy_n(values + kind * kMap, 2, answers + kind * 2);
  }

  const LayerPlan decision_, landscape_, climb_;
  const std::vector<float> parameters_;
  std::deque<RiverCrossing> moments_;  // the last one is now
  PaddedImage observation_{kSide, kSide, kPlanes, 0, 0}, map_{kSide, kSide, kMap, 0, 0};
  float spread_[kSide * kSide * kMap], heights_[kSide * kSide], scores_[kActions], desires_[2 * kKinds * 2];
  std::uint8_t cells_[kSide * kSide];
  std::int16_t path_[kLongestPath + 1];
  std::int32_t facts_[9];
};

std::unique_ptr<Scene> scene;

}  // namespace
}  // namespace neurozoo

using neurozoo::scene;

#define NEUROZOO_PAGE extern "C" __attribute__((visibility("default"), used))

// Opens an agent: plan (20 numbers a layer), 3 scales a layer, weights.
NEUROZOO_PAGE void river_open(const std::int64_t* numbers, const float* scales, int layers, const float* parameters) {
  const auto plan = neurozoo::NetworkPlan::Parse({numbers, numbers + 20 * layers}, {scales, scales + 3 * layers});
  scene = std::make_unique<neurozoo::Scene>(plan, parameters);
}

NEUROZOO_PAGE void river_start(double seed, int width) { scene->Start(static_cast<std::int64_t>(seed), width); }
NEUROZOO_PAGE void river_step() { scene->Step(); }
NEUROZOO_PAGE void river_back() { scene->Back(); }  // takes the last step or edit back

// Puts a kind of cell (0 to 4) or the agent (5) somewhere.
NEUROZOO_PAGE void river_edit(int column, int row, int kind) { scene->Edit(column, row, kind); }

// column, row, carries, width, age, is over, next action, cycles, whether there is a way back
NEUROZOO_PAGE const std::int32_t* river_facts() { return scene->facts(); }
NEUROZOO_PAGE const std::uint8_t* river_cells() { return scene->cells(); }               // (row, column)
NEUROZOO_PAGE const float* river_map() { return scene->map(); }                          // (row, column, 3)
NEUROZOO_PAGE const float* river_heights(int cycles) { return scene->Heights(cycles); }  // (row, column)
NEUROZOO_PAGE const std::int16_t* river_path() { return scene->path(); }  // on the heights that were asked for last
NEUROZOO_PAGE const float* river_scores() { return scene->scores(); }     // (18,)
NEUROZOO_PAGE const float* river_desires() { return scene->desires(); }   // (carries, kind, desire and hands)
