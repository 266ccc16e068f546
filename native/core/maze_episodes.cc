#include "core/maze_episodes.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/maze.h"
#include "core/random.h"

namespace neurozoo {
namespace {

constexpr int kRows = 128;  // episodes that a thread plays at once with a network, so that each weight is read for many

// The copies of one maze.
class LevelRun {
 public:
  LevelRun(const MazeEpisodes& all, std::int64_t level)
      : all_(all),
        level_(level),
        maze_(all.walls + level * Maze::kCells, static_cast<int>(all.goals[level])),
        copies_(all.num_copies),
        visits_(all.visits + level * Maze::kCells) {
    std::fill_n(visits_, Maze::kCells, 0);
    for (std::int64_t copy = 0; copy < all.num_copies; ++copy) Begin(copy);
  }

  bool is_over() const { return num_finished_ == all_.num_counting; }
  int num_copies() const { return static_cast<int>(copies_.size()); }
  bool IsPlaying(int copy) const { return copies_[copy].episode < all_.num_episodes; }
  const Maze::Pose& pose(int copy) const { return copies_[copy].pose; }
  const Maze& maze() const { return maze_; }

  // A random number from 0 to below 1 of the copy's episode.
  double Draw(int copy) { return copies_[copy].random.Uniform(); }

  // Keeps a wall at the left hand: Python's twin explains it.
  int FollowWall(int copy) {
    Copy& c = copies_[copy];
    const Maze::Kind ahead = maze_.Beside(c.pose, 0), left = maze_.Beside(c.pose, 3), right = maze_.Beside(c.pose, 1);
    int action = Maze::kTurnRight;
    if (ahead == Maze::kGoal) {
      action = Maze::kForward;
    } else if (left == Maze::kGoal) {
      action = Maze::kTurnLeft;
    } else if (right == Maze::kGoal) {
      action = Maze::kTurnRight;
    } else if (left != Maze::kWall && !c.has_turned_left) {
      action = Maze::kTurnLeft;
    } else if (ahead != Maze::kWall) {
      action = Maze::kForward;
    }
    c.has_turned_left = action == Maze::kTurnLeft;
    return action;
  }

  // Makes a step of a copy. Returns whether its episode has ended; the next one has then begun, if there is one.
  bool Step(int copy, int action) {
    Copy& c = copies_[copy];
    const int cell = Maze::CellOf(c.pose);
    ++visits_[cell];
    std::uint64_t& seen = c.seen[cell / 64];
    const std::uint64_t bit = std::uint64_t{1} << cell % 64;
    c.fields[kRepeated] += (seen & bit) != 0;
    seen |= bit;
    ++c.fields[kSteps];
    c.fields[kLeft] += action == Maze::kTurnLeft;
    c.fields[kRight] += action == Maze::kTurnRight;
    const bool is_solved = maze_.Step(action, &c.pose);
    if (!is_solved && c.fields[kSteps] < Maze::kTimeLimit) return false;
    c.fields[kSolved] = is_solved;
    if (!is_over()) {
      const std::int64_t row = level_ * all_.num_counting + num_finished_++;
      std::copy(c.fields.begin(), c.fields.end(), all_.finished + row * MazeEpisodes::kFields);
    }
    ++c.episode;
    if (IsPlaying(copy)) Begin(copy);
    return true;
  }

 private:
  enum Field { kSteps, kSolved, kRepeated, kLeft, kRight };

  struct Copy {
    std::int64_t episode = 0;
    Maze::Pose pose{};
    bool has_turned_left = false;
    std::array<std::uint64_t, Maze::kCells / 64> seen{};  // cells visited in this episode
    std::array<std::int32_t, MazeEpisodes::kFields> fields{};
    SplitMix64 random{0};
  };

  void Begin(std::int64_t copy) {
    Copy& c = copies_[copy];
    const std::int64_t number = copy * all_.num_episodes + c.episode;
    const int direction = all_.directions[level_ * all_.num_copies * all_.num_episodes + number];
    const auto seed = static_cast<std::uint64_t>(all_.seeds[level_]);
    c.pose = Maze::PoseAt(static_cast<int>(all_.starts[level_]), direction);
    c.has_turned_left = false;
    c.seen.fill(0);
    c.fields.fill(0);
    c.random = SplitMix64(SplitMix64::After(seed, number).Next());
  }

