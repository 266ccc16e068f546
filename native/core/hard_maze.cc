#include "core/hard_maze.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <stdexcept>

namespace neurozoo {
namespace {

// Every formula is written as in the twin, operation by operation, so that both give the same bits.

constexpr double kPi = 3.1415926;  // as published
constexpr double kStartX = 36, kStartY = 184, kGoalX = 31, kGoalY = 20;
constexpr double kRadius = 8, kRange = 100, kLargestChange = 0.2, kLargest = 3;
constexpr double kFinders[] = {-90, -45, 0, 45, 90, -180};  // degrees from the heading
constexpr double kWalls[][4] = {                            // x, y of one end; x, y of the other
                                {41, 5, 3, 8},       {3, 8, 4, 49},       {4, 49, 57, 53},  {4, 49, 7, 202},
                                {7, 202, 195, 198},  {195, 198, 186, 8},  {186, 8, 39, 5},  {56, 54, 56, 157},
                                {57, 106, 158, 162}, {77, 201, 108, 164}, {6, 80, 33, 121}, {192, 146, 87, 91},
                                {56, 55, 133, 30}};

constexpr int kWallCount = std::size(kWalls);
constexpr double kNear = kRadius + 1;  // of a wall's box; the margin is far more than what distances are rounded by
constexpr int kLanes = 16;             // the walls, filled up to whole vectors
static_assert(kWallCount <= kLanes);

// The walls by coordinate, for loops that compilers turn into vectors. The last ones are points and cross nothing.
struct WallLanes {
  double x[kLanes] = {}, y[kLanes] = {}, dx[kLanes] = {}, dy[kLanes] = {};
  double left[kLanes] = {}, right[kLanes] = {}, top[kLanes] = {}, bottom[kLanes] = {};  // where a robot is near

