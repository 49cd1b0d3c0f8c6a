#include "strategies/machine/setup.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/description/names.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

bool has_stages_on_several_nodes(const description::Scenario& scenario) {
  return scenario.parallel.pipeline > 1 && scenario.nodes_in_use() > 1;
}

/// Ranks of a pipeline stage, on all nodes.
std::uint64_t stage_ranks(const description::Scenario& scenario) {
  return scenario.parallel.ranks() / scenario.parallel.pipeline;
}

/// Equal nodes that each simulated one stands for, itself among them.
std::uint64_t equal_nodes(const description::Scenario& scenario) {
  if (!has_stages_on_several_nodes(scenario)) return scenario.nodes_in_use();
  return description::divide_up(stage_ranks(scenario), scenario.node_ranks());
}

/// Groups of simulated ranks.
struct Groups {
  std::vector<std::vector<Rank>> members;
  std::vector<std::uint64_t> nodes;  ///< on which as many are
};

/// How the simulated ranks of a stage with tokens of their own, of one tensor index, share experts.
struct ExpertGroups {
  std::uint32_t local;   ///< simulated members of an expert group
  std::uint32_t groups;  ///< expert groups
  std::uint64_t nodes;   ///< that an expert group spans

  explicit ExpertGroups(const description::Scenario& scenario) {
    const auto& parallel = scenario.parallel;
    const std::uint64_t data = simulated_ranks(scenario) / (parallel.tensor * parallel.pipeline);
    local = static_cast<std::uint32_t>(std::min(parallel.expert, data));
    groups = static_cast<std::uint32_t>(data / local);
    nodes = parallel.expert / local;
    ENSURE(local * groups == data && nodes * local == parallel.expert &&
               equal_nodes(scenario) % nodes == 0,
           "expert groups that do not fill nodes");
  }
};

Groups groups_of(const description::Scenario& scenario) {
  const auto ranks = static_cast<std::uint32_t>(simulated_ranks(scenario));
  const auto tensor = static_cast<std::uint32_t>(scenario.parallel.tensor);
  const auto stages = static_cast<std::uint32_t>(scenario.parallel.pipeline);
  const std::uint64_t across = equal_nodes(scenario);
  const std::uint32_t data = ranks / (tensor * stages);  // simulated members of each group
  ENSURE(tensor * stages * data == ranks && scenario.parallel.ranks() % ranks == 0,
         "nodes that are not filled equally");
  Groups groups;
  const auto add = [&](std::vector<Rank> members, std::uint64_t nodes) {
    groups.members.push_back(std::move(members));
    groups.nodes.push_back(nodes);
  };
  std::vector<Rank> world;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) world.push_back(Rank{rank});
  add(world, across);
  for (std::uint32_t stage = 0; stage < stages; ++stage)
    for (std::uint32_t t = 0; t < tensor; ++t) {
      std::vector<Rank> group;
      for (std::uint32_t d = 0; d < data; ++d)
        group.push_back(Rank{(stage * data + d) * tensor + t});
      add(std::move(group), across);
    }
  for (std::uint32_t first = 0; first < ranks; first += tensor)
    add({world.begin() + first, world.begin() + first + tensor}, 1);
  for (std::uint32_t i = 0; i < stages * tensor; ++i)  // reduce groups
    add(std::vector<Rank>(groups.members[1 + i]), across);
  const auto context = static_cast<std::uint32_t>(scenario.parallel.context);
  for (std::uint32_t i = 0; context > 1 && i < stages * tensor; ++i)
    for (std::uint32_t first = 0; first < data; first += context)
      add({groups.members[1 + i].begin() + first, groups.members[1 + i].begin() + first + context},
          1);
  if (scenario.parallel.expert == 1) return groups;
  const ExpertGroups experts(scenario);
  const auto add_every = [&](std::uint32_t groups_of_each, std::uint32_t first_step,
                             std::uint32_t step, std::uint64_t nodes) {
    for (std::uint32_t i = 0; i < stages * tensor; ++i)
      for (std::uint32_t group = 0; group < groups_of_each; ++group) {
        std::vector<Rank> members;
        for (std::uint32_t d = 0; d < data / groups_of_each; ++d)
          members.push_back(groups.members[1 + i][group * first_step + d * step]);
        add(std::move(members), nodes);
      }
  };
  add_every(experts.groups, experts.local, 1, experts.nodes);
  for (int times = 0; times < 2; ++times)  // for gathers, for reductions
    add_every(experts.local, 1, experts.local, across / experts.nodes);
  return groups;
}

description::BytesPerSecond peer_rate(const description::MachineFile& machine) {
  const auto copies = std::min(machine.pcie.h2d, machine.pcie.d2h);
  const auto pcie = machine.pcie.link ? std::min(copies, *machine.pcie.link) : copies;
  const auto own = machine.peer_rate();
  if (!own) return pcie;
  return machine.gpu.peer_access ? *own : std::min(*own, pcie);
}

