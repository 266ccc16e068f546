#include "core/atari_vector.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace neurozoo {

AtariEpisode::AtariEpisode(const AtariVectorOptions& options)
    : options_(options),
      emulator_(options.rom, options.sticky_probability, {}),
      picture_(emulator_),
      previous_screen_(static_cast<std::size_t>(emulator_.height()) * emulator_.width()) {
  if (options.frame_skip < 2) throw std::invalid_argument("A step should have at least 2 frames.");
}

int AtariEpisode::DrawNoops(std::int64_t seed) const {
  // As GNU's std::uniform_int_distribution draws it, with which ale-py is built.
  // Source: Lemire 2019, doi:10.1145/3230636.
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  const std::uint32_t range = static_cast<std::uint32_t>(options_.most_noops) + 1;
  const auto draw = [&] { return static_cast<std::uint64_t>(random()) * range; };
  std::uint64_t product = draw();
  while (static_cast<std::uint32_t>(product) < -range % range) product = draw();
  return static_cast<int>(product >> 32);
}

std::uint8_t* AtariEpisode::NextPicture() {
  std::uint8_t* picture = pictures_[oldest_].data();
  oldest_ = (oldest_ + 1) % kStack;
  return picture;
}

void AtariEpisode::Reset(std::int64_t seed) {
  emulator_.Reset(seed);
  for (int noops = DrawNoops(seed); noops > 0; --noops) {
    emulator_.Act(Emulator::kNoop);
    if (emulator_.game_over()) emulator_.Restart();
  }
  for (auto& picture : pictures_) picture.fill(0);
  picture_.Show(nullptr, emulator_.screen(), NextPicture());
  frames_ = 0;
  facts_ = {0, 0, 0, emulator_.lives(), emulator_.episode_frames()};
}

void AtariEpisode::Step(int action) {
  if (action < 0 || action >= static_cast<int>(options_.actions.size())) {
    throw std::out_of_range("The game has the actions 0 to " + std::to_string(options_.actions.size() - 1) +
                            ", but got " + std::to_string(action) + ".");
  }
  facts_.reward = 0;
  if (facts_.is_over || facts_.is_cut) return;
  bool has_previous = false;
  for (int left = options_.frame_skip; left > 0; --left) {
    if (left == 1) {
      std::memcpy(previous_screen_.data(), emulator_.screen(), previous_screen_.size());
      has_previous = true;
    }
    facts_.reward += emulator_.Act(options_.actions[action]);
    ++frames_;
    facts_.is_over = emulator_.game_over();
    facts_.is_cut = !facts_.is_over && frames_ >= options_.max_frames;
    if (facts_.is_over || facts_.is_cut) break;
  }
  facts_.lives = emulator_.lives();
  facts_.episode_frames = emulator_.episode_frames();
  const std::uint8_t* previous = has_previous ? previous_screen_.data() : nullptr;
  if (facts_.is_over || facts_.is_cut) {
    picture_.ShowEnd(previous, NextPicture());
  } else {
    picture_.Show(previous, emulator_.screen(), NextPicture());
  }
}

void AtariEpisode::Observe(std::uint8_t* stack) const {
  for (int i = 0; i < kStack; ++i) {
    std::memcpy(stack + i * kPlanePixels, pictures_[(oldest_ + i) % kStack].data(), kPlanePixels);
  }
}

AtariVector::AtariVector(const AtariVectorOptions& options)
    : actions_(options.num_environments), threads_(options.num_threads) {
  if (options.num_threads < 1) throw std::invalid_argument("A vector of environments needs at least 1 thread.");
  if (options.num_environments < 1) throw std::invalid_argument("There should be at least 1 environment.");
  if (options.actions.empty()) throw std::invalid_argument("A game should have at least 1 action.");
  episodes_.resize(options.num_environments);
  episodes_.front() = std::make_unique<AtariEpisode>(options);  // a bad ROM shows here
  threads_.Run(options.num_environments - 1,
               [&](int i) { episodes_[i + 1] = std::make_unique<AtariEpisode>(options); });
}

void AtariVector::Write(int environment, std::uint8_t* stacks, AtariEpisode::Facts* facts) const {
  const AtariEpisode& episode = *episodes_[environment];
  episode.Observe(stacks + static_cast<std::ptrdiff_t>(environment) * AtariEpisode::kStack * kPlanePixels);
  facts[environment] = episode.facts();
}

void AtariVector::Reset(const std::int64_t* seeds, const std::uint8_t* is_chosen, std::uint8_t* stacks,
                        AtariEpisode::Facts* facts) {
  threads_.Run(static_cast<int>(episodes_.size()), [&](int i) {
    if (is_chosen[i]) episodes_[i]->Reset(seeds[i]);
    Write(i, stacks, facts);
  });
}

void AtariVector::Send(const std::int32_t* actions, std::uint8_t* stacks, AtariEpisode::Facts* facts) {
  std::copy_n(actions, actions_.size(), actions_.begin());
  step_ = threads_.Begin(static_cast<int>(episodes_.size()), [this, stacks, facts](int i) {
    episodes_[i]->Step(actions_[i]);
    Write(i, stacks, facts);
  });
}

}  // namespace neurozoo
