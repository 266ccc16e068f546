// Evaluators that are made and destroyed while they play, with and without errors in their workers: for sanitizers.
//
// stress PLAN SCALES NOISE EPISODES: plan (int64) and scales (float) of a network for the hard maze, and a noise table.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/evaluator.h"
#include "core/hard_maze.h"

using namespace neurozoo;

template <typename T>
std::vector<T> Read(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<T> values(static_cast<std::size_t>(file.tellg()) / sizeof(T));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
  return values;
}

// A maze whose walls fall down in the first step of the 20th episode.
class FallingMaze : public HardMaze {
 public:
  void Reset(std::int64_t noops, std::int64_t seed) override {
    if (++episodes_ == 20) throw std::runtime_error("the maze has fallen down");
    HardMaze::Reset(noops, seed);
  }

 private:
  int episodes_ = 0;
};

std::vector<Task> Tasks(int count) {
  std::vector<Task> tasks;
  for (int i = 0; i < count; ++i) tasks.push_back({i, i % 3, 7 * i, 0.1f, {0, i, 1 + i % 40}});
  return tasks;
}

int main(int, char** arguments) {
  const NetworkPlan plan = NetworkPlan::Parse(Read<std::int64_t>(arguments[1]), Read<float>(arguments[2]));
  const int episodes = std::atoi(arguments[4]);
  EvaluatorOptions options;
  options.make_world = [] { return std::make_unique<HardMaze>(); };
  options.plan = plan;
  options.behaviour = Behaviour::kFinalPosition;
  options.noise_path = arguments[3];
  options.num_threads = 4;
  const std::vector<Genome> genomes = {{-1, nullptr, 1, {}}, {-1, nullptr, 2, {{5, 0.5f}}}, {-1, nullptr, 3, {}}};

  Evaluator whole(options);
  whole.Hold(genomes);
  whole.Submit(Tasks(episodes));
  std::size_t finished = 0;
  while (finished < static_cast<std::size_t>(episodes)) {
    const std::vector<TaskResult> results = whole.Receive(std::chrono::duration<double>(1));
    finished += results.size();
    if (!results.empty()) whole.Hold(genomes);  // while episodes run
  }

  for (int i = 0; i < 20; ++i) {  // destroyed at once, or after some results
    Evaluator broken_off(options);
    broken_off.Hold(genomes);
    broken_off.Submit(Tasks(50));
    if (i % 2 == 1) broken_off.Receive(std::chrono::duration<double>(0.01));
  }

  options.make_world = [] { return std::make_unique<FallingMaze>(); };
  int errors = 0;
  for (int i = 0; i < 5; ++i) {
    Evaluator failing(options);
    failing.Hold(genomes);
    failing.Submit(Tasks(200));
    try {
      while (true) failing.Receive(std::chrono::duration<double>(1));
    } catch (const std::runtime_error&) {
      ++errors;
    }
  }
  std::printf("%zu episodes, %d errors\n", finished, errors);
  return finished == static_cast<std::size_t>(episodes) && errors == 5 ? 0 : 1;
}
