#include "answers/bound/bound.hpp"

#include "explore/outcome/outcomes.hpp"
#include "scenarios/json/schema_check.hpp"
#include "sim/plugin.hpp"

#include <gtest/gtest.h>

namespace spillway::answers::bound_test {
namespace {

using nlohmann::json;

description::Scenario scenario(const std::string& text) {
  return scenarios::read_scenario(json::parse(text), {}, explore::known_systems(),
                                  scenarios::Refuse::what_cannot_run)
      .scenario;
}

constexpr const char* streamed = R"({"model": "gpt2", "machine": "gaming_4090",
    "run": {"steps": 1}, "strategy": {"system": "zero_infinity"}})";

/// What is seen while dragging: no run is faster, needs less or moves less.
TEST(Bound, HoldsForWhatIsSimulated) {
  for (const char* system : {"resident", "zero_offload", "zero_infinity", "lohan"}) {
    json text = json::parse(streamed);
    text["strategy"]["system"] = system;
    const description::Scenario asked = scenario(text.dump());
    const answer::Bound bound = bound_of(asked);
    ASSERT_TRUE(bound.known) << system;
    const explore::Backend sim{"sim", sim::open_sim_machine, sim::prepare_sim};
    const result::Result run =
        explore::result_of(explore::simulate_all(sim, std::span(&asked, 1), 1).front());
    EXPECT_GT(bound.step_time_s, 0) << system;
    EXPECT_LE(bound.step_time_s, run.step_time_s) << system;
    EXPECT_GE(*bound.tokens_per_s, run.tokens_per_s) << system;
    EXPECT_LE(bound.memory.at("gpu").floor_bytes, static_cast<double>(run.gpu.total)) << system;
    EXPECT_LE(bound.memory.at("host").floor_bytes, static_cast<double>(run.host.total)) << system;
    EXPECT_EQ(bound.price_usd, run.price_usd) << system;
    EXPECT_GT(bound.busy_s.at(bound.limited_by), 0) << system;
  }
}

/// Machines that differ in numbers share a count, others do not: in any order, it says what it says
/// of each alone.
TEST(Bound, OfOneAfterAnotherIsThatOfEachAlone) {
  const std::vector<std::pair<const char*, json>> changes = {
      {"/name", "first"},
      {"/machine/host/memory", "96 GiB"},
      {"/machine/gpu/memory", "16 GiB"},
      {"/machine/prices_usd/gpu", 99},
      {"/training/micro_batch", 2},
      {"/machine/storage/0/count", 3},
      {"/model", "bloom-560m"},
      {"/strategy/system", "zero_offload"},
      {"/strategy/system", "zero_infinity"},
  };
  json text = json::parse(streamed);
  text["machine"] = json(scenario(streamed).machine);
  Bounding bounding;
  std::vector<json> known;
  for (const auto& [path, value] : changes) {
    text[json::json_pointer(path)] = value;
    const description::Scenario asked = scenario(text.dump());
    known.push_back(bounding.of(asked));
    EXPECT_EQ(known.back(), json(bound_of(asked))) << path;
  }
  EXPECT_NE(known[2], known[1]) << "less room on the GPU";
  EXPECT_NE(known[4], known[3]) << "twice the samples";
}

/// The machine's numbers say where a pipeline is cut: a count holds for one cut.
TEST(Bound, OfStagesIsThatOfTheCutThatTheRatesOfTheGpuMake) {
  json text = json::parse(streamed);
  text["strategy"]["system"] = "resident";
  text["parallel"]["pipeline"] = 2;
  text["training"] = {{"micro_batch", 8}, {"loss", "plain"}};
  Bounding bounding;
  for (const char* rate : {"100 GB/s", "99 GB/s", "200 TB/s", "100 GB/s"}) {
    text["machine"] = {{"name", "two"},
                       {"extends", "h100_8gpu"},
                       {"gpu", {{"count", 2}, {"elementwise", "separate"}, {"memory_rate", rate}}}};
    const description::Scenario asked = scenario(text.dump());
    EXPECT_EQ(json(bounding.of(asked)), json(bound_of(asked))) << rate;
  }
}

TEST(Bound, NamesWhatIsTooSmall) {
  const answer::Bound bound =
      bound_of(scenario(R"({"model": "llama-3.1-8b", "machine": "gaming_4090",
                            "strategy": {"system": "resident"}})"));
  EXPECT_EQ(bound.too_small, "gpu");
  const answer::MemoryFloor& gpu = bound.memory.at("gpu");
  EXPECT_GT(gpu.floor_bytes, gpu.capacity_bytes);
  // 8.03 billion parameters with 16 bytes of weights, gradients and states each, at least
  EXPECT_GT(gpu.floor_bytes, 8.03e9 * 16);
}

TEST(Bound, KnowsNothingOfWhatTrainsNothing) {
  const answer::Bound bound = bound_of(
      scenario(R"({"model": "gpt2", "machine": "gaming_4090", "strategy": {"system": "resident"},
        "run": {"io_bench": {"op": "read", "bytes": "1 MiB", "requests": 4}}})"));
  EXPECT_FALSE(bound.known);
  EXPECT_FALSE(bound.tokens_per_s);
}

TEST(Bound, FitsItsSchema) {
  const json written = bound_of(scenario(streamed));
  std::string refused;
  for (const auto& complaint :
       scenarios::check_schema(scenarios::located_at(written, {}), "answer_bound"))
    refused += to_string(complaint) + "\n";
  EXPECT_EQ(refused, "");
}

}  // namespace
}  // namespace spillway::answers::bound_test
