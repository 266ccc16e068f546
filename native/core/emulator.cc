#include "core/emulator.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <stdexcept>

#include "ale/ale_interface.hpp"
#include "ale/common/ColourPalette.hpp"
#include "ale/common/Log.hpp"
#include "ale/emucore/Console.hxx"
#include "ale/emucore/OSystem.hxx"
#include "ale/emucore/Random.hxx"
#include "ale/environment/ale_screen.hpp"
#include "ale/environment/stella_environment.hpp"

namespace neurozoo {
namespace {

std::mutex construction_mutex;
std::once_flag silenced;

}  // namespace

Emulator::Emulator(const std::string& rom, double sticky_probability, const std::vector<RamCell>& start_ram)
    : rom_(rom),
      random_(std::make_unique<ale::stella::Random>()),
      sticky_probability_(sticky_probability),
      start_ram_(start_ram) {
  for (const RamCell& cell : start_ram) {
    if (cell.index < 0 || cell.index >= kRamBytes) {
      throw std::invalid_argument("The console's memory has the bytes 0 to " + std::to_string(kRamBytes - 1) +
                                  ", but " + std::to_string(cell.index) + " came.");
    }
  }
  std::lock_guard<std::mutex> lock(construction_mutex);
  std::call_once(silenced, [] { ale::Logger::setMode(ale::Logger::Error); });  // once: running emulators read it
  ale_ = std::make_unique<ale::ALEInterface>();
  ale_->setInt("random_seed", 0);
  ale_->setFloat("repeat_action_probability", 0.0f);  // Act does it: the library's memory of it outlives a reset
  ale_->setInt("frame_skip", 1);
  ale_->setInt("max_num_frames_per_episode", 0);
  LoadRom();
  loaded_state_ = std::make_unique<ale::ALEState>(ale_->cloneState());
  ale_->reset_game();
  // Did the start draw from the library's random numbers? They began at seed 0, too.
  random_->seed(0);
  loads_at_reset_ = sticky_probability > 0 && ale_->environment->getEnvironmentRNG().next() != random_->next();
  if (loads_at_reset_) ale_->setFloat("repeat_action_probability", static_cast<float>(sticky_probability));

  height_ = static_cast<int>(ale_->getScreen().height());
  width_ = static_cast<int>(ale_->getScreen().width());
  std::array<std::uint8_t, 255> indices;  // for 255, the library would read beyond its palette
  std::iota(indices.begin(), indices.end(), 0);
  grey_palette_.fill(0);
  ale_->theOSystem->colourPalette().applyPaletteGrayscale(grey_palette_.data(), indices.data(), indices.size());
  for (int i = 0; i < 256; ++i) rgb_palette_[i] = ale_->theOSystem->colourPalette().getRGB(i);
}

Emulator::~Emulator() = default;

void Emulator::LoadRom() {
  // The library ends the whole process on a bad ROM, so it must never see one.
  if (!std::filesystem::is_regular_file(rom_)) throw std::runtime_error("The ROM " + rom_ + " is missing.");
  if (!ale::ALEInterface::isSupportedROM(rom_)) {
    throw std::runtime_error("The ROM " + rom_ + " is not a game that the emulator knows (its MD5 matches none).");
  }
  ale_->loadROM(rom_);
}

void Emulator::Reset(std::int64_t seed) {
  if (loads_at_reset_) {
    std::lock_guard<std::mutex> lock(construction_mutex);
    ale_->setInt("random_seed", static_cast<int>(seed));
    LoadRom();
  } else {
    ale_->restoreState(*loaded_state_);
  }
  ale_->reset_game();
  for (const RamCell& cell : start_ram_) ale_->setRAM(cell.index, cell.value);
  random_->seed(static_cast<std::uint32_t>(seed));
  previous_action_ = kNoop;
}

void Emulator::Restart() {
  ale_->reset_game();
  previous_action_ = kNoop;
}

int Emulator::Act(int action) {
  if (sticky_probability_ > 0 && !loads_at_reset_) {
    // The library draws for both players in every frame; so do we, to stay on its random stream.
    if (random_->nextDouble() >= sticky_probability_) previous_action_ = action;
    random_->nextDouble();
    action = previous_action_;
  }
  return static_cast<int>(ale_->act(static_cast<ale::Action>(action)));
}

bool Emulator::game_over() const { return ale_->game_over(); }

int Emulator::lives() const { return ale_->lives(); }

int Emulator::episode_frames() const { return ale_->getEpisodeFrameNumber(); }

const std::uint8_t* Emulator::ram(std::size_t* size) const {
  *size = kRamBytes;
  return ale_->getRAM().array();
}

// The library would copy it first.
const std::uint8_t* Emulator::screen() const { return ale_->theOSystem->console().mediaSource().currentFrameBuffer(); }

}  // namespace neurozoo
