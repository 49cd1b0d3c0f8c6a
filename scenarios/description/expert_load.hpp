#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace spillway::description {

/// How often tokens choose each of a layer's routed experts: all alike where nobody says more.
struct ExpertLoad {
  /// Zipf's law: the i-th most popular expert, from 1, is chosen i^-zipf as often as the first.
  /// Which it is nobody says: popular ones are taken to lie on ranks far apart.
  std::optional<double> zipf;
  std::vector<double> counts;  ///< how often each was chosen, of any number of tokens

  bool even() const { return !zipf && counts.empty(); }
  /// Of all copies of tokens, the part that goes to each expert; their sum is 1.
  ///   chosen  experts that a token goes to, all different: no expert gets more than 1 / chosen,
  ///           and what it would have more goes to the others in proportion to their own
  ///   Throws  ScenarioError at training.expert_load: other than `experts` counts, or fewer of them
  ///           above 0 than a token chooses
  std::vector<double> shares(std::uint64_t experts, std::uint64_t chosen) const;
  /// How many copies go to each expert if each of `tokens` goes to `chosen` of them: the shares,
  /// rounded so that they add up, the largest remainders up; none gets more than `tokens`.
  ///   Throws  ScenarioError as `shares`
  std::vector<std::uint64_t> copies(std::uint64_t experts, std::uint64_t chosen,
                                    std::uint64_t tokens) const;
  /// The same in one of many micro-batches: a number that is no whole one is rounded down or up so
  /// that it is the mean over all draws. Of few tokens some experts get none.
  ///   draw    above 0 and below 1, with a denominator of 2^17 at most
  ///   Source  systematic sampling (Madow, 1949): of steps of 1 from `draw` on, those that end in
  ///           the expert's part of a line as long as there are copies
  ///   Throws  ScenarioError as `shares`
  std::vector<std::uint64_t> drawn_copies(std::uint64_t experts, std::uint64_t chosen,
                                          std::uint64_t tokens, double draw) const;

  bool operator==(const ExpertLoad&) const = default;
};

/// What each of `ranks`, which hold equal numbers of experts in a row, gets of the experts' copies.
std::vector<std::uint64_t> copies_of_ranks(const std::vector<std::uint64_t>& copies,
                                           std::uint64_t ranks);

}  // namespace spillway::description
