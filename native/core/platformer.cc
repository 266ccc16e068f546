#include "core/platformer.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace neurozoo {
namespace {

// Every formula is written as in the twin, operation by operation, so that both give the same bits.

constexpr int kScreen = 256;  // pixels, in both directions: as high as a level
constexpr int kTime = 20'000, kTimePerTick = 30;
constexpr int kPause = 9, kProtection = 32, kRise = 9;  // ticks
constexpr int kShootEvery = 100;                        // ticks
constexpr float kHalfWidth = 4;
constexpr float kLongestStep = 8;  // longer moves are split
constexpr float kDamping = 0.85f, kInertia = 0.89f, kGravity = 2;
constexpr float kRunnerGravity = 3, kWalkSpeed = 1.75f, kShellSpeed = 11, kBulletSpeed = 4, kFireballSpeed = 8;
constexpr float kJumpSpeed = -1.9f;
constexpr int kJumpBoost = 7, kStompBoost = 8;  // ticks

int TileOf(float pixel) { return static_cast<int>(pixel / 16); }  // towards zero: -15 px is in tile 0

struct Meaning {
  Tile tile = Tile::kAir;
  std::uint8_t enemy = 0;
  bool supports = false;  // whether start and finish may stand on it by default
  bool is_known = false;
};

constexpr std::uint8_t Enemy(Kind kind, bool has_wings) {
  return static_cast<std::uint8_t>(1 + 2 * static_cast<int>(kind) + (has_wings ? 1 : 0));
}

std::array<Meaning, 256> MakeMeanings() {
  std::array<Meaning, 256> meanings{};
  const auto define = [&](const char* characters, Tile tile, bool supports) {
    for (; *characters; ++characters) meanings[static_cast<std::uint8_t>(*characters)] = {tile, 0, supports, true};
  };
  define("-|MF", Tile::kAir, false);
  define("X#<>[]tT", Tile::kSolid, true);
  define("D", Tile::kUsed, true);
  define("S", Tile::kBrick, true);
  define("!QC", Tile::kCoinBlock, true);
  define("@?U", Tile::kPowerBlock, true);
  define("L", Tile::kLifeBlock, false);
  define("2", Tile::kHiddenCoin, false);
  define("1", Tile::kHiddenLife, false);
  define("%", Tile::kPlatform, true);
  define("o", Tile::kCoin, false);
  define("B", Tile::kCannon, true);
  define("b", Tile::kSolid, false);
  define("*", Tile::kSolid, false);  // the topmost of a stack becomes a cannon
  const auto place = [&](char character, Kind kind, bool has_wings) {
    meanings[static_cast<std::uint8_t>(character)] = {Tile::kAir, Enemy(kind, has_wings), false, true};
  };
  place('g', Kind::kGoomba, false);
  place('E', Kind::kGoomba, false);
  place('G', Kind::kGoomba, true);
  place('k', Kind::kGreenKoopa, false);
  place('K', Kind::kGreenKoopa, true);
  place('r', Kind::kRedKoopa, false);
  place('R', Kind::kRedKoopa, true);
  place('y', Kind::kSpiky, false);
  place('Y', Kind::kSpiky, true);
  return meanings;
}

const std::array<Meaning, 256>& Meanings() {
  static const std::array<Meaning, 256> meanings = MakeMeanings();
  return meanings;
}

// Adds events, `times` over.
void Accumulate(const PlatformerEvents& events, int times, PlatformerEvents* sum) {
  sum->jumps += times * events.jumps;
  sum->stomp_kills += times * events.stomp_kills;
  sum->shell_kills += times * events.shell_kills;
  sum->fire_kills += times * events.fire_kills;
  sum->fall_kills += times * events.fall_kills;
  sum->hurts += times * events.hurts;
}

bool IsEnemy(Kind kind) { return kind >= Kind::kGoomba && kind <= Kind::kSpiky; }

bool BlocksAll(Tile tile) { return tile >= Tile::kSolid && tile <= Tile::kLifeBlock; }

// The first row above the lowest stretch of ground in a column; -1 if there is none.
int DefaultRow(const std::uint8_t* text, int column) {
  bool has_ground = false;
  for (int row = kLevelHeight - 1; row >= 0; --row) {
    const bool supports = Meanings()[text[row * kLevelWidth + column]].supports;
    if (has_ground && !supports) return row;
    has_ground = has_ground || supports;
  }
  return -1;
}

}  // namespace

