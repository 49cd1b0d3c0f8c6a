#include "reports/result/way.hpp"

namespace spillway::result {

std::string way_of(const Result& result) {
  const nlohmann::json::json_pointer policy("/strategy/activations/policy");
  const bool again = result.system == "resident" && result.scenario.contains(policy) &&
                     result.scenario.at(policy) == "checkpoint_gpu";
  return result.system + (again ? with_recomputation : "");
}

}  // namespace spillway::result
