#pragma once

#include "gui/model/knob.hpp"

#include <QString>

#include <cstdint>
#include <optional>
#include <vector>

namespace spillway::gui {

/// Where the verdict of a question changes when one number of it does.
struct Flip {
  enum class Kind : unsigned char { unknown, from, up_to, always, never };
  Kind kind = Kind::unknown;
  std::uint64_t at = 0;     ///< the last value that fits, towards the one that does not
  std::uint64_t other = 0;  ///< the value beside it that does not fit
  bool of_one_way = false;  ///< of the way that a search found, not of all ways

  bool operator==(const Flip&) const = default;
};

/// "fits from 96 GiB", "fits up to 8,192", "fits at any step", "fits at no step"; "" while unknown.
QString short_words(const Flip& flip, const Knob& knob);
/// The whole sentence, for those who hear it.
QString sentence_of(const Flip& flip, const Knob& knob);

/// Looks for the flip of one number among its steps, one probe after another.
class FlipSearch {
 public:
  FlipSearch(const Knob& knob, std::uint64_t present, bool fits);

  /// The value to try next; nothing when it is found, or is not to be found.
  std::optional<std::uint64_t> next() const;
  /// What came of the value that was to be tried; nothing where it took too long to say.
  void take(std::optional<bool> fits);
  const Flip& flip() const { return flip_; }

 private:
  int index() const;  ///< among `values_`, of the next
  void begin_side(bool upwards);
  void end_side();
  void found(std::uint64_t same, std::uint64_t changed);

  const Knob& knob_;
  std::uint64_t present_;
  bool fits_;
  bool upwards_ = false, done_ = false;
  bool cut_ = false;  ///< a side has steps of which nothing is known
  int sides_left_ = 1;
  std::vector<std::uint64_t> values_;  ///< of this side, the nearest to the present one first
  int same_ = -1;     ///< of `values_` the last known to be as now; -1: the present value itself
  int changed_ = -1;  ///< of `values_` the first known not to be; -1: none is
  Flip flip_;
};

}  // namespace spillway::gui
