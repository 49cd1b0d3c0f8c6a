#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "reports/text/text.hpp"
#include "scenarios/deepspeed/deepspeed_keys.hpp"

namespace spillway::scenarios {

/// Who adds up gradients, and what they have.
struct Reduction {
  std::uint64_t stage = 0;    ///< of ZeRO
  std::uint64_t ranks = 1;    ///< that have the same weights
  std::uint64_t context = 1;  ///< of them those that share a sample's tokens
  std::string precision;
  bool offloads = false;    ///< the optimizer's states lie outside the GPU
  bool all_reduces = true;  ///< this DeepSpeed does where its file says nothing
  bool sums_whole = true;   ///< in stage 3 this DeepSpeed may all-reduce: since 0.9.4
};

/// What a configuration says of how ranks add up gradients.
struct ReductionFound {
  std::string collective;         ///< gradients.collective; "": as auto has it
  std::vector<text::Text> notes;  ///< what DeepSpeed sends, and the simulation does not
  std::set<std::string> idle;     ///< pointers to keys that change nothing beside the others
};
ReductionFound read_reduction(DeepSpeedKeys& keys, const Reduction& reduction);

}  // namespace spillway::scenarios
