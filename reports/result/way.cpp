#include "reports/result/way.hpp"

namespace spillway::result {

std::string way_of(const Result& result) {
  const nlohmann::json::json_pointer policy("/strategy/activations/policy");
  if (result.system != "resident" || !result.scenario.contains(policy)) return result.system;
  if (result.scenario.at(policy) == "checkpoint_gpu") return result.system + with_recomputation;
  if (result.scenario.at(policy) == "offload") return result.system + with_offloading;
  return result.system;
}

}  // namespace spillway::result
