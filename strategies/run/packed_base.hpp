#pragma once

#include "models/architecture/model.hpp"
#include "reports/result/result.hpp"
#include "scenarios/description/scenario.hpp"

namespace spillway::strategies {

/// What a model takes more where a trainer does not keep it as it is counted beside a base in 4 or
/// 8 bits.
struct UncountedOfBase {
  /// In fp32 in place of 16 bits: all that is neither quantised nor an adapter.
  std::uint64_t widened = 0;
  /// Of those, the experts of a layer that are one tensor, which is no module that is quantised.
  std::uint64_t widened_experts = 0;
  /// Scales of blocks in fp32 in place of 8 bits.
  std::uint64_t plain_scales = 0;
};
/// Nothing of a base that is not quantised.
UncountedOfBase uncounted_of_base(const description::Training& training,
                                  const models::Model& model);

/// Why the experts of a layer have no adapters or are not quantised, and what makes them modules;
/// "" where they are, or none are asked for.
std::string stacked_experts_words(const description::Scenario& scenario,
                                  const models::Model& model);

/// Says what is not counted of a base, and where the GPU of a run that is through has no room for
/// it.
void note_packed_base(const description::Scenario& scenario, const models::Model& model,
                      result::Result& result);

}  // namespace spillway::strategies