PlatformerLevel::PlatformerLevel(const std::uint8_t* text)
    : tiles{}, enemies{}, has_enemy{}, has_cannon(false), start_column(-1), start_row(-1), finish_column(-1) {
  for (int place = 0; place < kLevelTiles; ++place) {
    const int row = place / kLevelWidth, column = place % kLevelWidth;
    const Meaning& meaning = Meanings()[text[place]];
    if (!meaning.is_known) {
      throw std::invalid_argument("The tile in row " + std::to_string(row) + ", column " + std::to_string(column) +
                                  " is unknown: character " + std::to_string(text[place]) + ".");
    }
    tiles[place] = meaning.tile;
    if (text[place] == '*' && (row == 0 || text[place - kLevelWidth] != '*')) tiles[place] = Tile::kCannon;
    enemies[place] = meaning.enemy;
    has_enemy[column] = has_enemy[column] || meaning.enemy != 0;
    has_cannon = has_cannon || tiles[place] == Tile::kCannon;
    if (text[place] == 'M') start_column = column, start_row = row;
    if (text[place] == 'F') finish_column = column;
  }
  if (start_column < 0) start_column = 0, start_row = DefaultRow(text, 0);
  if (finish_column < 0) finish_column = kLevelWidth - 1;
}

void Platformer::Reset(const PlatformerLevel& level, int power) {
  *this = Platformer();
  level_ = &level;
  tiles_ = level.tiles;
  timer_ = kTime;
  is_large_ = power > 0;
  is_fiery_ = power > 1;
  Sprite runner{};
  runner.x = static_cast<float>(level.start_column * kTileSize + 8);
  runner.y = static_cast<float>(level.start_row * kTileSize + 15);
  runner.home = -1;
  runner.facing = 1;
  runner.kind = Kind::kRunner;
  runner.is_alive = true;
  sprites_[0] = runner;
  num_sprites_ = 1;
  Step(0);
}

float Platformer::completion() const {
  const float finish = finish_x();
  return finish > 0 ? runner().x / finish : 1;
}

void Platformer::Step(std::uint8_t buttons) {
  if (status_ != Status::kRunning) return;
  if (pause_ > 0) {
    --pause_;
    Accumulate(events_, 1, &counts_.events);
    return;
  }
  timer_ -= kTimePerTick;
  if (timer_ <= 0) {
    timer_ = 0;
    status_ = Status::kTimeOut;
    return;
  }
  ++tick_;
  events_ = counts_.events;
  camera_x_ = std::max(std::min(me().x - kScreen / 2, static_cast<float>(kLevelWidth * kTileSize - kScreen)), 0.0f);
  RemoveLost();
  Spawn();
  for (int i = 0; i < num_sprites_; ++i) {
    Sprite& sprite = sprites_[i];
    if (!sprite.is_alive) continue;
    if (sprite.kind == Kind::kRunner) {
      UpdateRunner(buttons);
    } else {
      Update(&sprite);
    }
  }
  for (int i = 0; i < num_sprites_; ++i) {
    if (sprites_[i].is_alive && sprites_[i].kind != Kind::kRunner) Meet(&sprites_[i]);
  }
  ShellsMeet();
  FireballsMeet();
  JoinAdded();
  PlatformerEvents now = counts_.events;
  Accumulate(events_, -1, &now);
  events_ = now;
}

// ---- the level

Tile Platformer::TileAt(int column, int row) const {
  if (row < 0 || row >= kLevelHeight) return Tile::kAir;
  column = std::max(0, std::min(column, kLevelWidth - 1));
  return tiles_[row * kLevelWidth + column];
}

