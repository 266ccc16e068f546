// Compiled for AVX512-BF16 and AMX whatever the rest is compiled for. AMX multiplies tiles; without it, AVX512-BF16
// multiplies rows with the same tiles of weights, and adds the same products up in another order.

#include "core/learner/bfloat16.h"

#include "core/learner/products.h"

#ifdef __AMX_BF16__

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

namespace neurozoo {
namespace {

constexpr std::int64_t kPairs = 16;          // of inputs in a tile, for 16 outputs each
constexpr std::int64_t kTile = kPairs * 32;  // numbers of a tile of weights

enum class Units { kNone, kVectors, kTiles };

// What this processor multiplies with, if the system lets programs.
Units BestUnits() {
  static const Units units = [] {
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & bit_AVX512BF16)) return Units::kNone;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return Units::kNone;
    if (!(b & bit_AVX512F) || !(b & bit_AVX512BW) || !(b & bit_AVX512VL)) return Units::kNone;
    if (!(d & bit_AMX_BF16) || !(d & bit_AMX_TILE)) return Units::kVectors;
    constexpr long kAskForState = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, for all threads of the process
    return syscall(SYS_arch_prctl, kAskForState, kTileData) == 0 ? Units::kTiles : Units::kVectors;
  }();
  return units;
}

// Tiles of 16 rows of 64 bytes: 0 to 3 are sums, 4 and 5 pixels, 6 and 7 weights.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start = 0, unused[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Keeps the tiles of this thread in use, if the processor has some.
class Tiles {
 public:
  Tiles() {
    const TileShapes shapes;
    if (are_there_) _tile_loadconfig(&shapes);
  }
  ~Tiles() {
    if (are_there_) _tile_release();
  }

 private:
  const bool are_there_ = BestUnits() == Units::kTiles;
};

// Adds the products of 16 rows of A with a panel of B to 16 sums of each row.
inline __attribute__((always_inline)) void AddRows(const std::uint16_t* a, std::int64_t a_stride,
                                                   const std::uint16_t* b, std::int64_t depth, __m512 sums[16]) {
  const std::uint16_t* rows[4] = {a, a + 4 * a_stride, a + 8 * a_stride, a + 12 * a_stride};
  for (const std::uint16_t* end = b + depth * 16; b < end; b += 32) {
    const __m512bh weights = (__m512bh)_mm512_loadu_si512(b);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      int pair;
      __builtin_memcpy(&pair, rows[i / 4] + i % 4 * a_stride, sizeof(pair));
      sums[i] = _mm512_dpbf16_ps(sums[i], weights, (__m512bh)_mm512_set1_epi32(pair));
    }
    for (const std::uint16_t*& row : rows) row += 2;
  }
}

void StoreRows(const __m512 sums[16], float* to, std::int64_t stride) {
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) _mm512_storeu_ps(to + i * stride, sums[i]);
}

// ---- products of float32 matrices, rounded on the way: A tiles have 16 rows of 32 numbers, B tiles 32 rows of 16
// numbers, two rows interleaved, and sums 16 x 16.

constexpr std::int64_t kDepth = 32;  // numbers that an instruction adds up

std::int64_t InTiles(std::int64_t count, std::int64_t tile) { return (count + tile - 1) / tile * tile; }
std::int64_t Least(std::int64_t left, std::int64_t right) { return left < right ? left : right; }
__mmask16 FirstOf(std::int64_t count) { return count < 16 ? (1u << count) - 1 : 0xFFFF; }
__m512 LoadIf(bool is_there, const float* from) { return _mm512_maskz_loadu_ps(is_there ? 0xFFFF : 0, from); }

// Rounds `count` numbers.
void RoundRun(const float* from, std::int64_t count, std::uint16_t* to) {
  std::int64_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const __m512bh rounded = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + i + 16), _mm512_loadu_ps(from + i));
    __builtin_memcpy(to + i, &rounded, sizeof(rounded));
  }
  for (; i < count; i += 16) {
    const __mmask16 mask = FirstOf(count - i);
    const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, from + i));
    _mm256_mask_storeu_epi16(to + i, mask, (__m256i)rounded);
  }
}