StorageInfo as_one_node_sees(const description::StorageSpec& storage, std::uint64_t nodes,
                             std::uint32_t node) {
  const std::uint64_t users = storage.sharers(nodes);
  const auto part = [&](description::BytesPerSecond rate) {
    return description::BytesPerSecond(rate.value() / static_cast<double>(users));
  };
  return {storage.name,
          storage.count,
          description::Bytes(storage.total_room().value() / users),
          part(storage.total_read()),
          part(storage.total_write()),
          storage.kind == description::StorageKind::ssd,
          storage.gpus,
          node};
}

/// Drives empty a cache while nobody writes: how far depends on the time of all micro-batches.
bool drives_recover(const description::Scenario& scenario) {
  const description::Strategy& strategy = scenario.strategy;
  using description::ActivationPolicy, description::GradientPolicy, description::Home;
  const ActivationPolicy policy = strategy.activations.policy;
  const bool alone =
      strategy.weights.home != Home::ssd && strategy.optimizer.home != Home::ssd &&
      strategy.gradients.policy != GradientPolicy::ssd_fp16 &&
      strategy.gradients.policy != GradientPolicy::ssd_fp32 &&
      (policy == ActivationPolicy::keep || policy == ActivationPolicy::checkpoint_gpu ||
       policy == ActivationPolicy::checkpoint_host);
  const auto& storages = scenario.machine.storage;
  return !alone && std::any_of(storages.begin(), storages.end(),
                               [](const auto& storage) { return storage.slc_cache.has_value(); });
}

description::Bytes bases_of(const description::Scenario& scenario) {
  const description::HostSpec& host = scenario.machine.host;
  return description::Bytes(host.process_base.value() + host.runtime_base.value() +
                            (scenario.node_ranks() - 1) * host.process_base_next.value());
}

/// What lies in the page cache of a node depends on all that went before, of every rank.
bool passes_page_cache(const description::Scenario& scenario) {
  return scenario.strategy.io_engine == description::IoEngine::buffered;
}

/// The first rank of the node for all of them.
void keep_first_rank(const description::Scenario& scenario, Topology& topology) {
  topology.alike = topology.ranks;
  topology.ranks = 1;
  topology.bases = bases_of(scenario);
  for (std::vector<Rank>& group : topology.groups) {
    topology.members.push_back(group.size());
    std::erase_if(group, [](Rank rank) { return rank.index > 0; });
  }
}

}  // namespace

bool ranks_are_alike(const description::Scenario& scenario) {
  const description::OptimizerPart& optimizer = scenario.strategy.optimizer;
  const description::MachineFile& machine = scenario.machine;
  // of updates that no step waits for, what is written first finds the room in a cache
  const bool cached =
      std::any_of(machine.storage.begin(), machine.storage.end(),
                  [](const auto& storage) { return storage.slc_cache.has_value(); });
  const bool first_come = optimizer.tier_lock || optimizer.paths.size() > 1 ||
                          (optimizer.staleness == description::any_staleness && cached);
  const bool apart = std::any_of(machine.storage.begin(), machine.storage.end(),
                                 [](const auto& storage) { return !storage.gpus.empty(); });
  return scenario.node_ranks() > 1 && scenario.parallel.pipeline == 1 && !scenario.run.io_bench &&
         scenario.run.jitter == 0 && machine.socket_of(scenario.node_ranks() - 1) == 0 && !apart &&
         !first_come && !passes_page_cache(scenario) && !machine.gpu.shares_host &&
         !machine.gpu.one_memory &&
         (machine.host.memory.value() == 0 || bases_of(scenario) < machine.host.usable());
}

bool micro_batches_may_repeat(const description::Scenario& scenario) {
  return scenario.training.gradient_accumulation > folded_micro_batches &&
         scenario.strategy.micro_batches == description::MicroBatchOrder::one_by_one &&
         !drives_recover(scenario) && !passes_page_cache(scenario) &&
         scenario.parallel.pipeline == 1 && !scenario.run.io_bench && scenario.run.jitter == 0 &&
         scenario.strategy.optimizer.staleness == 0 &&
         scenario.strategy.activations.policy != description::ActivationPolicy::tensor_cache;
}

std::uint64_t simulated_nodes(const description::Scenario& scenario) {
  return has_stages_on_several_nodes(scenario) ? scenario.nodes_in_use() / equal_nodes(scenario)
                                               : 1;
}

std::uint64_t simulated_ranks(const description::Scenario& scenario) {
  return std::min(scenario.parallel.ranks(), simulated_nodes(scenario) * scenario.node_ranks());
}