bool Platformer::Blocks(int column, int row, float vy) const {
  const Tile tile = TileAt(column, row);
  if (BlocksAll(tile)) return true;
  if (tile == Tile::kPlatform) return vy > 0;
  return (tile == Tile::kHiddenCoin || tile == Tile::kHiddenLife) && vy < 0;
}

void Platformer::SetTile(int column, int row, Tile tile) {
  if (row < 0 || row >= kLevelHeight || column < 0 || column >= kLevelWidth) return;
  tiles_[row * kLevelWidth + column] = tile;
}

void Platformer::Bump(int column, int row, bool can_break) {
  const Tile tile = TileAt(column, row);
  switch (tile) {
    case Tile::kCoinBlock:
    case Tile::kPowerBlock:
    case Tile::kLifeBlock:
    case Tile::kHiddenCoin:
    case Tile::kHiddenLife: {
      BumpInto(column, row - 1);
      SetTile(column, row, Tile::kUsed);
      if (tile == Tile::kCoinBlock || tile == Tile::kHiddenCoin) {
        CollectCoin();
        return;
      }
      Sprite item{};
      item.x = static_cast<float>(column * kTileSize + 9);
      item.y = static_cast<float>(row * kTileSize + 8);
      item.home = -1;
      item.facing = 1;
      item.kind = tile != Tile::kPowerBlock ? Kind::kLifeMushroom : is_large_ ? Kind::kFlower : Kind::kMushroom;
      Add(item);
      return;
    }
    case Tile::kBrick:
      BumpInto(column, row - 1);
      if (can_break) SetTile(column, row, Tile::kAir);
      return;
    default:
      return;
  }
}

void Platformer::BumpInto(int column, int row) {
  if (TileAt(column, row) == Tile::kCoin) {
    ++counts_.tile_coins;
    CollectCoin();
    SetTile(column, row, Tile::kAir);
  }
  for (int i = 0; i < num_sprites_; ++i) {
    Sprite& sprite = sprites_[i];
    const float left = static_cast<float>(column * kTileSize);
    if (!sprite.is_alive || !(sprite.x + kHalfWidth > left && sprite.x - kHalfWidth < left + kTileSize) ||
        row != TileOf(sprite.y - 1)) {
      continue;
    }
    if (IsEnemy(sprite.kind)) {
      sprite.is_alive = false;
    } else if (sprite.kind == Kind::kShell || sprite.kind == Kind::kMushroom || sprite.kind == Kind::kLifeMushroom) {
      sprite.facing = static_cast<std::int8_t>(-me().facing);
      sprite.vy = -10;
    }
  }
}

void Platformer::CollectCoin() {
  if (++counts_.coins % 100 == 0) ++counts_.lives;
}

// ---- coming and going

bool Platformer::Add(Sprite sprite) {
  if (num_sprites_ + num_added_ == kMostSprites) return false;
  sprite.is_alive = true;
  Sprite* added = &sprites_[num_sprites_ + num_added_++];
  *added = sprite;
  Update(added);
  return true;
}

void Platformer::JoinAdded() {
  if (num_added_ > 0) {
    const auto begin = sprites_.begin();
    std::rotate(begin, begin + num_sprites_, begin + num_sprites_ + num_added_);
    num_sprites_ += num_added_;
    runner_ += num_added_;
    num_added_ = 0;
  }
  int kept = 0;
  for (int i = 0; i < num_sprites_; ++i) {
    if (!sprites_[i].is_alive && i != runner_) continue;
    if (i == runner_) runner_ = kept;
    if (i != kept) sprites_[kept] = sprites_[i];
    ++kept;
  }
  num_sprites_ = kept;
}

void Platformer::RemoveLost() {
  fireballs_ = 0;
  for (int i = 0; i < num_sprites_; ++i) {
    Sprite& sprite = sprites_[i];
    if (sprite.x < camera_x_ - 64 || sprite.x > camera_x_ + (kScreen + 64) || sprite.y > kScreen + 32) {
      sprite.is_alive = false;
      if (sprite.kind == Kind::kRunner) status_ = Status::kLost;
      if ((IsEnemy(sprite.kind) || sprite.kind == Kind::kBullet) && sprite.y > kScreen + 32)
        ++counts_.events.fall_kills;
    } else if (sprite.kind == Kind::kFireball) {
      ++fireballs_;
    }
  }
}

