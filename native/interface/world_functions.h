#ifndef NEUROZOO_INTERFACE_WORLD_FUNCTIONS_H_
#define NEUROZOO_INTERFACE_WORLD_FUNCTIONS_H_

// What functions about worlds share: objects that make worlds, behaviours, starts and outcomes of episodes.

#include <functional>
#include <memory>
#include <vector>

#include "core/episode.h"
#include "core/world.h"
#include "interface/functions.h"

namespace neurozoo {

// An object that calls give and take as `world`.
using WorldMaker = std::function<std::unique_ptr<World>()>;

// Reads the input `behaviour`; throws std::invalid_argument if it is unknown.
Behaviour ReadBehaviour(const Call& call);

// Reads the inputs `noops`, `seeds` and `max_frames`, which have one row for each of `count` episodes.
std::vector<EpisodeStart> ReadStarts(const Call& call, std::int64_t count);

// Makes the outputs kOutcomes.
void GiveOutcomes(Call* call, const std::vector<EpisodeOutcome>& outcomes);

#define NEUROZOO_STARTS "noops: int64, seeds: int64, max_frames: int64"
#define NEUROZOO_OUTCOMES \
  "scores: float64, sign_scores: float64, steps: int64, frames: int64, behaviours: uint8, behaviour_sizes: int64"

}  // namespace neurozoo

#endif  // NEUROZOO_INTERFACE_WORLD_FUNCTIONS_H_
