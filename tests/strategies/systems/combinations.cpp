#include "tests/strategies/systems/combinations.hpp"

#include "scenarios/description/names.hpp"
#include "strategies/systems/catalogue.hpp"

#include <cstdlib>

namespace spillway::strategies {

namespace {

using namespace description;

template <class E>
PartChoice named(const char* path) {
  PartChoice part{path, {}};
  for (const std::string_view name : names_of<E>) part.values.emplace_back(name);
  return part;
}

const std::vector<std::string>& either() {
  static const std::vector<std::string> values{"true", "false"};
  return values;
}

std::vector<PartChoice> newer_parts() {
  return {
      {"strategy.optimizer.ssd_share", {"0", "0.5"}},
      {"strategy.optimizer.delayed_share", {"0.5"}},
      {"strategy.optimizer.flatten", {"true"}},
      {"strategy.optimizer.unscale", {"true"}},
      {"strategy.optimizer.selected_share", {"0.5"}},
      named<Home>("strategy.optimizer.selected_states"),
      {"strategy.optimizer.roll_back", {"true"}},
      named<MasterKept>("strategy.optimizer.master"),
      named<MicroBatchOrder>("strategy.micro_batches"),
      {"strategy.activations.checkpoint_every", {"2"}},
      {"strategy.gradients.slabs", {"2"}},
  };
}

std::vector<PartChoice> parts_of_strategy() {
  return {
      named<Home>("strategy.weights.home"),
      named<PoolKind>("strategy.weights.pool"),
      {"strategy.weights.prefetch_blocks", {"2"}},
      {"strategy.weights.buffer_count", {"12"}},
      {"strategy.weights.buffer_size", {"6e6 params"}},
      {"strategy.weights.max_in_host", {"3e6 params"}},
      {"strategy.weights.max_reuse", {"1e6 params"}},
      {"strategy.gradients.lands", {"flat", "states"}},
      named<GradientCollective>("strategy.gradients.collective"),
      named<GradientMemory>("strategy.gradients.memory"),
      {"strategy.weights.hooks", either()},
      {"strategy.weights.overlap", either()},
      named<PinnedPolicy>("strategy.weights.pinned"),
      {"strategy.weights.persistence_threshold", {"0 params", "2e6 params"}},
      {"strategy.weights.max_live", {"5e6 params"}},
      {"strategy.weights.prefetch_bucket", {"5e6 params"}},
      {"strategy.weights.page", {"64 KiB"}},
      named<ActivationPolicy>("strategy.activations.policy"),
      {"strategy.activations.swap_bytes", {"1 MiB", "all"}},
      {"strategy.activations.homes", {R"(["host"])", R"(["host", "ssd"])"}},
      {"strategy.activations.offloaded", {R"(["attention", "product"])"}},
      named<GradientPolicy>("strategy.gradients.policy"),
      named<Width>("strategy.gradients.accumulation"),
      named<ConvertOn>("strategy.gradients.convert"),
      named<CopyMemory>("strategy.gradients.d2h"),
      {"strategy.gradients.main_gradients", either()},
      named<GradientNorm>("strategy.gradients.norm"),
      named<GradientSums>("strategy.gradients.sums"),
      named<WeightCopy>("strategy.weights.h2d"),
      {"strategy.gradients.overlap", either()},
      {"strategy.gradients.flush_tail", {"1 GiB"}},
      named<PinnedPolicy>("strategy.gradients.pinned"),
      {"strategy.gradients.staging_buffer", either()},
      {"strategy.gradients.init_copy", either()},
      {"strategy.gradients.fused_accumulation", either()},
      {"strategy.gradients.reduce_bucket", {"0 params", "1e6 params"}},
      named<OptimizerDevice>("strategy.optimizer.device"),
      named<Home>("strategy.optimizer.home"),
      {"strategy.optimizer.cpu_share", {"0", "0.5"}},
      named<SubgroupOrder>("strategy.optimizer.order"),
      {"strategy.optimizer.subgroup", {"1e6 params", "1e9 params"}},
      named<Grouping>("strategy.optimizer.grouping"),
      {"strategy.optimizer.fused_tensors", either()},
      {"strategy.optimizer.buffers", {"3", "8"}},
      {"strategy.optimizer.paths", {R"({"pfs": "auto"})", R"({"nvme": "auto", "pfs": "auto"})"}},
      {"strategy.optimizer.pipeline_read", either()},
      {"strategy.optimizer.pipeline_write", either()},
      {"strategy.optimizer.tier_lock", either()},
      {"strategy.optimizer.host_cache", {"0 B", "100 MiB"}},
      {"strategy.optimizer.staleness", {"1", "async"}},
      {"strategy.optimizer.read_ahead", {"2"}},
      {"strategy.optimizer.wait", {"false"}},
      {"strategy.optimizer.kernels", {"for_loop"}},
      {"strategy.optimizer.adapt", either()},
      {"strategy.optimizer.host_fill", {"0.1"}},
      named<OverflowCheck>("strategy.overflow_check"),
      named<PinnedPolicy>("strategy.pinned"),
      named<IoEngine>("strategy.io_engine"),
      named<GpuAllocator>("strategy.gpu_allocator"),
  };
}

std::vector<PartChoice> parts_of_training() {
  return {
      named<Precision>("training.precision"),
      named<OptimizerKind>("training.optimizer"),
      named<StateWidth>("training.optimizer_state"),
      named<AttentionKind>("training.attention"),
      {"training.method", {"lora", "qlora"}},
      {"training.optimizer_in_backward", {"true"}},
      {"training.gradient_clipping", {"1"}},
      {"training.recompute",
       {R"("full")", R"("selective")", R"(["attention", "activation", "norm"])"}},
      {"training.packed", {"64"}},
      {"training.mlp_tiles", {"4"}},
      {"training.gradient_accumulation", {"2"}},
      {"training.fused_kernels", either()},
      {"training.ema", either()},
      {"parallel.data", {"2", "3"}},
      {"parallel.tensor", {"2"}},
      {"parallel.schedule", {"gpipe", "interleaved", "zero_bubble", "sequential"}},
      {"parallel.context", {"2"}},
      {"parallel.context_kind", {"ring"}},
      {"parallel.sequence_parallel", {"true"}},
      {"parallel.zero_stage", {"0", "1", "2", "3"}},
  };
}

}  // namespace

const std::vector<PartChoice>& parts() {
  static const std::vector<PartChoice> all = [] {
    std::vector<PartChoice> choices;
    for (const auto& some : {parts_of_strategy(), newer_parts(), parts_of_training()})
      choices.insert(choices.end(), some.begin(), some.end());
    return choices;
  }();
  return all;
}

std::vector<Pair> pairs_for(const Base& base, std::size_t shard, std::size_t shards) {
  const std::size_t stride = std::getenv("SPILLWAY_EVERY_PAIR")   ? 1
                             : std::getenv("SPILLWAY_LONG_TESTS") ? 20
                                                                  : 40;
  std::size_t number = base.number;
  std::vector<Pair> pairs;
  for (std::size_t i = shard; i < parts().size(); i += shards)
    for (const std::string& value : parts()[i].values)
      for (std::size_t j = i + 1; j < parts().size(); ++j)
        for (const std::string& other : parts()[j].values)
          if (number++ % stride == 0)
            pairs.push_back({parts()[i].path + "=" + value, parts()[j].path + "=" + other});
  return pairs;
}

std::vector<Base> bases() {
  std::vector<Base> all;
  for (const System& system : catalogue()) all.push_back({system.name, system.name, {}});
  for (Base& base : all)
    if (base.system == "smart_infinity")
      base.overrides.push_back(
          R"(machine.storage.nvme.near_storage={"read": "6 GB/s", "write": "3 GB/s",)"
          R"( "adam": "0.5 Gparam/s"})");
  all.push_back({"zero_infinity_in_host",
                 "zero_infinity",
                 {"strategy.weights.home=host", "strategy.optimizer.home=host",
                  "strategy.gradients.policy=host_fp32", "parallel.data=2"}});
  all.push_back({"zero_infinity_on_two_ranks",
                 "zero_infinity",
                 {"parallel.data=2", "strategy.gradients.convert=cpu"}});
  for (std::size_t i = 0; i < all.size(); ++i) all[i].number = i;
  return all;
}

}  // namespace spillway::strategies
