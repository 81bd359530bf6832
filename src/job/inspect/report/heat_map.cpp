#include "job/inspect/report/heat_map.hpp"

#include <algorithm>
#include <cmath>

#include "core/text/format_text.hpp"
#include "job/inspect/report/png.hpp"

namespace bulksim {

namespace {

// Sizes in SVG units.
constexpr double kLeft = 78.0;
constexpr double kTop = 14.0;
constexpr double kWidth = 860.0;
constexpr double kLeastHeight = 150.0;
constexpr double kMostHeight = 520.0;
constexpr double kScaleTop = 62.0;  // below the map
constexpr double kScaleHeight = 12.0;
constexpr std::size_t kColours = 255;
constexpr Colour kNothing{0x80, 0x86, 0x8F};

/// From low to high: lightness rises evenly, so the map is readable without colours.
constexpr std::array<Colour, 7> kRamp{{{0x12, 0x14, 0x3A},
                                       {0x2A, 0x2F, 0x7E},
                                       {0x1F, 0x5F, 0xA6},
                                       {0x17, 0x93, 0xA5},
                                       {0x4B, 0xBF, 0x8B},
                                       {0xC3, 0xDE, 0x6C},
                                       {0xFF, 0xF6, 0xC9}}};

Colour colour_at(double place) {
  const double x = std::clamp(place, 0.0, 1.0) * static_cast<double>(kRamp.size() - 1);
  const auto at = std::min(static_cast<std::size_t>(x), kRamp.size() - 2);
  const double rest = x - static_cast<double>(at);
  Colour colour{};
  for (std::size_t channel = 0; channel < colour.size(); ++channel) {
    const double from = kRamp[at][channel];
    const double to = kRamp[at + 1][channel];
    colour[channel] = static_cast<std::uint8_t>(std::lround(from + rest * (to - from)));
  }
  return colour;
}

/// Place 0 of the palette is for blocks without a value.
std::vector<Colour> palette() {
  std::vector<Colour> colours{kNothing};
  for (std::size_t i = 0; i < kColours; ++i)
    colours.push_back(colour_at(static_cast<double>(i) / (kColours - 1)));
  return colours;
}

/// Maps the logarithm of a value to a colour.
struct ColourScale {
  double low = 0.0;   ///< log2
  double high = 1.0;  ///< log2

  explicit ColourScale(const std::vector<double>& lift) {
    std::vector<double> logs;
    for (const double value : lift)
      if (value > 0.0) logs.push_back(std::log2(value));
    if (logs.empty()) return;
    std::ranges::sort(logs);
    low = std::min(logs[logs.size() / 50], 0.0);  // a few dark blocks do not stretch the scale
    high = std::max(logs.back(), low + 0.1);
  }
  double place(double lift) const { return (std::log2(lift) - low) / (high - low); }
  std::uint8_t pixel(double lift) const {
    if (!(lift > 0.0)) return 0;
    return static_cast<std::uint8_t>(
        1 + std::lround(std::clamp(place(lift), 0.0, 1.0) * (kColours - 1)));
  }
};

/// A step of 1, 2 or 5 times a power of ten, for about `ticks` steps up to `total`.
double nice_step(double total, double ticks) {
  const double raw = std::max(total / ticks, 1.0);
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw) return factor * power;
  return 10.0 * power;
}

std::string count_text(double value) {
  if (value >= 1e6) return formatted("%.4g M", value / 1e6);
  if (value >= 1e4) return formatted("%.4g k", value / 1e3);
  return formatted("%.0f", value);
}

std::string times_text(double value) {
  return value >= 1 ? formatted("%.3g×", value) : formatted("1/%.3g", 1 / value);
}

class Picture {
 public:
  explicit Picture(const HeatMap& map)
      : map_(map),
        scale_(map.lift),
        height_(
            std::clamp(kWidth * static_cast<double>(map.rows) / static_cast<double>(map.columns),
                       kLeastHeight, kMostHeight)) {}

  std::string draw() {
    svg_ = formatted("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"block map\">",
                     kLeft + kWidth + 22.0, kTop + height_ + kScaleTop + kScaleHeight + 24.0);
    add_image();
    add_outlines();
    add_item_axis();
    add_query_axis();
    add_scale();
    return svg_ + "</svg>";
  }

 private:
  void add_image() {
    std::vector<std::uint8_t> pixels;
    for (const double lift : map_.lift)
      pixels.push_back(scale_.pixel(lift));
    svg_ += formatted(
                "<image x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                "preserveAspectRatio=\"none\" class=\"cells\" href=\"data:image/png;base64,",
                kLeft, kTop, kWidth, height_) +
            base64(encode_png(map_.columns, pixels, palette())) + "\"/>";
  }

