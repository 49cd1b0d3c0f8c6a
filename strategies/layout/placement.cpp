#include "strategies/layout/placement.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace spillway::strategies {

namespace {

/// Equation 1 among paths that still have room, without regard to how much.
std::vector<std::uint64_t> split_freely(std::uint64_t groups, std::span<const double> bandwidth) {
  const double all = std::accumulate(bandwidth.begin(), bandwidth.end(), 0.0);
  std::vector<std::uint64_t> shares;
  std::vector<double> remainder;
  std::uint64_t rest = groups;
  for (const double each : bandwidth) {
    const double ideal = static_cast<double>(groups) * each / all;
    // a product that should be whole may fall short by its last digit
    shares.push_back(static_cast<std::uint64_t>(std::floor(ideal * (1 + 1e-12))));
    // and halves of 0.1 : 0.2 : 0.3 are equal but for theirs
    const double over = std::round(1e9 * (ideal - static_cast<double>(shares.back())));
    remainder.push_back(each > 0 ? over : -1);
    rest -= shares.back();
  }
  std::vector<std::size_t> by_claim(bandwidth.size());
  std::iota(by_claim.begin(), by_claim.end(), 0);
  std::stable_sort(by_claim.begin(), by_claim.end(), [&](std::size_t one, std::size_t other) {
    if (remainder[one] != remainder[other]) return remainder[one] > remainder[other];
    return bandwidth[one] > bandwidth[other];
  });
  for (std::size_t i = 0; rest > 0; i = (i + 1) % by_claim.size())
    if (remainder[by_claim[i]] >= 0) ++shares[by_claim[i]], --rest;
  return shares;
}

}  // namespace

std::vector<std::uint64_t> split_over_paths(std::uint64_t groups, std::span<const double> bandwidth,
                                            std::span<const std::uint64_t> room) {
  ENSURE(bandwidth.size() == room.size(), "a room for each path");
  ENSURE(std::any_of(bandwidth.begin(), bandwidth.end(), [](double each) { return each > 0; }),
         "no path has any bandwidth");
  std::vector<double> open(bandwidth.begin(), bandwidth.end());
  std::vector<std::uint64_t> shares(bandwidth.size());
  std::uint64_t left = groups;
  while (left > 0 && std::any_of(open.begin(), open.end(), [](double each) { return each > 0; })) {
    const std::vector<std::uint64_t> more = split_freely(left, open);
    for (std::size_t path = 0; path < shares.size(); ++path) {
      const std::uint64_t given = std::min(more[path], room[path] - shares[path]);
      shares[path] += given;
      left -= given;
      if (shares[path] == room[path]) open[path] = 0;
    }
  }
  if (left > 0)
    shares[static_cast<std::size_t>(std::max_element(bandwidth.begin(), bandwidth.end()) -
                                    bandwidth.begin())] += left;
  return shares;
}

PlacementOrder::PlacementOrder(std::vector<std::uint64_t> shares)
    : shares_(std::move(shares)), credit_(shares_.size()) {
  for (const std::uint64_t share : shares_) total_ += static_cast<std::int64_t>(share);
  ENSURE(total_ > 0, "no path has a share");
}

std::size_t PlacementOrder::next() {
  for (std::size_t path = 0; path < shares_.size(); ++path)
    credit_[path] += static_cast<std::int64_t>(shares_[path]);
  const auto most = std::max_element(credit_.begin(), credit_.end());
  *most -= total_;
  return static_cast<std::size_t>(most - credit_.begin());
}

}  // namespace spillway::strategies