void Platformer::Spawn() {
  const int first = static_cast<int>(camera_x_) / kTileSize - 1;
  const int last = static_cast<int>(camera_x_ + kScreen) / kTileSize + 1;
  const bool shoots = level_->has_cannon && tick_ % kShootEvery == 0;
  if (!shoots && first == first_column_ && last == last_column_) return;
  for (int column = first; column <= last; ++column) {
    const bool is_inside = column >= 0 && column < kLevelWidth;
    const bool is_new = is_inside && level_->has_enemy[column] && !(column >= first_column_ && column <= last_column_);
    if (!is_new && !shoots) continue;
    const auto middle = static_cast<float>(column * kTileSize + 8);
    const std::int8_t direction = middle > me().x + 16 ? -1 : middle < me().x - 16 ? 1 : 0;
    for (int row = 0; row < kLevelHeight; ++row) {
      const int place = row * kLevelWidth + column;
      if (is_new && level_->enemies[place] != 0 &&
          std::none_of(sprites_.begin(), sprites_.begin() + num_sprites_,
                       [&](const Sprite& sprite) { return sprite.home == place; })) {
        Sprite enemy{};
        enemy.x = middle;
        enemy.y = static_cast<float>(row * kTileSize + 15);
        enemy.home = static_cast<std::int16_t>(place);
        enemy.facing = direction == 0 ? std::int8_t{1} : direction;
        enemy.kind = static_cast<Kind>((level_->enemies[place] - 1) / 2);
        enemy.has_wings = (level_->enemies[place] - 1) % 2 == 1;
        Add(enemy);
      }
      if (shoots && direction != 0 && TileAt(column, row) == Tile::kCannon) {
        Sprite bullet{};
        bullet.x = middle + static_cast<float>(direction * 8);
        bullet.y = static_cast<float>(row * kTileSize + 15);
        bullet.home = -1;
        bullet.facing = direction;
        bullet.kind = Kind::kBullet;
        Add(bullet);
      }
    }
  }
  first_column_ = first;
  last_column_ = last;
}

// ---- moving

int Platformer::HeightOf(const Sprite& sprite) const {
  switch (sprite.kind) {
    case Kind::kRunner:
      return height_;
    case Kind::kGreenKoopa:
    case Kind::kRedKoopa:
    case Kind::kFlower:
      return 24;
    case Kind::kFireball:
      return 8;
    default:
      return 12;
  }
}

bool Platformer::Probe(const Sprite& sprite, float x, float y, float vx, float vy) {
  const int column = TileOf(x), row = TileOf(y);
  if (column == TileOf(sprite.x) && row == TileOf(sprite.y)) return false;
  const bool blocks = Blocks(column, row, vy);
  if (sprite.kind == Kind::kRunner) {
    if (TileAt(column, row) == Tile::kCoin) {
      ++counts_.tile_coins;
      CollectCoin();
      SetTile(column, row, Tile::kAir);
    }
    if (blocks && vy < 0) Bump(column, row, is_large_);
  } else if (sprite.kind == Kind::kShell && blocks && vy == 0 && vx != 0) {
    Bump(column, row, true);
  }
  return blocks;
}

bool Platformer::Move(Sprite* sprite, float dx, float dy) {
  for (; dx > kLongestStep; dx -= kLongestStep) {
    if (!MoveOnce(sprite, kLongestStep, 0)) return false;
  }
  for (; dx < -kLongestStep; dx += kLongestStep) {
    if (!MoveOnce(sprite, -kLongestStep, 0)) return false;
  }
  for (; dy > kLongestStep; dy -= kLongestStep) {
    if (!MoveOnce(sprite, 0, kLongestStep)) return false;
  }
  for (; dy < -kLongestStep; dy += kLongestStep) {
    if (!MoveOnce(sprite, 0, -kLongestStep)) return false;
  }
  return MoveOnce(sprite, dx, dy);
}

