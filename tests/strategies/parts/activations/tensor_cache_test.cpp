#include "strategies/parts/activations/cached_tensor.hpp"
#include "strategies/planner/saved/cache_budget.hpp"
#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies::tensor_cache_test {
namespace {

using Action = CachedTensor::Action;
using description::InternalError;

TEST(CachedTensor, IsStoredAndLoadedWhenNobodyAsksBeforeItsWriteEnds) {
  CachedTensor tensor;
  EXPECT_EQ(tensor.state(), CacheState::absent);
  EXPECT_EQ(tensor.pack(false), Action::store);
  EXPECT_EQ(tensor.state(), CacheState::storing);
  tensor.write_began();
  EXPECT_TRUE(tensor.write_ended());  // its bytes are free
  EXPECT_EQ(tensor.state(), CacheState::stored);
  EXPECT_EQ(tensor.request(true, true), Action::load);
  EXPECT_EQ(tensor.state(), CacheState::loading);
  EXPECT_EQ(tensor.request(true, true), Action::wait);
  tensor.read_ended();
  EXPECT_EQ(tensor.state(), CacheState::loaded);
  EXPECT_EQ(tensor.request(true, true), Action::nothing);
  tensor.release();
  EXPECT_EQ(tensor.state(), CacheState::absent);
}

TEST(CachedTensor, IsForwardedWhileItsWriteIsUnderWayAndOutlivesItsRelease) {
  CachedTensor tensor;
  EXPECT_EQ(tensor.pack(false), Action::store);
  tensor.write_began();
  EXPECT_EQ(tensor.request(true, true), Action::nothing);  // too late to drop the write
  EXPECT_EQ(tensor.state(), CacheState::forwarded);
  tensor.release();
  EXPECT_TRUE(tensor.write_pending());
  EXPECT_FALSE(tensor.write_ended());  // nothing was held any more
  EXPECT_EQ(tensor.state(), CacheState::absent);
}

TEST(CachedTensor, KeepsItsBytesWhenTheWriteEndsAfterItWasForwarded) {
  CachedTensor tensor;
  EXPECT_EQ(tensor.pack(false), Action::store);
  EXPECT_EQ(tensor.request(true, false), Action::nothing);
  tensor.write_began();
  EXPECT_FALSE(tensor.write_ended());
  EXPECT_EQ(tensor.state(), CacheState::forwarded);
}

TEST(CachedTensor, DropsAWriteThatHasNotBegunWhereThatIsAllowed) {
  CachedTensor tensor;
  EXPECT_EQ(tensor.pack(false), Action::store);
  EXPECT_EQ(tensor.request(true, true), Action::drop_store);
  EXPECT_EQ(tensor.state(), CacheState::forwarded);
}

TEST(CachedTensor, IsReadBackAfterItsWriteWithoutForwarding) {
  CachedTensor tensor;
  EXPECT_EQ(tensor.pack(false), Action::store);
  tensor.write_began();
  EXPECT_EQ(tensor.request(false, false), Action::load);
  EXPECT_EQ(tensor.state(), CacheState::loading);
  EXPECT_THROW(tensor.read_ended(), InternalError);  // the write comes first
  EXPECT_TRUE(tensor.write_ended());
  tensor.read_ended();
  EXPECT_EQ(tensor.state(), CacheState::loaded);
}

TEST(CachedTensor, ThatIsKeptNeverMoves) {
  CachedTensor tensor;
  EXPECT_EQ(tensor.pack(true), Action::nothing);
  EXPECT_EQ(tensor.request(true, true), Action::nothing);
  EXPECT_EQ(tensor.state(), CacheState::kept);
  tensor.release();
  EXPECT_EQ(tensor.state(), CacheState::absent);
}

TEST(CachedTensor, RefusesEventsThatItsStateCannotHave) {
  CachedTensor absent;
  EXPECT_THROW(static_cast<void>(absent.request(true, true)), InternalError);
  EXPECT_THROW(absent.release(), InternalError);
  EXPECT_THROW(absent.write_began(), InternalError);
  EXPECT_THROW(static_cast<void>(absent.write_ended()), InternalError);
  CachedTensor storing;
  EXPECT_EQ(storing.pack(false), Action::store);
  EXPECT_THROW(static_cast<void>(storing.pack(false)), InternalError);
  EXPECT_THROW(storing.release(), InternalError);
}

// Three modules of 1 s and 10 B: the forward takes 3 s.
//   module 0: 2 x 10 B in 9 s            2.22 B/s
//   module 1: (10 + 20) B in 9 - 2 s     4.29 B/s
//   module 2: (20 + 20) B in 9 - 4 s     8 B/s
TEST(ModulesToOffload, StopAtTheFirstThatNeedsMoreThanTheRate) {
  const std::vector<ModuleLoad> modules(3, {1, 10});
  EXPECT_EQ(modules_to_offload(modules, 3, 2.2), 0u);
  EXPECT_EQ(modules_to_offload(modules, 3, 4.28), 1u);
  EXPECT_EQ(modules_to_offload(modules, 3, 4.3), 2u);
  EXPECT_EQ(modules_to_offload(modules, 3, 8), 3u);  // exactly enough
  EXPECT_EQ(modules_to_offload(modules, 3, 7.999), 2u);
  EXPECT_EQ(modules_to_offload({}, 3, 1), 0u);
}

TEST(ModulesToOffload, KeepsAllBehindTheOneThatFailsHoweverSmall) {
  const std::vector<ModuleLoad> modules{{1, 10}, {1, 1000}, {1, 1}};
  EXPECT_EQ(modules_to_offload(modules, 3, 8), 1u);
}

TEST(RequiredWriteBandwidth, IsTheBytesOfAStepOverHalfOfIt) {
  EXPECT_EQ(required_write_bandwidth(12, 2), 12);
  EXPECT_EQ(required_write_bandwidth(12, 0), 0);
}

/// All tensors of the blocks are cached, on a box whose GPU is so slow that every store ends within
/// its step.
const Overrides all{"machine.gpu.compute.fp16=0.2 TFLOPS", "strategy.activations.min_elements=0",
                    "strategy.activations.swap_bytes=all", "strategy.activations.keep_last=none"};

Overrides with(Overrides base, const Overrides& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

std::uint64_t block_bytes(const description::Scenario& scenario) {
  const Prepared prepared = prepare(scenario);
  std::uint64_t bytes = 0;
  for (std::uint32_t layer = 0; layer < prepared.model.layers.size(); ++layer)
    if (prepared.model.layers[layer].is_block)
      for (const models::TensorId id : prepared.program.saved_by(layer))
        if (prepared.program.tensors[id].role == models::TensorRole::activation)
          bytes += sectors(prepared.program.tensors[id].bytes.value());
  return bytes;
}

class Ssdtrain : public ::testing::TestWithParam<std::string> {};

TEST_P(Ssdtrain, WritesEachTensorOnceAndReadsBackWhatWasNotForwarded) {
  for (const Overrides& more : {Overrides{}, {"training.gradient_accumulation=2"}}) {
    const description::Scenario scenario = small_model(GetParam(), "ssdtrain", with(all, more));
    const std::uint64_t micro = scenario.training.gradient_accumulation;
    const result::Result run = simulate(scenario);
    ASSERT_TRUE(run.feasible());
    if (GetParam() != "t5") {  // whose encoder's output is saved by every decoder, and stored once
      EXPECT_EQ(run.io.ssd_write, micro * block_bytes(scenario));
    }
    EXPECT_EQ(run.plan.at("swap_bytes"), run.io.ssd_write);
    EXPECT_EQ(run.plan.at("kept_bytes"), 0u);
    EXPECT_EQ(run.io.ssd_read + run.plan.at("forwarded_bytes").get<std::uint64_t>(),
              run.io.ssd_write);
  }
}

TEST_P(Ssdtrain, WithoutForwardingReadsAllOfIt) {
  const result::Result run = simulate(small_model(
      GetParam(), "ssdtrain",
      with(all, {"strategy.activations.forwarding=false", "strategy.activations.cancel=never"})));
  EXPECT_EQ(run.io.ssd_read, run.io.ssd_write);
  EXPECT_EQ(run.plan.at("forwarded_bytes"), 0u);
}

TEST_P(Ssdtrain, WithoutABudgetKeepsEverythingAsResidentDoes) {
  const result::Result none =
      simulate(small_model(GetParam(), "ssdtrain", {"strategy.activations.swap_bytes=0 B"}));
  EXPECT_EQ(none.io.ssd_write, 0u);
  EXPECT_EQ(none.io.ssd_read, 0u);
}

TEST_P(Ssdtrain, PrefetchDepthChangesNoByte) {
  const auto bytes = [&](const std::string& depth) {
    const result::Result run = simulate(small_model(
        GetParam(), "ssdtrain",
        with(all, {"strategy.activations.prefetch=" + depth,
                   "strategy.activations.forwarding=false", "strategy.activations.cancel=never"})));
    return std::pair(run.io.ssd_write, run.io.ssd_read);
  };
  EXPECT_EQ(bytes("module"), bytes("layer"));
  EXPECT_EQ(bytes("0"), bytes("layer"));
  EXPECT_EQ(bytes("3"), bytes("layer"));
}

TEST_P(Ssdtrain, GoesToPinnedHostMemoryWhereThatIsItsHome) {
  const result::Result run = simulate(
      small_model(GetParam(), "ssdtrain", with(all, {"strategy.activations.homes=[\"host\"]"})));
  ASSERT_TRUE(run.feasible());
  EXPECT_EQ(run.io.ssd_write, 0u);
  EXPECT_EQ(run.plan.at("swap_bytes"), run.io.d2h);
  EXPECT_EQ(run.io.gpu_direct, 0u);
}

TEST_P(Ssdtrain, KeepsTheLastModuleAndTheLastLayer) {
  const auto written = [&](const std::string& keep) {
    return simulate(small_model(GetParam(), "ssdtrain",
                                with(all, {"strategy.activations.keep_last=" + keep})))
        .io.ssd_write;
  };
  EXPECT_LT(written("module"), written("none"));
  EXPECT_LT(written("layer"), written("module"));
}

TEST_P(Ssdtrain, LeavesTensorsBelowTheLimitWhereTheyAre) {
  const description::Scenario scenario = small_model(GetParam(), "ssdtrain", all);
  const Prepared prepared = prepare(scenario);
  std::uint64_t largest = 0;
  for (std::uint32_t layer = 0; layer < prepared.model.layers.size(); ++layer)
    if (prepared.model.layers[layer].is_block)
      for (const models::TensorId id : prepared.program.saved_by(layer))
        largest = std::max(largest, prepared.program.tensors[id].elements);
  const auto written = [&](std::uint64_t limit) {
    Overrides overrides = all;
    overrides[1] = "strategy.activations.min_elements=" + std::to_string(limit);
    return simulate(small_model(GetParam(), "ssdtrain", overrides)).io.ssd_write;
  };
  EXPECT_GT(written(largest), 0u);  // exactly at it is offloaded
  EXPECT_EQ(written(largest + 1), 0u);
}

INSTANTIATE_TEST_SUITE_P(Models, Ssdtrain, ::testing::ValuesIn(small_models()),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace spillway::strategies::tensor_cache_test
