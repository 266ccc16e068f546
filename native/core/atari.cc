#include "core/atari.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace neurozoo {

Atari::Atari(const AtariProtocol& protocol)
    : protocol_(protocol),
      emulator_(protocol.rom, protocol.sticky_probability, protocol.start_ram),
      preprocessor_(MakePreprocessor(protocol.preprocessing, emulator_)),
      shape_(preprocessor_->shape()),
      previous_screen_(static_cast<std::size_t>(emulator_.height()) * emulator_.width()) {
  if (protocol.least_frame_skip < 2 || protocol.frame_skip < protocol.least_frame_skip) {
    throw std::invalid_argument("A step should have at least 2 frames, and no more at least than at most.");
  }
  if (protocol.actions.empty()) throw std::invalid_argument("A game should have at least 1 action.");
}

void Atari::RememberScreen() {
  std::memcpy(previous_screen_.data(), emulator_.screen(), previous_screen_.size());
  has_previous_screen_ = true;
}

void Atari::Reset(std::int64_t noops, std::int64_t seed) {
  random_ = SplitMix64(static_cast<std::uint64_t>(seed));
  emulator_.Reset(seed);
  has_previous_screen_ = false;
  const auto goes_on = [&](int action) {
    RememberScreen();
    emulator_.Act(action);
    if (!emulator_.game_over()) return true;
    emulator_.Reset(seed);
    has_previous_screen_ = false;
    return false;
  };
  for (std::int64_t i = 0; i < noops; ++i) goes_on(Emulator::kNoop);
  for (int action : protocol_.start_actions) {
    for (int frame = 0; frame < protocol_.frame_skip && goes_on(action); ++frame) {
    }
  }
  has_previous_screen_ =
      has_previous_screen_ && preprocessor_->starts_with_two_frames(!protocol_.start_actions.empty());
}

StepOutcome Atari::Step(const float* outputs, std::int64_t max_frames) {
  const int action = protocol_.actions[std::max_element(outputs, outputs + num_outputs()) - outputs];
  std::int64_t frames = protocol_.frame_skip;
  if (protocol_.least_frame_skip < frames) {
    frames = protocol_.least_frame_skip + random_.Below(frames - protocol_.least_frame_skip + 1);
  }
  StepOutcome outcome{0, 0, false};
  while (!outcome.is_over && outcome.frames < frames && outcome.frames < max_frames) {
    if (outcome.frames == frames - 1) RememberScreen();
    outcome.reward += emulator_.Act(action);
    ++outcome.frames;
    outcome.is_over = emulator_.game_over();
  }
  return outcome;
}

void Atari::Observe(float* plane) {
  preprocessor_->Process(has_previous_screen_ ? previous_screen_.data() : nullptr, emulator_.screen(), plane);
}

}  // namespace neurozoo
