#ifndef NEUROZOO_CORE_NETWORK_H_
#define NEUROZOO_CORE_NETWORK_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace neurozoo {

// Floats on cache-line boundaries.
template <typename T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};
  AlignedAllocator() = default;
  template <typename U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, kAlignment); }
  template <typename U>
  bool operator==(const AlignedAllocator<U>&) const {
    return true;
  }
  template <typename U>
  bool operator!=(const AlignedAllocator<U>&) const {
    return false;
  }
};
using Floats = std::vector<float, AlignedAllocator<float>>;

// One layer: shapes, and where its weights lie in the parameter vector. The order of the fields is that of
// `PLAN_FIELDS` in networks.py.
struct LayerPlan {
  enum Kind : std::int64_t { kConv = 0, kRecurrentConv = 1, kDense = 2 };
  std::int64_t kind, in_height, in_width, in_channels, out_height, out_width, out_channels;
  std::int64_t kernel, stride, weight_offset, bias_offset, relu, cycles;

  std::int64_t weight_count() const {
    return kind == kDense ? in_channels * out_channels : kernel * kernel * in_channels * out_channels;
  }
};

struct NetworkPlan {
  std::vector<LayerPlan> layers;

  // Reads rows of 13 numbers. Throws std::invalid_argument if they are no network that Network can run.
  static NetworkPlan Parse(const std::vector<std::int64_t>& numbers);

  std::int64_t parameter_count() const;
  std::int64_t num_outputs() const { return layers.back().out_channels; }
};

// A three-dimensional array, (height, width, channels), with a border of zeros, which convolutions read beyond its
// edge.
class PaddedImage {
 public:
  PaddedImage() = default;
  PaddedImage(std::int64_t height, std::int64_t width, std::int64_t channels, std::int64_t border_before,
              std::int64_t border_after);

  // The first value of row `y`, which may lie in the border (from -border_before on).
  float* Row(std::int64_t y) { return data_.data() + (y + border_before_) * row_stride_ + border_before_ * channels_; }
  const float* Row(std::int64_t y) const { return const_cast<PaddedImage*>(this)->Row(y); }
  std::int64_t row_stride() const { return row_stride_; }

 private:
  std::int64_t border_before_ = 0, channels_ = 0, row_stride_ = 0;
  Floats data_;
};

// Runs one observation at a time through a network, without allocating.
//
// Every sum has one fixed order, whatever the machine's caches or the number of threads: same weights, same bits.
// A network belongs to one thread.
class Network {
 public:
  explicit Network(const NetworkPlan& plan);

  // The observation, (height, width, stack), to be filled by the caller; its content stays.
  PaddedImage& observation() { return stages_.front().in; }

  // Returns `num_outputs()` values that stay valid until the next call. `parameters` has `parameter_count()` floats.
  const float* Run(const float* parameters);

 private:
  struct Stage {
    LayerPlan layer;
    PaddedImage in;          // convolutions: the input
    PaddedImage between[2];  // recurrent convolutions: the states between the cycles
  };

  // Where a convolution writes: rows of an image or of a plain array.
  struct Target {
    float* first_row;
    std::int64_t row_stride;
  };

  static void RunConv(const LayerPlan& layer, const float* parameters, const PaddedImage& in, const Target& out,
                      bool residual, bool relu);
  static void RunDense(const LayerPlan& layer, const float* parameters, const float* in, float* out);

  std::vector<Stage> stages_;
  Floats flat_;    // output of the last convolution, or of a dense layer
  Floats output_;  // output of the other dense layers, in turn
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_NETWORK_H_
