// Compiled for AMX whatever the rest is compiled for.

#include "core/learner/bfloat16.h"

#ifdef __AMX_BF16__

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace neurozoo {
namespace {

constexpr std::int64_t kPairs = 16;          // of inputs in a tile, for 16 outputs each
constexpr std::int64_t kTile = kPairs * 32;  // numbers of a tile of weights

// Tiles of 16 rows of 64 bytes: 0 to 3 are sums, 4 and 5 pixels, 6 and 7 weights.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start = 0, unused[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

void Round(const float* from, std::uint16_t* to) {
  const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_loadu_ps(from));
  __builtin_memcpy(to, &rounded, sizeof(rounded));
}

}  // namespace

bool Bfloat16Convolution::IsAvailable() {
  static const bool is_available = [] {
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & bit_AVX512BF16)) return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & bit_AMX_BF16) || !(d & bit_AMX_TILE)) return false;
    constexpr long kAskForState = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, for all threads of the process
    return syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
  }();
  return is_available;
}

void Bfloat16Convolution::ConvertWeights(const float* weights, std::uint16_t* converted) const {
  for (std::int64_t pair = 0; pair < panels * 9 * channels / 2; ++pair, weights += 32, converted += 32) {
    std::uint16_t rounded[2][16];
    Round(weights, rounded[0]);
    Round(weights + 16, rounded[1]);
    for (int i = 0; i < 16; ++i) converted[2 * i] = rounded[0][i], converted[2 * i + 1] = rounded[1][i];
  }
}

void Bfloat16Convolution::Forward(const float* image, const std::uint16_t* weights, std::uint16_t* rounded,
                                  float* outputs, std::int64_t row_stride, std::int64_t pixel_stride) const {
  const std::int64_t row = (width + 2) * channels, panel_stride = 9 * channels * 16;
  for (std::int64_t i = 0; i < image_size(); i += 16) Round(image + i, rounded + i);
  const TileShapes shapes;
  _tile_loadconfig(&shapes);
  for (std::int64_t panel = 0; panel < panels; panel += 2) {
    for (std::int64_t y = 0; y < height; y += 2) {
      for (std::int64_t x = 0; x < width; x += 16) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        const std::uint16_t* tile = weights + panel * panel_stride;
        for (std::int64_t pixel = 0; pixel < 9; ++pixel) {
          const std::uint16_t* seen = rounded + (y + pixel / 3) * row + (x + pixel % 3) * channels;
          for (std::int64_t channel = 0; channel < channels; channel += 32, tile += kTile) {
            _tile_loadd(4, seen + channel, channels * 2);
            _tile_loadd(6, tile, 64);
            _tile_dpbf16ps(0, 4, 6);
            _tile_loadd(7, tile + panel_stride, 64);
            _tile_dpbf16ps(1, 4, 7);
            _tile_loadd(5, seen + row + channel, channels * 2);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
          }
        }
        float* to = outputs + y * row_stride + x * pixel_stride + panel * 16;
        _tile_stored(0, to, pixel_stride * sizeof(float));
        _tile_stored(1, to + 16, pixel_stride * sizeof(float));
        _tile_stored(2, to + row_stride, pixel_stride * sizeof(float));
        _tile_stored(3, to + row_stride + 16, pixel_stride * sizeof(float));
      }
    }
  }
  _tile_release();
}

}  // namespace neurozoo

#else

namespace neurozoo {

bool Bfloat16Convolution::IsAvailable() { return false; }
void Bfloat16Convolution::ConvertWeights(const float*, std::uint16_t*) const {}
void Bfloat16Convolution::Forward(const float*, const std::uint16_t*, std::uint16_t*, float*, std::int64_t,
                                  std::int64_t) const {}

}  // namespace neurozoo

#endif
