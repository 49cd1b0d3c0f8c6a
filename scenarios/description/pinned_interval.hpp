#pragma once

#include <optional>
#include <string>
#include <vector>

namespace spillway::description {

/// Where a fitted number of a machine lies that several published figures pin: the values at which
/// one of them alone is met. Its source in the machine file ends with it: "fitted: where from
/// [0.90 Gparam/s to 1.00 Gparam/s by paper.one, paper.other]".
struct PinnedInterval {
  std::string low, high;             ///< as the number is written
  std::vector<std::string> figures;  ///< at least two
};

/// Of a source; nothing where it has none.
std::optional<PinnedInterval> pinned_interval(const std::string& source);

/// The source with this interval, in place of one that it had.
std::string with_interval(const std::string& source, const PinnedInterval& interval);
/// ... and without any.
std::string without_interval(const std::string& source);

/// A quantity of any dimension, or a plain number.
struct WrittenNumber {
  double value = 0;
  int dimension = -1;  ///< of the quantity; -1: it has none
};
/// Nothing where the text is neither.
std::optional<WrittenNumber> written_number(const std::string& text);

}  // namespace spillway::description
