// Plays one episode in a native world, so that a test can compare it with the Python twin.
//
//   world_driver WORLD SEED MAX_FRAMES [RULES OBSERVATION] < outputs > record
//
// Reads the network outputs of each step (float32) and writes the first plane (float32), then for each step the reward
// (float64), the frames and whether it is over (int64), and the plane; at the end the final positions (float32).

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "core/hard_maze.h"
#include "core/river_crossing.h"

namespace {

template <typename T>
void Write(const T* values, std::size_t count) {
  std::cout.write(reinterpret_cast<const char*>(values), static_cast<std::streamsize>(count * sizeof(T)));
}

std::unique_ptr<neurozoo::World> MakeWorld(char** arguments) {
  if (std::string(arguments[1]) == "hard_maze") return std::make_unique<neurozoo::HardMaze>();
  return std::make_unique<neurozoo::RiverCrossing>(arguments[4], arguments[5]);
}

}  // namespace

int main(int, char** arguments) {
  const std::unique_ptr<neurozoo::World> world = MakeWorld(arguments);
  std::int64_t frames_left = std::atoll(arguments[3]);
  std::vector<float> plane(world->shape().plane_size()), outputs(world->num_outputs());
  world->Reset(0, std::atoll(arguments[2]));
  world->Observe(plane.data());
  Write(plane.data(), plane.size());
  char* const bytes = reinterpret_cast<char*>(outputs.data());
  while (std::cin.read(bytes, static_cast<std::streamsize>(outputs.size() * sizeof(float)))) {
    const neurozoo::StepOutcome outcome = world->Step(outputs.data(), frames_left);
    const std::int64_t numbers[] = {outcome.frames, outcome.is_over};
    world->Observe(plane.data());
    Write(&outcome.reward, 1);
    Write(numbers, 2);
    Write(plane.data(), plane.size());
    frames_left -= outcome.frames;
  }
  Write(world->final_positions().data(), world->final_positions().size());
}