bool Platformer::MoveOnce(Sprite* sprite, float dx, float dy) {
  Sprite& s = *sprite;
  const int height = HeightOf(s);
  const auto tall = static_cast<float>(height), half = static_cast<float>(height / 2);
  const float x = s.x + dx, y = s.y + dy;
  bool collides = false;
  if (dy > 0) {
    collides = Probe(s, x - kHalfWidth, y, dx, 0) || Probe(s, x + kHalfWidth, y, dx, 0) ||
               Probe(s, x - kHalfWidth, y + 1, dx, dy) || Probe(s, x + kHalfWidth, y + 1, dx, dy);
  }
  if (dy < 0) {
    collides = Probe(s, x, y - tall, dx, dy) || Probe(s, x - kHalfWidth, y - tall, dx, dy) ||
               Probe(s, x + kHalfWidth, y - tall, dx, dy);
  }
  if (dx != 0) {
    const float edge = dx > 0 ? x + kHalfWidth : x - kHalfWidth;
    for (const float above : {tall, half, 0.0f}) {
      if (Probe(s, edge, y - above, dx, dy)) collides = true;
    }
    if (s.kind == Kind::kRedKoopa && s.is_on_ground && !Blocks(TileOf(edge), static_cast<int>(s.y / 16 + 1), 1)) {
      collides = true;
    }
  }
  if (!collides) {
    s.x = x;
    s.y = y;
    return true;
  }
  if (dx < 0) {
    s.x = static_cast<float>(static_cast<int>((s.x - kHalfWidth) / 16) * 16) + kHalfWidth;
    s.vx = 0;
  }
  if (dx > 0) {
    s.x = static_cast<float>(static_cast<int>((s.x + kHalfWidth) / 16 + 1) * 16 - 5);
    s.vx = 0;
  }
  if (dy < 0) {
    s.y = static_cast<float>(static_cast<int>((s.y - tall) / 16) * 16 + height);
    s.vy = 0;
    if (s.kind == Kind::kRunner) boost_ = 0;
  }
  if (dy > 0) {
    const float foot = s.kind == Kind::kRunner ? s.y - 1 : s.y;
    s.y = static_cast<float>(static_cast<int>(foot / 16 + 1) * 16 - 1);
    s.is_on_ground = true;
  }
  return false;
}

void Platformer::UpdateRunner(std::uint8_t buttons) {
  Sprite& s = me();
  const bool left = buttons & kLeft, right = buttons & kRight, speed = buttons & kSpeed, jump = buttons & kJump;
  if (protection_ > 0) --protection_;
  was_on_ground_ = s.is_on_ground;
  const float acceleration = speed ? 1.2f : 0.6f;
  if (s.is_on_ground) is_ducking_ = (buttons & kDown) && is_large_;
  height_ = is_large_ && !is_ducking_ ? 24 : 12;
  if (s.vx > 2) s.facing = 1;
  if (s.vx < -2) s.facing = -1;
  if (!jump) {
    boost_ = 0;
  } else if (s.is_on_ground && may_jump_) {
    boost_ = kJumpBoost;
    s.vy = static_cast<float>(boost_) * kJumpSpeed;
    s.is_on_ground = false;
    const float above = s.y - 4 - static_cast<float>(height_);
    if (!(Probe(s, s.x, above, 0, -4) || Probe(s, s.x - kHalfWidth, above, 0, -4) ||
          Probe(s, s.x + kHalfWidth, above, 0, -4))) {
      jump_x_ = s.x;
      jump_tick_ = tick_;
      ++counts_.events.jumps;
    }
  } else if (boost_ > 0) {
    s.vy = static_cast<float>(boost_) * kJumpSpeed;
    --boost_;
  }
  if (left && !is_ducking_) {
    s.vx -= acceleration;
    s.facing = -1;
  }
  if (right && !is_ducking_) {
    s.vx += acceleration;
    s.facing = 1;
  }
  if (speed && can_throw_ && is_fiery_ && fireballs_ < 2) {
    Sprite fireball{};
    fireball.x = s.x + static_cast<float>(s.facing * 6);
    fireball.y = s.y - 20;
    fireball.vy = 4;
    fireball.home = -1;
    fireball.facing = s.facing;
    fireball.kind = Kind::kFireball;
    Add(fireball);
  }
  can_throw_ = !speed;
  may_jump_ = s.is_on_ground && !jump;
  if (std::abs(s.vx) < 0.5f) s.vx = 0;
  s.is_on_ground = false;
  Move(&s, s.vx, 0);
  Move(&s, 0, s.vy);
  if (!was_on_ground_ && s.is_on_ground && jump_x_ >= 0) {
    counts_.longest_air = std::max(counts_.longest_air, tick_ - jump_tick_);
    counts_.longest_jump = std::max(counts_.longest_jump, std::abs(s.x - jump_x_));
    jump_x_ = -100;
  }
  if (s.x < 0) {
    s.x = 0;
    s.vx = 0;
  }
  if (s.x > finish_x()) {
    s.x = finish_x();
    s.vx = 0;
    status_ = Status::kWon;
  }
  s.vy *= kDamping;
  s.vx *= kInertia;
  if (!s.is_on_ground) s.vy += kRunnerGravity;
}

