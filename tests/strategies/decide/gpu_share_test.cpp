#include "strategies/decide/gpu_share.hpp"
#include "strategies/decide/tensors.hpp"
#include "strategies/layout/subgroups.hpp"
#include "tests/reports/text/words_of.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies::gpu_share_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string note(const description::Scenario& scenario) {
  const Prepared prepared = prepare(scenario);
  return words(idle_share_note(scenario, prepared, decide_tensors(scenario, prepared)));
}

description::Scenario shared(const std::string& share, const std::string& subgroup) {
  return small_model(
      "llama", "zero_offload",
      {"strategy.optimizer.cpu_share=" + share, "strategy.optimizer.subgroup=" + subgroup});
}

TEST(GpuShare, OfSubgroupsIsRoundedDown) {
  EXPECT_EQ(subgroups_of_gpu(0.8, 4), 0u);
  EXPECT_EQ(subgroups_of_gpu(0.8, 5), 0u);  // 1 - 0.8 is 0.19999999999999996
  EXPECT_EQ(subgroups_of_gpu(0.8, 6), 1u);
  EXPECT_EQ(subgroups_of_gpu(0.5, 4), 2u);
  EXPECT_EQ(subgroups_of_gpu(0, 3), 3u);
}

// The size that it names is one with which the GPU has some.
TEST(GpuShare, ThatComesToNothingIsSaidWithASizeThatMendsIt) {
  const description::Scenario scenario = shared("0.8", "1e9 params");
  const std::string words = note(scenario);
  EXPECT_THAT(words, HasSubstr("optimizer.cpu_share 0.8 (DeepSpeed's ratio) changes nothing: of a "
                               "rank's 2 sub-groups the GPU would take 20 % of 2, rounded down to "
                               "none"));
  const std::size_t at = words.find("optimizer.subgroup ");
  ASSERT_NE(at, std::string::npos) << words;
  const std::string size =
      std::to_string(std::stoull(words.substr(at + std::string("optimizer.subgroup ").size())));
  const description::Scenario mended = shared("0.8", size + " params");
  EXPECT_EQ(note(mended), "");
  const std::size_t groups = subgroups_of(decide_tensors(mended, prepare(mended)).at(0)).size();
  EXPECT_THAT(words, HasSubstr("takes " + std::to_string(subgroups_of_gpu(0.8, groups)) + " of " +
                               std::to_string(groups)));
}

TEST(GpuShare, ThatNoSizeMendsIsSaidWithout) {
  EXPECT_THAT(note(shared("0.9999", "1e9 params")),
              AllOf(HasSubstr("<1 % of 2"), Not(HasSubstr("with optimizer.subgroup"))));
}

TEST(GpuShare, ThatComesToSomethingIsNotSaid) {
  EXPECT_EQ(note(shared("0.5", "1e9 params")), "");
  EXPECT_EQ(note(shared("1", "1e9 params")), "");
}

TEST(GpuShare, ThatASystemHasByItselfIsNotSaidOfItsRuns) {
  const auto notes = [](const description::Scenario& scenario) {
    return text::words_of(count(scenario).result.notes);
  };
  const auto says = Contains(HasSubstr("changes nothing: of a rank's"));
  EXPECT_THAT(notes(shared("0.8", "1e9 params")), says);
  EXPECT_THAT(notes(shared("0.5", "1e9 params")), Not(says));
  EXPECT_THAT(notes(small_model("llama", "superoffload", {})), Not(says));
}

}  // namespace
}  // namespace spillway::strategies::gpu_share_test
