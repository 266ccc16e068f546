#ifndef NEUROZOO_CORE_ALE_PICTURE_H_
#define NEUROZOO_CORE_ALE_PICTURE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "core/emulator.h"
#include "core/preprocessing.h"

namespace neurozoo {

// The pictures of ale-py's vector environment, to the bit: grey bytes, maximum of the last two frames, area resize.
//
// `Area` averages the same pixels in another order, so that some of its means round the other way. Here, each row is
// averaged first, then the rows, in float, as OpenCV 4.10 does it (modules/imgproc/src/resize.cpp, ResizeArea_Invoker),
// with which ale-py is built. Only rows that have changed are computed. An object belongs to one thread.
class AlePicture {
 public:
  explicit AlePicture(const Emulator& emulator);

  // Makes a picture of two screens of palette indices; `previous` is null at the start of an episode. Writes
  // `kPlanePixels` bytes, row-major.
  void Show(const std::uint8_t* previous, const std::uint8_t* current, std::uint8_t* picture);

  // The picture where an episode ended in the last frame of a step, which ale-py does not see: the maximum of
  // `previous` and the last picture. If the episode ended earlier, the picture stays the same: null.
  void ShowEnd(const std::uint8_t* previous, std::uint8_t* picture);

 private:
  static constexpr int kTaps = 3;

  // Of each new column: the first pixel and the weights of `kTaps` pixels, 0 for those beyond.
  struct Columns {
    std::array<int, kPlaneSide> first;
    std::array<std::array<float, kPlaneSide>, kTaps> weights;
  };
  struct Row {
    int source;
    float weight;
  };
  struct Share {
    int target, source;
    float weight;
  };

  static std::vector<Share> Shares(int size);
  void Narrow(int y);
  void Average(std::uint8_t* picture);

  int height_, width_;
  std::array<std::uint8_t, 256> grey_;
  Columns columns_;
  std::array<std::vector<Row>, kPlaneSide> rows_;
  ChangedRows changed_;
  std::vector<std::uint8_t> is_stale_;  // of each row: whether it differs from the picture
  bool is_all_stale_ = true;
  std::vector<std::uint8_t> pooled_;                  // the maximum of both frames
  std::vector<float> padded_;                         // one row of it
  std::vector<float> narrow_;                         // each row, `kPlaneSide` wide
  std::array<std::uint8_t, kPlanePixels> picture_{};  // the last one
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_ALE_PICTURE_H_
