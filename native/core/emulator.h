#ifndef NEUROZOO_CORE_EMULATOR_H_
#define NEUROZOO_CORE_EMULATOR_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ale {
class ALEInterface;
class ALEState;
namespace stella {
class Random;
}
}  // namespace ale

namespace neurozoo {

// One Atari console with a game in it.
//
// Resetting restores a snapshot, memory and picture alike, that was taken after the console was switched on: the
// emulator's own reset leaves RAM as the previous game left it, so that an episode would depend on what its thread
// played before. It is also about a hundred times faster.
//
// An emulator belongs to one thread. Emulators may be constructed in several threads at once: the emulator library is
// not thread-safe there, so that construction takes a global lock.
class Emulator {
 public:
  static constexpr int kNoop = 0;

  // `sticky_probability` is the chance per frame that the previous action is repeated.
  // Throws std::runtime_error if `rom` is missing or not a game that the emulator library knows.
  Emulator(const std::string& rom, double sticky_probability);
  ~Emulator();

  // Starts a new game. `seed` decides which actions stick; it equals the emulator library's `random_seed`.
  void Reset(std::int64_t seed);

  // Emulates one frame with `action` (the emulator library's code) and returns the points that it brought.
  int Act(int action);

  bool game_over() const;

  int height() const { return height_; }
  int width() const { return width_; }

  // The newest frame: `height() * width()` palette indices, row-major. Valid until the next Reset or Act.
  const std::uint8_t* screen() const;

  // 0xRRGGBB by palette index; only even indices are colours.
  const std::array<std::uint32_t, 256>& rgb_palette() const { return rgb_palette_; }

  // The emulator library's grey byte by palette index.
  const std::array<std::uint8_t, 256>& grey_palette() const { return grey_palette_; }

 private:
  std::unique_ptr<ale::ALEInterface> ale_;
  std::unique_ptr<ale::stella::Random> random_;
  double sticky_probability_;
  int previous_action_ = kNoop;
  int height_ = 0;
  int width_ = 0;
  std::array<std::uint32_t, 256> rgb_palette_;
  std::array<std::uint8_t, 256> grey_palette_;
  std::unique_ptr<ale::ALEState> start_state_;
  std::vector<std::uint8_t> start_current_frame_;
  std::vector<std::uint8_t> start_previous_frame_;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_EMULATOR_H_