StagesOfNode stages_of_node(const description::Scenario& scenario, std::uint64_t node) {
  const std::uint64_t ranks = simulated_ranks(scenario), first = node * scenario.node_ranks();
  const std::uint64_t of_a_stage = ranks / scenario.parallel.pipeline;
  const std::uint64_t end = std::min(first + scenario.node_ranks(), ranks);
  return {first / of_a_stage, (end - 1) / of_a_stage};
}

Rounding rounding_of(description::PinnedPolicy policy) {
  return policy == description::PinnedPolicy::exact ? Rounding::page : Rounding::power_of_two;
}

MachineSetup setup_for(const description::Scenario& scenario, bool clock, bool trace, Fold fold) {
  const description::MachineFile& machine = scenario.machine;
  MachineSetup setup;
  setup.clock = clock;
  setup.trace = trace;
  setup.pinned = rounding_of(scenario.strategy.pinned);
  setup.gpu = scenario.strategy.gpu_allocator == description::GpuAllocator::exact
                  ? Rounding::none
                  : Rounding::cuda_caching;
  // DeepSpeed's: an operation goes to the queue of each of its handle's threads, and a thread takes
  // the next once it has moved its part of one (csrc/aio/py_lib/deepspeed_aio_thread.cpp)
  setup.in_turn.requests = scenario.strategy.io_engine == description::IoEngine::file;
  Topology& topology = setup.topology;
  topology.ranks = static_cast<std::uint32_t>(simulated_ranks(scenario));
  topology.ranks_per_node = static_cast<std::uint32_t>(scenario.node_ranks());
  topology.nodes = static_cast<std::uint32_t>(equal_nodes(scenario));
  Groups groups = groups_of(scenario);
  topology.groups = std::move(groups.members);
  topology.group_nodes = std::move(groups.nodes);
  topology.gpu_memory =
      scenario.strategy.unlimited_gpu() ? description::Bytes(0) : machine.gpu.usable();
  topology.host_memory = machine.host.usable();
  topology.h2d = machine.pcie.h2d;
  topology.d2h = machine.pcie.d2h;
  topology.peer_rate = peer_rate(machine);
  topology.network_rate = machine.network.per_gpu;
  topology.network_latency = machine.network.latency;
  topology.gpudirect = machine.gpu.gpudirect;
  topology.one_memory = machine.gpu.one_memory && !scenario.strategy.unlimited_gpu();
  for (std::uint32_t node = 0; node < topology.simulated_nodes(); ++node)
    for (const description::StorageSpec& storage : machine.storage) {
      const bool ssd = storage.kind == description::StorageKind::ssd;
      topology.storages.push_back(as_one_node_sees(storage, scenario.nodes_in_use(), node));
      // a parallel file system stays one, whatever engine the drives have
      setup.raw_drives.push_back(ssd &&
                                 scenario.strategy.io_engine == description::IoEngine::direct);
    }
  if (fold == Fold::equals && ranks_are_alike(scenario)) keep_first_rank(scenario, topology);
  setup.folds_micro_batches = fold == Fold::equals && micro_batches_may_repeat(scenario);
  find_homes(topology);
  return setup;
}

Group data_group(const description::Scenario& scenario, Rank rank) {
  const auto tensor = static_cast<std::uint32_t>(scenario.parallel.tensor);
  const auto stages = static_cast<std::uint32_t>(scenario.parallel.pipeline);
  const auto of_a_stage = static_cast<std::uint32_t>(simulated_ranks(scenario)) / stages;
  return Group{1 + rank.index / of_a_stage * tensor + rank.index % tensor};
}

Group tensor_group(const description::Scenario& scenario, Rank rank) {
  const auto tensor = static_cast<std::uint32_t>(scenario.parallel.tensor);
  const auto stages = static_cast<std::uint32_t>(scenario.parallel.pipeline);
  return Group{1 + stages * tensor + rank.index / tensor};
}

Group reduce_group(const description::Scenario& scenario, Rank rank) {
  const auto& parallel = scenario.parallel;
  const auto data_and_tensor_groups = static_cast<std::uint32_t>(
      parallel.pipeline * parallel.tensor + simulated_ranks(scenario) / parallel.tensor);
  return Group{data_group(scenario, rank).index + data_and_tensor_groups};
}

