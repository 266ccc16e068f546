#include "core/benchmark.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#ifdef __aarch64__
#define VECTOR_REGISTER "+w"
#else
#define VECTOR_REGISTER "+x"
#endif

namespace neurozoo {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
constexpr int kChains = 12;  // enough to hide a latency of 4 cycles at 2 a cycle, and few enough for 16 registers
constexpr std::int64_t kRounds = 100'000;
constexpr std::int64_t kBufferBytes = std::int64_t{256} << 20;
constexpr int kPasses = 5;

using Register __attribute__((vector_size(4 * kLanes))) = float;
using Words __attribute__((vector_size(4 * kLanes))) = std::uint64_t;

double ProcessorSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Adds the time until it goes out of scope.
class Timer {
 public:
  explicit Timer(Seconds* sum) : sum_(sum), wall_(WallSeconds()), processor_(ProcessorSeconds()) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() {
    sum_->processor += ProcessorSeconds() - processor_;
    sum_->wall += WallSeconds() - wall_;
  }

 private:
  Seconds* const sum_;
  const double wall_, processor_;
};

// The stack of planes moves by one, as in an episode.
void Push(const float* plane, std::int64_t plane_channels, const NetworkPlan& plan, PaddedImage* observation) {
  const std::int64_t channels = plan.input_channels();
  const std::int64_t older = channels - plane_channels;
  for (std::int64_t y = 0; y < plan.input_height(); ++y) {
    float* pixel = observation->Row(y);
    for (std::int64_t x = 0; x < plan.input_width(); ++x, pixel += channels, plane += plane_channels) {
      std::copy(pixel + plane_channels, pixel + channels, pixel);
      std::copy_n(plane, plane_channels, pixel + older);
    }
  }
}

}  // namespace

WorldTimes TimeWorld(World* world, const EpisodeStart& start, const std::vector<std::int64_t>& actions, bool observes) {
  WorldTimes times;
  std::vector<float> outputs(world->num_outputs(), 0.0f);
  std::vector<float> plane(world->shape().plane_size());
  {
    const Timer timer(&times.reset);
    world->Reset(start.noops, start.seed);
  }
  for (std::int64_t action : actions) {
    if (action < 0 || action >= world->num_outputs()) {
      throw std::out_of_range("Action " + std::to_string(action) + " does not exist; the game has " +
                              std::to_string(world->num_outputs()) + ".");
    }
    if (observes) {
      const Timer timer(&times.observe);
      world->Observe(plane.data());
    }
    outputs[action] = 1.0f;
    StepOutcome step{};
    {
      const Timer timer(&times.play);
      step = world->Step(outputs.data(), start.max_frames - times.frames);
    }
    outputs[action] = 0.0f;
    times.frames += step.frames;
    times.score += step.reward;
  }
  return times;
}

Seconds TimeForward(Network* network, const NetworkPlan& plan, const float* planes, std::int64_t steps,
                    std::int64_t plane_channels, float* outputs) {
  const std::int64_t plane_size = plan.input_height() * plan.input_width() * plane_channels;
  for (std::int64_t y = 0; y < plan.input_height(); ++y) {
    std::fill_n(network->observation().Row(y), plan.input_width() * plan.input_channels(), 0.0f);
  }
  Seconds seconds;
  for (std::int64_t step = 0; step < steps; ++step) {
    Push(planes + step * plane_size, plane_channels, plan, &network->observation());
    const float* values = nullptr;
    {
      const Timer timer(&seconds);
      values = network->Run();
    }
    std::copy_n(values, plan.num_outputs(), outputs + step * plan.num_outputs());
  }
  return seconds;
}

int VectorLanes() { return kLanes; }

double PeakMultiplyAdds(double seconds) {
  Register sums[kChains], factor, summand;
  for (int lane = 0; lane < kLanes; ++lane) factor[lane] = 0.999f, summand[lane] = 0.001f;
  for (Register& sum : sums) sum = summand;
  double best = 0;
  for (double begin = ProcessorSeconds(), now = begin; now < begin + seconds;) {
    const double first = now;
    // Hides the values, so that nothing is computed at compile time.
    asm volatile("" : VECTOR_REGISTER(factor), VECTOR_REGISTER(summand));
    for (std::int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
      for (int i = 0; i < kChains; ++i) sums[i] = sums[i] * factor + summand;
    }
    for (Register& sum : sums) asm volatile("" : VECTOR_REGISTER(sum));  // counts as a use of the sum
    now = ProcessorSeconds();
    best = std::max(best, static_cast<double>(kRounds * kChains * kLanes) / (now - first));
  }
  return best;
}

double ReadBandwidth(int num_threads) {
  const std::vector<Words> buffer(kBufferBytes / sizeof(Words), Words{} + 1);
  const std::size_t share = buffer.size() / num_threads;
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    std::vector<std::thread> threads;
    const double begin = WallSeconds();
    const auto join = [&threads] {
      for (std::thread& thread : threads) thread.join();
    };
    try {
      for (int number = 0; number < num_threads; ++number) {
        threads.emplace_back([&buffer, share, number] {
          Words sums[8] = {};
          const Words* words = buffer.data() + number * share;
          for (std::size_t i = 0; i + 8 <= share; i += 8) {
#pragma GCC unroll 8
            for (int k = 0; k < 8; ++k) sums[k] += words[i + k];
          }
          for (Words& sum : sums) asm volatile("" : VECTOR_REGISTER(sum));
        });
      }
    } catch (const std::system_error&) {
      join();
      throw;
    }
    join();
    best = std::max(best, static_cast<double>(share * num_threads * sizeof(Words)) / (WallSeconds() - begin));
  }
  return best;
}

}  // namespace neurozoo
