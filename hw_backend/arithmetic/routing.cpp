#include "hw_backend/arithmetic/routing.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <numeric>

namespace spillway::hw_backend {

namespace {

/// x with x `stride` = 1 modulo `tokens`, which have no common divisor.
std::uint32_t inverse_of(std::uint32_t stride, std::uint32_t tokens) {
  std::int64_t before = tokens, now = stride, factor_before = 0, factor = 1;
  while (now > 1) {
    const std::int64_t times = before / now;
    before = std::exchange(now, before - times * now);
    factor_before = std::exchange(factor, factor_before - times * factor);
  }
  const auto modulus = static_cast<std::int64_t>(tokens);
  return static_cast<std::uint32_t>(((factor % modulus) + modulus) % modulus);
}

}  // namespace

std::vector<std::uint32_t> expert_counts(const std::vector<double>& shares, std::uint64_t tokens,
                                         std::uint64_t chosen) {
  const std::uint64_t copies = tokens * chosen;
  std::vector<std::uint32_t> counts(shares.size());
  std::vector<double> left(shares.size());
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double part = shares[i] * static_cast<double>(copies);
    const std::uint64_t whole = std::min(static_cast<std::uint64_t>(part), tokens);
    counts[i] = static_cast<std::uint32_t>(whole);
    left[i] = part - static_cast<double>(whole);
    given += whole;
  }
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return left[a] > left[b]; });
  while (given < copies) {
    const std::uint64_t before = given;
    for (const std::size_t expert : order) {
      if (given == copies || counts[expert] == tokens || shares[expert] <= 0) continue;
      ++counts[expert];
      ++given;
    }
    ENSURE(given > before, "fewer experts have tokens than a token goes to");
  }
  return counts;
}

Routing routing_of(const models::Architecture& architecture, const models::Workload& workload,
                   const RandomKey& key) {
  const models::Architecture& a = architecture;
  ENSURE(a.experts > 0 && a.experts <= Routing::most_experts, "routing to too many experts");
  Routing routing;
  routing.tokens = static_cast<std::uint32_t>(workload.tokens());
  routing.per_token = static_cast<std::uint32_t>(a.experts_per_token);
  routing.experts = static_cast<std::uint32_t>(a.experts);
  routing.over_all = a.router_rule == models::RouterRule::softmax_of_all;
  const Words words = random_words(random_stream(RandomUse::routing, key), 0);
  routing.shift = below(routing.tokens, words.word[0]);
  routing.stride = 1 + below(routing.tokens, words.word[1]);
  while (std::gcd(routing.stride, routing.tokens) != 1) ++routing.stride;
  routing.inverse = inverse_of(routing.stride % routing.tokens, routing.tokens);
  const std::vector<std::uint32_t> counts =
      expert_counts(workload.expert_load.shares(a.experts, a.experts_per_token), routing.tokens,
                    routing.per_token);
  for (std::size_t expert = 0; expert < counts.size(); ++expert)
    routing.first[expert + 1] = routing.first[expert] + counts[expert];
  return routing;
}

}  // namespace spillway::hw_backend
