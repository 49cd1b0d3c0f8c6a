#include "strategies/rules/facts.hpp"
#include "strategies/rules/tables.hpp"

#include <algorithm>

namespace spillway::strategies::rules {

namespace {

using description::IoEngine;
using description::StorageSpec;

/// Something of a rank's lies on a drive of its own. Gradients on SSD lie with the states, and what
/// plans of whole steps move is none of `activations.policy`.
bool needs_own_drive(const Case& subject) {
  std::vector<std::string> users = drive_users(subject);
  std::erase(users, "gradients.policy");
  if (!streams(subject)) std::erase(users, "activations.policy");
  return !users.empty();
}

/// Ranks of a node, by their GPUs, that reach none of its drives.
std::vector<std::string> ranks_without_drive(const Case& subject) {
  std::vector<std::string> ranks;
  const std::vector<StorageSpec> all = drives(subject);
  if (all.empty() || !needs_own_drive(subject)) return ranks;
  for (std::uint64_t gpu = 0; gpu < subject.scenario.node_ranks(); ++gpu) {
    const bool reaches = std::any_of(all.begin(), all.end(), [&](const StorageSpec& drive) {
      return drive.gpus.empty() ||
             std::find(drive.gpus.begin(), drive.gpus.end(), gpu) != drive.gpus.end();
    });
    if (!reaches) ranks.push_back(std::to_string(gpu));
  }
  return ranks;
}

constexpr Rule storage_rows[] = {
    {.path = "run.io_bench",
     .ground = Ground::no_stream,
     .holds =
         [](const Case& c) {
           return !c.scenario.run.io_bench || !c.scenario.machine.storage.empty();
         },
     .why = [](const Case& c) { return c.scenario.machine.name + " has no storage"; },
     .hint = "add one to machine.storage"},
    {.path = "run.io_bench.bytes",
     .ground = Ground::no_stream,
     .holds =
         [](const Case& c) {
           return !c.scenario.run.io_bench || c.scenario.run.io_bench->bytes.value() > 0;
         },
     .why = "requests of no bytes",
     .hint = "write a size such as \"2 MiB\""},
    {.path = "strategy.io_engine",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return c.parts().io_engine != IoEngine::gds || c.scenario.machine.gpu.gpudirect;
         },
     .why =
         [](const Case& c) {
           return "io_engine \"gds\" contradicts machine.gpu.gpudirect false: SSDs cannot reach "
                  "GPU memory on " +
                  c.scenario.machine.name;
         },
     .hint = "write \"direct\"; bytes then pass a pinned bounce buffer",
     .settles = {[](description::Scenario& s) { s.strategy.io_engine = IoEngine::direct; },
                 "the machine has no GPUDirect Storage, so bytes pass a pinned bounce buffer"},
     .warning = "the machine has no GPUDirect Storage, so bytes pass a pinned bounce buffer"},
    {.path = "strategy.{}",
     .ground = Ground::contradiction,
     .broken_by =
         [](const Case& c) {
           const bool reached = !drives(c).empty() || c.scenario.run.io_bench;
           return reached ? std::vector<std::string>{} : drive_users(c);
         },
     .why =
         [](const Case& c) {
           return part_with_value(c.scenario, c.item) + " needs a storage of kind \"ssd\", but " +
                  c.scenario.machine.name + " has none";
         },
     .hint = "choose another home or add one to machine.storage"},
    {.path = "machine.storage",
     .broken_by = ranks_without_drive,
     .why = [](const Case& c) { return "GPU " + c.item + " reaches no drive"; },
     .hint = "give it an array, or use fewer ranks"},
};

}  // namespace

Table storage_rules() { return storage_rows; }

}  // namespace spillway::strategies::rules
