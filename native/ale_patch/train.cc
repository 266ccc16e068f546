// Plays games with random actions, so that the compiler sees which code of the emulator is used how often.
//
// train ROM...

#include <cstdio>
#include <exception>

#include "core/emulator.h"
#include "core/random.h"

int main(int argc, char** argv) {
  try {
    for (int game = 1; game < argc; ++game) {
      neurozoo::Emulator emulator(argv[game], 0, {});
      neurozoo::SplitMix64 random(1);
      emulator.Reset(0);
      for (int step = 0; step < 200; ++step) {
        const int action = static_cast<int>(random.Below(18));
        for (int frame = 0; frame < 4; ++frame) emulator.Act(action);
        if (emulator.game_over()) emulator.Reset(0);
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
