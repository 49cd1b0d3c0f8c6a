#include "strategies/layout/layer_plan.hpp"
#include "strategies/decide/tensors.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <limits>
#include <map>

namespace spillway::strategies::layer_plan_test {
namespace {

using models::TensorId;
using models::TensorRole;

struct Planned {
  Prepared prepared;
  LayerPlans plans;
};

enum class Again { nothing, first, when_needed };

Planned plan(const std::string& model, std::uint64_t ways = 1, Again again = Again::first) {
  description::Scenario scenario = small_model(model, "resident");
  scenario.parallel.data = ways;
  scenario.parallel.zero_stage = 3;
  Planned planned{prepare(scenario), {}};
  const models::Model& model_of = planned.prepared.model;
  const models::StepProgram& program = planned.prepared.program;
  ActivationPlan activations = again == Again::nothing
                                   ? keep_everything(program)
                                   : checkpoint_blocks(model_of, program, Fate::keep);
  if (again == Again::when_needed) {  // blocks in halves
    activations.late = true;
    activations.whole_layers = false;
    for (std::uint32_t layer = 0; layer < model_of.layers.size(); ++layer)
      if (const auto middle = middle_of_block(model_of, program, layer))
        activations.fates[*middle] = Fate::keep;
  }
  planned.plans =
      plan_layers(model_of, program, decide_tensors(scenario, planned.prepared).at(0), activations);
  return planned;
}

/// Where a tensor lies during a pass, and from which kernel to which.
struct Placed {
  PlannedOperand at;
  std::size_t first, last;
};

/// Operands of passes that share their space, by tensor and area (a recomputed hidden tensor is not
/// the one that others read): a kernel's planned operands follow its operator's, but for those that
/// lie nowhere.
using Placements = std::map<std::pair<TensorId, Area>, Placed>;
void add_placed(const models::StepProgram& program, const PassPlan& pass, Placements& tensors,
                std::size_t& number) {
  for (const PassPlan::Segment& segment : pass.segments)
    for (const PlannedKernel& kernel : segment.kernels) {
      std::size_t next = 0;
      for (const models::Operand& operand : kernel.operation->operands) {
        const models::Tensor& tensor = program.tensors[operand.tensor];
        if (tensor.role == TensorRole::input || tensor.bytes.value() == 0) continue;
        const PlannedOperand& at = kernel.operands.at(next++);
        EXPECT_EQ(at.bytes, tensor.bytes.value()) << tensor.name;
        const auto [known, fresh] =
            tensors.try_emplace({operand.tensor, at.area}, Placed{at, number, number});
        known->second.last = number;
        EXPECT_EQ(known->second.at.offset, at.offset) << tensor.name;
      }
      ++number;
    }
}

bool share_bytes(const Placed& a, const Placed& b) {
  return a.at.offset < b.at.offset + b.at.bytes && b.at.offset < a.at.offset + a.at.bytes;
}

class LayerPlanOf : public ::testing::TestWithParam<std::string> {};

TEST_P(LayerPlanOf, AreasOfLiveTensorsNeverOverlap) {
  for (const Again again : {Again::nothing, Again::first, Again::when_needed}) {
    const auto [prepared, plans] = plan(GetParam(), 1, again);
    for (const LayerPlan& layer : plans.layers)
      for (const auto& passes :
           {std::vector{&layer.forward}, std::vector{&layer.recompute, &layer.backward}}) {
        Placements tensors;
        std::size_t number = 0;
        for (const PassPlan* pass : passes) add_placed(prepared.program, *pass, tensors, number);
        const std::map<Area, std::uint64_t> ends{{Area::transient, passes.back()->transient_bytes},
                                                 {Area::logits, passes.back()->logits_bytes}};
        for (const auto& [id, one] : tensors) {
          if (one.at.area == Area::saved) {  // each has memory of its own
            const SavedTensor& saved = layer.saved.at(one.at.offset);
            EXPECT_EQ(saved.tensor, id.first);
            EXPECT_LE(one.at.bytes, saved.bytes);
          }
          if (!ends.contains(one.at.area)) continue;
          EXPECT_EQ(one.at.offset % 512, 0u);
          EXPECT_LE(one.at.offset + one.at.bytes, ends.at(one.at.area));
          for (const auto& [other_id, other] : tensors) {
            if (other_id <= id || other.at.area != one.at.area) continue;
            const bool together = one.at.area != Area::transient ||
                                  (one.first <= other.last && other.first <= one.last);
            EXPECT_FALSE(together && share_bytes(one, other))
                << prepared.program.tensors[id.first].name << " and "
                << prepared.program.tensors[other_id.first].name;
          }
        }
      }
  }
}

TEST(LayerPlan, RecomputedTensorsGiveTheirRoomBackOnTheWay) {
  // a block of 64 tokens x 2, 1024 wide, 4096 inside: at the backward of the down projection gate,
  // up, product and its gradient are alive, later none of the four is
  const auto [prepared, plans] = plan("llama");
  const LayerPlan& block = plans.layers[1];
  EXPECT_TRUE(block.saved.empty());
  std::uint64_t saved = 0, gradients = 0;
  for (const TensorId id : prepared.program.saved_by(1))
    saved += prepared.program.tensors[id].bytes.value();
  for (const models::Tensor& tensor : prepared.program.tensors)
    if (tensor.role == TensorRole::activation_gradient && tensor.layer == 1)
      gradients += tensor.bytes.value();
  EXPECT_LT(block.backward.transient_bytes, saved + gradients);
  const std::uint64_t inner = 2 * 64 * 4096 * 2;
  EXPECT_GE(block.backward.transient_bytes, 4 * inner);
  EXPECT_LE(block.backward.transient_bytes, 6 * inner);
  // forward alone keeps nothing: gate, up and product at most
  EXPECT_LE(block.forward.transient_bytes, 4 * inner);
}

TEST_P(LayerPlanOf, HiddenTensorsLiveFromTheirFirstWriteToTheirLastUse) {
  const auto [prepared, plans] = plan(GetParam());
  const auto layers = static_cast<std::uint32_t>(plans.layers.size());
  for (std::uint32_t i = 0; i < plans.hidden.size(); ++i) {
    const HiddenTensor& hidden = plans.hidden[i];
    // passes in order: forward of layer l is l, its backward, with the recomputation, 2 L - 1 - l
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max(), last = 0;
    for (std::uint32_t l = 0; l < layers; ++l)
      for (const bool backward : {false, true}) {
        const models::LayerSpan& span = prepared.program.layers[l];
        const auto [from, to] = backward ? span.backward : span.forward;
        for (std::uint32_t op = from; op < to; ++op)
          for (const models::Operand& operand : prepared.program.operators[op].operands) {
            if (operand.tensor != hidden.tensor) continue;
            const std::uint32_t at = backward ? 2 * layers - 1 - l : l;
            first = std::min(first, at);
            last = std::max(last, at);
            if (!backward && prepared.model.layers[l].is_block)
              last = std::max(last, 2 * layers - 1 - l);
          }
      }
    const auto layer_of = [&](std::uint32_t at) { return at < layers ? at : 2 * layers - 1 - at; };
    const LayerPlan& born = plans.layers[layer_of(first)];
    const LayerPlan& died = plans.layers[layer_of(last)];
    EXPECT_EQ(hidden.first_layer, layer_of(first));
    EXPECT_EQ(hidden.last_layer, layer_of(last));
    const auto has = [i](const std::vector<std::uint32_t>& list) {
      return std::count(list.begin(), list.end(), i) == 1;
    };
    EXPECT_TRUE(has(first < layers ? born.produced : born.produced_backward));
    EXPECT_TRUE(has(last < layers ? died.released_forward : died.released_backward));
  }
}

/// Each kernel of a block in halves finds what it reads already made, and not yet overwritten.
TEST_P(LayerPlanOf, HalvesAreMadeAgainBeforeTheyAreReadAndTakeLessRoom) {
  const Planned whole = plan(GetParam()), halves = plan(GetParam(), 1, Again::when_needed);
  for (const LayerPlan& layer : halves.plans.layers) {
    if (!halves.prepared.model.layers[layer.layer].is_block) continue;
    EXPECT_TRUE(layer.recompute.segments.empty());
    EXPECT_LT(layer.backward.transient_bytes,
              whole.plans.layers[layer.layer].backward.transient_bytes);
    std::size_t again = 0;
    bool backward = false, returns = false;
    std::map<TensorId, bool> made;  // of what lies in the pass's own space
    for (const PassPlan::Segment& segment : layer.backward.segments)
      for (const PlannedKernel& kernel : segment.kernels) {
        again += kernel.recompute;
        returns |= kernel.recompute && backward;
        backward |= !kernel.recompute;
        for (const PlannedOperand& operand : kernel.operands) {
          if (operand.area != Area::transient || operand.tensor == PlannedOperand::no_tensor)
            continue;
          EXPECT_TRUE(operand.access == models::Access::write || made[operand.tensor])
              << kernel.operation->name;
          made[operand.tensor] = true;
        }
      }
    EXPECT_GT(again, 0u);
    EXPECT_TRUE(returns);  // the second half's backward runs before the first half is made again
  }
}

TEST_P(LayerPlanOf, RecomputationNeverWritesHiddenStates) {
  const auto [prepared, plans] = plan(GetParam());
  for (const LayerPlan& layer : plans.layers) {
    EXPECT_EQ(layer.recompute.segments.empty(), !prepared.model.layers[layer.layer].is_block);
    for (const PassPlan::Segment& segment : layer.recompute.segments)
      for (const PlannedKernel& kernel : segment.kernels)
        for (const PlannedOperand& operand : kernel.operands)
          EXPECT_FALSE(operand.area == Area::hidden && operand.access != models::Access::read)
              << kernel.operation->name;
  }
}

TEST_P(LayerPlanOf, SharesFollowEachOtherWithoutGapsAndTiedWeightsHaveOneOwner) {
  const auto [prepared, plans] = plan(GetParam(), 3);
  std::vector<int> owners(prepared.model.weights.size());
  for (const LayerPlan& layer : plans.layers) {
    std::uint64_t sum = 0, gradients = 0;
    for (const LayerWeight& slot : layer.weights) {
      const std::uint64_t bytes = prepared.program.tensors[slot.weight].bytes.value();
      EXPECT_EQ(slot.share_bytes, description::divide_up(bytes, 3 * 64) * 64);
      EXPECT_EQ(slot.offset, sum);
      sum += 3 * slot.share_bytes;
      gradients += 3 * slot.gradient_share_bytes;
      owners[slot.weight] += slot.owned;
    }
    EXPECT_EQ(layer.weight_bytes, sum);
    EXPECT_EQ(layer.gradient_bytes, gradients);
  }
  for (const int count : owners) EXPECT_EQ(count, 1);
}

TEST(LayerPlan, AFrozenWeightTakesNoRoomForAGradient) {
  const description::Scenario scenario = small_model("llama", "resident");
  const Prepared prepared = prepare(scenario);
  std::vector<TensorRow> rows = decide_tensors(scenario, prepared).at(0).rows();
  const auto plan_with = [&] {
    return plan_layers(prepared.model, prepared.program, TensorTable(rows),
                       keep_everything(prepared.program));
  };
  const LayerPlan trained = plan_with().layers[1];
  rows[trained.weights[0].weight].gradient.reset();
  const LayerPlan frozen = plan_with().layers[1];
  EXPECT_EQ(frozen.weight_bytes, trained.weight_bytes);
  EXPECT_EQ(frozen.gradient_bytes,
            trained.gradient_bytes - trained.weights[0].gradient_share_bytes);
}

INSTANTIATE_TEST_SUITE_P(Models, LayerPlanOf, ::testing::ValuesIn(small_models()),
                         [](const auto& model) { return model.param; });

TEST(LayerPlan, EncoderOutputOfT5LivesUntilTheFirstDecoderBlockIsBack) {
  const auto [prepared, plans] = plan("t5");
  std::uint32_t first_decoder = 0, last_decoder = 0;
  for (const LayerPlan& layer : plans.layers)
    if (prepared.model.layers[layer.layer].name.starts_with("layers.")) {
      if (!first_decoder) first_decoder = layer.layer;
      last_decoder = layer.layer;
    }
  ASSERT_GT(first_decoder, 0u);
  int outputs = 0;
  for (const HiddenTensor& hidden : plans.hidden) {
    if (hidden.gradient || !prepared.program.tensors[hidden.tensor].is_residual ||
        hidden.first_layer >= first_decoder || hidden.last_forward_layer != last_decoder)
      continue;
    ++outputs;
    EXPECT_TRUE(hidden.used_in_backward);
    EXPECT_LE(hidden.last_layer, first_decoder);
  }
  EXPECT_EQ(outputs, 1);
}

}  // namespace
}  // namespace spillway::strategies::layer_plan_test
