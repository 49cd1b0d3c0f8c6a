// Layers laid out by strategies/layer_plan, computed for real: what the plan lets share memory must
// never be needed at the same time.
#include "strategies/layout/layer_plan.hpp"
#include "tests/hw_backend/arithmetic/executor.hpp"

#include <gtest/gtest.h>
#include <functional>
#include <map>

namespace spillway::hw_backend::planned_memory_test {
namespace {

using models::Attention;
using models::Precision;
using strategies::Area;
using strategies::LayerPlan;
using strategies::PassPlan;

/// Weights and gradients as the program's kernels take them, all of them on one rank.
strategies::TensorTable weights_of(const models::StepProgram& program, std::size_t weights) {
  description::Training training;
  training.precision = program.workload.precision;
  const models::WeightFormats formats = models::formats_of(training);
  std::vector<strategies::TensorRow> rows(weights);
  for (const models::Tensor& tensor : program.tensors)
    if (tensor.weight && tensor.role == models::TensorRole::weight)
      rows[*tensor.weight].elements = tensor.elements;
  for (strategies::TensorRow& row : rows) {
    row.weight = formats.weight;
    row.gradient = formats.gradient;
  }
  return strategies::TensorTable(std::move(rows));
}

/// Runs the plans of all layers, each area in memory of its own that holds garbage at first.
class PlannedRun {
 public:
  PlannedRun(Executor& weights, const strategies::ActivationPlan& activations)
      : reference_(weights),
        plans_(strategies::plan_layers(weights.model(), weights.program(),
                                       weights_of(weights.program(), weights.weights()),
                                       activations)),
        lowering_{&weights.model(), &weights.program(), Executor::seed},
        graded_(weights.weights(), false) {
    for (const LayerPlan& plan : plans_.layers) {
      for (const strategies::SavedTensor& tensor : plan.saved)
        saved_[plan.layer].emplace_back(tensor.bytes);
      logits_.emplace_back(std::max(plan.forward.logits_bytes, plan.backward.logits_bytes));
    }
    for (std::size_t weight = 0; weight < weights.weights(); ++weight)
      gradients_.emplace_back(weights.elements(weight) * size_of(weights.gradient(weight).type));
  }

  double run() {
    for (const LayerPlan& plan : plans_.layers) {
      produce(plan.produced);
      Memory transient(plan.forward.transient_bytes);
      pass(plan, plan.forward, transient);
      release(plan.released_forward);
    }
    for (auto plan = plans_.layers.rbegin(); plan != plans_.layers.rend(); ++plan) {
      produce(plan->produced_backward);
      Memory transient(std::max(plan->recompute.transient_bytes, plan->backward.transient_bytes));
      pass(*plan, plan->recompute, transient);
      pass(*plan, plan->backward, transient);
      release(plan->released_backward);
    }
    EXPECT_TRUE(hidden_.empty());
    return loss_;
  }

  const Memory& gradient(std::size_t weight) const { return gradients_[weight]; }

 private:
  void produce(const std::vector<std::uint32_t>& tensors) {
    for (const std::uint32_t index : tensors)
      hidden_.emplace(index, Memory(plans_.hidden[index].bytes));
  }
  void release(const std::vector<std::uint32_t>& tensors) {
    for (const std::uint32_t index : tensors) hidden_.erase(index);
  }

  void pass(const LayerPlan& plan, const PassPlan& which, Memory& transient) {
    Memory scratch(which.scratch_bytes);
    for (const PassPlan::Segment& segment : which.segments)
      for (const strategies::PlannedKernel& kernel : segment.kernels) {
        std::vector<Bound> bound;
        std::byte* workspace = nullptr;
        for (const strategies::PlannedOperand& operand : kernel.operands) {
          std::byte* const data = place(plan, operand, transient, scratch);
          if (operand.tensor == strategies::PlannedOperand::no_tensor)
            workspace = data;
          else
            bound.push_back({operand.tensor, data, is_fresh(plan, operand)});
        }
        execute(device_, lowering_, *kernel.operation, bound, workspace, {}, &loss_);
      }
  }

  std::byte* place(const LayerPlan& plan, const strategies::PlannedOperand& operand,
                   Memory& transient, Memory& scratch) {
    const auto inside = [&](Memory& area) {
      EXPECT_LE(operand.offset + operand.bytes, area.size());
      return area.data() + operand.offset;
    };
    switch (operand.area) {
      case Area::weights:
        return reference_.weight(plan.weights[operand.offset].weight).data;
      case Area::gradients:
        return gradients_[plan.weights[operand.offset].weight].data();
      case Area::saved:
        return saved_[plan.layer].at(operand.offset).data();
      case Area::transient:
        return inside(transient);
      case Area::logits:
        return inside(logits_[plan.layer]);
      case Area::scratch:
        return scratch.data();
      case Area::hidden:
        return hidden_.at(static_cast<std::uint32_t>(operand.offset)).data();
      case Area::nowhere:
        break;
    }
    return nullptr;
  }