void Platformer::Update(Sprite* sprite) {
  Sprite& s = *sprite;
  switch (s.kind) {
    case Kind::kRunner:
      return;
    case Kind::kBullet:
      s.vx = static_cast<float>(s.facing) * kBulletSpeed;
      s.x += s.vx;
      return;
    case Kind::kFlower:
      if (s.age < kRise && ++s.age < kRise) s.y -= 1;
      return;
    case Kind::kMushroom:
    case Kind::kLifeMushroom:
      if (s.age < kRise) {
        s.y -= 1;
        ++s.age;
        return;
      }
      break;
    default:
      break;
  }
  if (s.vx > 2) s.facing = 1;
  if (s.vx < -2) s.facing = -1;
  const float speed = s.kind == Kind::kShell ? kShellSpeed : s.kind == Kind::kFireball ? kFireballSpeed : kWalkSpeed;
  s.vx = static_cast<float>(s.facing) * speed;
  s.hits = s.kind == Kind::kFireball || (s.kind == Kind::kShell && s.facing != 0);
  if (!Move(&s, s.vx, 0)) {
    if (s.kind == Kind::kFireball) {
      s.is_alive = false;
      return;
    }
    s.facing = static_cast<std::int8_t>(-s.facing);
  }
  s.is_on_ground = false;
  Move(&s, 0, s.vy);
  if (s.kind == Kind::kFireball) {
    if (s.is_on_ground) s.vy = -10;
    s.vy *= 0.95f;
    s.vx *= kInertia;
    if (!s.is_on_ground) s.vy += 1.5f;
    return;
  }
  s.vy *= s.has_wings ? 0.95f : kDamping;
  s.vx *= kInertia;
  if (!s.is_on_ground) {
    s.vy += s.has_wings ? 0.6f : kGravity;
  } else if (s.has_wings) {
    s.vy = -10;
  }
}

// ---- meeting

namespace {

// Whether `other`, which is `other_height` tall, touches a sprite of some height.
bool Touches(const Sprite& sprite, int height, const Sprite& other, int other_height, float reach) {
  const float dx = other.x - sprite.x, dy = other.y - sprite.y;
  return dx > -reach && dx < reach && dy > static_cast<float>(-height) && dy < static_cast<float>(other_height);
}

}  // namespace

