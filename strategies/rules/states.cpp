#include "scenarios/description/names.hpp"
#include "strategies/layout/buffers.hpp"
#include "strategies/rules/facts.hpp"
#include "strategies/rules/tables.hpp"

#include <fmt/format.h>
#include <algorithm>

/// Where optimizer states lie, and what they are updated through.
namespace spillway::strategies::rules {

namespace {

using description::Home;
using description::OptimizerDevice;
using description::OptimizerPart;
using description::Scenario;
using description::StorageSpec;

const OptimizerPart& states_of(const Case& subject) { return subject.parts().optimizer; }

using Paths = std::map<std::string, std::optional<double>>;

bool is_near_storage(const Case& subject) {
  return states_of(subject).device == OptimizerDevice::near_storage;
}

/// "*" stands for each storage that has no weight of its own.
void name_every_storage(Scenario& scenario) {
  Paths& paths = scenario.strategy.optimizer.paths;
  const std::optional<double> share = paths.at("*");
  paths.erase("*");
  const bool near = scenario.strategy.optimizer.device == OptimizerDevice::near_storage;
  for (const StorageSpec& storage : scenario.machine.storage)
    if (!near || storage.near_storage) paths.try_emplace(storage.name, share);
}

/// Names that are no storages of the machine.
template <class Named>
std::vector<std::string> unknown_storages(const Case& subject, const Named& named) {
  const std::vector<std::string> known = storage_names(subject.scenario);
  std::vector<std::string> unknown;
  for (const auto& [name, value] : named)
    if (std::find(known.begin(), known.end(), name) == known.end()) unknown.push_back(name);
  return unknown;
}
std::vector<std::string> unknown_paths(const Case& subject) {
  return unknown_storages(subject, states_of(subject).paths);
}
void drop_unknown_paths(Scenario& scenario) {
  for (const std::string& name : unknown_paths({scenario}))
    scenario.strategy.optimizer.paths.erase(name);
}

std::string no_such_storage(const Case& subject) { return description::no_such_name(subject.item); }
std::string known_storages(const Case& subject) {
  const std::vector<std::string> known = storage_names(subject.scenario);
  if (known.empty()) return subject.scenario.machine.name + " has no storage";
  return description::known_names(subject.item, known);
}

/// Buffers of all paths that a pipelined update has at least: a set that is in flight and one that
/// is updated.
std::uint64_t two_sets(const Case& subject) { return 2 * buffers_of_a_set(subject.scenario); }
std::uint64_t paths_of_states(const Case& subject) {
  return std::max<std::size_t>(1, states_of(subject).paths.size());
}
bool has_two_sets(const Case& subject) {
  const OptimizerPart& optimizer = states_of(subject);
  return optimizer.home != Home::ssd || !optimizer.buffers ||
         *optimizer.buffers * paths_of_states(subject) >= two_sets(subject);
}
std::string why_two_sets(const Case& subject) {
  return fmt::format("a sub-group in flight needs a set of {} buffers beside the one being updated",
                     two_sets(subject) / 2);
}
std::string write_two_sets(const Case& subject) {
  return fmt::format("set optimizer.buffers to {} or more",
                     description::divide_up(two_sets(subject), paths_of_states(subject)));
}
std::uint64_t one_set(const Case& subject) { return two_sets(subject) / 2; }

/// Shares of paths that are numbers, and `auto` as 1.
double sum_of_shares(const Paths& paths) {
  double sum = 0;
  for (const auto& [name, share] : paths) sum += share.value_or(1);
  return sum;
}

constexpr Rule paths_rows[] = {
    {.path = "strategy.optimizer.paths",
     .holds = [](const Case& c) { return !states_of(c).paths.contains("*"); },
     .settles = {name_every_storage,
                 [](const Case& c) -> std::string {
                   return is_near_storage(c)
                              ? "\"*\" is every storage of the machine with near_storage"
                              : "\"*\" is every storage of the machine";
                 },
                 true}},
    {.path = "strategy.optimizer.paths",
     .holds =
         [](const Case& c) { return states_of(c).home == Home::ssd || states_of(c).paths.empty(); },
     .settles = {[](Scenario& s) { s.strategy.optimizer.paths.clear(); },
                 "no use without optimizer.home \"ssd\"", true},
     .warning =
         [](const Case& c) {
           return c.says("strategy.optimizer.paths")
                      ? fmt::format("no use while optimizer.home is \"{}\"",
                                    name_of(states_of(c).home))
                      : std::string();
         }},
    {.path = "strategy.optimizer.paths",
     .holds = [](const Case& c) { return unknown_paths(c).empty(); },
     .settles = {drop_unknown_paths, "the machine has no other of the preset's storages"}},
    {.path = "strategy.optimizer.paths.{}",
     .ground = Ground::contradiction,
     .broken_by = unknown_paths,
     .why = no_such_storage,
     .hint = known_storages},
    {.path = "strategy.optimizer.lanes.{}",
     .ground = Ground::contradiction,
     .broken_by = [](const Case& c) { return unknown_storages(c, states_of(c).lanes); },
     .why = no_such_storage,
     .hint = known_storages},
    {.path = "strategy.optimizer.paths",
     .holds =
         [](const Case& c) {
           const Paths& paths = states_of(c).paths;
           const auto automatic = std::count_if(paths.begin(), paths.end(),
                                                [](const auto& path) { return !path.second; });
           return automatic == 0 || automatic == std::ssize(paths);
         },
     .why = "a weight such as 2 cannot be compared with a bandwidth, which auto stands for",
     .hint = "write a number for each storage or \"auto\" for each"},
    {.path = "strategy.optimizer.paths",
     .holds =
         [](const Case& c) {
           return states_of(c).paths.empty() || sum_of_shares(states_of(c).paths) > 0;
         },
     .why = "no storage has a share of the states",
     .hint = "give at least one a weight above 0"},
};

constexpr Rule buffers_rows[] = {
    {.path = "strategy.optimizer.pipeline_read",
     .other = "strategy.optimizer.buffers",
     .ground = Ground::contradiction,
     .holds = [](const Case& c) { return !states_of(c).pipeline_read || has_two_sets(c); },
     .why = why_two_sets,
     .hint = write_two_sets},
    {.path = "strategy.optimizer.pipeline_write",
     .other = "strategy.optimizer.buffers",
     .ground = Ground::contradiction,
     .holds = [](const Case& c) { return !states_of(c).pipeline_write || has_two_sets(c); },
     .why = why_two_sets,
     .hint = write_two_sets},
    {.path = "strategy.optimizer.wait",
     .other = "strategy.optimizer.buffers",
     .ground = Ground::contradiction,
     .holds = [](const Case& c) { return states_of(c).wait || has_two_sets(c); },
     .why = why_two_sets,
     .hint = write_two_sets},
    {.path = "strategy.optimizer.buffers",
     .holds =
         [](const Case& c) {
           return !updates_off_gpu(c) || states_of(c).home != Home::ssd ||
                  states_of(c).buffers.value_or(one_set(c)) >= one_set(c);
         },
     .why =
         [](const Case& c) {
           return fmt::format("a sub-group needs {} buffers to be updated", one_set(c));
         },
     .hint = [](const Case& c) { return fmt::format("use {} or more, or auto", one_set(c)); }},
};

constexpr Rule near_storage_rows[] = {
    {.path = "strategy.optimizer.device",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           const auto& storage = c.scenario.machine.storage;
           return !is_near_storage(c) ||
                  std::any_of(storage.begin(), storage.end(),
                              [](const StorageSpec& one) { return one.near_storage.has_value(); });
         },
     .why =
         [](const Case& c) {
           return "optimizer.device \"near_storage\" needs a storage with near_storage, but " +
                  c.scenario.machine.name + " has none";
         },
     .hint = "add storage[].near_storage or set optimizer.device to \"cpu\""},
    {.path = "strategy.optimizer.home",
     .holds = [](const Case& c) { return !is_near_storage(c) || states_of(c).home == Home::ssd; },
     .why = "optimizer.device near_storage updates states that lie on its drives",
     .hint = "use optimizer.home ssd, or optimizer.device cpu"},
    {.path = "strategy.gradients.policy",
     .holds =
         [](const Case& c) {
           return !is_near_storage(c) || lie_on_storage(c.parts().gradients.policy);
         },
     .why = "optimizer.device near_storage finds its gradients on its drives",
     .hint = "use gradients.policy ssd_fp16 or ssd_fp32, or optimizer.device cpu"},
    {.path = "training.optimizer_state",
     .holds =
         [](const Case& c) {
           return !is_near_storage(c) ||
                  c.training().optimizer_state != description::StateWidth::bf16;
         },
     .why = "drives with optimizer.device near_storage keep fp32 states",
     .hint = "use fp32, or optimizer.device cpu"},
    {.path = "strategy.optimizer.paths",
     .holds =
         [](const Case& c) {
           return !is_near_storage(c) || !states_of(c).paths.empty() ||
                  state_storages(c).size() <= 1;
         },
     .why = "optimizer.paths left empty makes one stripe of all drives, of which none sees a "
            "whole sub-group, as optimizer.device near_storage needs",
     .hint = "name the storages, such as {\"*\": \"auto\"}"},
    {.path = "strategy.optimizer.device",
     .broken_by =
         [](const Case& c) {
           std::vector<std::string> idle;
           if (!is_near_storage(c)) return idle;
           for (const StorageSpec& one : state_storages(c))
             if (!one.near_storage) idle.push_back(one.name);
           return idle;
         },
     .why =
         [](const Case& c) { return "storage " + c.item + " of optimizer.paths computes nothing"; },
     .hint = "give it machine.storage[].near_storage, or leave it out of optimizer.paths"},
};

}  // namespace

Table paths_rules() { return paths_rows; }

Table buffers_rules() { return buffers_rows; }

Table near_storage_rules() { return near_storage_rows; }

}  // namespace spillway::strategies::rules
