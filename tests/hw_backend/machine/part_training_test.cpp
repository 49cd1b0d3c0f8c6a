#include "tests/hw_backend/training.hpp"

#include "scenarios/description/errors.hpp"
#include "strategies/run/numerics.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <optional>

/// Trainings of a part of a model: adapters, and what is left beside frozen layers.
namespace spillway::hw_backend::part_training_test {
namespace {

/// Null where the system does not train with the method.
std::optional<description::Scenario> with_method(const std::string& system,
                                                 const Overrides& overrides) {
  try {
    return small_training(system, overrides);
  } catch (const description::ScenarioError& error) {
    EXPECT_NE(std::string(error.what()).find("training.method"), std::string::npos) << error.what();
    return std::nullopt;
  }
}

struct Way {
  const char* name;
  Overrides overrides;
};

/// With each system that trains so, bit for bit as the reference does; the reference's losses.
std::vector<double> expect_the_reference_everywhere(const Way& way) {
  std::size_t systems = 0;
  std::vector<double> losses;
  for (const std::string& system : systems_under_test()) {
    SCOPED_TRACE(system + " " + way.name);
    const auto scenario = with_method(system, way.overrides);
    if (!scenario) continue;
    ++systems;
    const RealRun run = train_for_real(*scenario);
    EXPECT_TRUE(run.result.feasible());
    const RealRun& reference = reference_run(*scenario, std::string("part_") + way.name);
    EXPECT_EQ(run.trained.losses, reference.trained.losses);
    EXPECT_EQ(different(run.trained, reference.trained), 0u);
    std::uint64_t trained = 0;  // elements that are not 0: of adapters' second matrices all
    for (const auto& master : run.trained.masters)
      trained += static_cast<std::uint64_t>(
          std::count_if(master.begin(), master.end(), [](float one) { return one != 0; }));
    EXPECT_GT(trained, 0u);
    losses = reference.trained.losses;
  }
  EXPECT_GT(systems, 5u);
  return losses;
}

// Weights that are frozen stay where they are, read-only; adapters of rank 1024 are so large that
// they and their states are swapped as other weights are.
TEST(TrainingOfAPart, EndsWhereTheReferenceDoes) {
  const Way parts[] = {
      {"adapters", {"training.method=lora", "training.lora.targets=all_linear"}},
      {"large_adapters",
       {"training.method=lora", "training.lora.rank=1024", "training.lora.alpha=64",
        R"(training.lora.targets=["gate_proj"])"}},
      {"fp32_adapters",
       {"training.method=lora", "training.lora.adapters=fp32", "training.gradient_accumulation=2"}},
      {"dora", {"training.method=lora", "training.lora.dora=true", "training.lora.alpha=32"}},
      {"fp32_dora",
       {"training.method=lora", "training.lora.dora=true", "training.lora.adapters=fp32",
        "training.lora.targets=all_linear"}},
      {"4_bits", {"training.method=qlora", "training.lora.targets=all_linear"}},
      {"8_bits",
       {"training.method=qlora", "training.lora.base=int8", "training.lora.dora=true",
        "training.gradient_accumulation=2"}},
      {"frozen_layers",
       {"training.method=frozen", R"(training.frozen=["embeddings","layers.0","lm_head"])"}},
  };
  for (const Way& way : sampled(parts)) expect_the_reference_everywhere(way);
}

// Of 32 tokens the last of five tiles has four. What a tile computes is what all tokens at once
// would; products of fewer rows may add up in another order, and gradients are sums of five.
TEST(TrainingOfAPart, InTilesEndsWhereTheReferenceDoes) {
  MANY_SYSTEMS_TEST();
  const Way parts[] = {
      {"adapters_in_tiles", {"training.method=lora", "training.lora.targets=all_linear"}},
      {"fp32_dora_in_tiles",
       {"training.method=lora", "training.lora.dora=true", "training.lora.adapters=fp32",
        "training.lora.targets=all_linear", "training.gradient_accumulation=2"}},
      {"4_bits_in_tiles",
       {"training.method=qlora", "training.lora.targets=all_linear", "training.loss=chunked"}},
      {"dora_of_8_bits_in_tiles",
       {"training.method=qlora", "training.lora.base=int8", "training.lora.dora=true",
        "training.lora.targets=all_linear", "training.fused_kernels=false"}},
      {"adapters_of_down_in_tiles",
       {"training.method=lora", R"(training.lora.targets=["down_proj"])", "training.lora.rank=1024",
        "training.lora.alpha=64"}},
      {"frozen_gates_in_tiles",
       {"training.method=frozen", R"(training.frozen=["embeddings","gate_proj"])"}},
  };
  for (const Way& way : sampled(parts)) {
    const RealRun whole = train_for_real(small_training("resident", way.overrides));
    Way in_tiles = way;
    in_tiles.overrides.emplace_back("training.mlp_tiles=5");
    const std::vector<double> losses = expect_the_reference_everywhere(in_tiles);
    ASSERT_EQ(losses.size(), whole.trained.losses.size());
    for (std::size_t step = 0; step < losses.size(); ++step)
      EXPECT_NEAR(losses[step], whole.trained.losses[step], 1e-2) << way.name;
  }
}

// Shares have whole blocks: gathered, a matrix has the numbers of one that nobody shares.
TEST(TrainingBesidePackedMatrices, OfRanksThatShareThemEndsAsOfRanksThatDoNot) {
  LONG_TEST();
  for (const char* base : {"nf4", "int8"})
    for (const char* system : {"resident", "zero_offload", "zero_infinity"}) {
      SCOPED_TRACE(std::string(base) + " " + system);
      const Overrides packed{"training.method=qlora", "training.lora.targets=all_linear",
                             std::string("training.lora.base=") + base, "parallel.data=2"};
      Overrides shared = packed, whole = packed;
      shared.emplace_back("parallel.zero_stage=3");
      whole.emplace_back("parallel.zero_stage=0");
      const description::Scenario scenario = small_training(system, shared);
      const RealRun run = train_for_real(scenario);
      ASSERT_TRUE(run.result.feasible());
      const RealRun& reference =
          reference_run(small_training("resident", whole), std::string("whole_") + base);
      EXPECT_EQ(run.trained.losses, reference.trained.losses);
      EXPECT_EQ(different(run.trained, reference.trained), 0u);
    }
}

}  // namespace
}  // namespace spillway::hw_backend::part_training_test