void Platformer::Meet(Sprite* sprite) {
  Sprite& s = *sprite;
  const Sprite& runner = me();
  const bool is_enemy = IsEnemy(s.kind);
  if (s.kind == Kind::kFireball || !Touches(s, HeightOf(s), runner, height_, is_enemy ? 12 : 16)) return;
  const bool is_stomp = runner.vy > 0 && runner.y - s.y <= 0 && (!runner.is_on_ground || !was_on_ground_);
  switch (s.kind) {
    case Kind::kMushroom:
      s.is_alive = false;
      if (is_large_) return CollectCoin();
      ++counts_.mushrooms;
      is_large_ = true;
      pause_ = kPause;
      return;
    case Kind::kFlower:
      s.is_alive = false;
      if (is_fiery_) return CollectCoin();
      ++counts_.flowers;
      is_large_ = is_fiery_ = true;
      pause_ = kPause;
      return;
    case Kind::kLifeMushroom:
      s.is_alive = false;
      ++counts_.lives;
      return;
    case Kind::kShell:
      if (is_stomp) {
        Stomp(s);
        s.facing = s.facing != 0 ? std::int8_t{0} : runner.facing;
        if (s.facing == 0) s.vx = 0;
      } else if (s.facing != 0) {
        Hurt();
      } else {
        protection_ = 1;
        s.facing = runner.facing;
      }
      return;
    default:
      break;
  }
  if (!is_stomp || s.kind == Kind::kSpiky) return Hurt();
  Stomp(s);
  if (s.has_wings) {
    s.has_wings = false;
    s.vy = 0;
    return;
  }
  s.is_alive = false;
  ++counts_.events.stomp_kills;
  if (s.kind != Kind::kGreenKoopa && s.kind != Kind::kRedKoopa) return;
  Sprite shell{};
  shell.x = s.x;
  shell.y = s.y;
  shell.vy = -5;
  shell.home = s.home;
  shell.kind = Kind::kShell;
  Add(shell);
}

void Platformer::Stomp(const Sprite& enemy) {
  Sprite& s = me();
  Move(&s, 0, enemy.y - static_cast<float>(HeightOf(enemy) / 2) - s.y);  // to the middle of the enemy
  boost_ = kStompBoost;
  s.vy = static_cast<float>(boost_) * kJumpSpeed;
  s.is_on_ground = false;
  protection_ = 1;
}

void Platformer::Hurt() {
  ++counts_.events.hurts;
  if (protection_ > 0 || !me().is_alive) return;
  if (!is_large_) {
    me().is_alive = false;
    status_ = Status::kLost;
    return;
  }
  pause_ = kPause;
  protection_ = kProtection;
  if (!is_fiery_) is_large_ = false;
  is_fiery_ = false;
}

void Platformer::ShellsMeet() {
  for (int i = 0; i < num_sprites_; ++i) {
    Sprite& shell = sprites_[i];
    if (shell.kind != Kind::kShell || !shell.hits) continue;
    shell.hits = false;
    for (int j = 0; j < num_sprites_; ++j) {
      Sprite& other = sprites_[j];
      const bool can_be_hit = IsEnemy(other.kind) || other.kind == Kind::kBullet || other.kind == Kind::kShell;
      if (i == j || !can_be_hit || !shell.is_alive || !other.is_alive) continue;
      if (!Touches(other, HeightOf(other), shell, HeightOf(shell), 16)) continue;
      other.is_alive = false;
      ++counts_.events.shell_kills;
    }
  }
}

void Platformer::FireballsMeet() {
  for (int i = 0; i < num_sprites_ + num_added_; ++i) {
    Sprite& fireball = sprites_[i];
    if (fireball.kind != Kind::kFireball || !fireball.hits) continue;
    fireball.hits = false;
    for (int j = 0; j < num_sprites_; ++j) {
      Sprite& other = sprites_[j];
      const bool can_be_hit = IsEnemy(other.kind) || other.kind == Kind::kBullet || other.kind == Kind::kShell;
      if (!can_be_hit || !fireball.is_alive || !other.is_alive) continue;
      if (!Touches(other, HeightOf(other), fireball, HeightOf(fireball), 16)) continue;
      fireball.is_alive = false;
      if (IsEnemy(other.kind) && other.kind != Kind::kSpiky) {
        other.is_alive = false;
        ++counts_.events.fire_kills;
      } else if (other.kind == Kind::kShell && other.facing == 0) {
        other.vy = -5;
      }
    }
  }
}

}  // namespace neurozoo
