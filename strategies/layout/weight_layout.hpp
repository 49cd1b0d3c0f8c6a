#pragma once

#include "strategies/layout/job.hpp"

namespace spillway::strategies {

/// Where each weight lives, as the table of tensors has it, and how much of it one rank holds
/// there: what the sources of weights share out among them.
struct WeightLayout {
  explicit WeightLayout(const Job& job);

  std::vector<description::Home> home;     ///< by weight, as all below
  std::vector<bool> whole;                 ///< each rank holds all of it
  std::vector<std::uint64_t> share_bytes;  ///< of one rank

  /// The share in whole sectors: its extent.
  std::uint64_t stored_bytes(std::uint32_t weight) const { return in_sectors(share_bytes[weight]); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(home.size()); }
  bool lives(std::uint32_t weight, description::Home where) const { return home[weight] == where; }
  bool any(description::Home where) const;
};

/// Of this rank's share, in the whole weight.
std::uint64_t first_element(const Job& job, Rank rank, std::uint32_t weight);

}  // namespace spillway::strategies
