#include "strategies/decide/tensors.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>
#include <map>
#include <set>

/// What trains less than all of a model: adapters, frozen layers, frozen weights in few bits.
namespace spillway::strategies::methods_test {
namespace {

using description::Home;

Overrides with(Overrides overrides, const Overrides& more) {
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}

const Overrides lora{"training.method=lora", "training.lora.targets=all_linear",
                     "training.lora.rank=16"};

/// Bytes of what is trained, or of what is not, each tensor padded to `unit`.
std::uint64_t padded_bytes(const models::Model& model, bool frozen, std::uint64_t width,
                           std::uint64_t unit) {
  std::uint64_t bytes = 0;
  for (const models::WeightTensor& weight : model.weights)
    if (weight.frozen == frozen)
      bytes += description::divide_up(weight.parameters.value() * width, unit) * unit;
  return bytes;
}

// 2 B for every weight, 2 B for an adapter's gradient and 12 B for its master and states.
TEST(Adapters, AloneHaveGradientsAndStates) {
  for (const Overrides& adapters : {lora, with(lora, {"training.lora.dora=true"})}) {
    const description::Scenario scenario =
        small_model("llama", "resident", with(adapters, {"strategy.gradients.memory=at_start"}));
    const models::Model model = model_of(scenario);
    const result::PeakBytes gpu = count(scenario).result.gpu;
    EXPECT_EQ(at_peak(gpu, "weights"),
              padded_bytes(model, true, 2, 4096) + padded_bytes(model, false, 2, 4096));
    EXPECT_EQ(at_peak(gpu, "gradients"), padded_bytes(model, false, 2, 4096));
    EXPECT_EQ(at_peak(gpu, "optimizer_states"), padded_bytes(model, false, 12, 64));
  }
}

// Themselves 4 B, their gradients 4 B, momentum and variance 8 B: as much, and no narrow copy.
TEST(Adapters, InFp32AreTheirOwnMasters) {
  const description::Scenario scenario =
      small_model("llama", "resident", with(lora, {"training.lora.adapters=fp32"}));
  const models::Model model = model_of(scenario);
  const result::PeakBytes gpu = count(scenario).result.gpu;
  EXPECT_EQ(at_peak(gpu, "weights"),
            padded_bytes(model, true, 2, 4096) + padded_bytes(model, false, 4, 4096));
  EXPECT_EQ(at_peak(gpu, "gradients"), padded_bytes(model, false, 4, 4096));
  EXPECT_EQ(at_peak(gpu, "optimizer_states"), padded_bytes(model, false, 8, 64));
}

// Forward reads every weight on the drive once, backward all but the embedding's; what is written
// are the adapters' masters and states. The adapters are so small that they stay on the GPU.
TEST(Adapters, WearADriveByTheirStatesAlone) {
  const description::Scenario scenario =
      small_model("llama", "zero_infinity", with(lora, {"strategy.weights.max_in_host=0 params"}));
  const models::Model model = model_of(scenario);
  const TensorTable table = decide_tensors(scenario, prepare(scenario)).at(0);
  std::uint64_t forward = 0, backward = 0;
  for (std::uint32_t weight = 0; weight < table.size(); ++weight) {
    if (table.row(weight).home != Home::ssd) continue;
    const std::uint64_t bytes = sectors(2 * table.row(weight).elements);
    forward += bytes;
    if (model.weights[weight].layer > 0) backward += bytes;
  }
  ASSERT_GT(forward, 0u);
  std::uint64_t states = 0;
  for (const std::uint64_t group : state_bytes(scenario)) states += group;
  EXPECT_NEAR(static_cast<double>(states),
              12.0 * static_cast<double>(model.trained_parameters().value()), 1e5);
  const result::Result run = count(scenario).result;
  EXPECT_EQ(run.io.ssd_read, forward + backward + states);
  EXPECT_EQ(run.io.ssd_write, states);
  EXPECT_EQ(run.placed, (std::map<std::string, std::uint64_t>{
                            {scenario.machine.storage.front().name, forward + states}}));
  // whole layers of weights that nobody trains, and no states: nothing is written
  const Overrides small = with(lora, {"training.lora.rank=1", "training.lora.targets=attention"});
  EXPECT_EQ(count(small_model("llama", "zero_infinity", small)).result.io.ssd_write, 0u);
}

// A packed matrix is widened before each product, by a kernel of its own: in forward once, in
// backward once and, as the block is computed anew, once more.
TEST(Adapters, OnPackedWeightsWaitForTheirWideCopies) {
  const auto step_s = [](const Overrides& method) {
    return simulate(small_model("llama", "resident",
                                with({"training.precision=bf16", "run.steps=1",
                                      "strategy.activations.policy=checkpoint_gpu"},
                                     method)))
        .step_time_s;
  };
  const Overrides packed{"training.method=qlora", "training.lora.targets=all_linear"};
  const description::Scenario scenario =
      small_model("llama", "resident", with({"training.precision=bf16"}, packed));
  const models::Model model = model_of(scenario);
  const models::Formats formats(scenario.training);
  double bytes = 0, products = 0;
  for (const models::WeightTensor& weight : model.weights) {
    if (!formats.numbers(weight).is_packed()) continue;
    const std::uint64_t n = weight.parameters.value();
    bytes += static_cast<double>(formats.numbers(weight).bytes(n) + 2 * n);
    products += 1;
  }
  const description::GpuSpec& gpu = scenario.machine.gpu;
  const double longer = step_s(packed) - step_s(lora);
  EXPECT_NEAR(longer, 3 * bytes / gpu.memory_rate.value(),
              1e-3 * longer + 3 * products * gpu.launch.value());
  EXPECT_GT(longer, 0);
}

// Of adapters that are large enough states and new weights are written, of frozen weights nothing.
TEST(Adapters, ThatAreLargeAreSwappedAsOtherWeightsAre) {
  const description::Scenario scenario =
      small_model("llama", "zero_infinity",
                  {"training.method=lora", "training.lora.rank=1024",
                   R"(training.lora.targets=["gate_proj"])"});
  const models::Model model = model_of(scenario);
  const double written = static_cast<double>(count(scenario).result.io.ssd_write);
  const double trained = static_cast<double>(model.trained_parameters().value());
  // 12 B of states, 4 B of gradients, which wait there for the update, and 2 B of weights
  EXPECT_NEAR(written, 18 * trained, 0.01 * written);
}

// ZeRO-3 gathers all weights for both passes, 2 x 1/2 x 2 B on each of two ranks, but those of the
// embedding once; gradients that are reduced are the adapters' alone.
TEST(Adapters, SendNoGradientsOfTheFrozenModel) {
  const description::Scenario scenario =
      small_model("llama", "resident",
                  with(lora, {"parallel.data=2", "parallel.zero_stage=3",
                              "strategy.weights.persistence_threshold=0 params"}));
  const models::Model model = model_of(scenario);
  const double all = static_cast<double>(model.parameters.value());
  const double embedding = static_cast<double>(model.weights.front().parameters.value());
  const double adapters = static_cast<double>(model.trained_parameters().value());
  const double each = static_cast<double>(count(scenario).result.io.network) / 2;
  EXPECT_NEAR(each, 2 * all - embedding + adapters, 0.001 * all);
}

TEST(Adapters, OfAFrozenModelInFourBitsHaveScratchForAMatrix) {
  const Overrides qlora = with(lora, {"training.method=qlora"});
  const description::Scenario scenario = small_model("llama", "resident", qlora);
  const Prepared prepared = prepare(scenario);
  const TensorTable table = decide_tensors(scenario, prepared).at(0);
  std::uint64_t weights = 0;
  for (const TensorRow& row : table.rows()) weights += sectors(row.weight.bytes(row.elements));
  const result::Result run = count(scenario).result;
  EXPECT_EQ(at_peak(run.gpu, "weights"), weights);
  EXPECT_LT(run.gpu.total, count(small_model("llama", "resident", lora)).result.gpu.total);
  std::uint64_t largest = 0;
  for (const models::Operator& op : prepared.program.operators)
    if (op.function == models::OperatorFunction::product)
      largest = std::max(largest, op.workspace.value());
  EXPECT_EQ(largest, 2u * 1024 * 4096);  // a feed-forward matrix in 16 bits
}

// 64 tokens of two blocks, 1024 wide, 4096 between, in 2 B. Whole, a block keeps for its
// feed-forward: gate, up and their product, and of three adapters of rank 16 what is between their
// matrices. In tiles it keeps the input alone, which A of gate and of up keeps in any case. Of two
// blocks both keep it at the peak, which is where backward begins.
TEST(Adapters, InTilesLeaveTheInputOfAFeedForwardAlone) {
  const Overrides kept = with(lora, {"strategy.activations.policy=keep"});
  const auto activations = [&](const Overrides& more) {
    const description::Scenario scenario = small_model("llama", "resident", with(kept, more));
    const Prepared prepared = prepare(scenario);
    std::uint64_t bytes = 0;
    for (std::uint32_t layer = 1; layer <= 2; ++layer)
      for (const models::TensorId id : prepared.program.saved_by(layer))
        bytes += prepared.program.tensors[id].bytes.value();
    return bytes;
  };
  const description::Scenario scenario = small_model("llama", "resident", kept);
  const std::uint64_t tokens = scenario.training.micro_batch * scenario.training.sequence;
  const std::uint64_t whole = activations({}), tiled = activations({"training.mlp_tiles=4"});
  EXPECT_EQ(whole - tiled, 2 * 2 * tokens * (3 * 4096 + 3 * 16));
  const auto peak = [&](const Overrides& more) {
    return count(small_model("llama", "resident", with(kept, more))).result.gpu.total;
  };
  EXPECT_LT(peak({"training.mlp_tiles=4"}), peak({}));
}

TEST(FrozenLayers, AtTheBottomAreFetchedForForwardAlone) {
  const description::Scenario scenario =
      small_model("llama", "zero_infinity",
                  {"training.method=frozen", R"(training.frozen=["embeddings","layers.0"])",
                   "strategy.weights.max_in_host=0 params"});
  const models::Model model = model_of(scenario);
  const Counted run = count(scenario);
  const auto read = [&](result::Phase phase) {
    std::uint64_t bytes = 0;
    for (const StorageDemand& storage : run.demands.back().of(phase).storages)
      bytes += storage.read;
    return bytes;
  };
  const TensorTable table = decide_tensors(scenario, prepare(scenario)).at(0);
  std::uint64_t all = 0, upper = 0;
  for (std::uint32_t weight = 0; weight < table.size(); ++weight) {
    if (table.row(weight).home != Home::ssd) continue;
    const std::uint64_t bytes = sectors(2 * table.row(weight).elements);
    all += bytes;
    if (model.weights[weight].layer > 1) upper += bytes;
  }
  ASSERT_LT(upper, all);
  EXPECT_EQ(read(result::Phase::forward), all);
  EXPECT_EQ(read(result::Phase::backward), upper);
}

/// Every system and every way to have activations, in counting and in simulation.
TEST(Methods, RunOnEverySystemThatDoesNotSayWhyNot) {
  const Overrides methods[] = {
      lora,
      with(lora, {"training.method=qlora", "training.gradient_accumulation=2"}),
      {"training.method=frozen", R"(training.frozen=["embeddings","layers.0"])"},
      with(lora, {"training.method=qlora", "training.mlp_tiles=3", "training.lora.dora=true"}),
      with(lora, {"parallel.data=2", "training.lora.adapters=fp32"})};
  std::set<std::string> trained;
  for (const System& system : catalogue())
    for (const Overrides& method : methods)
      for (const char* model : {"llama", "llama_tied", "gpt2", "mixtral", "t5"}) {
        SCOPED_TRACE(std::string(system.name) + " " + model + " " + method.front());
        std::optional<description::Scenario> scenario;
        try {
          scenario = small_model(model, system.name, method);
        } catch (const description::ScenarioError& error) {
          EXPECT_THAT(error.what(), ::testing::AnyOf(::testing::HasSubstr("training.method"),
                                                     ::testing::HasSubstr("no dense feed-forward"),
                                                     ::testing::HasSubstr("near_storage")));
          continue;
        }
        const result::Result counted = count(*scenario).result, simulated = simulate(*scenario);
        EXPECT_TRUE(counted.feasible());
        EXPECT_TRUE(simulated.feasible());
        trained.insert(system.name);
        if (scenario->strategy.activations.policy == description::ActivationPolicy::tensor_cache)
          continue;  // what leaves is a matter of time
        EXPECT_EQ(counted.io.ssd_write, simulated.io.ssd_write);
        EXPECT_EQ(counted.io.ssd_read, simulated.io.ssd_read);
      }
  for (const char* system : {"resident", "zero_offload", "zero_infinity", "memascend"})
    EXPECT_TRUE(trained.contains(system)) << system;
}

}  // namespace
}  // namespace spillway::strategies::methods_test
