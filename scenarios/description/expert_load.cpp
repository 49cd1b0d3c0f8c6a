#include "scenarios/description/expert_load.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace spillway::description {

namespace {

/// No share above `most`: what is cut off goes to those below, as far as they have room.
void cap(std::vector<double>& shares, double most) {
  std::vector<bool> full(shares.size(), false);
  for (std::size_t round = 0; round < shares.size(); ++round) {
    double taken = 0, open = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) (full[i] ? taken : open) += shares[i];
    bool more = false;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (full[i]) continue;
      shares[i] *= open > 0 ? (1 - taken) / open : 0;
      if (shares[i] <= most) continue;
      shares[i] = most;
      full[i] = more = true;
    }
    if (!more) return;
  }
}

/// The experts, those in a row far apart: each of 2, 4, 8 ... ranks, which hold equal numbers in a
/// row, has one of the first 2, 4, 8 ... of the list.
std::vector<std::size_t> far_apart(std::uint64_t experts) {
  std::vector<std::pair<std::uint64_t, std::size_t>> by_reversed_bits;
  for (std::uint64_t i = 0; i < experts; ++i) {
    std::uint64_t reversed = 0;
    for (std::uint64_t bit = 1; bit < experts; bit *= 2) reversed = 2 * reversed + (i / bit) % 2;
    by_reversed_bits.emplace_back(reversed, i);
  }
  std::sort(by_reversed_bits.begin(), by_reversed_bits.end());
  std::vector<std::size_t> order;
  for (const auto& [reversed, expert] : by_reversed_bits) order.push_back(expert);
  return order;
}

[[noreturn]] void refuse(const std::string& why, const std::string& hint) {
  throw ScenarioError({{"", 0, 0, "training.expert_load", why, hint}});
}

}  // namespace

std::vector<double> ExpertLoad::shares(std::uint64_t experts, std::uint64_t chosen) const {
  std::vector<double> all(experts, 1);
  if (zipf) {
    double place = 0;
    for (const std::size_t expert : far_apart(experts)) all[expert] = std::pow(++place, -*zipf);
  }
  if (!counts.empty()) {
    if (counts.size() != experts)
      refuse(std::to_string(counts.size()) + " counts, but a layer has " + std::to_string(experts) +
                 " routed experts",
             "write a count for each, \"even\", or {\"zipf\": 1.1}");
    all = counts;
    const auto used = static_cast<std::uint64_t>(
        std::count_if(all.begin(), all.end(), [](double count) { return count > 0; }));
    if (used < chosen)
      refuse(std::to_string(used) + " experts are chosen at all, but each token goes to " +
                 std::to_string(chosen),
             "write how many tokens each expert got");
  }
  const double sum = std::accumulate(all.begin(), all.end(), 0.0);
  for (double& share : all) share /= sum;
  if (!even()) cap(all, 1 / static_cast<double>(chosen));
  return all;
}

std::vector<std::uint64_t> ExpertLoad::copies(std::uint64_t experts, std::uint64_t chosen,
                                              std::uint64_t tokens) const {
  const std::vector<double> parts = shares(experts, chosen);
  const std::uint64_t all = tokens * chosen;
  std::vector<std::uint64_t> counts(experts);
  std::vector<double> left(experts);
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < experts; ++i) {
    const double part = parts[i] * static_cast<double>(all);
    counts[i] = std::min(static_cast<std::uint64_t>(part), tokens);
    left[i] = part - static_cast<double>(counts[i]);
    given += counts[i];
  }
  std::vector<std::size_t> order(experts);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return left[a] > left[b]; });
  while (given < all) {
    const std::uint64_t before = given;
    for (const std::size_t expert : order) {
      if (given == all || counts[expert] == tokens || parts[expert] <= 0) continue;
      ++counts[expert];
      ++given;
    }
    ENSURE(given > before, "fewer experts have tokens than a token goes to");
  }
  return counts;
}

std::vector<std::uint64_t> ExpertLoad::drawn_copies(std::uint64_t experts, std::uint64_t chosen,
                                                    std::uint64_t tokens, double draw) const {
  const std::vector<double> parts = shares(experts, chosen);
  const std::uint64_t all = tokens * chosen;
  std::vector<std::uint64_t> counts(experts);
  double end = 0;
  std::uint64_t given = 0, over = 0;
  const auto last = static_cast<std::size_t>(
      std::find_if(parts.rbegin(), parts.rend(), [](double part) { return part > 0; }).base() -
      parts.begin() - 1);
  for (std::size_t i = 0; i <= last; ++i) {
    end += parts[i] * static_cast<double>(all);
    const std::uint64_t up_to = i == last ? all : static_cast<std::uint64_t>(end + draw);
    counts[i] = std::min(up_to - given, tokens);  // sums of shares may be a little too long
    over += up_to - given - counts[i];
    given = up_to;
  }
  for (std::size_t i = 0; over > 0 && i <= last; ++i)
    for (; over > 0 && parts[i] > 0 && counts[i] < tokens; --over) ++counts[i];
  ENSURE(over == 0, "fewer experts have tokens than a token goes to");
  return counts;
}

std::vector<std::uint64_t> copies_of_ranks(const std::vector<std::uint64_t>& copies,
                                           std::uint64_t ranks) {
  const std::size_t each = copies.size() / ranks;
  std::vector<std::uint64_t> of_ranks(ranks, 0);
  for (std::size_t expert = 0; expert < copies.size(); ++expert)
    of_ranks[expert / each] += copies[expert];
  return of_ranks;
}

}  // namespace spillway::description
