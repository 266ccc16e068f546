#ifndef NEUROZOO_CORE_PREPROCESSING_H_
#define NEUROZOO_CORE_PREPROCESSING_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/emulator.h"
#include "core/world.h"

namespace neurozoo {

inline constexpr int kPlaneSide = 84;
inline constexpr int kPlanePixels = kPlaneSide * kPlaneSide;

// Tells which rows of the last two frames differ from those of the call before.
class ChangedRows {
 public:
  ChangedRows(int height, int width);

  // Compares both frames with those of the last call, and remembers them. A null `previous` counts as equal to
  // `current`.
  void Update(const std::uint8_t* previous, const std::uint8_t* current);

  bool operator[](int row) const { return changed_[row]; }

 private:
  int height_, width_;
  bool is_first_ = true;
  std::vector<std::uint8_t> previous_, current_, changed_;
};

// Makes one plane of an observation out of the last two frames.
//
// A plane depends on its two frames only. What does not change from call to call is kept; in most games that is most of
// the picture. A preprocessor belongs to one thread.
class Preprocessor {
 public:
  virtual ~Preprocessor() = default;

  // Height, width and channels of a plane, and how many planes an observation has.
  virtual ObservationShape shape() const { return {kPlaneSide, kPlaneSide, 1, 4}; }

  // Writes the plane, row-major, to `plane`. `previous` and `current` are screens of palette indices; `previous` is
  // null if there is no older frame.
  virtual void Process(const std::uint8_t* previous, const std::uint8_t* current, float* plane) = 0;

  // Whether the first plane of an episode is made of two frames, too, if they were emulated by steps (`is_stepped`) or
  // by single frames.
  virtual bool starts_with_two_frames(bool is_stepped) const = 0;

  // Whether copies of an episode's first plane stand before it; otherwise zeros.
  virtual bool repeats_first_plane() const { return false; }
};

// Grey as float, maximum of the two frames, bilinear resize with aligned corners (Such et al. 2017 and their code).
class PublishedBilinear : public Preprocessor {
 public:
  explicit PublishedBilinear(const Emulator& emulator);
  void Process(const std::uint8_t* previous, const std::uint8_t* current, float* plane) override;
  bool starts_with_two_frames(bool /*is_stepped*/) const override { return true; }

 private:
  struct Sample {
    int lower, upper;
    float weight;  // of `upper`
  };
  static std::array<Sample, kPlaneSide> Samples(int size);
  void ProcessRow(const std::uint8_t* previous, const std::uint8_t* current, float* row);

  int width_;
  std::array<float, 256> grey_;
  std::array<Sample, kPlaneSide> rows_, columns_;
  std::vector<float> pooled_;  // one row of pixels
  ChangedRows changed_;
  std::vector<float> narrow_;                // each row of pixels, `kPlaneSide` wide
  std::array<float, kPlanePixels> plane_{};  // the last one
};

// Grey rounded to a byte, maximum of the two frames, area resize rounded to a byte, divided by 255: equal to ale-py's
// vector environment up to one grey level where its float sums round the other way.
class Area : public Preprocessor {
 public:
  explicit Area(const Emulator& emulator);
  void Process(const std::uint8_t* previous, const std::uint8_t* current, float* plane) override;
  bool starts_with_two_frames(bool /*is_stepped*/) const override { return false; }

 private:
  struct Cell {
    int first, count;
    std::array<float, 8> weights;
  };
  static std::array<Cell, kPlaneSide> Cells(int size);

  int width_;
  std::array<std::uint8_t, 256> grey_;
  std::array<Cell, kPlaneSide> rows_, columns_;
  std::vector<float> sums_;  // one row of pixels, already averaged over the cell's rows
  ChangedRows changed_;
  std::array<float, kPlanePixels> plane_{};  // the last one
};

// Maximum of the two frames in colour, grey as float, PIL's bilinear resize, cut to a byte, divided by 255: the
// wrappers of the distributed code of Such et al. 2017.
//
// PIL's filter is a triangle as wide as two of the new pixels, so it averages. It sums in double precision, first along
// the rows, and rounds each sum to a float.
class PilBilinear : public Preprocessor {
 public:
  explicit PilBilinear(const Emulator& emulator);
  void Process(const std::uint8_t* previous, const std::uint8_t* current, float* plane) override;
  bool starts_with_two_frames(bool is_stepped) const override { return is_stepped; }
  bool repeats_first_plane() const override { return true; }

 private:
  struct Cell {
    int first;
    std::vector<double> weights;
  };
  static std::vector<Cell> Cells(int size);
  float Grey(std::uint32_t previous, std::uint32_t current) const;

  int height_, width_;
  std::array<std::uint32_t, 256> palette_;
  std::vector<Cell> rows_, columns_;
  std::vector<float> pooled_;  // one row of pixels
  ChangedRows changed_;
  std::vector<float> narrow_;                // each row of pixels, `kPlaneSide` wide
  std::array<float, kPlanePixels> plane_{};  // the last one
};

// The newest screen in colour, 0 to 255, as it is: the `-v4` environments of OpenAI Gym.
class Rgb : public Preprocessor {
 public:
  explicit Rgb(const Emulator& emulator);
  ObservationShape shape() const override { return {height_, width_, 3, 1}; }
  void Process(const std::uint8_t* previous, const std::uint8_t* current, float* plane) override;
  bool starts_with_two_frames(bool /*is_stepped*/) const override { return false; }

 private:
  int height_, width_;
  std::array<std::array<float, 3>, 256> colours_;
};

// Makes the preprocessor called `name` (`published_bilinear`, `area`, `pil_bilinear` or `rgb`); throws
// std::invalid_argument for others.
std::unique_ptr<Preprocessor> MakePreprocessor(const std::string& name, const Emulator& emulator);

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_PREPROCESSING_H_
