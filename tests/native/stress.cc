// Evaluators and pools of worlds that are made and destroyed while they play, with and without errors in their threads:
// for sanitizers.
//
// stress PLAN SCALES NOISE EPISODES [ROM]: plan (int64) and scales (float) of a network for the hard maze, or for a
// game if the program was compiled with EMULATOR, and a noise table.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/evaluator.h"
#include "core/learner/q_learner.h"
#include "core/maze_episodes.h"
#include "core/random.h"
#include "core/world_pool.h"
#include "interface/functions.h"
#ifdef EMULATOR
#include "core/atari.h"
#include "core/atari_vector.h"
#else
#include "core/hard_maze.h"
#endif

using namespace neurozoo;

template <typename T>
std::vector<T> Read(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<T> values(static_cast<std::size_t>(file.tellg()) / sizeof(T));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
  return values;
}

#ifdef EMULATOR
constexpr Behaviour kBehaviour = Behaviour::kRam;

class PlayedWorld : public Atari {
 public:
  explicit PlayedWorld(char** arguments)
      : Atari({arguments[5],
               {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17},
               {},
               0.25,
               4,
               2,
               "published_bilinear",
               {}}) {}
};
#else
constexpr Behaviour kBehaviour = Behaviour::kFinalPosition;

class PlayedWorld : public HardMaze {
 public:
  explicit PlayedWorld(char**) {}
};
#endif

// A world that falls down in the first step of the 20th episode.
class FallingWorld : public PlayedWorld {
 public:
  using PlayedWorld::PlayedWorld;

  void Reset(std::int64_t noops, std::int64_t seed) override {
    if (++episodes_ == 20) throw std::runtime_error("the world has fallen down");
    PlayedWorld::Reset(noops, seed);
  }

 private:
  int episodes_ = 0;
};

std::vector<Task> Tasks(int count) {
  std::vector<Task> tasks;
  for (int i = 0; i < count; ++i) tasks.push_back({i, i % 3, 7 * i, 0.1f, {0, i, 1 + i % 40}});
  return tasks;
}

