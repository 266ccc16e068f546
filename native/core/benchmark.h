#ifndef NEUROZOO_CORE_BENCHMARK_H_
#define NEUROZOO_CORE_BENCHMARK_H_

#include <cstdint>
#include <vector>

#include "core/episode.h"
#include "core/network.h"
#include "core/world.h"

namespace neurozoo {

// A span of time in seconds: wall-clock time, and processor time of the calling thread. On a shared machine only the
// second says what the work costs.
struct Seconds {
  double wall = 0;
  double processor = 0;
};

// What an episode's world cost, part by part.
struct WorldTimes {
  Seconds reset;    // the start of the episode, no-ops included
  Seconds play;     // all steps
  Seconds observe;  // all observations
  std::int64_t frames = 0;
  double score = 0;  // to be compared with the episode that is repeated
};

// Repeats an episode, given the number of the action in each step. Without `observes` no observation is made, so that
// `play` is the emulator alone. Throws std::out_of_range for an action that does not exist.
WorldTimes TimeWorld(World* world, const EpisodeStart& start, const std::vector<std::int64_t>& actions, bool observes);

// Shows `steps` planes, one after the other, to a network as an episode does, and times its answers.
//
// `planes` holds steps * plane_size floats; the network's input has a whole number of planes. `outputs` receives
// steps * num_outputs floats. The weights should have been set.
Seconds TimeForward(Network* network, const NetworkPlan& plan, const float* planes, std::int64_t steps,
                    std::int64_t plane_channels, float* outputs);

// Floats in the widest vector that this library was built for.
int VectorLanes();

// The most multiply-adds that one core does per second of processor time: fused, independent, of the widest vectors, in
// registers. The best of several tries, which take `seconds` together.
double PeakMultiplyAdds(double seconds);

// Bytes per second of wall time that `num_threads` threads together read from a buffer far larger than the caches. The
// best of several passes. Throws std::bad_alloc, and std::system_error if a thread cannot be started.
double ReadBandwidth(int num_threads);

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_BENCHMARK_H_
