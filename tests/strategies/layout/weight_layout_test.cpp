#include "strategies/layout/weight_layout.hpp"
#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies::weight_layout_test {
namespace {

using description::Home;

/// Elements of a model's weights by where they live.
struct Homes {
  std::uint64_t gpu = 0, host = 0, ssd = 0;
};

Homes homes_of(const Overrides& overrides) {
  const description::Scenario scenario = small_model("llama", "zero_infinity", overrides);
  const Decision decision = decided_as_written(scenario);
  const Job job(decision);
  const WeightLayout layout(job);
  Homes homes;
  for (std::uint32_t weight = 0; weight < layout.size(); ++weight) {
    const std::uint64_t elements = job.elements(weight);
    (layout.lives(weight, Home::gpu)    ? homes.gpu
     : layout.lives(weight, Home::host) ? homes.host
                                        : homes.ssd) += elements;
  }
  return homes;
}

// Two blocks of 1024: embedding and head 5000 x 1024 each, a block 2 x 1024^2 (query, output),
// 2 x 512 x 1024 (key, value: 1 MiB in fp16, which is swapped) and 3 x 4096 x 1024; 5 norms.
constexpr std::uint64_t vocabulary = 5000 * 1024, norms = 5 * 1024;
constexpr std::uint64_t block = 2 * 1024 * 1024 + 2 * 512 * 1024 + 3 * 4096 * 1024;

TEST(WeightLayout, KeepsOnTheGpuWhatIsNotWorthSwapping) {
  const Homes homes = homes_of({"strategy.weights.persistence_threshold=0 params"});
  EXPECT_EQ(homes.gpu, norms);
  EXPECT_EQ(homes.host, 0u);
  EXPECT_EQ(homes.ssd, 2 * vocabulary + 2 * block);
}

TEST(WeightLayout, KeepsTensorsUpToTheThresholdToo) {
  const Homes homes = homes_of({"strategy.weights.persistence_threshold=524288 params"});
  EXPECT_EQ(homes.gpu, norms + 2 * 2 * 512 * 1024);
}

TEST(WeightLayout, PutsTheFirstElementsIntoHostMemoryAsFarAsTheyFit) {
  const std::string none = "strategy.weights.persistence_threshold=0 params";
  EXPECT_EQ(homes_of({none, "strategy.weights.max_in_host=5120000 params"}).host, vocabulary);
  // a parameter less: the embedding stays out, and the next that fit come in: query, key, value
  // and output of the first block, query and key of the second, 4.5 x 1024^2
  EXPECT_EQ(homes_of({none, "strategy.weights.max_in_host=5119999 params"}).host, 9u * 512 * 1024);
}

}  // namespace
}  // namespace spillway::strategies::weight_layout_test
