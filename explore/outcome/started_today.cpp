#include "explore/outcome/started_today.hpp"

#include "scenarios/deepspeed/deepspeed_version.hpp"

#include <nlohmann/json.hpp>

namespace spillway::explore {

using nlohmann::json;

std::string started_today(const strategies::System& system, const json& parts) {
  json strategy = {{"system", system.name}};
  if (system.has_versions) {
    const description::Strategy own = system.defaults();
    const json settings = own;
    strategy["preset"] = scenarios::deepspeed_version("").preset;
    strategy["gradients"]["accumulation"] = settings.at("gradients").at("accumulation");
    for (const char* limit : {"prefetch_blocks", "prefetch_bucket", "max_live", "max_reuse"})
      strategy["weights"][limit] = settings.at("weights").at(limit);
    if (own.optimizer.home == description::Home::ssd)
      strategy["optimizer"]["subgroup"] = settings.at("optimizer").at("subgroup");
  }
  strategy.merge_patch(parts);
  return "strategy=" + strategy.dump();
}

std::string started_today(const strategies::System& system) {
  return started_today(system, json::object());
}

}  // namespace spillway::explore
