#include "core/episode.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace neurozoo {
namespace {

std::string Text(std::int64_t height, std::int64_t width, std::int64_t channels) {
  return std::to_string(height) + " x " + std::to_string(width) + " x " + std::to_string(channels);
}

}  // namespace

void EpisodeOutcome::Add(const StepOutcome& step) {
  score += step.reward;
  sign_score += (step.reward > 0) - (step.reward < 0);
  frames += step.frames;
  ++steps;
}

void EpisodeOutcome::AppendRam(const World& world) {
  std::size_t size = 0;
  const std::uint8_t* ram = world.ram(&size);
  behaviour.insert(behaviour.end(), ram, ram + size);
}

void EpisodeOutcome::AppendFinalPositions(const World& world) {
  const std::vector<float>& positions = world.final_positions();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(positions.data());
  behaviour.insert(behaviour.end(), bytes, bytes + positions.size() * sizeof(float));
}

void CheckBehaviour(const World& world, Behaviour behaviour) {
  std::size_t ram_size = 0;
  world.ram(&ram_size);
  if ((behaviour == Behaviour::kRam && ram_size == 0) ||
      (behaviour == Behaviour::kFinalPosition && world.position_size() == 0)) {
    throw std::invalid_argument("The game does not give this behaviour.");
  }
}

EpisodePlayer::EpisodePlayer(std::unique_ptr<World> world, const NetworkPlan& plan, Behaviour behaviour)
    : world_(std::move(world)), network_(plan), behaviour_(behaviour), plane_(world_->shape().plane_size()) {
  const ObservationShape& shape = world_->shape();
  const std::int64_t channels = shape.channels * shape.stack;
  if (plan.input_height() != shape.height || plan.input_width() != shape.width || plan.input_channels() != channels) {
    throw std::invalid_argument("The network should take observations of " + Text(shape.height, shape.width, channels) +
                                ", but takes " + Text(plan.input_height(), plan.input_width(), plan.input_channels()) +
                                ".");
  }
  if (plan.num_outputs() != world_->num_outputs()) {
    throw std::invalid_argument("The network has " + std::to_string(plan.num_outputs()) +
                                " outputs, but the game has " + std::to_string(world_->num_outputs()) + " actions.");
  }
  CheckBehaviour(*world_, behaviour);
}

void EpisodePlayer::PushPlane() {
  world_->Observe(plane_.data());
  const ObservationShape& shape = world_->shape();
  PaddedImage& observation = network_.observation();
  const std::int64_t row_size = shape.width * shape.channels;
  const std::int64_t older = shape.channels * (shape.stack - 1);
  for (std::int64_t y = 0; y < shape.height; ++y) {
    float* row = observation.Row(y);
    const float* newest = plane_.data() + y * row_size;
    if (older == 0) {
      std::copy_n(newest, row_size, row);
    } else if (shape.channels == 1 && shape.stack == 4) {
      for (std::int64_t x = 0; x < shape.width; ++x, row += 4) {
        row[0] = row[1];
        row[1] = row[2];
        row[2] = row[3];
        row[3] = newest[x];
      }
    } else {
      for (std::int64_t x = 0; x < shape.width; ++x, row += older + shape.channels, newest += shape.channels) {
        std::copy(row + shape.channels, row + shape.channels + older, row);
        std::copy_n(newest, shape.channels, row + older);
      }
    }
  }
}

EpisodeOutcome EpisodePlayer::Play(const float* parameters, const Reference* reference, const EpisodeStart& start,
                                   const std::atomic<bool>& should_stop, const EpisodeObserver* observer) {
  EpisodeOutcome outcome;
  network_.SetParameters(parameters, reference);
  world_->Reset(start.noops, start.seed);
  const ObservationShape& shape = world_->shape();
  for (std::int64_t y = 0; y < shape.height; ++y) {
    std::fill_n(network_.observation().Row(y), shape.width * shape.channels * shape.stack, 0.0f);
  }
  for (std::int64_t i = 1; i < shape.stack && world_->repeats_first_plane(); ++i) PushPlane();
  bool is_over = false;
  const float* outputs = nullptr;
  while (!is_over) {
    if (outputs == nullptr || shape.stack > 1 || world_->has_changed()) {
      PushPlane();
      outputs = network_.Run();
    }
    if (observer != nullptr) observer->on_decision(plane_.data(), outputs);
    const StepOutcome step = world_->Step(outputs, start.max_frames - outcome.frames);
    if (observer != nullptr) observer->on_reward(step.reward);
    outcome.Add(step);
    if (behaviour_ == Behaviour::kRam) outcome.AppendRam(*world_);
    is_over = step.is_over || outcome.frames >= start.max_frames;
    if (!is_over && should_stop.load(std::memory_order_relaxed)) {
      outcome.finished = false;
      return outcome;
    }
  }
  if (behaviour_ == Behaviour::kFinalPosition) outcome.AppendFinalPositions(*world_);
  return outcome;
}

}  // namespace neurozoo
