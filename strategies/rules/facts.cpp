#include "strategies/rules/facts.hpp"

#include "strategies/layout/chunk_knobs.hpp"
#include "strategies/systems/catalogue.hpp"

#include <algorithm>

namespace spillway::strategies::rules {

using description::ActivationPolicy;
using description::GradientPolicy;
using description::Home;
using description::OptimizerDevice;
using description::StorageKind;
using description::StorageSpec;

bool streams(const Case& subject) { return !plans_steps(subject.parts().system); }

bool has_streaming_stages(const Case& subject) {
  return subject.parallel().pipeline > 1 && streams(subject);
}

bool is_resident(const Case& subject) {
  return subject.parts().weights.home == Home::gpu &&
         subject.parts().optimizer.device == OptimizerDevice::gpu;
}

bool updates_behind_passes(const Case& subject) {
  const description::Strategy& parts = subject.parts();
  return !is_active(subject) && parts.optimizer.staleness == 0 &&
         parts.optimizer.device != OptimizerDevice::near_storage &&
         parts.micro_batches == description::MicroBatchOrder::one_by_one &&
         !chunk_knobs(parts).used;
}

bool updates_off_gpu(const Case& subject) {
  return subject.parts().optimizer.device != OptimizerDevice::gpu;
}

bool is_active(const Case& subject) {
  return updates_in_backward(subject.parts().gradients.policy);
}

bool is_loose(const Case& subject) {
  return subject.parts().optimizer.staleness == description::any_staleness &&
         updates_off_gpu(subject);
}

bool activations_go_to(const Case& subject, const char* home) {
  const std::vector<std::string>& homes = subject.parts().activations.homes;
  return std::find(homes.begin(), homes.end(), home) != homes.end();
}

std::vector<std::string> drive_users(const Case& subject) {
  const description::Strategy& parts = subject.parts();
  // states with paths of their own may lie on any storage
  const bool any_drive = parts.optimizer.paths.empty() || subject.scenario.machine.storage.empty();
  const ActivationPolicy policy = parts.activations.policy;
  std::vector<std::string> users;
  if (parts.weights.home == Home::ssd) users.emplace_back("weights.home");
  if (parts.optimizer.home == Home::ssd && any_drive) users.emplace_back("optimizer.home");
  if (lie_on_storage(parts.gradients.policy) && any_drive) users.emplace_back("gradients.policy");
  if (policy == ActivationPolicy::checkpoint_ssd ||
      ((moves_by_plan(policy) || policy == ActivationPolicy::offload) &&
       activations_go_to(subject, "ssd")))
    users.emplace_back("activations.policy");
  return users;
}

std::vector<StorageSpec> drives(const Case& subject) {
  std::vector<StorageSpec> all = subject.scenario.machine.storage;
  std::erase_if(all, [](const StorageSpec& one) { return one.kind != StorageKind::ssd; });
  return all;
}

std::vector<StorageSpec> state_storages(const Case& subject) {
  const auto& paths = subject.parts().optimizer.paths;
  if (paths.empty()) return drives(subject);
  std::vector<StorageSpec> all = subject.scenario.machine.storage;
  std::erase_if(all, [&](const StorageSpec& one) {
    const auto path = paths.find(one.name);
    return path == paths.end() || path->second.value_or(1) <= 0;
  });
  return all;
}

std::vector<std::string> storage_names(const description::Scenario& scenario) {
  std::vector<std::string> names;
  for (const StorageSpec& one : scenario.machine.storage) names.push_back(one.name);
  return names;
}

}  // namespace spillway::strategies::rules
