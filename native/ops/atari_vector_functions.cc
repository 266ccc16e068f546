// C functions for learners, which give their arrays through Python's ctypes. TensorFlow has no part in them.
//
// A function returns whether it succeeded; if not, it writes a sentence of at most `size` bytes to `message`.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <vector>

#include "core/atari_vector.h"

namespace neurozoo {
namespace {

template <typename Function>
bool Told(char* message, std::int64_t size, Function&& function) {
  try {
    function();
    return true;
  } catch (const std::bad_alloc&) {
    std::snprintf(message, size, "There is not enough memory; ask for fewer environments.");
  } catch (const std::exception& error) {
    std::snprintf(message, size, "%s", error.what());
  }
  return false;
}

}  // namespace
}  // namespace neurozoo

extern "C" {

using neurozoo::AtariEpisode;
using neurozoo::AtariVector;

__attribute__((visibility("default"))) bool neurozoo_atari_vector_make(
    const char* rom, const std::int32_t* actions, std::int32_t num_actions, float sticky_probability,
    std::int32_t frame_skip, std::int32_t most_noops, std::int64_t max_frames, std::int32_t num_environments,
    std::int32_t num_threads, AtariVector** vector, char* message, std::int64_t size) {
  return neurozoo::Told(message, size, [&] {
    *vector = new AtariVector({rom, std::vector<int>(actions, actions + num_actions), sticky_probability, frame_skip,
                               most_noops, max_frames, num_environments, num_threads});
  });
}

__attribute__((visibility("default"))) bool neurozoo_atari_vector_reset(AtariVector* vector, const std::int64_t* seeds,
                                                                        const std::uint8_t* is_chosen,
                                                                        std::uint8_t* stacks,
                                                                        AtariEpisode::Facts* facts, char* message,
                                                                        std::int64_t size) {
  return neurozoo::Told(message, size, [&] { vector->Reset(seeds, is_chosen, stacks, facts); });
}

__attribute__((visibility("default"))) void neurozoo_atari_vector_send(AtariVector* vector, const std::int32_t* actions,
                                                                       std::uint8_t* stacks,
                                                                       AtariEpisode::Facts* facts) {
  vector->Send(actions, stacks, facts);
}

__attribute__((visibility("default"))) bool neurozoo_atari_vector_receive(AtariVector* vector, char* message,
                                                                          std::int64_t size) {
  return neurozoo::Told(message, size, [&] { vector->Receive(); });
}

__attribute__((visibility("default"))) void neurozoo_atari_vector_delete(AtariVector* vector) { delete vector; }

}  // extern "C"
