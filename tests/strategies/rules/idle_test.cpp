#include "strategies/systems/catalogue.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>

/// Settings that nothing reads beside the others.
namespace spillway::strategies::idle_test {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

const char* const idle = "nothing reads";
/// small_model() writes another, which the GPU's updates do not read.
const std::string usual_subgroup = "strategy.optimizer.subgroup=1e8 params";

std::vector<std::string> said_of(const std::string& system, const Overrides& written) {
  return warnings_of(nlohmann::json(small_model("llama", system)), written);
}

TEST(IdleSettings, AreNamedWithTheReasonTogether) {
  EXPECT_THAT(said_of("zero_offload",
                      {"strategy.optimizer.buffers=8", "strategy.optimizer.pipeline_read=true"}),
              Contains("strategy.optimizer.pipeline_read, strategy.optimizer.buffers: nothing "
                       "reads them here, as states are not on SSD: they change nothing"));
  EXPECT_THAT(said_of("zero_offload", {"strategy.weights.home=gpu", "parallel.zero_stage=2",
                                       "strategy.gradients.d2h=pageable"}),
              Contains(HasSubstr("strategy.gradients.d2h: nothing reads it here, as gradients land "
                                 "in states")));
  EXPECT_THAT(said_of("resident", {"parallel.schedule=gpipe"}),
              Contains("parallel.schedule: nothing reads it here, as there is one stage: it "
                       "changes nothing"));
  EXPECT_THAT(said_of("zero_infinity", {"strategy.gradients.collective=all_reduce"}),
              Contains(HasSubstr("no ranks of ZeRO-0, 1 or 2")));
}

TEST(IdleSettings, AreThoseThatChangeNothing) {
  const struct {
    const char* system;
    Overrides base, idle;
  } all[] = {
      {"zero_offload", {}, {"strategy.optimizer.ssd_share=0.5", "strategy.optimizer.buffers=8"}},
      {"zero_offload",
       {"strategy.weights.home=gpu", "parallel.zero_stage=2"},
       {"strategy.gradients.d2h=pageable"}},
      {"resident", {}, {"strategy.weights.max_live=5e6 params", "strategy.weights.overlap=false"}},
      {"resident", {}, {"strategy.optimizer.subgroup=1e6 params", "strategy.io_engine=direct"}},
      {"megatrain", {}, {"strategy.weights.overlap=false", "strategy.gradients.flush_tail=1 GiB"}},
      {"zero_infinity", {}, {"strategy.weights.page=64 KiB", "parallel.sequence_parallel=true"}},
  };
  for (const auto& [system, base, idle_there] : all) {
    Overrides written = base;
    written.insert(written.end(), idle_there.begin(), idle_there.end());
    EXPECT_THAT(said_of(system, written), Contains(HasSubstr(idle))) << system;
    result::Result plain = count(small_model("llama", system, base)).result;
    result::Result with = count(small_model("llama", system, written)).result;
    plain.scenario = with.scenario = {};
    EXPECT_EQ(nlohmann::json(plain).dump(), nlohmann::json(with).dump()) << system;
  }
}

// Its slots would be full of what the next update needs last.
TEST(IdleSettings, OfACacheSayWhatItTakes) {
  const char* const said =
      "strategy.optimizer.host_cache: sub-groups stay in host memory only with";
  EXPECT_THAT(said_of("zero_infinity", {"strategy.optimizer.host_cache=1 GiB"}),
              Contains(HasSubstr(said)));
  EXPECT_THAT(said_of("zero_infinity", {"strategy.optimizer.host_cache=1 GiB",
                                        "strategy.optimizer.order=alternating"}),
              Each(Not(HasSubstr(said))));
}

TEST(IdleSettings, AreNotThoseThatAreRead) {
  EXPECT_THAT(said_of("zero_infinity",
                      {"strategy.optimizer.buffers=8", "strategy.weights.max_live=5e6 params",
                       "strategy.weights.overlap=false", "strategy.io_engine=direct"}),
              Each(Not(HasSubstr(idle))));
  EXPECT_THAT(said_of("zero_offload",
                      {"strategy.weights.home=gpu", "parallel.zero_stage=2",
                       "strategy.gradients.d2h=pageable", "strategy.gradients.pinned=exact"}),
              Each(Not(HasSubstr(idle))));
  EXPECT_THAT(
      said_of("resident", {usual_subgroup, "parallel.pipeline=2", "parallel.schedule=gpipe"}),
      Each(Not(HasSubstr(idle))));
  EXPECT_THAT(said_of("resident", {"strategy.optimizer.flatten=true", "parallel.data=2",
                                   "strategy.optimizer.subgroup=1e6 params"}),
              Each(Not(HasSubstr(idle))));
}

// A result's scenario has all settings, those that follow from others too.
TEST(IdleSettings, AreNotThoseOfAResultsScenario) {
  for (const System& system : catalogue()) {
    Overrides more{usual_subgroup};
    if (system.name == std::string("smart_infinity"))
      more.emplace_back(R"(machine.storage.nvme.near_storage={"read": "3 GB/s", "write": "2 GB/s",)"
                        R"( "adam": "0.5 Gparam/s"})");
    const description::Scenario scenario = small_model("llama", system.name, more);
    EXPECT_THAT(warnings_of(nlohmann::json(scenario)), Each(Not(HasSubstr(idle)))) << system.name;
  }
}

}  // namespace
}  // namespace spillway::strategies::idle_test
