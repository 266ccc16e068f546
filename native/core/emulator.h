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

// A byte of the console's memory.
struct RamCell {
  int index;
  std::uint8_t value;
};

// One Atari console with a game in it.
//
// A reset restores the console as it was after the ROM was loaded, and then resets it. The emulator library's own reset
// leaves RAM as the last game left it, and its snapshots lack parts of the video chip: with only one of the two, an
// episode would depend on what its thread played before. Both take about 5 ms; loading the ROM again takes 100. That is
// done only where actions stick and the library walks through the game's menu at the start (double_dunk, berzerk), so
// that the start depends on the seed.
//
// An emulator belongs to one thread. Emulators may be constructed in several threads at once; a global lock covers it,
// because the emulator library is not thread-safe there.
class Emulator {
 public:
  static constexpr int kNoop = 0;
  static constexpr int kRamBytes = 128;

  // `sticky_probability` is the chance per frame that the previous action is repeated; `start_ram` is written after
  // every reset. Throws std::runtime_error if `rom` is missing or not a game that the emulator library knows, and
  // std::invalid_argument for a RAM cell that does not exist.
  Emulator(const std::string& rom, double sticky_probability, const std::vector<RamCell>& start_ram);
  ~Emulator();

  // Starts a new game. `seed` decides which actions stick; it equals the emulator library's `random_seed`.
  // Throws std::runtime_error if the ROM has to be loaded and is gone.
  void Reset(std::int64_t seed);

  // Starts a new game as the emulator library does: random numbers go on, and so does whatever outlives its reset.
  void Restart();

  // Emulates one frame with `action` (the emulator library's code) and returns the points that it brought.
  int Act(int action);

  bool game_over() const;
  int lives() const;

  // Frames since the start of the game, as the emulator library counts them.
  int episode_frames() const;

  int height() const { return height_; }
  int width() const { return width_; }

  // The newest frame: `height() * width()` palette indices, row-major. Valid until the next Reset or Act.
  const std::uint8_t* screen() const;

  // The console's memory as it is now.
  const std::uint8_t* ram(std::size_t* size) const;

  // 0xRRGGBB by palette index. Odd indices are the greys of a PAL game that loses its colours; NTSC has none on screen.
  const std::array<std::uint32_t, 256>& rgb_palette() const { return rgb_palette_; }

  // The emulator library's grey byte by palette index.
  const std::array<std::uint8_t, 256>& grey_palette() const { return grey_palette_; }

 private:
  void LoadRom();  // throws std::runtime_error

  const std::string rom_;
  std::unique_ptr<ale::ALEInterface> ale_;
  std::unique_ptr<ale::stella::Random> random_;
  const double sticky_probability_;
  const std::vector<RamCell> start_ram_;
  bool loads_at_reset_ = false;
  int previous_action_ = kNoop;
  int height_ = 0;
  int width_ = 0;
  std::array<std::uint32_t, 256> rgb_palette_;
  std::array<std::uint8_t, 256> grey_palette_;
  std::unique_ptr<ale::ALEState> loaded_state_;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_EMULATOR_H_
