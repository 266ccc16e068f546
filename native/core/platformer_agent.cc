#include "core/platformer_agent.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace neurozoo {
namespace {

constexpr int kRepetitions = 2;       // ticks of a node, and between two plans
constexpr float kFarEnough = 176;     // pixels: 11 tiles
constexpr float kVisitedCost = 1500;  // ticks
constexpr float kTimeWeight = 0.9f;
constexpr float kTolerance = 0.1f;  // of an estimate, in ticks
constexpr float kDetour = 20;       // pixels that the furthest node must be ahead of the best one
constexpr float kTopSpeed = 10.9090909f;
constexpr int kFirstPlan = 10;  // ticks

constexpr int kHashSize = 4096;

int Hash(int x, int y) { return (x * 61 + y) & (kHashSize - 1); }

// The ticks to a point far away at the right, from where the runner is and how fast it is.
//
// The way of a runner in the next 1000 ticks is F(v) = 10909.09091 - 88.26446282 + 9.090909091 v; what else the
// description has there is less than 1e-48.
float RemainingTicks(float x, float vx) {
  const auto way = static_cast<float>(10.90909091 * 1000 - 88.26446282 + 9.090909091 * static_cast<double>(vx));
  return (100000 - (way + x)) / kTopSpeed - 1000;
}

// What a child should come to if nothing is in its way.
float Estimate(const Sprite& runner, std::uint8_t buttons) {
  float speed = runner.vx, way = 0;
  const float acceleration = buttons & kSpeed ? 1.2f : 0.6f;
  const float direction = buttons & kRight ? 1 : buttons & kLeft ? -1 : 0;
  for (int i = 0; i < kRepetitions; ++i) {
    speed += acceleration * direction;
    way += speed;
    speed *= 0.89f;
  }
  return RemainingTicks(runner.x + way, speed);
}

float Damage(const Platformer& before, const Platformer& after) {
  float damage = before.power() > after.power() ? 1 : 0;
  if (after.status() == Status::kLost) damage += after.runner().y > kLevelHeight * kTileSize - 20 ? 5 : 2;
  return damage;
}

}  // namespace

float PlatformerAgent::Node::cost() const {
  return (remaining > 0 ? remaining : estimate) + static_cast<float>(depth * kRepetitions) * kTimeWeight;
}

PlatformerAgent::PlatformerAgent() : ahead_(std::make_unique<Platformer>()) {}

void PlatformerAgent::Reset(int budget) {
  budget_ = budget;
  num_nodes_ = 0;
  ticks_to_planning_ = 0;
  plan_.clear();
  nodes_.clear();
  best_ = furthest_ = -1;
}

std::uint8_t PlatformerAgent::Act(const Platformer& game) {
  --ticks_to_planning_;
  if (ticks_to_planning_ <= 0 || plan_.empty()) {
    ExtractPlan();
    const int ahead = std::min(kRepetitions, static_cast<int>(plan_.size()));
    ahead_->CopyFrom(game);
    for (int i = 0; i < ahead; ++i) ahead_->Step(plan_[plan_.size() - 1 - i]);
    ticks_to_planning_ = ahead;
    StartSearch(ahead_->status() == Status::kLost ? game : *ahead_);
  }
  Search();
  if (plan_.empty()) return 0;
  const std::uint8_t buttons = plan_.back();
  plan_.pop_back();
  return buttons;
}

void PlatformerAgent::ExtractPlan() {
  plan_.clear();
  if (best_ < 0) {
    plan_.assign(kFirstPlan, kRight | kSpeed);
    return;
  }
  for (std::int32_t node = best_; nodes_[node].parent >= 0; node = nodes_[node].parent) {
    plan_.insert(plan_.end(), kRepetitions, nodes_[node].buttons);
  }
}

void PlatformerAgent::StartSearch(const Platformer& game) {
  nodes_.clear();
  open_.clear();
  visited_.clear();
  first_visited_.assign(kHashSize, -1);
  num_games_ = 0;
  order_ = 0;
  search_x_ = game.runner().x;
  Node root{};
  root.estimate = RemainingTicks(search_x_, 0);
  root.parent = -1;
  root.game = Keep(game);
  nodes_.push_back(root);
  best_ = furthest_ = 0;
  AddChildren(0);
}

