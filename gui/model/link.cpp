#include "gui/model/link.hpp"

#include "scenarios/description/quantity.hpp"
#include "scenarios/document/machine_parts.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cctype>

namespace spillway::gui {

namespace {

constexpr std::array<std::uint64_t, 5> lane_counts = {1, 2, 4, 8, 16};
constexpr std::uint64_t oldest = 3, newest = 5;

/// Lower case, without blanks, "pcie" and "gen".
std::string core_of(const std::string& text) {
  std::string core;
  for (const char c : text)
    if (!std::isspace(static_cast<unsigned char>(c)))
      core += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* word : {"pcie", "pci", "gen"})
    if (core.starts_with(word)) core.erase(0, std::string(word).size());
  return core;
}

/// "4.0x8" or "4x8".
std::optional<Link> lanes_in(const std::string& core) {
  const std::size_t x = core.find('x');
  if (x == std::string::npos || x == 0 || !std::isdigit(static_cast<unsigned char>(core[0])))
    return std::nullopt;
  const std::string after = core.substr(1, x - 1), count = core.substr(x + 1);
  if ((!after.empty() && after != ".0") || count.empty() || count.size() > 2) return std::nullopt;
  Link link{static_cast<std::uint64_t>(core[0] - '0'), 0, 0};
  for (const char c : count) {
    if (!std::isdigit(static_cast<unsigned char>(c))) return std::nullopt;
    link.lanes = 10 * link.lanes + static_cast<std::uint64_t>(c - '0');
  }
  const bool built =
      std::find(lane_counts.begin(), lane_counts.end(), link.lanes) != lane_counts.end();
  if (!built || link.generation < 1 || link.generation > 6) return std::nullopt;
  return link;
}

double raw_rate(const Link& link) {
  return static_cast<double>(link.lanes) * scenarios::lane_bytes_per_s(link.generation);
}

}  // namespace

std::string words_of(const Link& link) {
  if (link.lanes > 0) return fmt::format("PCIe {}.0 x{}", link.generation, link.lanes);
  if (link.bytes_per_s <= 0) return "";
  return description::print_quantity(description::Dimension::bytes_per_second, link.bytes_per_s);
}

std::optional<Link> link_in(const std::string& text) {
  const std::string core = core_of(text);
  if (core.empty()) return Link();
  if (const auto link = lanes_in(core)) return link;
  const auto parsed = description::parse_quantity(description::Dimension::bytes_per_second, text);
  if (!parsed.problem.empty()) return std::nullopt;
  return Link{0, 0, static_cast<double>(parsed.value)};
}

std::vector<Link> known_links(std::uint64_t most_lanes) {
  std::vector<Link> links;
  for (std::uint64_t generation = oldest; generation <= newest; ++generation)
    for (const std::uint64_t lanes : lane_counts)
      if (lanes <= most_lanes) links.push_back({generation, lanes, 0});
  return links;
}

double card_rate(const Link& link) {
  return link.lanes > 0 ? card_reaches * raw_rate(link) : link.bytes_per_s;
}

double drive_rate(const Link& link) {
  return link.lanes > 0 ? scenarios::drives_reach * raw_rate(link) : link.bytes_per_s;
}

std::string source_of(const Link& link, double reached) {
  if (link.lanes == 0) return "assumed: as asked for";
  return fmt::format("assumed: {} of the rate of {} lane{} of PCI Express {}.0", reached,
                     link.lanes, link.lanes == 1 ? "" : "s", link.generation);
}

}  // namespace spillway::gui
