#include "core/episode.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace neurozoo {
namespace {

constexpr int kStack = 4;

}  // namespace

EpisodePlayer::EpisodePlayer(const Protocol& protocol, const NetworkPlan& plan)
    : protocol_(protocol),
      num_outputs_(plan.num_outputs()),
      emulator_(protocol.rom, protocol.sticky_probability),
      preprocessor_(MakePreprocessor(protocol.preprocessing, emulator_)),
      network_(plan),
      previous_screen_(static_cast<std::size_t>(emulator_.height()) * emulator_.width()),
      plane_(kPlanePixels) {
  const LayerPlan& first = plan.layers.front();
  if (first.in_height != kPlaneSide || first.in_width != kPlaneSide || first.in_channels != kStack) {
    throw std::invalid_argument("The network should take observations of 84 x 84 x 4.");
  }
  if (num_outputs_ != static_cast<std::int64_t>(protocol.actions.size())) {
    throw std::invalid_argument("The network has " + std::to_string(num_outputs_) + " outputs, but the game has " +
                                std::to_string(protocol.actions.size()) + " actions.");
  }
  if (protocol.frame_skip < 2) throw std::invalid_argument("A step should have at least 2 frames.");
}

void EpisodePlayer::ActOnce(int action) {
  std::memcpy(previous_screen_.data(), emulator_.screen(), previous_screen_.size());
  has_previous_screen_ = true;
  emulator_.Act(action);
}

void EpisodePlayer::Restart(const EpisodeStart& start) {
  emulator_.Reset(start.seed);
  has_previous_screen_ = false;
  const auto goes_on = [&](int action) {
    ActOnce(action);
    if (!emulator_.game_over()) return true;
    emulator_.Reset(start.seed);
    has_previous_screen_ = false;
    return false;
  };
  for (std::int64_t i = 0; i < start.noops; ++i) goes_on(Emulator::kNoop);
  for (int action : protocol_.start_actions) {
    for (int frame = 0; frame < protocol_.frame_skip && goes_on(action); ++frame) {
    }
  }
  has_previous_screen_ = has_previous_screen_ && preprocessor_->starts_with_two_frames();
  PaddedImage& observation = network_.observation();
  for (int y = 0; y < kPlaneSide; ++y) std::fill_n(observation.Row(y), kPlaneSide * kStack, 0.0f);
  PushPlane();
}

void EpisodePlayer::PushPlane() {
  preprocessor_->Process(has_previous_screen_ ? previous_screen_.data() : nullptr, emulator_.screen(), plane_.data());
  PaddedImage& observation = network_.observation();
  for (int y = 0; y < kPlaneSide; ++y) {
    float* row = observation.Row(y);
    const float* newest = plane_.data() + y * kPlaneSide;
    for (int x = 0; x < kPlaneSide; ++x, row += kStack) {
      row[0] = row[1];
      row[1] = row[2];
      row[2] = row[3];
      row[3] = newest[x];
    }
  }
}

double EpisodePlayer::Repeat(int action, std::int64_t max_frames, std::int64_t* frames) {
  double reward = 0;
  for (int frame = 0; frame < protocol_.frame_skip; ++frame) {
    if (frame == protocol_.frame_skip - 1) {
      std::memcpy(previous_screen_.data(), emulator_.screen(), previous_screen_.size());
      has_previous_screen_ = true;
    }
    reward += emulator_.Act(action);
    if (++*frames >= max_frames || emulator_.game_over()) break;
  }
  return reward;
}

EpisodeOutcome EpisodePlayer::Play(const float* parameters, const EpisodeStart& start,
                                   const std::atomic<bool>& should_stop, const EpisodeObserver* observer) {
  EpisodeOutcome outcome;
  Restart(start);
  while (true) {
    const float* outputs = network_.Run(parameters);
    const int action = static_cast<int>(std::max_element(outputs, outputs + num_outputs_) - outputs);
    if (observer != nullptr) observer->on_decision(plane_.data(), outputs, action);
    const double reward = Repeat(protocol_.actions[action], start.max_frames, &outcome.frames);
    if (observer != nullptr) observer->on_reward(reward);
    outcome.score += reward;
    ++outcome.steps;
    if (emulator_.game_over() || outcome.frames >= start.max_frames) return outcome;
    if (should_stop.load(std::memory_order_relaxed)) {
      outcome.finished = false;
      return outcome;
    }
    PushPlane();
  }
}

}  // namespace neurozoo
