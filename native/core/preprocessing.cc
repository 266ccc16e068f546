#include "core/preprocessing.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace neurozoo {

ChangedRows::ChangedRows(int height, int width)
    : height_(height),
      width_(width),
      previous_(static_cast<std::size_t>(height) * width),
      current_(previous_.size()),
      changed_(height) {}

void ChangedRows::Update(const std::uint8_t* previous, const std::uint8_t* current) {
  if (previous == nullptr) previous = current;
  const auto take = [&](const std::uint8_t* source, std::uint8_t* known) {
    if (std::memcmp(source, known, width_) == 0) return false;
    std::memcpy(known, source, width_);
    return true;
  };
  for (int y = 0; y < height_; ++y) {
    const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(y) * width_;
    const bool has_new_previous = take(previous + offset, previous_.data() + offset);
    const bool has_new_current = take(current + offset, current_.data() + offset);
    changed_[y] = is_first_ || has_new_previous || has_new_current;
  }
  is_first_ = false;
}

PublishedBilinear::PublishedBilinear(const Emulator& emulator)
    : width_(emulator.width()),
      rows_(Samples(emulator.height())),
      columns_(Samples(emulator.width())),
      pooled_(emulator.width()),
      changed_(emulator.height(), emulator.width()),
      narrow_(static_cast<std::size_t>(emulator.height()) * kPlaneSide) {
  for (int i = 0; i < 256; ++i) {
    const std::uint32_t rgb = emulator.rgb_palette()[i];
    const float red = static_cast<float>((rgb >> 16) & 0xff) / 255.0f;
    const float green = static_cast<float>((rgb >> 8) & 0xff) / 255.0f;
    const float blue = static_cast<float>(rgb & 0xff) / 255.0f;
    grey_[i] = red * 0.299f + green * 0.587f + blue * 0.114f;
  }
}

std::array<PublishedBilinear::Sample, kPlaneSide> PublishedBilinear::Samples(int size) {
  const float scale = static_cast<float>(size - 1) / static_cast<float>(kPlaneSide - 1);
  std::array<Sample, kPlaneSide> samples;
  for (int i = 0; i < kPlaneSide; ++i) {
    const float position = static_cast<float>(i) * scale;
    const int lower = std::min(static_cast<int>(position), size - 1);
    samples[i] = {lower, std::min(lower + 1, size - 1), position - static_cast<float>(lower)};
  }
  return samples;
}

void PublishedBilinear::ProcessRow(const std::uint8_t* previous, const std::uint8_t* current, float* row) {
  for (int x = 0; x < width_; ++x) pooled_[x] = grey_[current[x]];
  if (previous != nullptr && std::memcmp(previous, current, width_) != 0) {
    for (int x = 0; x < width_; ++x) pooled_[x] = std::max(pooled_[x], grey_[previous[x]]);
  }
  for (int x = 0; x < kPlaneSide; ++x) {
    const Sample& sample = columns_[x];
    const float left = pooled_[sample.lower];
    row[x] = left + (pooled_[sample.upper] - left) * sample.weight;
  }
}

void PublishedBilinear::Process(const std::uint8_t* previous, const std::uint8_t* current, float* plane) {
  changed_.Update(previous, current);
  int done = -1;  // the newest row of pixels in `narrow_`: rows come in order, and some twice
  const auto narrowed = [&](int y) {
    float* row = narrow_.data() + static_cast<std::ptrdiff_t>(y) * kPlaneSide;
    const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(y) * width_;
    if (y > done && changed_[y]) ProcessRow(previous == nullptr ? nullptr : previous + offset, current + offset, row);
    done = std::max(done, y);
    return row;
  };
  for (int y = 0; y < kPlaneSide; ++y) {
    const Sample& sample = rows_[y];
    const float* top = narrowed(sample.lower);
    const float* bottom = narrowed(sample.upper);
    if (!changed_[sample.lower] && !changed_[sample.upper]) continue;
    float* out = plane_.data() + y * kPlaneSide;
    for (int x = 0; x < kPlaneSide; ++x) out[x] = top[x] + (bottom[x] - top[x]) * sample.weight;
  }
  std::copy(plane_.begin(), plane_.end(), plane);
}

Area::Area(const Emulator& emulator)
    : width_(emulator.width()),
      grey_(emulator.grey_palette()),
      rows_(Cells(emulator.height())),
      columns_(Cells(emulator.width())),
      sums_(emulator.width()),
      changed_(emulator.height(), emulator.width()) {}

std::array<Area::Cell, kPlaneSide> Area::Cells(int size) {
  std::array<Cell, kPlaneSide> cells;
  const double scale = static_cast<double>(size) / kPlaneSide;
  for (int i = 0; i < kPlaneSide; ++i) {
    const double start = i * scale;
    const double end = std::min<double>((i + 1) * scale, size);
    Cell& cell = cells[i];
    cell.first = static_cast<int>(start);
    cell.count = 0;
    for (int source = cell.first; source < size; ++source) {
      const double overlap = std::min<double>(end, source + 1) - std::max<double>(start, source);
      if (overlap <= 1e-3) break;  // as OpenCV, which skips slivers
      if (cell.count == static_cast<int>(cell.weights.size())) throw std::invalid_argument("The screen is too large.");
      cell.weights[cell.count++] = static_cast<float>(overlap / (end - start));
    }
  }
  return cells;
}

