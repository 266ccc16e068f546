#ifndef NEUROZOO_CORE_PLATFORMER_AGENT_H_
#define NEUROZOO_CORE_PLATFORMER_AGENT_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/platformer.h"

namespace neurozoo {

// An A* agent that searches for the fastest way to the right, up to 11 tiles ahead, and plans anew every two ticks.
//
// The original stops searching when its milliseconds are over; this one when it has taken `budget` nodes per tick from
// the open list. So a level and a budget decide everything. With 450, the numbers of accepted nodes are those that were
// measured of the original in easy levels; in hopeless ones it accepts half as many (155 per plan instead of 326). Not
// thread-safe; it keeps its memory from game to game.
//
// Sources: section 13.4 of the description of DSAGE; the agent is by Robin Baumgarten (2009).
class PlatformerAgent {
 public:
  PlatformerAgent();

  // Begins a game with `budget` nodes per tick.
  void Reset(int budget);

  // Returns the buttons for the next tick of a game.
  std::uint8_t Act(const Platformer& game);

  // Nodes that were taken from open lists since Reset.
  std::int64_t num_nodes() const { return num_nodes_; }
  // Nodes that the last Act accepted.
  int num_accepted() const { return num_accepted_; }

 private:
  struct Node {
    float estimate;   // of the remaining ticks
    float remaining;  // as simulated; 0 before
    std::int32_t parent;
    std::int32_t game;  // index in `games_`, -1 before it is simulated
    std::int16_t depth;
    std::uint8_t buttons;
    bool is_visited;
    float cost() const;
  };
  struct Open {  // an entry of the open list: of two equal costs the older one comes first
    float cost;
    std::uint32_t order;
    std::int32_t node;
    bool operator<(const Open& other) const { return cost != other.cost ? cost > other.cost : order > other.order; }
  };

  void StartSearch(const Platformer& game);
  void Search();
  void ExtractPlan();
  void Simulate(std::int32_t number);
  std::int32_t Keep(const Platformer& game);
  void Push(std::int32_t node);
  std::int32_t Pop();
  void AddChildren(std::int32_t node);
  bool IsVisited(int x, int y, int time) const;
  void AddVisited(int x, int y, int time);
  float Remaining(std::int32_t node) const {
    return nodes_[node].remaining > 0 ? nodes_[node].remaining : nodes_[node].estimate;
  }
  float XOf(std::int32_t node) const { return games_[nodes_[node].game].runner().x; }

  int budget_ = 1;
  std::int64_t num_nodes_ = 0;
  int num_accepted_ = 0;
  int ticks_to_planning_ = 0;
  std::vector<std::uint8_t> plan_;  // the next buttons last
  std::int32_t best_ = -1, furthest_ = -1;
  float search_x_ = 0;
  std::uint32_t order_ = 0;
  std::vector<Node> nodes_;
  std::vector<Open> open_;        // a heap
  std::deque<Platformer> games_;  // a new one moves no other
  int num_games_ = 0;
  // Accepted states, in lists that begin in `first_visited_` at a hash of their pixel; -1 ends a list.
  struct Visited {
    std::int32_t x, y, time, next;
  };
  std::vector<Visited> visited_;
  std::vector<std::int32_t> first_visited_;
  std::unique_ptr<Platformer> ahead_;
};

// A game that the agent has played.
struct PlatformerRun {
  Status status;
  float completion;
  PlatformerCounts counts;
  std::int64_t num_nodes;
  std::vector<std::uint8_t> buttons;    // of each decision
  std::vector<std::int32_t> accepted;   // nodes of each decision
  std::vector<std::int32_t> occupancy;  // kLevelTiles: ticks in which the runner's feet were on each tile
};

// Plays a level to its end; the runner is small at first.
PlatformerRun PlayPlatformer(const PlatformerLevel& level, int budget, PlatformerAgent* agent);

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_PLATFORMER_AGENT_H_