// Plays episodes in a pool, whose two halves are advanced by two threads as the batched engine does it; returns their
// number.
int PlayInPool(const WorldPoolOptions& options, int episodes_per_world) {
  WorldPool pool(options);
  const int half = pool.num_worlds() / 2;
  std::vector<int> ended(2);
  std::vector<std::exception_ptr> failures(2);
  std::vector<std::thread> threads;
  for (int part = 0; part < 2; ++part) {
    threads.emplace_back([&, part] {
      try {
        const int first = part * half;
        std::vector<float> outputs(half * pool.num_outputs(), 0.5f), planes(half * pool.shape().plane_size());
        std::vector<double> rewards(half);
        std::vector<std::uint8_t> states(half);
        for (int i = 0; i < half; ++i) pool.Start(first + i, {0, i, 1 + i % 40});
        while (ended[part] < half * episodes_per_world) {
          pool.Advance(first, half, outputs.data(), planes.data(), rewards.data(), states.data());
          for (int i = 0; i < half; ++i) {
            if (states[i] != WorldPool::kEnded) continue;
            pool.Take(first + i);
            pool.Start(first + i, {0, ++ended[part], 1 + ended[part] % 40});
          }
        }
      } catch (...) {
        failures[part] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return ended[0] + ended[1];
}

// Plays small mazes with each agent in three threads; returns whether all agree with one thread.
int PlayInMazes() {
  SplitMix64 random(1);
  std::vector<float> parameters(432'698 + 33 * 7);
  for (float& value : parameters) value = 0.1f * static_cast<float>(random.Uniform() - 0.5);
  const MazeNetwork network(parameters.data(), static_cast<std::int64_t>(parameters.size()));
  constexpr int kLevels = 5;
  std::vector<std::uint8_t> walls(kLevels * Maze::kCells, 1), directions(kLevels * 6);
  std::vector<std::int64_t> starts, goals, seeds(kLevels, -5);
  for (int level = 0; level < kLevels; ++level) {  // corridors
    for (int cell = 0; cell < 3 + level; ++cell) walls[level * Maze::kCells + cell] = 0;
    const MazeEndpoints ends = Maze::FindEndpoints(walls.data() + level * Maze::kCells);
    starts.push_back(ends.start), goals.push_back(ends.goal);
  }
  int agreeing = 0;
  for (const MazeNetwork* agent : {static_cast<const MazeNetwork*>(nullptr), &network}) {
    std::vector<std::int32_t> finished[2], visits[2];
    for (const int i : {0, 1}) {
      finished[i].resize(kLevels * 4 * MazeEpisodes::kFields), visits[i].resize(kLevels * Maze::kCells);
      PlayMazes({kLevels, 2, 3, 4, walls.data(), starts.data(), goals.data(), directions.data(), seeds.data(),
                 finished[i].data(), visits[i].data()},
                agent, 1 + 2 * i);
    }
    agreeing += finished[0] == finished[1] && visits[0] == visits[1];
  }
  return agreeing;
}

// Steps games in threads, and deletes them during a step; returns how many cut their games in time.
int PlayInVectors(char** arguments) {
#ifdef EMULATOR
  constexpr int kGames = 5;
  int right = 0;
  for (int i = 0; i < 4; ++i) {
    std::vector<std::uint8_t> stacks(kGames * AtariEpisode::kStack * kPlanePixels), chosen(kGames, 1);
    std::vector<AtariEpisode::Facts> facts(kGames);
    AtariVector vector({arguments[5], {0, 1, 2, 3}, 0.25, 4, 30, 60, kGames, 3});
    vector.Reset(std::vector<std::int64_t>{1, 2, 3, 4, 5}.data(), chosen.data(), stacks.data(), facts.data());
    const std::vector<std::int32_t> actions = {0, 1, 2, 3, 3};
    for (int step = 0; step < 15; ++step) {  // the last one is cut
      vector.Send(actions.data(), stacks.data(), facts.data());
      vector.Receive();
    }
    int cut = 0;
    for (const AtariEpisode::Facts& each : facts) cut += each.is_cut;
    right += cut == kGames;
    vector.Reset(std::vector<std::int64_t>(kGames, i).data(), chosen.data(), stacks.data(), facts.data());
    vector.Send(actions.data(), stacks.data(), facts.data());
  }
  return right;
#else
  static_cast<void>(arguments);
  return 0;
#endif
}

const Registration kFunctions[] = {
    {{"make_pool", "", "pool: object", ""}, [](Call* call) { call->Make<WorkerThreads>("pool", 2); }},
    {{"use_pool", "pool: object", "numbers: int32", ""},
     [](Call* call) {
       auto* const numbers = call->Output<std::int32_t>("numbers", {8});
       call->Object<WorkerThreads>("pool")->Run(8, [=](int i) { numbers[i] = i; });
     }},
};

// Closes objects of the C interface while other threads use them; returns how many calls were refused afterwards.
int CloseWhileInUse() {
  std::atomic<int> refused{0};
  for (int i = 0; i < 20; ++i) {
    NeurozooArray pool;
    neurozoo_call(0, nullptr, &pool);
    std::atomic<int> calls{0};
    std::vector<std::thread> users;
    for (int k = 0; k < 3; ++k) {
      users.emplace_back([&] {
        NeurozooArray numbers;
        for (; neurozoo_call(1, &pool, &numbers) == nullptr; ++calls) neurozoo_free(numbers.data);
        ++refused;
      });
    }
    while (calls < 10) std::this_thread::yield();
    neurozoo_close(*static_cast<std::int64_t*>(pool.data));
    for (std::thread& user : users) user.join();
    neurozoo_free(pool.data);
  }
  return refused;
}

const bool kRounds = Bfloat16Convolution::IsAvailable();  // where the processor can

// Learns in threads while another thread asks the weights that act, which it must not disturb; returns how many
// learners did, with networks that have every kind of layer.
int LearnAndAsk() {
  const std::vector<LayerShape> layers = {{0, 11, 9, 4, 6, 5, 20, 4, 2, 1, 1, 1, 0, 1, 0, 0, 0, 0},
                                          {0, 6, 5, 20, 4, 3, 24, 3, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0},
                                          {1, 4, 3, 24, 1, 1, 18, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0},
                                          {1, 1, 1, 18, 1, 1, 17, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}};
  constexpr std::int64_t kCount = 7, kScreens = 6, kPlane = 11 * 9;
  std::vector<std::uint8_t> screens(kCount * kScreens * kPlane);
  for (std::size_t i = 0; i < screens.size(); ++i) screens[i] = static_cast<std::uint8_t>(i * 37);
  const std::vector<std::int32_t> actions = {0, 16, 3, 3, 5, 1, 2};
  const std::vector<float> numbers(kCount, 0.5f);
  int learners = 0;
  for (std::int64_t kind = OptimizerSettings::kRmsprop; kind <= OptimizerSettings::kRadam; ++kind) {
    const OptimizerSettings optimizer{static_cast<OptimizerSettings::Kind>(kind), 1, 0.9, 0.5, 1, 1e-3, 1};
    QLearner learner(layers, 255, {true, kind % 2, kind % 3 == 0, 1e-3, 1}, optimizer, WidestProducts(), kRounds, 3);
    std::vector<float> weights(4 * 4 * 4 * 20, 0.01f);
    learner.Copy(QLearner::kOnline, 0, Part::kWeights, true, weights.data());
    learner.CopyOnlineTo(QLearner::kActing);
    const States states{screens.data(), kScreens * kPlane, kCount, true, nullptr};
    std::vector<float> first(kCount * 17), values(first.size());
    learner.Ask(QLearner::kActing, states, kRounds, first.data());
    std::thread update([&] {
      std::vector<float> errors(kCount);
      const float* given = numbers.data();
      for (int i = 0; i < 20; ++i) {
        learner.Update({screens.data(), kCount, kScreens, 2, actions.data(), given, given, given}, errors.data());
        if (i % 5 == 0) learner.CopyOnlineTo(QLearner::kTarget);
      }
    });
    bool is_same = true;
    for (int i = 0; i < 50; ++i) {
      learner.Ask(QLearner::kActing, states, kRounds, values.data());
      is_same = is_same && values == first;
    }
    update.join();
    learners += is_same;
  }
  return learners;
}

// The same with maps of tiles, batch normalisation, a residual block and Winograd's convolutions.
int LearnFromTiles() {
  const std::vector<LayerShape> layers = {{0, 8, 6, 18, 8, 6, 40, 3, 1, 1, 1, 0, 0, 1, 20, 0, 0, 18},
                                          {0, 8, 6, 40, 8, 6, 40, 3, 1, 1, 1, 0, 0, 1, 0, 81, 0, 0},
                                          {0, 8, 6, 40, 8, 6, 40, 3, 1, 1, 1, 0, 0, 1, 0, 81, 1, 0},
                                          {0, 8, 6, 40, 8, 6, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                          {0, 8, 6, 19, 4, 3, 20, 4, 2, 1, 1, 0, 0, 1, 20, 90, 0, 18},
                                          {1, 4, 3, 20, 1, 1, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}};
  constexpr std::int64_t kCount = 35, kTiles = 8 * 6;
  std::vector<std::uint8_t> tiles(kCount * kTiles);
  for (std::size_t i = 0; i < tiles.size(); ++i) tiles[i] = static_cast<std::uint8_t>(i * 37 % 20);
  QLearner learner(layers, 1, {}, {OptimizerSettings::kAdam, 0, 0, 0, 0, 1e-8, 0}, WidestProducts(), kRounds, 3);
  for (std::int64_t layer = 0; layer < 6; ++layer) {
    std::vector<float> weights(learner.Size(layer, Part::kWeights));
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i * 29 % 61) / 300 - 0.1f;
    learner.Copy(QLearner::kOnline, layer, Part::kWeights, true, weights.data());
  }
  learner.CopyOnlineTo(QLearner::kActing);
  const States states{tiles.data(), kTiles, kCount, false, nullptr};
  std::vector<float> first(kCount * (3 + kTiles)), results(first), values(first);
  learner.Ask(QLearner::kActing, states, kRounds, first.data());
  std::thread update([&] {
    for (int i = 0; i < 10; ++i) {
      learner.Forward(states, results.data());
      learner.Step(results.data(), 1e-3);
    }
  });
  bool is_same = true;
  for (int i = 0; i < 20; ++i) {
    learner.Ask(QLearner::kActing, states, kRounds, values.data());
    is_same = is_same && values == first;
  }
  update.join();
  return is_same;
}

int main(int, char** arguments) {
  const NetworkPlan plan = NetworkPlan::Parse(Read<std::int64_t>(arguments[1]), Read<float>(arguments[2]));
  const int episodes = std::atoi(arguments[4]);
  EvaluatorOptions options;
  options.make_world = [=] { return std::make_unique<PlayedWorld>(arguments); };
  options.plan = plan;
  options.behaviour = kBehaviour;
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

  WorldPoolOptions pool;
  pool.make_world = options.make_world;
  pool.behaviour = options.behaviour;
  pool.num_worlds = 12;
  pool.num_threads = 3;
  int in_pools = 0;
  for (int i = 0; i < 10; ++i) in_pools += PlayInPool(pool, 5) >= 60;

  options.make_world = [=] { return std::make_unique<FallingWorld>(arguments); };
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
  pool.make_world = options.make_world;
  for (int i = 0; i < 5; ++i) {
    try {
      PlayInPool(pool, 100);
    } catch (const std::runtime_error&) {
      ++errors;
    }
  }
  std::printf("%zu episodes, %d pools, %d errors, %d sets of mazes, %d vectors, %d refused, %d learners\n", finished,
              in_pools, errors, PlayInMazes(), PlayInVectors(arguments), CloseWhileInUse(),
              LearnAndAsk() + LearnFromTiles());
}
