#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace spillway::gui {

/// What a name that somebody typed stands for.
struct Named {
  std::string name;                    ///< in the library or the catalogue; "" for none
  std::optional<std::uint64_t> count;  ///< that stood beside it: "4090x2"
  std::string problem;                 ///< why there is none: a sentence; "" when there is one
};

/// A model by its name, its name on the Hub, or a part that no other name has.
Named model_named(const std::string& text);
/// "4090x2", "rtx 4090".
Named card_named(const std::string& text);
/// "2Tx2", "990 pro 4tb"; "none" or "0" is a count of 0 and no name.
Named drive_in(const std::string& text);

/// Whole GiB in "64", "64G", "64 GiB", "1.5T" as people write memory; nothing for other text.
std::optional<std::uint64_t> memory_gib_in(const std::string& text);
/// "4096", "4,096", "4k"; nothing for what is no count. "0" is none.
std::optional<std::uint64_t> whole_in(const std::string& text);

}  // namespace spillway::gui