void PlatformerAgent::Search() {
  std::int32_t current = best_;
  bool is_good = false;
  num_accepted_ = 0;
  for (int left = budget_; left > 0 && !open_.empty(); --left) {
    if (is_good && XOf(best_) - search_x_ >= kFarEnough) break;
    current = Pop();
    ++num_nodes_;
    is_good = false;
    if (nodes_[current].game < 0) Simulate(current);
    Node& node = nodes_[current];
    const Sprite& runner = games_[node.game].runner();
    const int x = static_cast<int>(runner.x), y = static_cast<int>(runner.y), time = node.depth * kRepetitions;
    if (node.remaining < 0) continue;
    if (!node.is_visited && IsVisited(x, y, time)) {
      node.is_visited = true;
      node.remaining += kVisitedCost;
      node.estimate = node.remaining;
      Push(current);
    } else if (node.remaining - node.estimate > kTolerance) {
      node.estimate = node.remaining;
      Push(current);
    } else {
      is_good = true;
      ++num_accepted_;
      AddVisited(x, y, time);
      AddChildren(current);
      if (Remaining(best_) > Remaining(current)) best_ = current;
      if (XOf(current) > XOf(furthest_)) furthest_ = current;
    }
  }
  if (XOf(current) - search_x_ < kFarEnough && XOf(furthest_) > XOf(best_) + kDetour) best_ = furthest_;
}

void PlatformerAgent::Simulate(std::int32_t number) {
  const Node& parent = nodes_[nodes_[number].parent];
  const std::int32_t kept = Keep(games_[parent.game]);
  Platformer& game = games_[kept];
  Node& node = nodes_[number];
  node.game = kept;
  for (int i = 0; i < kRepetitions; ++i) game.Step(node.buttons);
  node.remaining = RemainingTicks(game.runner().x, game.runner().vx) +
                   Damage(games_[parent.game], game) * static_cast<float>(1'000'000 - 100 * node.depth);
}

std::int32_t PlatformerAgent::Keep(const Platformer& game) {
  if (num_games_ == static_cast<int>(games_.size())) games_.emplace_back();
  games_[num_games_].CopyFrom(game);
  return num_games_++;
}

void PlatformerAgent::Push(std::int32_t node) {
  open_.push_back({nodes_[node].cost(), order_++, node});
  std::push_heap(open_.begin(), open_.end());
}

std::int32_t PlatformerAgent::Pop() {
  std::pop_heap(open_.begin(), open_.end());
  const std::int32_t node = open_.back().node;
  open_.pop_back();
  return node;
}

void PlatformerAgent::AddChildren(std::int32_t number) {
  static constexpr std::uint8_t kMoves[] = {
      kJump,          kJump | kSpeed, kRight | kSpeed, kRight | kJump | kSpeed, kRight,
      kRight | kJump, kLeft,          kLeft | kJump,   kLeft | kSpeed,          kLeft | kJump | kSpeed};
  const Node parent = nodes_[number];
  const Platformer& game = games_[parent.game];
  if (game.status() != Status::kRunning) return;
  const bool can_jump = game.can_jump() || (parent.parent >= 0 && games_[nodes_[parent.parent].game].can_jump());
  for (const std::uint8_t buttons : kMoves) {
    if ((buttons & kJump) && !can_jump) continue;
    Node child{};
    child.estimate = Estimate(game.runner(), buttons);
    child.parent = number;
    child.game = -1;
    child.depth = static_cast<std::int16_t>(parent.depth + 1);
    child.buttons = buttons;
    nodes_.push_back(child);
    Push(static_cast<std::int32_t>(nodes_.size()) - 1);
  }
}

bool PlatformerAgent::IsVisited(int x, int y, int time) const {
  for (int column = x - 1; column <= x + 1; ++column) {
    for (int row = y - 1; row <= y + 1; ++row) {
      for (std::int32_t i = first_visited_[Hash(column, row)]; i >= 0; i = visited_[i].next) {
        const Visited& seen = visited_[i];
        if (seen.x == column && seen.y == row && seen.time <= time && time - seen.time < 5) return true;
      }
    }
  }
  return false;
}

void PlatformerAgent::AddVisited(int x, int y, int time) {
  std::int32_t& first = first_visited_[Hash(x, y)];
  visited_.push_back({x, y, time, first});
  first = static_cast<std::int32_t>(visited_.size()) - 1;
}

PlatformerRun PlayPlatformer(const PlatformerLevel& level, int budget, PlatformerAgent* agent) {
  const auto game = std::make_unique<Platformer>();
  PlatformerRun run{};
  run.occupancy.assign(kLevelTiles, 0);
  game->Reset(level, 0);
  agent->Reset(budget);
  while (game->status() == Status::kRunning) {
    run.buttons.push_back(agent->Act(*game));
    run.accepted.push_back(agent->num_accepted());
    game->Step(run.buttons.back());
    const int column = static_cast<int>(game->runner().x / kTileSize),
              row = static_cast<int>(game->runner().y / kTileSize);
    if (row >= 0 && row < kLevelHeight && column >= 0 && column < kLevelWidth) {
      ++run.occupancy[row * kLevelWidth + column];
    }
  }
  run.status = game->status();
  run.completion = game->completion();
  run.counts = game->counts();
  run.num_nodes = agent->num_nodes();
  return run;
}

}  // namespace neurozoo