  const MazeEpisodes& all_;
  const std::int64_t level_;
  const Maze maze_;
  std::vector<Copy> copies_;
  std::int32_t* const visits_;
  std::int64_t num_finished_ = 0;
};

// What one thread does with levels that it takes from `next`, until there are none.
void FollowWalls(const MazeEpisodes& episodes, std::atomic<std::int64_t>* next) {
  for (std::int64_t level = (*next)++; level < episodes.num_levels; level = (*next)++) {
    LevelRun run(episodes, level);
    while (!run.is_over()) {
      for (int copy = 0; copy < run.num_copies(); ++copy) {
        if (run.IsPlaying(copy)) run.Step(copy, run.FollowWall(copy));
      }
    }
  }
}

// Several levels side by side, each in a slot of its own, with the memories of their copies.
class NetworkPlayer {
 public:
  NetworkPlayer(const MazeEpisodes& episodes, const MazeNetwork& network)
      : episodes_(episodes),
        network_(network),
        copies_(static_cast<int>(episodes.num_copies)),
        slots_(std::max<int>(1, kRows / copies_)) {
    const std::size_t rows = slots_.size() * copies_;
    for (Floats* memory : {&hidden_[0], &hidden_[1], &cells_}) memory->resize(rows * MazeNetwork::kUnits);
    preferences_.resize(rows * MazeNetwork::kMaxActions);
    playing_.reserve(rows);
  }

  void Play(std::atomic<std::int64_t>* next) {
    while (true) {
      playing_.clear();
      for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot) {
        Slot& s = slots_[slot];
        if (s.run == nullptr) {
          const std::int64_t level = (*next)++;
          if (level >= episodes_.num_levels) continue;
          s.Begin(std::make_unique<LevelRun>(episodes_, level));
          for (int copy = 0; copy < copies_; ++copy) Forget(slot * copies_ + copy);
        }
        for (int copy = 0; copy < copies_; ++copy) {
          if (s.run->IsPlaying(copy)) playing_.push_back({slot, copy});
        }
      }
      if (playing_.empty()) return;
      Step();
    }
  }

 private:
  struct Slot {
    std::unique_ptr<LevelRun> run;                  // null: the slot is free
    std::array<std::int32_t, Maze::kPoses> rows{};  // of each pose in `projections`, or -1
    Floats projections;
    std::int32_t num_projections = 0;

    void Begin(std::unique_ptr<LevelRun> new_run) {
      run = std::move(new_run);
      rows.fill(-1);
      num_projections = 0;
    }
    float* projection(int pose) { return projections.data() + std::int64_t{rows[pose]} * MazeNetwork::kGates; }
  };

  struct Playing {
    int slot, copy;
  };

  // Clears the memory of an episode.
  void Forget(int row) {
    std::fill_n(hidden_[now_].data() + row * MazeNetwork::kUnits, MazeNetwork::kUnits, 0.0f);
    std::fill_n(cells_.data() + row * MazeNetwork::kUnits, MazeNetwork::kUnits, 0.0f);
  }

  // Projects what is seen from poses in which no copy of a level has been before.
  void ProjectNewPoses() {
    new_.clear();
    kinds_.clear();
    directions_.clear();
    for (const Playing& p : playing_) {
      Slot& slot = slots_[p.slot];
      const Maze::Pose& pose = slot.run->pose(p.copy);
      const int number = Maze::NumberOf(pose);
      if (slot.rows[number] >= 0) continue;
      slot.rows[number] = slot.num_projections++;
      const std::size_t needed = static_cast<std::size_t>(slot.num_projections) * MazeNetwork::kGates;
      if (slot.projections.size() < needed) slot.projections.resize(std::max(needed, 2 * slot.projections.size()));
      new_.push_back({p.slot, number});
      kinds_.resize(kinds_.size() + kSeenCells);
      slot.run->maze().See(pose, kinds_.data() + kinds_.size() - kSeenCells);
      directions_.push_back(pose.direction);
    }
    if (new_.empty()) return;
    targets_.clear();
    for (const auto& [slot, pose] : new_) targets_.push_back(slots_[slot].projection(pose));
    network_.Project(kinds_.data(), directions_.data(), static_cast<int>(new_.size()), targets_.data());
  }

