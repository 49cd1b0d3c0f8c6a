#include "strategies/decide/tensors.hpp"
#include "scenarios/description/names.hpp"
#include "strategies/decide/tensors_json.hpp"
#include "strategies/layout/layer_plan.hpp"
#include "strategies/layout/subgroups.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>
#include <functional>

namespace spillway::strategies::tensors_test {
namespace {

using description::ElementType;
using description::Home;
using description::OptimizerDevice;
using nlohmann::json;
using ::testing::HasSubstr;

TensorTable table_of(const description::Scenario& scenario) {
  return decide_tensors(scenario, prepare(scenario)).at(0);
}

TensorTable table_of(const std::string& system, const Overrides& overrides = {}) {
  return table_of(small_model("llama", system, overrides));
}

/// The row of the embedding, which no system keeps on the GPU for its size.
TensorRow large_row(const std::string& system, const std::string& precision,
                    const std::string& states) {
  return table_of(system, {"training.precision=" + precision, "training.optimizer_state=" + states})
      .row(0);
}

/// "fp32 fp32 fp32", in the order of StateKind, "-" for one that is not there.
std::string states_of(const TensorRow& row) {
  std::string all;
  for (const StateKind kind : {StateKind::master, StateKind::momentum, StateKind::variance}) {
    const NumberFormat* const format = row.state(kind);
    all += (all.empty() ? "" : " ");
    all += format ? description::name_of(format->type) : "-";
  }
  return all;
}

TEST(Tensors, OfTheGpusUpdateAreWhatTheStepProgramHas) {
  for (const char* states : {"fp32", "bf16"})
    for (const char* precision : {"fp16_mixed", "bf16_mixed", "fp16", "bf16", "fp32"}) {
      const description::Scenario scenario =
          small_model("llama", "resident",
                      {std::string("training.precision=") + precision,
                       std::string("training.optimizer_state=") + states});
      const Prepared prepared = prepare(scenario);
      const TensorTable table = decide_tensors(scenario, prepared).at(0);
      std::vector<std::uint64_t> bytes(table.size());  // of states
      for (const models::Tensor& tensor : prepared.program.tensors) {
        if (!tensor.weight) continue;
        const TensorRow& row = table.row(*tensor.weight);
        if (tensor.role == models::TensorRole::weight)
          EXPECT_EQ(row.weight.bytes(row.elements), tensor.bytes.value());
        else if (tensor.role == models::TensorRole::weight_gradient)
          EXPECT_EQ(row.gradient_format().bytes(row.elements), tensor.bytes.value());
        else
          bytes[*tensor.weight] += tensor.bytes.value();
      }
      for (std::uint32_t weight = 0; weight < table.size(); ++weight) {
        const TensorRow& row = table.row(weight);
        EXPECT_EQ(row.state_bytes(row.elements), bytes[weight]) << precision << " " << states;
        EXPECT_EQ(row.updater, OptimizerDevice::gpu);
        EXPECT_EQ(row.home, Home::gpu);
      }
    }
}

TEST(Tensors, OfMixedPrecisionHaveNarrowCopiesOfFp32Masters) {
  for (const char* system : {"resident", "zero_offload", "zero_infinity"}) {
    const TensorRow row = large_row(system, "fp16_mixed", "fp32");
    EXPECT_EQ(row.weight, ElementType::fp16);
    EXPECT_EQ(states_of(row), "fp32 fp32 fp32");
    EXPECT_TRUE(row.has_copy && row.has_own_master() && row.fp32_states());
    EXPECT_EQ(row.updated_bytes(10), 120u);
  }
}

// 16-bit states: the weight itself is what the CPU updates, unless the GPU has it.
TEST(Tensors, OfNarrowStatesHaveMastersWhereTheWeightIsElsewhere) {
  const TensorRow stored = large_row("memascend", "bf16_mixed", "bf16");
  EXPECT_EQ(stored.home, Home::ssd);
  EXPECT_EQ(states_of(stored), "- bf16 bf16");
  EXPECT_EQ(stored.master(), ElementType::bf16);
  EXPECT_EQ(stored.updated_bytes(10), 60u);
  EXPECT_FALSE(stored.has_copy || stored.has_own_master() || stored.fp32_states());

  // norms stay on the GPU
  const TensorTable table =
      table_of("memascend", {"training.precision=bf16_mixed", "training.optimizer_state=bf16"});
  std::uint64_t kept = 0;
  for (const TensorRow& row : table.rows()) {
    if (row.home != Home::gpu) continue;
    EXPECT_EQ(states_of(row), "bf16 bf16 bf16");
    EXPECT_FALSE(row.has_copy || row.fp32_states());
    kept += row.elements;
  }
  EXPECT_EQ(kept, 5u * 1024);
}

// Both update the 16-bit weight itself; what one trains was made in fp32, and is saved so.
TEST(Tensors, TellMixedPrecisionWithNarrowStatesFromNarrowWeights) {
  const TensorRow mixed = large_row("memascend", "bf16_mixed", "bf16");
  TensorRow narrow = large_row("memascend", "bf16", "bf16");
  EXPECT_TRUE(mixed.is_cast());
  EXPECT_EQ(mixed.parameter, ElementType::fp32);
  EXPECT_FALSE(narrow.is_cast());
  narrow.parameter = ElementType::fp32;
  EXPECT_EQ(mixed, narrow);
}

TEST(Tensors, OfFp32HaveMastersOnlyOffTheGpuAndNoCopies) {
  const TensorRow stays = large_row("resident", "fp32", "fp32");
  EXPECT_EQ(states_of(stays), "- fp32 fp32");
  EXPECT_FALSE(stays.has_copy);
  const TensorRow leaves = large_row("zero_infinity", "fp32", "fp32");
  EXPECT_EQ(states_of(leaves), "fp32 fp32 fp32");
  EXPECT_FALSE(leaves.has_copy);
}

TEST(Tensors, OfFp32BesideNarrowStatesHaveMastersAsWideAsTheWeights) {
  const TensorRow row = large_row("memascend", "fp32", "bf16");
  EXPECT_EQ(states_of(row), "- bf16 bf16");
  EXPECT_EQ(row.master(), ElementType::fp32);
  EXPECT_EQ(row.updated_bytes(10), 80u);
  EXPECT_FALSE(row.fp32_states());
}

TEST(Tensors, SayWhoSharesThem) {
  const TensorTable table = table_of("zero_infinity", {"parallel.data=4"});
  const TensorRow& row = table.row(0);
  EXPECT_EQ(row.shards.group, ShardGroup::data);
  EXPECT_EQ(row.shards.weight_ways(), 4u);
  EXPECT_FALSE(row.whole);
  EXPECT_EQ(row.share(4), 5000u * 1024 / 4);
  EXPECT_EQ(table_of("zero_infinity").row(0).shards.group, ShardGroup::none);
}

TEST(Tensors, OfSmallSubgroupsAreUpdatedInHostMemory) {
  const TensorTable table = table_of("zero_infinity");
  std::uint64_t in_host = 0;
  for (const TensorRow& row : table.rows()) {
    if (row.state_home != Home::host) continue;
    EXPECT_EQ(row.updater, OptimizerDevice::cpu);
    in_host += row.elements;
  }
  EXPECT_EQ(in_host, 5u * 1024);  // the norms': 20 KiB of fp32, a parameter group of their own
}

// DeepSpeed, stage3.py: sub-group i is on the CPU where i >= int((1 - ratio) * sub-groups).
TEST(Tensors, OfTheFirstSubgroupsAreUpdatedByTheGpuWhereItTakesAShare) {
  // llama: 4 MiB of elements a block matrix, 5.12e6 the embedding and the head; groups of 6e6
  const std::uint32_t groups = subgroups_of(table_of("zero_offload")).size();
  ASSERT_GE(groups, 5u);
  for (const auto& [share, of_gpu] :
       {std::pair{1.0, 0u}, {0.999, 0u}, {0.5, groups / 2}, {0.0, groups}}) {
    const TensorTable table =
        table_of("zero_offload", {"strategy.optimizer.cpu_share=" + std::to_string(share)});
    for (const TensorRow& row : table.rows()) {
      const bool on_gpu = *row.subgroup < of_gpu;
      EXPECT_EQ(row.updater, on_gpu ? OptimizerDevice::gpu : OptimizerDevice::cpu) << share;
      EXPECT_EQ(row.state_home, on_gpu ? Home::gpu : Home::host) << share;
      EXPECT_EQ(states_of(row), "fp32 fp32 fp32");
    }
  }
}

// The GPU's weight in host memory is no master that it could update.
TEST(Tensors, OfTheGpusShareHaveMastersOnIt) {
  for (const auto& [precision, states, row] :
       {std::tuple{"fp32", "fp32", "fp32 fp32 fp32"}, {"bf16_mixed", "bf16", "bf16 bf16 bf16"}}) {
    const TensorTable table =
        table_of("zero_offload", {std::string("training.precision=") + precision,
                                  std::string("training.optimizer_state=") + states,
                                  "strategy.optimizer.cpu_share=0.5"});
    EXPECT_EQ(states_of(table.row(0)), row);
    EXPECT_EQ(table.row(0).home, Home::host);
  }
}

TEST(Tensors, OfAnOwnerAreItsOwnAndItsSubgroupsBeginAtNone) {
  const TensorTable table = table_of("zero_offload", {"strategy.optimizer.cpu_share=0.5"});
  const auto on_gpu = [](const TensorRow& row) { return row.updater == OptimizerDevice::gpu; };
  const TensorTable one = table.owned(on_gpu), other = table.owned(std::not_fn(on_gpu));
  const auto all = subgroups_of(table), ones = subgroups_of(one), others = subgroups_of(other);
  ASSERT_EQ(ones.size() + others.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Subgroup& same = i < ones.size() ? ones[i] : others[i - ones.size()];
    EXPECT_EQ(same.elements, all[i].elements);
    EXPECT_EQ(same.members.front().weight, all[i].members.front().weight);
  }
  for (std::uint32_t weight = 0; weight < table.size(); ++weight) {
    const bool owned = on_gpu(table.row(weight));
    EXPECT_EQ(one.row(weight).elements, owned ? table.row(weight).elements : 0);
    EXPECT_EQ(other.row(weight).elements, owned ? 0 : table.row(weight).elements);
    EXPECT_EQ(one.row(weight).trainable(), owned);
    EXPECT_EQ(one.row(weight).state_bytes(1), owned ? 12u : 0u);
  }
}

TEST(Tensors, OfAStageAreItsOwn) {
  const description::Scenario scenario =
      small_model("llama", "resident", {"parallel.pipeline=2", "training.gradient_accumulation=2"});
  const Prepared prepared = prepare(scenario);
  const std::vector<TensorTable> tables = decide_tensors(scenario, prepared);
  ASSERT_EQ(tables.size(), 2u);
  for (std::uint32_t weight = 0; weight < prepared.model.weights.size(); ++weight) {
    const std::uint64_t one = tables[0].row(weight).elements,
                        other = tables[1].row(weight).elements;
    EXPECT_EQ(one + other, prepared.model.weights[weight].parameters.value());
    EXPECT_TRUE(one == 0 || other == 0);
    EXPECT_EQ(tables[0].row(weight).subgroup.has_value(), one > 0);
  }
}

TEST(Tensors, NameTheSubgroupsThatAJobHas) {
  const TensorTable table = table_of("zero_infinity", {"parallel.data=2"});
  const std::vector<Subgroup> groups = subgroups_of(table);
  ASSERT_GT(groups.size(), 2u);
  std::uint64_t members = 0;
  for (std::uint32_t group = 0; group < groups.size(); ++group) {
    std::uint64_t elements = 0;
    for (const Subgroup::Member& member : groups[group].members) {
      EXPECT_EQ(table.row(member.weight).subgroup, group);
      EXPECT_EQ(member.offset % 1024, 0u);  // a sector of fp32
      elements += member.elements;
      ++members;
    }
    EXPECT_EQ(groups[group].elements, elements);
  }
  EXPECT_EQ(members, table.size());
}

// ---- As JSON

std::vector<std::uint64_t> elements_of(const TensorTable& table) {
  std::vector<std::uint64_t> elements;
  for (const TensorRow& row : table.rows()) elements.push_back(row.elements);
  return elements;
}

TensorTable read_again(const TensorTable& table) {
  return read_tensors(json::parse(tensors_json(table).dump()), elements_of(table));
}

TEST(Tensors, OfEachSystemAreReadFromTheirJson) {
  for (const System& system : catalogue()) {
    const TensorTable table = table_of(
        system.name, std::string_view(system.name) == "smart_infinity"
                         ? Overrides{R"(machine.storage.nvme.near_storage={"read": "3 GB/s", )"
                                     R"("write": "2 GB/s", "adam": "0.2 Gparam/s"})"}
                         : Overrides());
    EXPECT_TRUE(read_again(table) == table) << system.name;
  }
}

TEST(Tensors, AreFoldedInTheirJson) {
  const TensorTable table = table_of("zero_infinity", {"strategy.optimizer.subgroup=1e9 params"});
  const json all = tensors_json(table);
  EXPECT_EQ(all.at("rows").size(), 2u);  // matrices on storage, norms on the GPU
  EXPECT_LT(all.at("of_weights").size(), table.size() / 2);
  std::uint64_t weights = 0;
  for (const json& run : all.at("of_weights")) weights += run.at(2).get<std::uint64_t>();
  EXPECT_EQ(weights, table.size());
}

std::string refusal(const json& in) {
  try {
    read_tensors(in, {1, 1});
  } catch (const description::ScenarioError& error) {
    return error.what();
  }
  return "";
}

TEST(Tensors, AreRefusedWhereTheirJsonIsNone) {
  const json row = {{"weight", "bf16"}, {"home", "gpu"}};
  const auto refused = [&](json rows, json runs) {
    return refusal({{"rows", std::move(rows)}, {"of_weights", std::move(runs)}});
  };
  const json one = json::array({row}), both = json::array({json::array({0u, nullptr, 2u})});
  EXPECT_EQ(refused(one, both), "");
  EXPECT_THAT(refusal(3), HasSubstr("rows"));
  EXPECT_THAT(refused(json::array({3}), both), HasSubstr("weight: is missing"));
  EXPECT_THAT(refused(json::array({{{"weight", "fp64"}, {"home", "gpu"}}}), both),
              HasSubstr("no \"fp64\""));
  EXPECT_THAT(refused(json::array({{{"weight", "bf16"}}}), both), HasSubstr("home"));
  EXPECT_THAT(refused(one, json::array({3})), HasSubstr("of_weights"));
  EXPECT_THAT(refused(one, json::array({json::array({1u, nullptr, 2u})})), HasSubstr("no row 1"));
  EXPECT_THAT(refused(one, json::array({json::array({0u, nullptr, 3u})})),
              HasSubstr("more weights"));
  EXPECT_THAT(refused(one, json::array({json::array({0u, nullptr, 1u})})),
              HasSubstr("of 1 weights, the model has 2"));
}

// ---- A table that no system decides yet

/// A frozen weight in 4 bits beside one whose states have 8 and whose master has 32.
TensorTable made_up(std::uint64_t frozen_elements, std::uint64_t elements) {
  TensorRow frozen;
  frozen.elements = frozen_elements;
  frozen.weight = NumberFormat(ElementType::nf4, 64);
  TensorRow trained;
  trained.elements = elements;
  trained.weight = ElementType::bf16;
  trained.gradient = ElementType::bf16;
  trained.has_copy = true;
  trained.states = {{StateKind::master, ElementType::fp32},
                    {StateKind::momentum, NumberFormat(ElementType::int8, 256)},
                    {StateKind::variance, NumberFormat(ElementType::int8, 256)}};
  trained.subgroup = 0;
  trained.updater = OptimizerDevice::gpu;
  return TensorTable({frozen, trained});
}

TEST(Tensors, OfOtherFormatsHaveTheirBytes) {
  const TensorTable table = made_up(1000, 1000);
  const TensorRow &frozen = table.row(0), &trained = table.row(1);
  EXPECT_EQ(frozen.weight.bytes(1000), 500u + 16 * 4);
  EXPECT_EQ(frozen.state_bytes(1000), 0u);
  EXPECT_FALSE(frozen.trainable());
  EXPECT_THROW(frozen.gradient_format(), description::InternalError);
  // 1000 numbers of 8 bits are four blocks of 256
  EXPECT_EQ(trained.state_bytes(1000), 4000u + 2 * (1000 + 4 * 4));
  EXPECT_EQ(trained.updated_bytes(1000), trained.state_bytes(1000));
  EXPECT_FALSE(trained.fp32_states());
  EXPECT_EQ(table.sum([](const TensorRow& row) { return row.weight.bytes(row.elements); }),
            564u + 2000);
  EXPECT_EQ(table.largest([](const TensorRow& row) { return row.state_bytes(row.elements); }),
            6032u);
  EXPECT_TRUE(read_again(table) == table);
}

TEST(Tensors, OfOtherFormatsAreSharedByWholeBlocks) {
  // a share of 4 bits is a multiple of 64 B: 128 numbers, two blocks of 64
  EXPECT_EQ(made_up(1000, 1000).row(0).share(3), 384u);
  EXPECT_EQ(share_of(1000, 3, NumberFormat(ElementType::int8, 256)), 512u);
}

TEST(Tensors, WithoutGradientAreInNoSubgroup) {
  const std::vector<Subgroup> groups = subgroups_of(made_up(1000, 1000));
  ASSERT_EQ(groups.size(), 1u);
  ASSERT_EQ(groups[0].members.size(), 1u);
  EXPECT_EQ(groups[0].members[0].weight, 1u);
  EXPECT_EQ(groups[0].span, 4096u);  // a sector of 8 bits
}

TEST(Tensors, OfASubgroupHaveStatesOfOneFormat) {
  std::vector<TensorRow> rows(made_up(1, 1).rows());
  rows[0] = rows[1];
  rows[0].states.back().format = ElementType::fp32;
  for (TensorRow& row : rows) row.updater = description::OptimizerDevice::gpu;
  EXPECT_EQ(subgroups_of(TensorTable(rows)).size(), 1u);  // the GPU updates weight by weight
  for (TensorRow& row : rows) row.updater = description::OptimizerDevice::cpu;
  EXPECT_THROW(subgroups_of(TensorTable(rows)), description::InternalError);
}

TEST(Tensors, WithoutGradientHaveNoPlaceForOneInALayer) {
  const description::Scenario scenario = small_model("llama", "resident");
  const Prepared prepared = prepare(scenario);
  std::vector<TensorRow> rows(decide_tensors(scenario, prepared).at(0).rows());
  const std::uint32_t frozen = prepared.model.layers[1].weights.front();
  rows[frozen].gradient.reset();
  rows[frozen].weight = NumberFormat(ElementType::nf4, 64);
  const LayerPlans plans = plan_layers(prepared.model, prepared.program, TensorTable(rows),
                                       keep_everything(prepared.program));
  const LayerWeight& slot = plans.layers[1].weights.front();
  EXPECT_EQ(slot.weight, frozen);
  EXPECT_EQ(slot.gradient_share_bytes, 0u);
  EXPECT_EQ(slot.share_bytes, sectors(1024 * 1024 / 2 + 1024 * 1024 / 64 * 4));
  std::uint64_t made = 0;  // gradients of the layer
  for (const PassPlan::Segment& segment : plans.layers[1].backward.segments)
    for (const PlannedKernel& kernel : segment.kernels)
      for (const PlannedOperand& operand : kernel.operands)
        if (operand.area == Area::gradients) {
          EXPECT_NE(operand.offset, 0u);  // the frozen one's slot
          ++made;
        }
  EXPECT_GT(made, 0u);
}

}  // namespace
}  // namespace spillway::strategies::tensors_test
