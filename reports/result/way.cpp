#include "reports/result/way.hpp"

namespace spillway::result {

std::string way_of(const Result& result) {
  const nlohmann::json::json_pointer policy("/strategy/activations/policy");
  if (result.system != "resident" || !result.scenario.contains(policy)) return result.system;
  if (result.scenario.at(policy) == "checkpoint_gpu") return result.system + with_recomputation;
  if (result.scenario.at(policy) == "offload") return result.system + with_offloading;
  return result.system;
}

bool needs_deepspeed_checkpointing(const Result& result) {
  const nlohmann::json::json_pointer policy("/strategy/activations/policy");
  return result.runs_with && result.runs_with->program.starts_with("DeepSpeed") &&
         result.scenario.contains(policy) && result.scenario.at(policy) == "checkpoint_host";
}

}  // namespace spillway::result
