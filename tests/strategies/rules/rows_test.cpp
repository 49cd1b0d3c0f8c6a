#include "strategies/rules/rules.hpp"

#include <gtest/gtest.h>
#include <set>

#include "strategies/systems/catalogue.hpp"
#include "tests/strategies/rules/breaks.hpp"
#include "tests/strategies/systems/systems.hpp"

/// Each row of the real tables has a scenario that it refuses, settles or warns of.
namespace spillway::strategies::rules::rows_test {
namespace {

/// Two stages of two pieces.
void interleave(Scenario& s) {
  s.parallel.pipeline = 2;
  s.parallel.schedule = PipelineSchedule::interleaved;
  s.parallel.pipeline_cut = PipelineCut::layers;
  s.training.gradient_accumulation = 2;
}

constexpr Breaks of_parallel[] = {
    {"resident", [](Scenario& s) { s.parallel.data = 100; }},
    {"resident", [](Scenario& s) { s.parallel.tensor = 3; }},
    {"resident", [](Scenario& s) { s.parallel.pipeline = 3; }},
    {"ssdtrain", [](Scenario& s) { s.machine.nodes = 2, s.parallel.pipeline = 16; }},
    {"resident",
     [](Scenario& s) { s.machine.nodes = s.parallel.pipeline = 2, s.parallel.data = 5; }},
    {"teraio", [](Scenario& s) { s.parallel.data = 2; }},
    {"teraio", [](Scenario& s) { s.parallel.context = 2; }},
    {"ssdtrain", [](Scenario& s) { s.parallel.context = 2; }},
    {"teraio",
     [](Scenario& s) {
       s.parallel.pipeline = 2;
       s.parallel.schedule = PipelineSchedule::zero_bubble;
     }},
    {"resident", [](Scenario& s) { interleave(s), s.training.gradient_accumulation = 3; }},
    {"resident", [](Scenario& s) { interleave(s), s.parallel.virtual_stages = 5; }},
    {"resident", [](Scenario& s) { s.parallel.virtual_stages = 5; }},
    {"resident", interleave, [](models::Architecture& a) { a.labels = 16; }},
    {"resident", [](Scenario& s) { interleave(s), s.parallel.pipeline_cut = PipelineCut::flops; }},
    {"teraio", [](Scenario& s) { s.parallel.tensor = 2; }},
    {"lohan", [](Scenario& s) { s.parallel.pipeline = 2; }},
    {"zero_offload", [](Scenario& s) { s.parallel.pipeline = 2; },
     [](models::Architecture& a) { a.tied_embeddings = true; }},
    {"resident",
     [](Scenario& s) {
       s.parallel.pipeline = s.parallel.data = 2;
       s.parallel.zero_stage = 2;
     }},
    {"resident",
     [](Scenario& s) {
       s.machine.nodes = 3;
       s.parallel.tensor = 16;
     }},
    {"resident",
     [](Scenario& s) {
       s.machine.nodes = 3;
       s.parallel.data = 9;
     }},
    {"zero_offload",
     [](Scenario& s) {
       s.parallel.data = 2;
       s.parallel.zero_stage = 2;
     }},
};

constexpr Breaks of_activations[] = {
    {"resident", [](Scenario& s) { s.training.recompute.full = true; }},
    {"ssdtrain", [](Scenario& s) { s.training.recompute.full = true; }},
    {"resident",
     [](Scenario& s) {
       s.strategy.activations.policy = ActivationPolicy::offload;
       s.training.recompute.full = true;
     }},
    {"resident",
     [](Scenario& s) {
       s.parallel.pipeline = 2;
       s.parallel.schedule = PipelineSchedule::zero_bubble;
       s.strategy.activations.policy = ActivationPolicy::checkpoint_gpu;
       s.training.recompute.operators = {RecomputedOperator::norm};
     }},
    {"resident",
     [](Scenario& s) {
       s.parallel.context = 2;
       s.parallel.context_kind = description::ContextKind::ring;
       s.training.recompute.operators = {RecomputedOperator::attention};
     }},
    {"resident",
     [](Scenario& s) {
       s.parallel.context = 2;
       s.parallel.context_kind = description::ContextKind::ring;
       s.strategy.activations.policy = ActivationPolicy::offload;
       s.strategy.activations.homes = {"host"};
       s.strategy.activations.offloaded.emplace(1, description::SavingOperator::attention);
     }},
    {"ssdtrain", [](Scenario& s) { s.training.recompute.operators = {RecomputedOperator::norm}; }},
    {"teraio", [](Scenario& s) { s.training.recompute.operators = {RecomputedOperator::norm}; }},
    {"ssdtrain", [](Scenario& s) { s.parallel.tensor = 2, s.parallel.sequence_parallel = true; }},
    {"teraio", [](Scenario& s) { s.strategy.weights.home = Home::host; }},
    {"teraio", [](Scenario& s) { s.strategy.overflow_check = OverflowCheck::fused; }},
    {"teraio", [](Scenario& s) { s.strategy.activations.policy = ActivationPolicy::swap; }},
    {"teraio", [](Scenario& s) { s.training.ema = true; }},
    {"teraio", [](Scenario& s) { s.strategy.activations.planner = ActivationPlanner::capuchin; }},
    {"resident", [](Scenario& s) { s.strategy.activations.policy = ActivationPolicy::plan; }},
    {"resident",
     [](Scenario& s) {
       s.strategy.activations.policy = ActivationPolicy::plan;
       s.strategy.activations.planner = ActivationPlanner::g10;
     }},
    {"capuchin", [](Scenario& s) { s.strategy.activations.homes = {"ssd"}; }},
    {"resident",
     [](Scenario& s) {
       s.parallel.pipeline = 2;
       s.strategy.activations.policy = ActivationPolicy::checkpoint_host;
     }},
    {"lohan", [](Scenario& s) { s.strategy.activations.homes.clear(); }},
    {"resident", [](Scenario& s) { s.strategy.activations.policy = ActivationPolicy::offload; }},
    {"resident",
     [](Scenario& s) { s.strategy.activations.offloaded = std::vector{SavingOperator::norm}; }},
    {"ssdtrain",
     [](Scenario& s) {
       s.strategy.activations.homes = {"host", "ssd"};
     }},
    {"resident", [](Scenario& s) { s.strategy.activations.checkpoints_per_block = 2; }},
    {"ssdtrain",
     [](Scenario& s) {
       s.strategy.activations.cancel = CancelStores::always;
       s.strategy.activations.forwarding = false;
     }},
};

constexpr Breaks of_gradients_and_weights[] = {
    {"memascend", [](Scenario& s) { s.training.precision = Precision::bf16_mixed; }},
    {"memascend", [](Scenario& s) { s.strategy.gradients.policy = GradientPolicy::active; }},
    {"zero_offload", [](Scenario& s) { s.strategy.gradients.policy = GradientPolicy::resident; }},
    {"zero_offload", [](Scenario& s) { s.strategy.gradients.policy = GradientPolicy::ssd_fp32; }},
    {"zero_infinity", [](Scenario& s) { s.training.optimizer_state = StateWidth::bf16; }},
    {"lohan", [](Scenario& s) { s.strategy.gradients.convert = ConvertOn::gpu; }},
    {"resident",
     [](Scenario& s) {
       s.parallel.zero_stage = 3;
       s.strategy.gradients.collective = GradientCollective::all_reduce;
     }},
    {"resident",
     [](Scenario& s) {
       s.parallel.zero_stage = 0;
       s.strategy.gradients.collective = GradientCollective::reduce_scatter;
     }},
    {"zero_offload",
     [](Scenario& s) { s.strategy.gradients.memory = GradientMemory::in_backward; }},
    {"zero_offload",
     [](Scenario& s) {
       s.parallel.data = 2;
       s.parallel.zero_stage = 1;
       s.strategy.weights.home = Home::gpu;
       s.strategy.gradients.collective = GradientCollective::reduce_scatter;
     }},
    {"memascend", [](Scenario& s) { s.strategy.gradients.lands = Landing::states; }},
    {"smart_infinity", [](Scenario& s) { s.strategy.gradients.lands = Landing::states; }},
    {"zero_offload",
     [](Scenario& s) {
       s.strategy.gradients.lands = Landing::states;
       s.strategy.optimizer.staleness = 1;
     }},
    {"zero_offload",
     [](Scenario& s) {
       s.strategy.gradients.lands = Landing::states;
       s.training.precision = description::Precision::bf16;
     }},
    {"zero_infinity", [](Scenario& s) { s.strategy.gradients.d2h = CopyMemory::typed; }},
    {"zero_offload", [](Scenario& s) { s.strategy.gradients.main_gradients = true; }},
    {"zero_offload", [](Scenario& s) { s.strategy.gradients.sums = GradientSums::at_end; }},
    {"memascend", [](Scenario& s) { s.strategy.weights.h2d = WeightCopy::typed; }},
    {"resident", [](Scenario& s) { s.strategy.weights.pool = PoolKind::pages; }},
    {"resident", [](Scenario& s) { s.strategy.weights.pool = PoolKind::adaptive; }},
    {"zero_infinity", [](Scenario& s) { s.strategy.weights.pool = PoolKind::none; }},
    {"zero_infinity", [](Scenario& s) { s.strategy.weights.buffer_size = Params(1); }},
    {"zero_infinity", [](Scenario& s) { s.strategy.weights.buffer_count = 8; }},
    {"angel_ptm", [](Scenario& s) { s.strategy.weights.page = Bytes(5000); }},
    {"resident", [](Scenario& s) { s.strategy.weights.home = Home::host; }},
    {"colossal_gemini", [](Scenario& s) { s.strategy.weights.home = Home::gpu; }},
    {"colossal_gemini", [](Scenario& s) { s.strategy.overflow_check = OverflowCheck::fused; }},
    {"colossal_gemini", [](Scenario& s) { s.strategy.optimizer.staleness = 1; }},
    {"colossal_gemini", [](Scenario& s) { s.strategy.weights.persistence_threshold = Params(1); }},
};

constexpr Breaks of_optimizer[] = {
    {"resident",
     [](Scenario& s) {
       s.training.optimizer = OptimizerKind::muon;
       s.parallel.tensor = 2;
     }},
    {"lohan", [](Scenario& s) { s.strategy.optimizer.order = SubgroupOrder::ascending; }},
    {"resident", [](Scenario& s) { s.strategy.optimizer.overlap = UpdateOverlap::backward; }},
    {"resident", [](Scenario& s) { s.strategy.optimizer.subgroup = Params(0); }},
    {"resident", [](Scenario& s) { s.strategy.optimizer.home = Home::ssd; }},
    {"resident", [](Scenario& s) { s.training.optimizer = OptimizerKind::paged_adam8bit; }},
    {"resident",
     [](Scenario& s) {
       s.strategy.optimizer.home = Home::host;
       s.training.ema = true;
     }},
    {"zero_infinity",
     [](Scenario& s) {
       s.training.optimizer = OptimizerKind::sgd;
       s.training.precision = Precision::bf16;
     }},
    {"zero_offload", [](Scenario& s) { s.training.ema = true; }},
    {"resident", [](Scenario& s) { s.strategy.optimizer.read_ahead = 1; }},
    {"zero_infinity",
     [](Scenario& s) { s.strategy.gradients.policy = description::GradientPolicy::ssd_fp16; }},
    {"resident",
     [](Scenario& s) { s.strategy.optimizer.kernels = description::AdamKernels::for_loop; }},
    {"teraio", [](Scenario& s) { s.training.optimizer_state = description::StateWidth::bf16; }},
    {"zero_infinity", [](Scenario& s) { s.strategy.optimizer.wait = false; }},
    {"lohan",
     [](Scenario& s) {
       s.strategy.optimizer.wait = false;
       s.strategy.optimizer.home = Home::host;
     }},
    {"lohan",
     [](Scenario& s) {
       s.strategy.optimizer.wait = false;
       s.strategy.weights.home = Home::host;
     }},
    {"lohan",
     [](Scenario& s) {
       s.strategy.optimizer.wait = false;
       s.strategy.optimizer.buffers = 3;
     }},
    {"resident", [](Scenario& s) { s.strategy.optimizer.cpu_share = 0.5; }},
    {"zero_infinity", [](Scenario& s) { s.strategy.optimizer.cpu_share = 0.5; }},
    {"slideformer",
     [](Scenario& s) {
       s.strategy.optimizer.master = MasterKept::weight, s.strategy.weights.home = Home::gpu;
     }},
    {"resident", [](Scenario& s) { s.strategy.optimizer.master = MasterKept::copy; }},
    {"teraio",
     [](Scenario& s) {
       s.strategy.optimizer.master = MasterKept::copy;
       s.training.optimizer_state = StateWidth::bf16;
     }},
    {"megatrain", [](Scenario& s) { s.strategy.optimizer.cpu_share = 0.5; }},
    {"megatrain",
     [](Scenario& s) {
       s.training.precision = Precision::bf16, s.strategy.optimizer.home = Home::ssd;
     }},
    {"zero_offload", [](Scenario& s) { s.strategy.optimizer.roll_back = true; }},
    {"lohan", [](Scenario& s) { s.strategy.optimizer.roll_back = true; }},
    {"superoffload",
     [](Scenario& s) {
       s.training.precision = Precision::fp16_mixed;
       s.strategy.overflow_check = OverflowCheck::chained;
       s.strategy.weights.h2d = WeightCopy::pinned;
     }},
    {"teraio", [](Scenario& s) { s.strategy.micro_batches = MicroBatchOrder::by_layer; }},
    {"lohan", [](Scenario& s) { s.strategy.micro_batches = MicroBatchOrder::by_layer; }},
    {"zero_offload",
     [](Scenario& s) {
       s.strategy.micro_batches = MicroBatchOrder::by_layer;
       s.strategy.optimizer.staleness = 1;
     }},
    {"zero_offload", [](Scenario& s) { s.strategy.optimizer.delayed_share = 0.5; }},
    {"zero_offload", [](Scenario& s) { s.strategy.optimizer.flatten = true; }},
    {"greedysnake",
     [](Scenario& s) {
       s.training.optimizer_state = StateWidth::bf16;
       s.strategy.optimizer.order = SubgroupOrder::descending;
     }},
    {"resident", [](Scenario& s) { s.strategy.activations.checkpoint_every = 2; }},
    {"colossal_gemini", [](Scenario& s) { s.strategy.activations.checkpoint_every = 2; }},
    {"angel_ptm", [](Scenario& s) { s.strategy.activations.checkpoint_every = 2; }},
    {"teraio", [](Scenario& s) { s.strategy.activations.checkpoint_every = 2; }},
    {"resident",
     [](Scenario& s) {
       s.strategy.activations.policy = ActivationPolicy::checkpoint_gpu;
       s.strategy.activations.checkpoint_every = 2;
       s.parallel.pipeline = 2;
     }},
    {"lohan", [](Scenario& s) { s.strategy.gradients.slabs = 2; }},
    {"zero_offload", [](Scenario& s) { s.strategy.gradients.slabs = 2; }},
    {"zero_offload",
     [](Scenario& s) {
       s.strategy.optimizer.cpu_share = 0.5;
       s.strategy.optimizer.staleness = 1;
     }},
    {"smart_infinity",
     [](Scenario& s) {
       s.strategy.optimizer.home = Home::host;
       s.strategy.gradients.policy = GradientPolicy::host_fp32;
       s.training.optimizer_state = StateWidth::bf16;
     }},
    {"smart_infinity",
     [](Scenario& s) {
       s.machine.storage.push_back(s.machine.storage.front());
       s.strategy.optimizer.paths.clear();
     }},
    {"mlp_offload",
     [](Scenario& s) {
       s.strategy.optimizer.paths = {{"*", 1}};
     }},
    {"zero_offload",
     [](Scenario& s) {
       s.strategy.optimizer.paths = {{"nvme", 1}};
     }},
    {"mlp_offload",
     [](Scenario& s) {
       s.strategy.optimizer.paths = {{"nvme", 1}, {"other", std::nullopt}};
       s.strategy.optimizer.lanes = {{"other", 1}};
     }},
    {"mlp_offload",
     [](Scenario& s) {
       s.strategy.optimizer.paths = {{"nvme", 0}};
     }},
    {"zero_infinity",
     [](Scenario& s) {
       s.strategy.optimizer.buffers = 3, s.strategy.optimizer.host_cache = Bytes(1);
       s.strategy.optimizer.pipeline_read = s.strategy.optimizer.pipeline_write = true;
     }},
};

constexpr Breaks of_selected[] = {
    {"teraio", [](Scenario& s) { s.strategy.optimizer.selected_share = 0.5; }},
    {"zenflow", [](Scenario& s) { s.parallel.zero_stage = 3; }},
    {"zenflow", [](Scenario& s) { s.parallel.zero_stage = 1, s.parallel.data = 2; }},
    {"zenflow", [](Scenario& s) { s.strategy.weights.home = Home::host; }},
    {"zenflow", [](Scenario& s) { s.training.method = Method::lora; }},
    {"zenflow", [](Scenario& s) { s.training.optimizer_state = StateWidth::bf16; }},
    {"zenflow", [](Scenario& s) { s.parallel.tensor = 2; }},
    {"zenflow", [](Scenario& s) { s.strategy.optimizer.selected_states = Home::ssd; }},
    {"zenflow", [](Scenario& s) { s.training.precision = Precision::fp16_mixed; }},
    {"zenflow", [](Scenario& s) { s.strategy.weights.h2d = WeightCopy::pinned; }},
    {"zenflow", [](Scenario& s) { s.strategy.optimizer.delayed_share = 0.5; }},
    {"zenflow", [](Scenario& s) { s.strategy.overflow_check = OverflowCheck::fused; }},
};

constexpr Breaks of_staleness[] = {
    {"resident", [](Scenario& s) { s.strategy.optimizer.staleness = any_staleness; }},
    {"angel_ptm", [](Scenario& s) { s.strategy.weights.home = Home::gpu; }},
    {"angel_ptm", [](Scenario& s) { s.strategy.weights.persistence_threshold = Params(1); }},
    {"angel_ptm", [](Scenario& s) { s.strategy.gradients.convert = ConvertOn::gpu; }},
    {"angel_ptm", [](Scenario& s) { s.strategy.overflow_check = OverflowCheck::fused; }},
    {"angel_ptm", [](Scenario& s) { s.strategy.optimizer.order = SubgroupOrder::descending; }},
    {"angel_ptm", [](Scenario& s) { s.strategy.activations.policy = ActivationPolicy::swap; }},
    {"angel_ptm", [](Scenario& s) { s.parallel.tensor = 2; }},
    {"resident",
     [](Scenario& s) {
       s.parallel.pipeline = 2;
       s.strategy.optimizer.staleness = 1;
     }},
    {"zero_offload", [](Scenario& s) { s.strategy.optimizer.staleness = 2; }},
    {"smart_infinity", [](Scenario& s) { s.strategy.optimizer.staleness = 1; }},
    {"teraio", [](Scenario& s) { s.strategy.optimizer.staleness = 1; }},
    {"lohan", [](Scenario& s) { s.strategy.optimizer.staleness = 1; }},
    {"zero_offload",
     [](Scenario& s) {
       s.strategy.optimizer.staleness = 1;
       s.training.optimizer_state = StateWidth::bf16;
     }},
};

constexpr Breaks of_storage_and_training[] = {
    {"resident",
     [](Scenario& s) {
       s.machine.storage.clear();
       s.run.io_bench.emplace();
     }},
    {"ssdtrain", [](Scenario& s) { s.machine.gpu.gpudirect = false; }},
    {"zero_infinity", [](Scenario& s) { s.machine.storage.clear(); }},
    {"zero_infinity",
     [](Scenario& s) {
       s.parallel.data = 2;
       for (StorageSpec& one : s.machine.storage) one.gpus = {0};
     }},
    {"resident", [](Scenario& s) { s.machine.gpu.compute.clear(); }},
    {"resident",
     [](Scenario& s) {
       s.training.precision = Precision::fp16_mixed;
       s.training.optimizer_state = StateWidth::bf16;
     }},
    {"resident", [](Scenario& s) { s.training.optimizer = OptimizerKind::sgd; }},
    {"resident", [](Scenario& s) { s.strategy.plan.urgent = false; }},
    {"resident", [](Scenario& s) { s.training.sequence = 65; },
     [](models::Architecture& a) { a.max_positions = 64; }},
    {"resident", [](Scenario& s) { s.training.experts = ExpertLayout::separate; },
     [](models::Architecture& a) {
       a.model_type = "gpt_oss";
       a.experts = 4;
     }},
};

/// How a training updates, without what else excludes it.
constexpr Breaks of_updates[] = {
    {"resident",
     [](Scenario& s) {
       s.training.optimizer = OptimizerKind::lion;
       s.training.optimizer_state = StateWidth::int8;
     }},
    {"resident",
     [](Scenario& s) {
       s.training.optimizer = OptimizerKind::adam8bit;
       s.training.optimizer_state = StateWidth::bf16;
     }},
    {"resident", [](Scenario& s) { s.training.mlp_tiles = 1'000'000; }},
    {"resident",
     [](Scenario& s) { s.training.mlp_tiles = 2, s.training.precision = Precision::fp8; }},
    {"resident", [](Scenario& s) { s.training.optimizer = OptimizerKind::paged_adam8bit; }},
    {"resident", [](Scenario& s) { s.training.optimizer = OptimizerKind::muon, with_adapters(s); }},
    {"resident",
     [](Scenario& s) {
       s.training.packed = {true, s.training.sequence + 1};
     }},
    {"resident",
     [](Scenario& s) {
       s.training.method = Method::qlora;
       s.training.lora.base = BaseType::bf16;
     }},
    {"resident",
     [](Scenario& s) {
       s.training.method = Method::qlora;
       s.training.lora.base = BaseType::nf4;
       s.parallel.tensor = 2;
     }},
    {"resident",
     [](Scenario& s) {
       s.training.method = Method::frozen;
       s.parallel.pipeline = 2;
     }},
    {"zero_offload", [](Scenario& s) { s.training.optimizer_in_backward = true; }},
    {"resident",
     [](Scenario& s) {
       s.training.optimizer_in_backward = true;
       s.training.gradient_accumulation = 2;
       s.strategy.overflow_check = OverflowCheck::fused;
       s.parallel.data = 2;
     }},
    {"lohan", [](Scenario& s) { s.training.gradient_clipping = 1; }},
    {"superoffload", [](Scenario& s) { s.training.gradient_clipping = 1; }},
};

/// The rows that have been broken so far.
class Broken {
 public:
  void look_at(std::span<const Breaks> all) {
    for (const Breaks& one : all) look_at(one);
  }
  void look_at(const Breaks& one) {
    Scenario scenario = base_;
    scenario.strategy = find_system(one.system)->defaults();
    one.change(scenario);
    const Strategy defaults = find_system(one.system)->defaults();
    models::Model model = model_of(base_);
    one.of_model(model.architecture);
    const Written all_is_written = [](const std::string&) { return true; };
    for (const Table& table : all())
      for (const Rule& rule : table)
        if (!broken(rule, {scenario, &model, &defaults, &all_is_written}).empty())
          seen_.insert(&rule);
  }
  bool has(const Rule& rule) const { return seen_.contains(&rule); }

