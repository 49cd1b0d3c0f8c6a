#include "scenarios/reading/knobs.hpp"

#include "scenarios/deepspeed/deepspeed_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/test_systems.hpp"

namespace spillway::scenarios {
namespace {

const std::vector<Knob>& all() {
  static const std::vector<Knob> known = knobs(test_systems());
  return known;
}

Knob only(const std::string& asked) {
  const std::vector<Knob> found = knobs_named(all(), asked);
  EXPECT_EQ(found.size(), 1u) << asked;
  return found.empty() ? Knob{} : found.front();
}

// knobs() itself fails for a knob without words and for words of none.
TEST(Knobs, EachHasWordsAndValues) {
  EXPECT_GT(all().size(), 200u);
  for (const Knob& knob : all()) {
    EXPECT_FALSE(knob.words.empty()) << knob.path;
    EXPECT_FALSE(knob.values.empty()) << knob.path;
  }
}

TEST(Knobs, SayValuesDefaultsAndDeepSpeedsName) {
  const Knob home = only("strategy.weights.home");
  EXPECT_EQ(home.values, "gpu, host or ssd");
  EXPECT_EQ(home.deepspeed, "zero_optimization.offload_param.device");
  ASSERT_EQ(home.defaults.size(), 3u);  // of the systems above: gpu, host and ssd
  EXPECT_EQ(home.defaults[0].first, "gpu");
  EXPECT_THAT(home.defaults[0].second, testing::ElementsAre("resident", "ssdtrain"));
  EXPECT_EQ(only("training.micro_batch").defaults.front().first, "1");
  EXPECT_EQ(only("training.micro_batch").values, "a whole number from 1 to 100000");
  EXPECT_EQ(only("strategy.weights.buffer_size").values, "a number such as \"1e8 params\" or auto");
  EXPECT_TRUE(only("machine.gpu.memory").required);
  EXPECT_FALSE(only("machine.gpu.adam").required);
}

TEST(Knobs, ListTheWordsThatAValueMayBe) {
  using testing::ElementsAre;
  EXPECT_THAT(only("strategy.weights.home").choices, ElementsAre("gpu", "host", "ssd"));
  EXPECT_TRUE(only("strategy.weights.home").only_choices);
  EXPECT_THAT(only("strategy.weights.overlap").choices, ElementsAre("true", "false"));
  EXPECT_THAT(only("strategy.weights.buffer_size").choices, ElementsAre("auto"));
  EXPECT_FALSE(only("strategy.weights.buffer_size").only_choices);  // a number too
  EXPECT_TRUE(only("training.sequence").choices.empty());
}

TEST(KnobsNamed, TakesAPathItsBeginningOrItsEnd) {
  EXPECT_EQ(only("machine.storage.nvme.read").path, "machine.storage.NAME.read");
  EXPECT_EQ(only("machine.storage[0].slc_cache.size").path, "machine.storage.NAME.slc_cache.size");
  EXPECT_EQ(only("prefetch_blocks").path, "strategy.weights.prefetch_blocks");
  for (const Knob& knob : knobs_named(all(), "strategy.weights"))
    EXPECT_TRUE(knob.path.starts_with("strategy.weights.")) << knob.path;
  EXPECT_GT(knobs_named(all(), "strategy.weights").size(), 10u);
  EXPECT_EQ(knobs_named(all(), "home").size(), 2u);   // of weights and optimizer
  EXPECT_EQ(knobs_named(all(), "power").size(), 4u);  // gpu, gpu_waiting, host, ssd
  EXPECT_TRUE(knobs_named(all(), "micro_bath").empty());
}

TEST(KnobsNamed, FindsKeysAndSectionsOfDeepSpeed) {
  EXPECT_EQ(only("offload_optimizer.buffer_count").path, "strategy.optimizer.buffers");
  const auto paths = [](const std::string& asked) {
    std::vector<std::string> names;
    for (const Knob& knob : knobs_named(all(), asked)) names.push_back(knob.path);
    return names;
  };
  EXPECT_THAT(paths("offload_optimizer.device"), testing::Contains("strategy.optimizer.home"));
  EXPECT_THAT(paths("offload_optimizer.device"),
              testing::Not(testing::Contains("machine.storage.NAME.device")));
  EXPECT_THAT(paths("offload_param"), testing::Contains("strategy.weights.home"));
  EXPECT_THAT(paths("zero_optimization"), testing::Contains("parallel.zero_stage"));
  EXPECT_EQ(remark_on("aio.block_size").kind, KeyRemark::Kind::not_modelled);
}

}  // namespace
}  // namespace spillway::scenarios
