#ifndef NEUROZOO_CORE_PLATFORMER_H_
#define NEUROZOO_CORE_PLATFORMER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace neurozoo {

// A platform game: a runner goes from the start of a level to its finish, over gaps, walls and enemies.
//
// Twin: tests/unit/environments/platformer/twin.py, in Python, which is slow and plain. Units are pixels, 16 to a tile,
// y downwards, and ticks; numbers are 32-bit floats. Columns beyond the sides of a level repeat its border; above and
// below it is air.
//
// Source: section 13.3 of the description of DSAGE.
constexpr int kLevelHeight = 16, kLevelWidth = 56;  // tiles
constexpr int kLevelTiles = kLevelHeight * kLevelWidth;
constexpr int kTileSize = 16;  // pixels

// Buttons of a decision, as bits.
enum Button : std::uint8_t { kLeft = 1, kRight = 2, kDown = 4, kSpeed = 8, kJump = 16 };

// What a tile does. Characters that do the same share a kind.
enum class Tile : std::uint8_t {
  kAir,
  kSolid,
  kUsed,        // what a block becomes when its content is out; solid
  kCannon,      // the head of a cannon, which shoots
  kBrick,       // breaks under a large runner
  kCoinBlock,   // the blocks lose their content when they are hit from below
  kPowerBlock,  // a mushroom for a small runner, a flower for a large one
  kLifeBlock,
  kHiddenCoin,  // hidden blocks stop only what moves up
  kHiddenLife,
  kPlatform,  // stops only what moves down
  kCoin,
};

enum class Kind : std::uint8_t {
  kRunner,
  kGoomba,
  kGreenKoopa,
  kRedKoopa,
  kSpiky,
  kShell,
  kBullet,
  kMushroom,
  kLifeMushroom,
  kFlower,
  kFireball,
};

enum class Status : std::uint8_t { kRunning, kWon, kLost, kTimeOut };

// Something that moves.
struct Sprite {
  float x, y;  // of the middle of its feet
  float vx, vy;
  std::int16_t home;   // tile (row * width + column) that it came out of, -1 for none
  std::int8_t facing;  // -1, 0 or 1
  Kind kind;
  std::uint8_t age;  // ticks, of what rises out of a block
  bool has_wings, is_on_ground, is_alive;
  bool hits;  // a shell or fireball that may hit others in this tick
};

// What a level says, made once from its text; games refer to it.
struct PlatformerLevel {
  // Reads the characters of a level, row by row.
  //
  // `text` holds kLevelTiles characters. Throws std::invalid_argument, which names the place, for an unknown one.
  explicit PlatformerLevel(const std::uint8_t* text);

  std::array<Tile, kLevelTiles> tiles;
  std::array<std::uint8_t, kLevelTiles> enemies;  // 0: none; else 1 + 2 * kind + whether it has wings
  std::array<bool, kLevelWidth> has_enemy;        // in a column
  bool has_cannon;
  int start_column, start_row, finish_column;
};

// Events that are counted. As in the original, a pause repeats those of the tick before it in each of its ticks.
struct PlatformerEvents {
  std::int32_t jumps, stomp_kills, shell_kills, fire_kills, fall_kills, hurts;
};

// What has happened so far.
struct PlatformerCounts {
  PlatformerEvents events;
  std::int32_t coins;       // of tiles and blocks
  std::int32_t tile_coins;  // of tiles alone
  std::int32_t lives, mushrooms, flowers;
  std::int32_t longest_air;  // ticks from a jump to its landing
  float longest_jump;        // pixels from a jump to its landing
};

// One game. It is plain memory: a copy is one memcpy, of the sprites that there are. It owns nothing; the level must
// outlive it. At most kMostSprites live at once; what would come out of a tile then stays there.
class Platformer {
 public:
  static constexpr int kMostSprites = 128;

  Platformer() = default;

  // Begins a game; `power` of the runner is 0 (small), 1 (large) or 2 (large, and throws fire). The first tick, in
  // which no button is pressed, is over then.
  void Reset(const PlatformerLevel& level, int power);

  // Plays one tick with some buttons. Nothing happens when the game is over.
  void Step(std::uint8_t buttons);

  void CopyFrom(const Platformer& other) {
    std::memcpy(static_cast<void*>(this), &other,
                offsetof(Platformer, sprites_) + static_cast<std::size_t>(other.num_sprites_) * sizeof(Sprite));
  }

  Status status() const { return status_; }
  const PlatformerCounts& counts() const { return counts_; }
  const Sprite& runner() const { return sprites_[runner_]; }
  int power() const { return is_fiery_ ? 2 : is_large_ ? 1 : 0; }
  int runner_height() const { return height_; }
  bool is_protected() const { return protection_ > 0; }
  // Whether a press of JUMP does something: the runner may leave the ground, or its jump still rises.
  bool can_jump() const { return may_jump_ || boost_ > 0; }
  float finish_x() const { return static_cast<float>(level_->finish_column * kTileSize); }
  // Share of the way that is done, 0 to 1; 1 if there is no way.
  float completion() const;
  int timer() const { return timer_; }
  const std::array<Tile, kLevelTiles>& tiles() const { return tiles_; }
  int num_sprites() const { return num_sprites_; }
  const Sprite* sprites() const { return sprites_.data(); }
  float camera_x() const { return camera_x_; }

 private:
  Tile TileAt(int column, int row) const;
  bool Blocks(int column, int row, float vy) const;
  int HeightOf(const Sprite& sprite) const;
  void SetTile(int column, int row, Tile tile);

  void RemoveLost();
  void Spawn();
  void UpdateRunner(std::uint8_t buttons);
  void Update(Sprite* sprite);
  bool Move(Sprite* sprite, float dx, float dy);
  bool MoveOnce(Sprite* sprite, float dx, float dy);
  bool Probe(const Sprite& sprite, float x, float y, float vx, float vy);

  void Meet(Sprite* sprite);
  void ShellsMeet();
  void FireballsMeet();
  void Stomp(const Sprite& enemy);
  void Hurt();
  void Bump(int column, int row, bool can_break);
  void BumpInto(int column, int row);
  void CollectCoin();
  // Adds a sprite, which is updated at once and joins the others at the end of the tick. False if there is no room.
  bool Add(Sprite sprite);
  void JoinAdded();
  Sprite& me() { return sprites_[runner_]; }

  const PlatformerLevel* level_ = nullptr;
  PlatformerCounts counts_{};
  PlatformerEvents events_{};  // of the last tick that was no pause
  Status status_ = Status::kRunning;
  bool is_large_ = false, is_fiery_ = false, is_ducking_ = false;
  bool was_on_ground_ = false, may_jump_ = false, can_throw_ = false;
  int height_ = 12;     // of the runner
  int boost_ = 0;       // ticks that a jump still rises
  int protection_ = 0;  // ticks in which nothing hurts
  int pause_ = 0;       // ticks in which nothing moves
  int timer_ = 0;
  int tick_ = 0;
  int jump_tick_ = 0;
  float jump_x_ = -100;  // where the last jump began; negative after it
  float camera_x_ = 0;
  int first_column_ = 0, last_column_ = -1;  // of the window of the tick before
  int fireballs_ = 0;
  int runner_ = 0;  // index of the runner
  int num_sprites_ = 0, num_added_ = 0;
  std::array<Tile, kLevelTiles> tiles_{};
  // Newest first. Those that are added during a tick stand behind the others until its end.
  std::array<Sprite, kMostSprites> sprites_{};
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_PLATFORMER_H_