void Area::Process(const std::uint8_t* previous, const std::uint8_t* current, float* plane) {
  changed_.Update(previous, current);
  for (int y = 0; y < kPlaneSide; ++y) {
    const Cell& rows = rows_[y];
    bool has_changed = false;
    for (int i = 0; i < rows.count; ++i) has_changed |= changed_[rows.first + i];
    if (!has_changed) continue;
    std::fill(sums_.begin(), sums_.end(), 0.0f);
    for (int i = 0; i < rows.count; ++i) {
      const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(rows.first + i) * width_;
      const float weight = rows.weights[i];
      if (previous == nullptr) {
        for (int x = 0; x < width_; ++x) sums_[x] += weight * static_cast<float>(grey_[current[offset + x]]);
      } else {
        for (int x = 0; x < width_; ++x) {
          const std::uint8_t pooled = std::max(grey_[current[offset + x]], grey_[previous[offset + x]]);
          sums_[x] += weight * static_cast<float>(pooled);
        }
      }
    }
    for (int x = 0; x < kPlaneSide; ++x) {
      const Cell& columns = columns_[x];
      float sum = 0;
      for (int i = 0; i < columns.count; ++i) sum += columns.weights[i] * sums_[columns.first + i];
      plane_[y * kPlaneSide + x] = std::nearbyint(sum) / 255.0f;
    }
  }
  std::copy(plane_.begin(), plane_.end(), plane);
}

PilBilinear::PilBilinear(const Emulator& emulator)
    : height_(emulator.height()),
      width_(emulator.width()),
      palette_(emulator.rgb_palette()),
      rows_(Cells(height_)),
      columns_(Cells(width_)),
      pooled_(width_),
      changed_(height_, width_),
      narrow_(static_cast<std::size_t>(height_) * kPlaneSide) {}

std::vector<PilBilinear::Cell> PilBilinear::Cells(int size) {
  const double scale = static_cast<double>(size) / kPlaneSide;
  const double support = std::max(scale, 1.0);  // half the width of the filter
  std::vector<Cell> cells(kPlaneSide);
  for (int i = 0; i < kPlaneSide; ++i) {
    const double center = (i + 0.5) * scale;
    const int first = std::max(static_cast<int>(center - support + 0.5), 0);
    const int end = std::min(static_cast<int>(center + support + 0.5), size);
    Cell& cell = cells[i];
    cell.first = first;
    double sum = 0;
    for (int source = first; source < end; ++source) {
      const double distance = std::abs((source - center + 0.5) * (1.0 / support));
      cell.weights.push_back(distance < 1.0 ? 1.0 - distance : 0.0);
      sum += cell.weights.back();
    }
    for (double& weight : cell.weights) weight /= sum;
  }
  return cells;
}

float PilBilinear::Grey(std::uint32_t previous, std::uint32_t current) const {
  const auto channel = [&](int shift) {
    return static_cast<float>(std::max((previous >> shift) & 0xff, (current >> shift) & 0xff));
  };
  return channel(16) * 0.299f + channel(8) * 0.587f + channel(0) * 0.114f;
}

void PilBilinear::Process(const std::uint8_t* previous, const std::uint8_t* current, float* plane) {
  changed_.Update(previous, current);
  if (previous == nullptr) previous = current;
  for (int y = 0; y < height_; ++y) {
    if (!changed_[y]) continue;
    const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(y) * width_;
    for (int x = 0; x < width_; ++x) pooled_[x] = Grey(palette_[previous[offset + x]], palette_[current[offset + x]]);
    for (int x = 0; x < kPlaneSide; ++x) {
      const Cell& cell = columns_[x];
      double sum = 0;
      for (std::size_t i = 0; i < cell.weights.size(); ++i) sum += pooled_[cell.first + i] * cell.weights[i];
      narrow_[static_cast<std::size_t>(y) * kPlaneSide + x] = static_cast<float>(sum);
    }
  }
  for (int y = 0; y < kPlaneSide; ++y) {
    const Cell& cell = rows_[y];
    bool has_changed = false;
    for (std::size_t i = 0; i < cell.weights.size(); ++i) has_changed |= changed_[cell.first + static_cast<int>(i)];
    if (!has_changed) continue;
    for (int x = 0; x < kPlaneSide; ++x) {
      double sum = 0;
      for (std::size_t i = 0; i < cell.weights.size(); ++i) {
        sum += narrow_[(cell.first + i) * kPlaneSide + x] * cell.weights[i];
      }
      plane_[y * kPlaneSide + x] = static_cast<float>(static_cast<std::uint8_t>(static_cast<float>(sum))) / 255.0f;
    }
  }
  std::copy(plane_.begin(), plane_.end(), plane);
}

Rgb::Rgb(const Emulator& emulator) : height_(emulator.height()), width_(emulator.width()) {
  for (int i = 0; i < 256; ++i) {
    const std::uint32_t rgb = emulator.rgb_palette()[i];
    for (int channel = 0; channel < 3; ++channel) {
      colours_[i][channel] = static_cast<float>((rgb >> (16 - 8 * channel)) & 0xff);
    }
  }
}

void Rgb::Process(const std::uint8_t* /*previous*/, const std::uint8_t* current, float* plane) {
  for (int i = 0; i < height_ * width_; ++i, plane += 3) std::copy_n(colours_[current[i]].data(), 3, plane);
}

std::unique_ptr<Preprocessor> MakePreprocessor(const std::string& name, const Emulator& emulator) {
  if (name == "published_bilinear") return std::make_unique<PublishedBilinear>(emulator);
  if (name == "area") return std::make_unique<Area>(emulator);
  if (name == "pil_bilinear") return std::make_unique<PilBilinear>(emulator);
  if (name == "rgb") return std::make_unique<Rgb>(emulator);
  throw std::invalid_argument("Preprocessing '" + name +
                              "' is unknown; known: published_bilinear, area, pil_bilinear, rgb.");
}

}  // namespace neurozoo