 private:
  Scenario base_ = small_model("llama", "resident");
  std::set<const Rule*> seen_;
};

TEST(Rules, EveryRowIsBrokenBySomeScenario) {
  Broken broken;
  broken.look_at(of_parallel);
  broken.look_at(of_activations);
  broken.look_at(of_gradients_and_weights);
  broken.look_at(of_optimizer);
  broken.look_at(of_staleness);
  broken.look_at(of_selected);
  broken.look_at(of_storage_and_training);
  broken.look_at(of_method);
  broken.look_at(of_fp8);
  broken.look_at(of_updates);
  broken.look_at(of_experts);
  std::size_t rows = 0;
  for (const Table& table : all())
    for (std::size_t i = 0; i < table.size(); ++i, ++rows)
      EXPECT_TRUE(broken.has(table[i])) << table[i].path << ", row " << i << " of its table";
  EXPECT_GT(rows, 80u);
}

TEST(Rules, EveryRowThatRefusesSaysWhyAndEveryRowDoesSomething) {
  for (const Table& table : all())
    for (const Rule& rule : table) {
      EXPECT_TRUE(!rule.holds != !rule.broken_by) << rule.path;
      EXPECT_TRUE(!rule.why.none() || rule.settles.set || !rule.warning.none()) << rule.path;
      if (rule.settles.set) {
        EXPECT_FALSE(rule.settles.reason.none()) << rule.path;
      }
    }
}

}  // namespace
}  // namespace spillway::strategies::rules::rows_test
