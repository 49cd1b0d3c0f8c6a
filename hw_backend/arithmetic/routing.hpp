#pragma once

#include "hw_backend/arithmetic/random.hpp"
#include "models/program/step_program.hpp"

namespace spillway::hw_backend {

/// Which experts the tokens of a layer go to in one micro-batch. A run for real realises the load
/// that the scenario declares to the token: experts have their numbers of copies whatever the
/// router says, which only weighs them and learns from that. Copies lie by expert, and within one
/// in an order of tokens that is drawn for each layer and micro-batch: copy c is of the token with
/// number c of that order, which begins anew when all had their turn. As no expert has more copies
/// than there are tokens, each token's experts differ.
struct Routing {
  static constexpr std::uint32_t most_experts = 512;

  std::uint32_t tokens = 0, per_token = 0, experts = 0;
  models::RouterRule rule = models::RouterRule::softmax_of_chosen;  ///< not `other`
  /// Number i of the order is token (i x stride + shift) % tokens; `inverse` undoes the stride.
  std::uint32_t stride = 1, inverse = 1, shift = 0;
  /// Copies [first[e], first[e + 1]) are those of expert e.
  std::uint32_t first[most_experts + 1] = {};

  /// Shares are of the softmax of all experts.
  SPILLWAY_ANYWHERE bool over_all() const { return rule == models::RouterRule::softmax_of_all; }
  /// Shares are of sigmoids and not of a softmax.
  SPILLWAY_ANYWHERE bool of_sigmoids() const {
    return rule == models::RouterRule::sigmoid_of_chosen;
  }
  SPILLWAY_ANYWHERE std::uint32_t copies() const { return tokens * per_token; }
  SPILLWAY_ANYWHERE std::uint32_t token_of(std::uint32_t copy) const {
    return static_cast<std::uint32_t>((std::uint64_t{copy % tokens} * stride + shift) % tokens);
  }
  /// A token's copies are this one and every `tokens`-th behind it, in the order of its experts.
  SPILLWAY_ANYWHERE std::uint32_t first_copy(std::uint32_t token) const {
    return static_cast<std::uint32_t>(std::uint64_t{(token + tokens - shift) % tokens} * inverse %
                                      tokens);
  }
  SPILLWAY_ANYWHERE std::uint32_t expert_of(std::uint32_t copy) const {
    std::uint32_t low = 0, high = experts;  // first[low] <= copy < first[high]
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      (first[middle] <= copy ? low : high) = middle;
    }
    return low;
  }
};

/// Of the layer and micro-batch that `key` names.
///   Throws  ScenarioError where the load does not fit the experts
Routing routing_of(const models::Architecture& architecture, const models::Workload& workload,
                   const RandomKey& key);

}  // namespace spillway::hw_backend
