#include "tests/e2e/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <bit>
#include <cstdlib>
#include <map>

/// Every system on five boxes and five models: nobody crashes, the orders make sense, whoever does
/// not fit or cannot run says why.
namespace spillway::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct Box {
  const char* machine;
  int gpus;
};

constexpr Box boxes[] = {{"gaming_4090", 1},
                         {"lohan_4090_256g", 1},
                         {"workstation_2gpu", 2},
                         {"memascend_c1", 2},
                         {"a100_40_4gpu", 4}};
constexpr const char* models[] = {"gpt2", "llama-3.2-3b", "llama-3.1-8b", "qwen2.5-32b",
                                  "llama-3-70b"};

json job(const std::string& model, const Box& box) {
  return {{"model", model},
          {"machine", box.machine},
          {"parallel", {{"data", box.gpus}}},
          {"training", {{"micro_batch", 4}, {"sequence", 1024}, {"precision", "fp16_mixed"}}},
          {"strategy", {{"system", "resident"}}},
          {"run", {{"steps", 1}}}};
}

/// Each model on one box, in turn; all of them in the long form of the tests.
std::vector<std::string> models_of(std::size_t box) {
  if (std::getenv("SPILLWAY_EVERY_PAIR")) return {std::begin(models), std::end(models)};
  return {models[box]};
}

class Field {
 public:
  explicit Field(const json& results) {
    for (const json& one : results) by_system_[one.at("system")] = one;
  }

  bool has(const std::string& system) const { return by_system_.contains(system); }
  bool fits(const std::string& system) const {
    return has(system) && by_system_.at(system).at("feasible").get<bool>();
  }
  double seconds(const std::string& system) const {
    return by_system_.at(system).at("step_time_s");
  }
  /// Without the update.
  double passes(const std::string& system) const {
    const json& phases = by_system_.at(system).at("phases");
    return phases.at("forward_s").get<double>() + phases.at("backward_s").get<double>();
  }
  std::uint64_t host(const std::string& system) const {
    return by_system_.at(system).at("peak_bytes").at("host").at("total");
  }
  const std::map<std::string, json>& all() const { return by_system_; }

  /// Where the second fits the first does too, and takes at most `factor` of its time.
  void expect_faster(const std::string& fast, const std::string& slow, double factor = 1) const {
    if (!has(fast) || !fits(slow)) return;
    ASSERT_TRUE(fits(fast)) << fast << " beside " << slow;
    EXPECT_LE(seconds(fast), factor * seconds(slow)) << fast << " beside " << slow;
  }

 private:
  std::map<std::string, json> by_system_;
};

/// Keeps all on the GPU: nobody is faster, and who plans what leaves sends nothing away.
void expect_nobody_beats_residence(const Field& field) {
  for (const auto& [system, result] : field.all()) {
    if (result.at("feasible")) field.expect_faster("resident", system, 1.001);
  }
}

void expect_order(const Field& field) {
  if (field.fits("resident")) {
    expect_nobody_beats_residence(field);
    for (const char* planner : {"flashneuron", "capuchin", "checkmate", "g10"})
      field.expect_faster(planner, "resident", 1.001);
    // its update is Adam's kernels one by one
    if (field.fits("teraio")) {
      EXPECT_LE(field.passes("teraio"), 1.001 * field.passes("resident"));
    }
  }
  // one schedule, other buffers: the same bytes and less memory
  field.expect_faster("memascend", "zero_infinity");
  if (field.fits("zero_infinity")) {
    EXPECT_LT(field.host("memascend"), field.host("zero_infinity"));
  }
  // gradients that stay off the drives, states that stay in slots
  field.expect_faster("mlp_offload", "zero_infinity");
  // the update under backward instead of behind it, with half of the buffers
  field.expect_faster("lohan", "memascend");
  // the drives see nothing of what lies in host memory
  if (field.fits("zero_offload")) {
    EXPECT_TRUE(field.fits("zero_infinity"));
    for (const char* slow : {"zero_infinity", "memascend"})
      EXPECT_LT(field.seconds("zero_offload"), field.seconds(slow)) << slow;
  }
}

/// Who updates beside the steps is fast at the price of late updates, and says so.
void expect_lateness(const Field& field) {
  for (const auto& [system, result] : field.all()) {
    if (!result.at("feasible")) continue;
    const bool late = system == "angel_ptm" || system == "zenflow";
    EXPECT_EQ(result.contains("staleness"), late) << system;
  }
  if (field.fits("angel_ptm")) {
    EXPECT_GE(field.all().at("angel_ptm").at("staleness").at("max").get<int>(), 1);
  }
}

void expect_reason(const json& result) {
  const json& why = result.at("infeasible");
  EXPECT_THAT((std::vector<std::string>{"gpu", "host", "ssd"}), testing::Contains(why.at("tier")));
  EXPECT_FALSE(why.at("purpose").get<std::string>().empty());
  EXPECT_FALSE(why.at("phase").get<std::string>().empty());
  // pinned memory may round up to a power of two
  const auto asked = why.at("asked_bytes").get<std::uint64_t>();
  const auto taken = why.at("tier") == "host" ? std::bit_ceil(asked) : asked;
  EXPECT_GT(taken, why.at("free_bytes").get<std::uint64_t>());
}

class AllSystems : public testing::TestWithParam<std::size_t> {};

TEST_P(AllSystems, RunOrSayWhyNot) {
  const Box& box = boxes[GetParam()];
  const Workplace place;
  const std::size_t systems = spillway("systems --json").json().size();
  for (const std::string& model : models_of(GetParam())) {
    SCOPED_TRACE(model + " on " + box.machine);
    place.write("job.json", job(model, box).dump());
    const Ended ended = shell(place, "spillway compare job.json --system all --json");
    ASSERT_EQ(ended.exit, 0) << ended.err;
    const json results = ended.json();
    const Field field(results);
    std::size_t left_out = 0;
    for (auto at = ended.err.find("left out: "); at != std::string::npos;
         at = ended.err.find("left out: ", at + 1))
      ++left_out;
    EXPECT_EQ(field.all().size() + left_out, systems) << ended.err;
    expect_order(field);
    expect_lateness(field);
    for (const auto& [system, result] : field.all()) {
      SCOPED_TRACE(system);
      if (!result.at("feasible")) expect_reason(result);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Boxes, AllSystems, testing::Range<std::size_t>(0, std::size(boxes)),
                         [](const auto& box) { return std::string(boxes[box.param].machine); });

}  // namespace
}  // namespace spillway::e2e