// Rounds two rows of 16 numbers and interleaves them.
void RoundPair(__m512 first, __m512 second, std::uint16_t* to) {
  alignas(64) static constexpr std::uint16_t kOrder[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                           21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                           11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i rounded = (__m512i)_mm512_cvtne2ps_pbh(second, first);
  _mm512_storeu_si512(to, _mm512_permutexvar_epi16(_mm512_load_si512(kOrder), rounded));
}

// Transposes 16 x 16 numbers.
void Transpose(__m512 rows[16]) {
  __m512 other[16];
  for (int i = 0; i < 16; i += 2) {
    other[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
    other[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    for (int j = 0; j < 2; ++j) {
      const __m512d low = (__m512d)other[i + j], high = (__m512d)other[i + j + 2];
      rows[i + 2 * j] = (__m512)_mm512_unpacklo_pd(low, high);
      rows[i + 2 * j + 1] = (__m512)_mm512_unpackhi_pd(low, high);
    }
  }
  for (int i = 0; i < 4; ++i) {
    const __m512 a = rows[i], b = rows[i + 4], c = rows[i + 8], d = rows[i + 12];
    const __m512 ab = _mm512_shuffle_f32x4(a, b, 0x88), cd = _mm512_shuffle_f32x4(c, d, 0x88);
    const __m512 ab_odd = _mm512_shuffle_f32x4(a, b, 0xDD), cd_odd = _mm512_shuffle_f32x4(c, d, 0xDD);
    other[i] = _mm512_shuffle_f32x4(ab, cd, 0x88);
    other[i + 4] = _mm512_shuffle_f32x4(ab_odd, cd_odd, 0x88);
    other[i + 8] = _mm512_shuffle_f32x4(ab, cd, 0xDD);
    other[i + 12] = _mm512_shuffle_f32x4(ab_odd, cd_odd, 0xDD);
  }
  __builtin_memcpy(rows, other, sizeof(other));
}

// Rounds 16 values at each of `depth` positions to B; `mask` says which are there.
void RoundColumns(const Columns& in, const float* line, __mmask16 mask, std::int64_t depth, std::uint16_t* to) {
  const std::int64_t count = in.outer * in.inner;
  const float* values = line;
  std::int64_t t = 0, inner = 0;
  const auto next = [&] {
    const __m512 value = _mm512_maskz_loadu_ps(t++ < count ? mask : 0, values);
    values += in.inner_stride;
    if (++inner == in.inner) inner = 0, values = line += in.outer_stride;
    return value;
  };
  for (std::int64_t pair = 0; pair < depth / 2; ++pair, to += 32) {
    const __m512 first = next();
    RoundPair(first, next(), to);
  }
}

// Turns 16 columns of B into 16 rows of A.
void TransposeTiles(const std::uint16_t* from, std::int64_t depth, std::uint16_t* to, std::int64_t stride) {
  for (std::int64_t k = 0; k < depth; k += kDepth, from += kTile) {
    __m512 square[16];
    for (int i = 0; i < 16; ++i) square[i] = _mm512_loadu_ps(from + 32 * i);
    Transpose(square);
    for (int i = 0; i < 16; ++i) _mm512_storeu_ps(to + i * stride + k, square[i]);
  }
}

// Multiplies two blocks of 16 rows of A, or one, with two panels of B, or one. The sums lie in `sums`: 32 rows of 32.
template <bool kTwoRows, bool kTwoPanels>
void MultiplyTiles(const std::uint16_t* a, std::int64_t a_stride, const std::uint16_t* b, std::int64_t panel_stride,
                   std::int64_t depth, float* sums) {
  _tile_zero(0);
  if constexpr (kTwoPanels) _tile_zero(1);
  if constexpr (kTwoRows) _tile_zero(2);
  if constexpr (kTwoRows && kTwoPanels) _tile_zero(3);
  for (std::int64_t k = 0; k < depth; k += kDepth, b += kTile) {
    _tile_loadd(4, a + k, a_stride * 2);
    _tile_loadd(6, b, 64);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kTwoPanels) {
      _tile_loadd(7, b + panel_stride, 64);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kTwoRows) {
      _tile_loadd(5, a + 16 * a_stride + k, a_stride * 2);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (kTwoPanels) _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, sums, 128);
  if constexpr (kTwoPanels) _tile_stored(1, sums + 16, 128);
  if constexpr (kTwoRows) _tile_stored(2, sums + 512, 128);
  if constexpr (kTwoRows && kTwoPanels) _tile_stored(3, sums + 528, 128);
}

void Multiply(const std::uint16_t* a, std::int64_t a_stride, bool has_two_rows, const std::uint16_t* b,
              std::int64_t panel_stride, bool has_two_panels, std::int64_t depth, float* sums) {
  if (BestUnits() == Units::kVectors) {
    for (int row = 0; row <= has_two_rows; ++row) {
      for (int panel = 0; panel <= has_two_panels; ++panel) {
        __m512 block[16] = {};
        AddRows(a + row * 16 * a_stride, a_stride, b + panel * panel_stride, depth, block);
        StoreRows(block, sums + row * 512 + panel * 16, 32);
      }
    }
  } else if (has_two_rows) {
    has_two_panels ? MultiplyTiles<true, true>(a, a_stride, b, panel_stride, depth, sums)
                   : MultiplyTiles<true, false>(a, a_stride, b, panel_stride, depth, sums);
  } else {
    has_two_panels ? MultiplyTiles<false, true>(a, a_stride, b, panel_stride, depth, sums)
                   : MultiplyTiles<false, false>(a, a_stride, b, panel_stride, depth, sums);
  }
}

// Room for tiles. It stays with its thread.
class Room {
 public:
  ~Room() { std::free(numbers_); }
  std::uint16_t* Get(std::int64_t count) {
    if (count > size_) {
      std::free(numbers_);
      numbers_ = static_cast<std::uint16_t*>(std::aligned_alloc(64, InTiles(count, 32) * sizeof(std::uint16_t)));
      size_ = numbers_ == nullptr ? 0 : count;
      if (numbers_ == nullptr) throw std::bad_alloc();
    }
    return numbers_;
  }

 private:
  std::uint16_t* numbers_ = nullptr;
  std::int64_t size_ = 0;
};

thread_local Room left_tiles, middle_tiles, right_tiles;

void RoundPanels(const Panels& panels, std::int64_t inputs, std::uint16_t* to) {
  for (std::int64_t panel = 0; panel < panels.count; ++panel) {
    const float* weights = panels.first + panel * panels.stride;
    for (std::int64_t k = 0; k < InTiles(inputs, kDepth); k += 2, weights += 32, to += 32) {
      RoundPair(LoadIf(k < inputs, weights), LoadIf(k + 1 < inputs, weights + 16), to);
    }
  }
}

void MultiplyRows(const float* const* in, std::int64_t rows, const Rows& shape, const Panels& panels, const float* bias,
                  Then then, float* const* out) {
  const std::int64_t inputs = shape.runs * shape.run_length, depth = InTiles(inputs, kDepth);
  const std::int64_t a_stride = depth + kDepth;  // with powers of 2, all rows would fall into one set of the cache
  std::uint16_t* const a = left_tiles.Get(InTiles(rows, 16) * a_stride);
  std::uint16_t* const room = panels.rounded == nullptr ? right_tiles.Get(2 * depth * kPanel) : nullptr;
  for (std::int64_t i = 0; i < rows; ++i) {
    std::uint16_t* to = a + i * a_stride;
    for (std::int64_t run = 0; run < shape.runs; ++run, to += shape.run_length) {
      RoundRun(in[i] + run * shape.run_stride, shape.run_length, to);
    }
    for (std::int64_t k = inputs; k < depth; ++k) *to++ = 0;
  }
  const Tiles tiles;
  alignas(64) float sums[32 * 32];
  for (std::int64_t panel = 0; panel < panels.count; panel += 2) {
    const std::int64_t end = Least(panel + 2, panels.count);
    const std::uint16_t* b = room;
    if (room != nullptr) {
      RoundPanels({panels.first + panel * panels.stride, panels.stride, end - panel}, inputs, room);
    } else {
      b = panels.rounded + panel * depth * kPanel;
    }
    for (std::int64_t row = 0; row < rows; row += 32) {
      Multiply(a + row * a_stride, a_stride, rows - row > 16, b, depth * kPanel, end - panel > 1, depth, sums);
      for (std::int64_t p = panel; p < end; ++p) {
        const __m512 start = LoadIf(bias != nullptr, bias + p * kPanel);
        for (std::int64_t i = 0; i < Least(32, rows - row); ++i) {
          float* to = out[row + i] + p * kPanel;
          __m512 sum = _mm512_add_ps(_mm512_load_ps(sums + i * 32 + (p - panel) * kPanel), start);
          if (then == Then::kAdd) sum = _mm512_add_ps(sum, _mm512_loadu_ps(to));
          if (then == Then::kStoreRelu) sum = _mm512_max_ps(sum, _mm512_setzero_ps());
          _mm512_storeu_ps(to, sum);
        }
      }
    }
  }
}

// Adds 16 sums of each of `rows` rows, which lie `stride` apart.
void AddSums(const __m512* sums, std::int64_t stride, std::int64_t rows, float* out) {
  for (std::int64_t i = 0; i < rows; ++i, sums += stride, out += kPanel) {
    _mm512_storeu_ps(out, _mm512_add_ps(_mm512_loadu_ps(out), *sums));
  }
}

// Either the values or the deltas have to be transposed. Whichever is less work is, and then so are the sums, whose
// bits are the same.
void AddColumns(const Columns& in, std::int64_t rows, const float* deltas, std::int64_t delta_stride,
                std::int64_t panels, float* out, std::int64_t out_stride) {
  const std::int64_t count = in.outer * in.inner, depth = InTiles(count, kDepth), a_stride = depth + kDepth;
  const std::int64_t blocks = in.runs * InTiles(rows, 16) / 16, tile = depth * kPanel;
  const bool swaps = panels * (depth / kDepth + blocks) < blocks * depth / kDepth;
  std::uint16_t* const a = left_tiles.Get((swaps ? panels * 16 : 32) * a_stride);
  std::uint16_t* const b = right_tiles.Get(panels * tile);
  std::uint16_t* const values = middle_tiles.Get(2 * tile);
  const Columns all_deltas{deltas, 1, 0, 1, 0, count, delta_stride};
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    RoundColumns(all_deltas, deltas + panel * kPanel, 0xFFFF, depth, b + panel * tile);
    if (swaps) TransposeTiles(b + panel * tile, depth, a + panel * 16 * a_stride, a_stride);
  }
  const Tiles tiles;
  __m512 sums[32][2];
  for (std::int64_t run = 0; run < in.runs; ++run) {
    for (std::int64_t row = 0; row < rows; row += 32) {
      const std::int64_t num_blocks = rows - row > 16 ? 2 : 1;
      for (std::int64_t i = 0; i < num_blocks; ++i) {
        const float* first = in.first + run * in.run_stride + row + i * 16;
        RoundColumns(in, first, FirstOf(rows - row - i * 16), depth, values + i * tile);
        if (!swaps) TransposeTiles(values + i * tile, depth, a + i * 16 * a_stride, a_stride);
      }
      for (std::int64_t panel = 0; panel < panels; panel += 2) {
        const std::int64_t num_panels = Least(2, panels - panel);
        float* to = out + panel * out_stride + (run * rows + row) * kPanel;
        if (!swaps) {
          Multiply(a, a_stride, num_blocks > 1, b + panel * tile, tile, num_panels > 1, depth, (float*)sums);
          for (std::int64_t p = 0; p < num_panels; ++p) {
            AddSums(sums[0] + p, 2, Least(32, rows - row), to + p * out_stride);
          }
          continue;
        }
        Multiply(a + panel * 16 * a_stride, a_stride, num_panels > 1, values, tile, num_blocks > 1, depth,
                 (float*)sums);
        for (std::int64_t p = 0; p < num_panels; ++p) {
          for (std::int64_t i = 0; i < num_blocks; ++i) {
            __m512 square[16];
            for (int j = 0; j < 16; ++j) square[j] = sums[p * 16 + j][i];
            Transpose(square);
            AddSums(square, 1, Least(16, rows - row - i * 16), to + p * out_stride + i * 16 * kPanel);
          }
        }
      }
    }
  }
}

}  // namespace

const Products& ProductsBfloat16() {
  static const Products kProducts{kMostRows, RoundPanels, MultiplyRows, AddColumns, Products512().transforms};
  return kProducts;
}

bool Bfloat16Convolution::IsAvailable() { return BestUnits() != Units::kNone; }

void Bfloat16Convolution::Forward(const float* image, const std::uint16_t* weights, std::uint16_t* rounded,
                                  float* outputs, std::int64_t row_stride, std::int64_t pixel_stride) const {
  const std::int64_t row = (width + 2) * channels, panel_stride = 9 * channels * 16;
  RoundRun(image, image_size(), rounded);
  const Tiles tiles;
  for (std::int64_t panel = 0; panel < panels; panel += 2) {
    for (std::int64_t y = 0; y < height; y += 2) {
      for (std::int64_t x = 0; x < width; x += 16) {
        float* to = outputs + y * row_stride + x * pixel_stride + panel * 16;
        if (BestUnits() == Units::kVectors) {
          for (int part = 0; part < 4; ++part) {  // of two rows and two panels
            __m512 sums[16] = {};
            const std::uint16_t* tile = weights + (panel + part % 2) * panel_stride;
            for (std::int64_t pixel = 0; pixel < 9; ++pixel, tile += channels * 16) {
              const std::uint16_t* seen = rounded + (y + part / 2 + pixel / 3) * row + (x + pixel % 3) * channels;
              AddRows(seen, channels, tile, channels, sums);
            }
            StoreRows(sums, to + part / 2 * row_stride + part % 2 * 16, pixel_stride);
          }
          continue;
        }
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
        _tile_stored(0, to, pixel_stride * sizeof(float));
        _tile_stored(1, to + 16, pixel_stride * sizeof(float));
        _tile_stored(2, to + row_stride, pixel_stride * sizeof(float));
        _tile_stored(3, to + row_stride + 16, pixel_stride * sizeof(float));
      }
    }
  }
}

}  // namespace neurozoo

#else

namespace neurozoo {

const Products& ProductsBfloat16() { return WidestProducts(); }

bool Bfloat16Convolution::IsAvailable() { return false; }
void Bfloat16Convolution::Forward(const float*, const std::uint16_t*, std::uint16_t*, float*, std::int64_t,
                                  std::int64_t) const {}

}  // namespace neurozoo

#endif
