#ifndef NEUROZOO_CORE_ATARI_H_
#define NEUROZOO_CORE_ATARI_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/emulator.h"
#include "core/preprocessing.h"
#include "core/random.h"
#include "core/world.h"

namespace neurozoo {

// How an Atari game is played: `Protocol` in Python, with the game's action codes filled in.
struct AtariProtocol {
  std::string rom;
  std::vector<int> actions;        // the emulator library's codes, in the order of the network's outputs
  std::vector<int> start_actions;  // one step of each after the no-ops
  double sticky_probability = 0;
  int frame_skip = 4;
  int least_frame_skip = 4;  // below `frame_skip`: each step draws its number of frames
  std::string preprocessing;
  std::vector<RamCell> start_ram;  // written after every reset
};

class Atari : public World {
 public:
  // Throws as Emulator and MakePreprocessor do, and std::invalid_argument for steps of no frame.
  explicit Atari(const AtariProtocol& protocol);

  const ObservationShape& shape() const override { return shape_; }
  std::int64_t num_outputs() const override { return static_cast<std::int64_t>(protocol_.actions.size()); }
  void Reset(std::int64_t noops, std::int64_t seed) override;
  StepOutcome Step(const float* outputs, std::int64_t max_frames) override;
  void Observe(float* plane) override;
  bool repeats_first_plane() const override { return preprocessor_->repeats_first_plane(); }
  const std::uint8_t* ram(std::size_t* size) const override { return emulator_.ram(size); }

 private:
  void RememberScreen();

  const AtariProtocol protocol_;
  Emulator emulator_;
  std::unique_ptr<Preprocessor> preprocessor_;
  const ObservationShape shape_;
  SplitMix64 random_{0};  // of the numbers of frames
  std::vector<std::uint8_t> previous_screen_;
  bool has_previous_screen_ = false;
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_ATARI_H_