  void Step() {
    ProjectNewPoses();
    projections_.clear();
    before_.clear();
    cells_of_.clear();
    after_.clear();
    preferences_of_.clear();
    for (const Playing& p : playing_) {
      Slot& slot = slots_[p.slot];
      const std::int64_t row = p.slot * copies_ + p.copy;
      projections_.push_back(slot.projection(Maze::NumberOf(slot.run->pose(p.copy))));
      before_.push_back(hidden_[now_].data() + row * MazeNetwork::kUnits);
      after_.push_back(hidden_[1 - now_].data() + row * MazeNetwork::kUnits);
      cells_of_.push_back(cells_.data() + row * MazeNetwork::kUnits);
      preferences_of_.push_back(preferences_.data() + row * MazeNetwork::kMaxActions);
    }
    network_.Step(static_cast<int>(playing_.size()), projections_.data(), before_.data(), cells_of_.data(),
                  after_.data(), preferences_of_.data());
    now_ = 1 - now_;
    for (std::size_t i = 0; i < playing_.size(); ++i) {
      LevelRun& run = *slots_[playing_[i].slot].run;
      const int copy = playing_[i].copy;
      if (run.Step(copy, Choose(preferences_of_[i], run.Draw(copy)))) Forget(playing_[i].slot * copies_ + copy);
    }
    for (Slot& slot : slots_) {
      if (slot.run != nullptr && slot.run->is_over()) slot.run = nullptr;
    }
  }

  // Draws an action with the probabilities that are the softmax of the preferences; `uniform` is from 0 to below 1.
  int Choose(const float* preferences, double uniform) const {
    const int count = network_.num_actions();
    const float highest = *std::max_element(preferences, preferences + count);
    float powers[MazeNetwork::kMaxActions];
    for (int i = 0; i < count; ++i) powers[i] = preferences[i] - highest;
    Exponentials(powers, count);
    double sum = 0;
    for (int i = 0; i < count; ++i) sum += powers[i];
    const double wanted = uniform * sum;
    double below = 0;
    for (int i = 0; i < count - 1; ++i) {
      below += powers[i];
      if (wanted < below) return i;
    }
    return count - 1;
  }

  static constexpr int kSeenCells = Maze::kView * Maze::kView;

  const MazeEpisodes& episodes_;
  const MazeNetwork& network_;
  const int copies_;
  std::vector<Slot> slots_;
  Floats hidden_[2], cells_, preferences_;  // rows: slot * copies + copy
  int now_ = 0;                             // which of the two holds what the network remembers
  std::vector<Playing> playing_;

  struct NewPose {
    int slot, pose;
  };
  std::vector<NewPose> new_;
  std::vector<std::uint8_t> kinds_;
  std::vector<int> directions_;
  std::vector<float*> targets_, cells_of_, after_, preferences_of_;
  std::vector<const float*> projections_, before_;
};

void Check(const MazeEpisodes& e, int num_threads) {
  if (num_threads < 1) throw std::invalid_argument("Episodes in mazes need at least 1 thread.");
  if (e.num_copies < 1 || e.num_counting < 1 || e.num_copies * e.num_episodes < e.num_counting) {
    throw std::invalid_argument(std::to_string(e.num_copies) + " copies with " + std::to_string(e.num_episodes) +
                                " episodes each never finish " + std::to_string(e.num_counting) + ".");
  }
  for (std::int64_t level = 0; level < e.num_levels; ++level) {
    for (const std::int64_t cell : {e.starts[level], e.goals[level]}) {
      if (cell < 0 || cell >= Maze::kCells || e.walls[level * Maze::kCells + cell] != 0) {
        throw std::invalid_argument("Level " + std::to_string(level) + " has no free cell " + std::to_string(cell) +
                                    " to begin or end in.");
      }
    }
  }
  const std::int64_t count = e.num_levels * e.num_copies * e.num_episodes;
  if (std::any_of(e.directions, e.directions + count, [](std::uint8_t direction) { return direction > 3; })) {
    throw std::invalid_argument("A direction should be from 0 (right) to 3 (up).");
  }
}

}  // namespace

void PlayMazes(const MazeEpisodes& episodes, const MazeNetwork* network, int num_threads) {
  Check(episodes, num_threads);
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      if (network == nullptr) {
        FollowWalls(episodes, &next);
      } else {
        NetworkPlayer(episodes, *network).Play(&next);
      }
    } catch (...) {
      next = episodes.num_levels;
      const std::lock_guard<std::mutex> lock(mutex);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  try {
    while (static_cast<int>(threads.size()) < num_threads - 1) threads.emplace_back(work);
  } catch (const std::system_error& error) {
    next = episodes.num_levels;
    for (std::thread& thread : threads) thread.join();
    throw std::runtime_error("Only " + std::to_string(threads.size()) + " of " + std::to_string(num_threads - 1) +
                             " threads could be started (" + error.what() + "); ask for fewer.");
  }
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace neurozoo
