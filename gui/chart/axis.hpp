#pragma once

#include "gui/model/dimension.hpp"

#include <QString>

#include <vector>

namespace spillway::gui {

struct Tick {
  double value = 0;
  QString text;
};

/// One axis of a chart: values from `from` to `to` lie at pixels from `low` to `high`, which may
/// run downwards.
class Axis {
 public:
  Axis() = default;
  Axis(double from, double to, double low, double high)
      : from_(from), to_(to > from ? to : from + 1), low_(low), high_(high) {}

  double from() const { return from_; }
  double to() const { return to_; }
  double span() const { return to_ - from_; }
  double low() const { return low_; }
  double high() const { return high_; }

  double pixel(double value) const {
    return low_ + (value - from_) / (to_ - from_) * (high_ - low_);
  }
  double value(double pixel) const {
    return high_ == low_ ? from_ : from_ + (pixel - low_) / (high_ - low_) * (to_ - from_);
  }
  double per_pixel() const { return high_ == low_ ? 1 : (to_ - from_) / (high_ - low_); }

  /// The same values at other pixels.
  Axis placed(double low, double high) const { return Axis(from_, to_, low, high); }
  /// `factor` above 1 shows less, around `about`, which stays where it is.
  Axis zoomed(double about, double factor) const;
  Axis panned(double pixels) const;
  /// Moved and shrunk until it lies within [least, most] and shows at least `least_span`.
  Axis within(double least, double most, double least_span) const;

  /// Round values, at least `spacing` pixels apart.
  std::vector<Tick> ticks(Quantity quantity, double spacing) const;

 private:
  double from_ = 0, to_ = 1, low_ = 0, high_ = 1;
};

/// Round values of a dimension; of one of words the words, as many as find room.
std::vector<Tick> ticks_of(const Dimension& dimension, const Axis& axis, double spacing);

/// The smallest round number that is not below `value`: 1, 2 or 5 times a power of ten; of memory a
/// power of two.
double round_up_to_nice(Quantity quantity, double value);

}  // namespace spillway::gui
