#include "hw_backend/arithmetic/routing.hpp"

#include "models/program/expert_choice.hpp"
#include "scenarios/description/errors.hpp"

#include <numeric>
#include <utility>

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

Routing routing_of(const models::Architecture& architecture, const models::Workload& workload,
                   const RandomKey& key) {
  const models::Architecture& a = architecture;
  ENSURE(a.experts > 0 && a.experts <= Routing::most_experts, "routing to too many experts");
  Routing routing;
  routing.tokens = static_cast<std::uint32_t>(workload.tokens());
  routing.per_token = static_cast<std::uint32_t>(a.experts_per_token);
  routing.experts = static_cast<std::uint32_t>(a.experts);
  ENSURE(a.router_rule != models::RouterRule::other, "a router whose rule is not known");
  routing.rule = a.router_rule;
  const Words words = random_words(random_stream(RandomUse::routing, key), 0);
  routing.shift = below(routing.tokens, words.word[0]);
  routing.stride = 1 + below(routing.tokens, words.word[1]);
  while (std::gcd(routing.stride, routing.tokens) != 1) ++routing.stride;
  routing.inverse = inverse_of(routing.stride % routing.tokens, routing.tokens);
  const std::vector<std::uint64_t> copies =
      models::copies_of_experts(a, workload, key.layer, key.micro_batch);
  for (std::size_t expert = 0; expert < copies.size(); ++expert)
    routing.first[expert + 1] = routing.first[expert] + static_cast<std::uint32_t>(copies[expert]);
  return routing;
}

}  // namespace spillway::hw_backend