  constexpr WallLanes() {
    int lane = 0;
    for (const auto& wall : kWalls) {
      x[lane] = wall[0], y[lane] = wall[1], dx[lane] = wall[2] - wall[0], dy[lane] = wall[3] - wall[1];
      left[lane] = std::min(wall[0], wall[2]) - kNear, right[lane] = std::max(wall[0], wall[2]) + kNear;
      top[lane] = std::min(wall[1], wall[3]) - kNear, bottom[lane] = std::max(wall[1], wall[3]) + kNear;
      ++lane;
    }
  }
};
constexpr WallLanes kLane;

double Distance(double ax, double ay, double bx, double by) {
  const double dx = ax - bx, dy = ay - by;
  return std::sqrt(dx * dx + dy * dy);
}

double DistanceToWall(double x, double y, int wall) {
  const double left = kLane.x[wall], top = kLane.y[wall], dx = kLane.dx[wall], dy = kLane.dy[wall];
  const double along = ((x - left) * dx + (y - top) * dy) / (dx * dx + dy * dy);
  if (along < 0) return Distance(x, y, left, top);
  if (along > 1) return Distance(x, y, kWalls[wall][2], kWalls[wall][3]);
  return Distance(x, y, left + along * dx, top + along * dy);
}

// Few walls are near, and only these need a division.
bool Collides(double x, double y) {
  std::int64_t is_near[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    is_near[i] = (kLane.left[i] < x) & (x < kLane.right[i]) & (kLane.top[i] < y) & (y < kLane.bottom[i]);
  }
  for (int wall = 0; wall < kWallCount; ++wall) {
    if (is_near[wall] && DistanceToWall(x, y, wall) < kRadius) return true;
  }
  return false;
}

// Moves a speed towards what an output asks for. NaN asks for rest.
double Approach(double now, float output) {
  const double asked = std::isnan(output) ? 0.5 : std::clamp(static_cast<double>(output) + 0.5, 0.0, 1.0);
  const double wanted = (asked - 0.5) * 6;
  return std::clamp(now + std::clamp(wanted - now, -kLargestChange, kLargestChange), -kLargest, kLargest);
}

}  // namespace

void HardMaze::Reset(std::int64_t /*noops*/, std::int64_t /*seed*/) {
  x_ = kStartX;
  y_ = kStartY;
  heading_ = turn_ = speed_ = 0;
  steps_ = 0;
  final_positions_ = {static_cast<float>(x_), static_cast<float>(y_)};
}

StepOutcome HardMaze::Step(const float* outputs, std::int64_t max_frames) {
  if (steps_ >= kSteps) throw std::logic_error("The episode is over; it has to be reset.");
  turn_ = Approach(turn_, outputs[0]);
  speed_ = Approach(speed_, outputs[1]);
  const double angle = heading_ / 180 * kPi;
  const double x = x_ + std::cos(angle) * speed_;
  const double y = y_ + std::sin(angle) * speed_;
  heading_ += turn_;
  if (heading_ > 360) heading_ -= 360;
  if (heading_ < 0) heading_ += 360;
  if (!Collides(x, y)) {
    x_ = x;
    y_ = y;
  }
  final_positions_ = {static_cast<float>(x_), static_cast<float>(y_)};
  steps_ = max_frames <= 1 ? kSteps : steps_ + 1;
  const bool is_over = steps_ == kSteps;
  return {is_over ? -Distance(x_, y_, kGoalX, kGoalY) : 0.0, 1, is_over};
}

void HardMaze::Observe(float* plane) {
  double to_x[kLanes], to_y[kLanes], of_ray[kLanes];  // to the walls; where a ray meets them, times `area`
  for (int i = 0; i < kLanes; ++i) {
    to_x[i] = kLane.x[i] - x_;
    to_y[i] = kLane.y[i] - y_;
    of_ray[i] = to_y[i] * kLane.dx[i] - to_x[i] * kLane.dy[i];
  }
  *plane++ = 1;
  for (double finder : kFinders) {
    const double angle = (heading_ + finder) / 180 * kPi;
    const double ray_x = std::cos(angle) * kRange, ray_y = std::sin(angle) * kRange;
    double area[kLanes], of_wall[kLanes];
    std::int64_t crosses[kLanes];  // or nearly; most walls do not, and need no division
    for (int i = 0; i < kLanes; ++i) {
      area[i] = kLane.dx[i] * ray_y - kLane.dy[i] * ray_x;
      of_wall[i] = to_y[i] * ray_x - to_x[i] * ray_y;
      const double least = std::min(area[i], 0.0), most = std::max(area[i], 0.0);  // equal if parallel
      crosses[i] = (least < of_wall[i]) & (of_wall[i] < most) & (least < of_ray[i]) & (of_ray[i] < most);
    }
    double least_square = kRange * kRange;
    for (int wall = 0; wall < kWallCount; ++wall) {
      if (!crosses[wall]) continue;
      const double along_wall = of_wall[wall] / area[wall], along_ray = of_ray[wall] / area[wall];
      if (0 < along_wall && along_wall < 1 && 0 < along_ray && along_ray < 1) {
        const double dx = kLane.x[wall] + along_wall * kLane.dx[wall] - x_;
        const double dy = kLane.y[wall] + along_wall * kLane.dy[wall] - y_;
        least_square = std::min(least_square, dx * dx + dy * dy);
      }
    }
    *plane++ = static_cast<float>(std::sqrt(least_square) / kRange);  // roots are in the order of their squares
  }
  double bearing = std::atan2(kGoalY - y_, kGoalX - x_) / kPi * 180 - heading_;
  while (bearing < 0) bearing += 360;
  while (bearing >= 360) bearing -= 360;
  *plane++ = bearing >= 315 || bearing < 45;
  *plane++ = bearing >= 45 && bearing < 135;
  *plane++ = bearing >= 135 && bearing < 225;
  *plane++ = bearing >= 225 && bearing < 315;
}

}  // namespace neurozoo