namespace {

/// Groups before those of context ranks.
std::uint32_t groups_before_context(const description::Scenario& scenario) {
  const auto& parallel = scenario.parallel;
  return static_cast<std::uint32_t>(1 + 2 * parallel.pipeline * parallel.tensor +
                                    simulated_ranks(scenario) / parallel.tensor);
}

/// Groups before those of experts.
std::uint32_t groups_without_experts(const description::Scenario& scenario) {
  const std::uint64_t context = scenario.parallel.context;
  const std::uint64_t groups = context > 1 ? simulated_ranks(scenario) / context : 0;
  return groups_before_context(scenario) + static_cast<std::uint32_t>(groups);
}

/// Which of a scenario's (stage, tensor index) a rank is of, numbered as data groups are.
std::uint32_t column_of(const description::Scenario& scenario, Rank rank) {
  return data_group(scenario, rank).index - 1;
}

/// Its place among the simulated ranks of its data group.
std::uint32_t place_of(const description::Scenario& scenario, Rank rank) {
  const auto& parallel = scenario.parallel;
  const std::uint64_t data = simulated_ranks(scenario) / (parallel.tensor * parallel.pipeline);
  return static_cast<std::uint32_t>(rank.index / parallel.tensor % data);
}

}  // namespace

Group context_group(const description::Scenario& scenario, Rank rank) {
  const auto& parallel = scenario.parallel;
  const std::uint64_t members = simulated_ranks(scenario) / (parallel.tensor * parallel.pipeline);
  const std::uint64_t of_a_column = members / parallel.context;
  return Group{groups_before_context(scenario) +
               static_cast<std::uint32_t>(column_of(scenario, rank) * of_a_column +
                                          place_of(scenario, rank) / parallel.context)};
}

Group expert_group(const description::Scenario& scenario, Rank rank) {
  const ExpertGroups experts(scenario);
  return Group{groups_without_experts(scenario) + column_of(scenario, rank) * experts.groups +
               place_of(scenario, rank) / experts.local};
}

Group expert_data_group(const description::Scenario& scenario, Rank rank) {
  const ExpertGroups experts(scenario);
  const auto columns =
      static_cast<std::uint32_t>(scenario.parallel.pipeline * scenario.parallel.tensor);
  return Group{groups_without_experts(scenario) + columns * experts.groups +
               column_of(scenario, rank) * experts.local +
               place_of(scenario, rank) % experts.local};
}

Group expert_reduce_group(const description::Scenario& scenario, Rank rank) {
  const auto columns =
      static_cast<std::uint32_t>(scenario.parallel.pipeline * scenario.parallel.tensor);
  return Group{expert_data_group(scenario, rank).index + columns * ExpertGroups(scenario).local};
}

std::string_view compute_type(description::Precision precision) {
  return name_of(description::kernel_type(precision));
}

namespace {

using Rates = std::map<std::string, description::FlopsPerSecond>;

/// Of the training's element type; tf32 stands in for fp32.
Rates::const_iterator own_rate(const Rates& rates, const description::Scenario& scenario) {
  const std::string type(compute_type(scenario.training.precision));
  const auto found = rates.find(type);
  return found == rates.end() && type == "fp32" ? rates.find("tf32") : found;
}

}  // namespace

namespace {

[[noreturn]] void lacks_rate(const std::string& type) {
  throw description::ScenarioError({{"", 0, 0, "machine.gpu.compute", "no rate for " + type,
                                     "add \"" + type + "\" to gpu.compute"}});
}

}  // namespace

double compute_rate(const description::Scenario& scenario) {
  const Rates& rates = scenario.machine.gpu.compute;
  const auto found = own_rate(rates, scenario);
  if (found == rates.end()) lacks_rate(std::string(compute_type(scenario.training.precision)));
  return found->second.value();
}

bool has_compute_rates(const description::Scenario& scenario) {
  const Rates& rates = scenario.machine.gpu.compute;
  const bool fp8 = scenario.training.precision == description::Precision::fp8;
  return own_rate(rates, scenario) != rates.end() && (!fp8 || rates.contains("fp8"));
}

double fp8_rate(const description::Scenario& scenario) {
  const Rates& rates = scenario.machine.gpu.compute;
  const auto found = rates.find("fp8");
  if (found == rates.end()) lacks_rate("fp8");
  return found->second.value();
}

double fastest_rate(const description::Scenario& scenario) {
  const double usual = compute_rate(scenario);
  const bool fp8 = scenario.training.precision == description::Precision::fp8;
  return fp8 ? std::max(usual, fp8_rate(scenario)) : usual;
}

double cpu_compute_rate(const description::Scenario& scenario) {
  const Rates& rates = scenario.machine.host.compute;
  const auto found = rates.find(std::string(compute_type(scenario.training.precision)));
  return found == rates.end() ? 0 : found->second.value();
}

double attention_rate(const description::Scenario& scenario) {
  const Rates& rates = scenario.machine.gpu.attention;
  const auto found = own_rate(rates, scenario);
  const bool flash = scenario.training.attention == description::AttentionKind::flash;
  return flash && found != rates.end() ? found->second.value() : compute_rate(scenario);
}

}  // namespace spillway::strategies