  bool outlined(std::int64_t row, std::int64_t column) const {
    if (row < 0 || row >= map_.rows || column < 0 || column >= map_.columns) return false;
    return map_.outlined[row * map_.columns + column] == 1;
  }

  /// The border between blocks with and without an outline, in the longest possible lines.
  void add_outlines() {
    if (map_.outlined.empty()) return;
    const double w = kWidth / static_cast<double>(map_.columns);
    const double h = height_ / static_cast<double>(map_.rows);
    std::string path;
    for (std::int64_t row = 0; row <= map_.rows; ++row) {
      for (std::int64_t begin = 0, end = 0; begin < map_.columns; begin = end + 1) {
        for (end = begin; end < map_.columns && outlined(row, end) != outlined(row - 1, end);)
          ++end;
        if (end == begin) continue;
        path +=
            formatted("M%.2f %.2fh%.2f", kLeft + w * static_cast<double>(begin),
                      kTop + h * static_cast<double>(row), w * static_cast<double>(end - begin));
      }
    }
    for (std::int64_t column = 0; column <= map_.columns; ++column) {
      for (std::int64_t begin = 0, end = 0; begin < map_.rows; begin = end + 1) {
        for (end = begin; end < map_.rows && outlined(end, column) != outlined(end, column - 1);)
          ++end;
        if (end == begin) continue;
        path +=
            formatted("M%.2f %.2fv%.2f", kLeft + w * static_cast<double>(column),
                      kTop + h * static_cast<double>(begin), h * static_cast<double>(end - begin));
      }
    }
    svg_ += "<path class=\"halo\" d=\"" + path + "\"/><path class=\"outline\" d=\"" + path + "\"/>";
  }

  void add_item_axis() {
    const auto total = static_cast<double>(map_.item_rows);
    const double y = kTop + height_;
    const double step = nice_step(total, 8);
    for (int tick = 0; tick * step <= total; ++tick) {
      const double at = tick * step;
      const double x = kLeft + kWidth * at / total;
      svg_ += formatted("<path class=\"tick\" d=\"M%.1f %.1fv5\"/>", x, y) +
              formatted("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>", x, y + 18,
                        count_text(at).c_str());
    }
    svg_ += formatted(
        "<text class=\"name\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">item rows</text>",
        kLeft + kWidth / 2, y + 36);
  }

  void add_query_axis() {
    const auto total = static_cast<double>(map_.query_rows);
    const double step = nice_step(total, height_ / 60);
    for (int tick = 0; tick * step <= total; ++tick) {
      const double at = tick * step;
      const double y = kTop + height_ * at / total;
      svg_ += formatted("<path class=\"tick\" d=\"M%.1f %.1fh-5\"/>", kLeft, y) +
              formatted("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>", kLeft - 9,
                        y + 4, count_text(at).c_str());
    }
    svg_ += formatted(
        "<text class=\"name\" transform=\"translate(16 %.1f) rotate(-90)\" "
        "text-anchor=\"middle\">query rows</text>",
        kTop + height_ / 2);
  }

  void add_scale() {
    std::vector<std::uint8_t> pixels;
    for (std::size_t i = 0; i < kColours; ++i)
      pixels.push_back(static_cast<std::uint8_t>(i + 1));
    const double y = kTop + height_ + kScaleTop;
    const double width = 360.0;
    const double left = kLeft + kWidth - width;
    svg_ +=
        formatted(
            "<image x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
            "preserveAspectRatio=\"none\" href=\"data:image/png;base64,",
            left, y, width, kScaleHeight) +
        base64(encode_png(kColours, pixels, palette())) + "\"/>" +
        formatted(
            "<text class=\"name\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">times its even share "
            "of the mass</text>",
            left - 12, y + 10);
    const double span = scale_.high - scale_.low;
    const double step = std::max(1.0, std::ceil(span / 6));  // whole powers of two
    if (span < 2) {
      for (const double place : {0.0, 0.5, 1.0})
        add_scale_tick(left + width * place, y, std::exp2(scale_.low + span * place));
      return;
    }
    const int last = static_cast<int>(std::floor(scale_.high / step));
    for (int tick = static_cast<int>(std::ceil(scale_.low / step)); tick <= last; ++tick) {
      const double at = tick * step;
      add_scale_tick(left + width * (at - scale_.low) / span, y, std::exp2(at));
    }
  }

  void add_scale_tick(double x, double y, double lift) {
    svg_ += formatted("<path class=\"tick\" d=\"M%.1f %.1fv4\"/>", x, y + kScaleHeight) +
            formatted("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>", x,
                      y + kScaleHeight + 17, times_text(lift).c_str());
  }

  const HeatMap& map_;
  ColourScale scale_;
  double height_;
  std::string svg_;
};

}  // namespace

std::string draw(const HeatMap& map) {
  return map.rows * map.columns == 0 ? std::string() : Picture(map).draw();
}

}  // namespace bulksim
