#include "core/hard_maze.h"

#include <algorithm>
#include <cmath>
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

double Distance(double ax, double ay, double bx, double by) {
  const double dx = ax - bx, dy = ay - by;
  return std::sqrt(dx * dx + dy * dy);
}

double DistanceToWall(double x, double y, const double* wall) {
  const double dx = wall[2] - wall[0], dy = wall[3] - wall[1];
  const double along = ((x - wall[0]) * dx + (y - wall[1]) * dy) / (dx * dx + dy * dy);
  if (along < 0) return Distance(x, y, wall[0], wall[1]);
  if (along > 1) return Distance(x, y, wall[2], wall[3]);
  return Distance(x, y, wall[0] + along * dx, wall[1] + along * dy);
}

bool Collides(double x, double y) {
  return std::any_of(std::begin(kWalls), std::end(kWalls),
                     [&](const double* wall) { return DistanceToWall(x, y, wall) < kRadius; });
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

double HardMaze::RangeAt(double angle) const {
  const double ray_x = std::cos(angle) * kRange, ray_y = std::sin(angle) * kRange;
  double range = kRange;
  for (const double* wall : kWalls) {
    const double dx = wall[2] - wall[0], dy = wall[3] - wall[1];
    const double area = dx * ray_y - dy * ray_x;
    if (area == 0) continue;  // parallel
    const double along_wall = ((wall[1] - y_) * ray_x - (wall[0] - x_) * ray_y) / area;
    const double along_ray = ((wall[1] - y_) * dx - (wall[0] - x_) * dy) / area;
    if (0 < along_wall && along_wall < 1 && 0 < along_ray && along_ray < 1) {
      range = std::min(range, Distance(wall[0] + along_wall * dx, wall[1] + along_wall * dy, x_, y_));
    }
  }
  return range;
}

void HardMaze::Observe(float* plane) {
  *plane++ = 1;
  for (double finder : kFinders) *plane++ = static_cast<float>(RangeAt((heading_ + finder) / 180 * kPi) / kRange);
  double bearing = std::atan2(kGoalY - y_, kGoalX - x_) / kPi * 180 - heading_;
  while (bearing < 0) bearing += 360;
  while (bearing >= 360) bearing -= 360;
  *plane++ = bearing >= 315 || bearing < 45;
  *plane++ = bearing >= 45 && bearing < 135;
  *plane++ = bearing >= 135 && bearing < 225;
  *plane++ = bearing >= 225 && bearing < 315;
}

}  // namespace neurozoo
