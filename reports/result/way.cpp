#include "reports/result/way.hpp"

namespace spillway::result {

std::string way_of(const Result& result) {
  const nlohmann::json::json_pointer policy("/strategy/activations/policy"),
      experts("/strategy/weights/experts");
  if (result.system != "resident" || !result.scenario.contains(policy)) return result.system;
  std::string way = result.system;
  if (result.scenario.at(policy) == "checkpoint_gpu") way += with_recomputation;
  if (result.scenario.at(policy) == "offload") way += with_offloading;
  if (result.scenario.contains(experts) && result.scenario.at(experts) == "cpu")
    way += way == result.system ? with_experts_on_cpu : and_experts_on_cpu;
  return way;
}

bool needs_deepspeed_checkpointing(const Result& result) {
  const nlohmann::json::json_pointer policy("/strategy/activations/policy");
  return result.runs_with && result.runs_with->program.starts_with("DeepSpeed") &&
         result.scenario.contains(policy) && result.scenario.at(policy) == "checkpoint_host";
}

}  // namespace spillway::result