  bool is_fresh(const LayerPlan& plan, const strategies::PlannedOperand& operand) {
    if (operand.area != Area::gradients) return false;
    std::vector<bool>::reference graded = graded_[plan.weights[operand.offset].weight];
    if (graded) return false;
    graded = true;
    return true;
  }

  Executor& reference_;
  strategies::LayerPlans plans_;
  Lowering lowering_;
  HostPrimitives device_;
  std::map<std::uint32_t, std::vector<Memory>> saved_;  ///< by layer
  std::vector<Memory> logits_, gradients_;
  std::map<std::uint32_t, Memory> hidden_;
  std::vector<bool> graded_;
  double loss_ = 0;
};

struct Case {
  const char* name;
  const char* config;
  Attention attention = Attention::flash;
  bool fused = true;
  double dropout = 0;
  Precision precision = Precision::fp32;
};

class PlannedMemory : public testing::TestWithParam<Case> {
 protected:
  using Plan = std::function<strategies::ActivationPlan(const Executor&)>;

  void expect_same_bits(const Plan& plan) {
    models::Workload workload = small_workload(GetParam().precision);
    workload.attention = GetParam().attention;
    workload.fused_kernels = GetParam().fused;
    workload.dropout = GetParam().dropout;
    Executor reference(GetParam().config, workload);
    const double loss = reference.forward();
    reference.backward();
    PlannedRun planned(reference, plan(reference));
    EXPECT_EQ(planned.run(), loss);
    for (std::size_t weight = 0; weight < reference.weights(); ++weight)
      EXPECT_EQ(planned.gradient(weight).copy(), reference.gradient_bytes(weight))
          << reference.model().weights[weight].name;
  }
};

TEST_P(PlannedMemory, GivesTheBitsOfTensorsWithMemoryOfTheirOwn) {
  expect_same_bits([](const Executor& run) { return strategies::keep_everything(run.program()); });
}

TEST_P(PlannedMemory, GivesThemWithRecomputationToo) {
  expect_same_bits([](const Executor& run) {
    return strategies::checkpoint_blocks(run.model(), run.program(), strategies::Fate::keep);
  });
}

// One tensor at a time: what is there must not be changed by what makes the other again.
TEST_P(PlannedMemory, GivesThemWithAnyTensorMadeAgainByTheOperatorsThatItTakes) {
  for (const std::size_t residue : {0u, 1u, 2u})
    expect_same_bits([&](const Executor& run) {
      strategies::ActivationPlan plan =
          strategies::checkpoint_blocks(run.model(), run.program(), strategies::Fate::keep);
      plan.whole_layers = false;
      std::size_t number = 0;
      for (strategies::Fate& fate : plan.fates)
        if (fate == strategies::Fate::recompute && number++ % 3 != residue)
          fate = strategies::Fate::keep;
      return plan;
    });
}

TEST_P(PlannedMemory, GivesThemWithAllOfABlockMadeAgainByTheOperatorsThatItTakes) {
  expect_same_bits([](const Executor& run) {
    strategies::ActivationPlan plan =
        strategies::checkpoint_blocks(run.model(), run.program(), strategies::Fate::keep);
    plan.whole_layers = false;
    return plan;
  });
}

INSTANTIATE_TEST_SUITE_P(
    Models, PlannedMemory,
    testing::Values(
        Case{"llama", small_llama},
        Case{"llama_bf16", small_llama, Attention::flash, true, 0, Precision::bf16_mixed},
        Case{"llama_unfused", small_llama, Attention::materialized, false, 0.1},
        Case{"mixtral_bf16", small_mixtral, Attention::flash, true, 0, Precision::bf16_mixed},
        Case{"qwen2_moe", small_qwen2_moe},
        Case{"qwen2_moe_unfused", small_qwen2_moe, Attention::materialized, false, 0.1},
        Case{"deepseek_v3_bf16", small_deepseek_v3, Attention::flash, true, 0,
             Precision::bf16_mixed},
        Case{"deepseek_v2_unfused", small_deepseek_v2, Attention::materialized, false, 0.1},
        Case{"qwen", small_qwen}, Case{"gpt2", small_gpt2},
        Case{"gpt2_dropout", small_gpt2, Attention::flash, true, 0.1},
        Case{"gpt2_unfused", small_gpt2, Attention::materialized, false, 0.1, Precision::fp16},
        Case{"opt_norm_last", norm_last_opt}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace spillway::hw_backend::planned_memory_test
