#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spillway::gui {

/// What a card or a drive is plugged into: lanes of PCI Express, or a rate. Neither of them: as
/// card, drive and board allow.
struct Link {
  std::uint64_t generation = 0, lanes = 0;
  double bytes_per_s = 0;

  bool stated() const { return lanes > 0 || bytes_per_s > 0; }
  bool operator==(const Link&) const = default;
};

/// "PCIe 4.0 x8", "12 GB/s"; "" where nothing is stated.
std::string words_of(const Link& link);

/// The link that people mean by "PCIe 4.0 x8", "4x8", "gen4 x8", "12 GB/s"; nothing where the text
/// means none. An empty text states nothing.
std::optional<Link> link_in(const std::string& text);

/// Links that are built, of 3.0 to 5.0 and with 1 to `most_lanes` lanes.
std::vector<Link> known_links(std::uint64_t most_lanes);

/// Bytes a second each way: what copies reach of a card's link, and what drives reach of theirs.
double card_rate(const Link& link);
double drive_rate(const Link& link);

/// Where the rate of a stated link is from, for `sources` of a machine file.
std::string source_of(const Link& link, double reached);

/// Of the raw rate of its link, what copies to and from a card reach.
inline constexpr double card_reaches = 0.8;

}  // namespace spillway::gui
