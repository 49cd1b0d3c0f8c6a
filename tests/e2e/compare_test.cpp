#include "tests/e2e/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

namespace spillway::e2e::compare_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string three_systems = " --system resident,zero_offload,zero_infinity";

std::string scenario(const std::string& model, const std::string& machine, int gpus) {
  return json{{"model", model},
              {"machine", machine},
              {"parallel", {{"data", gpus}}},
              {"training", {{"micro_batch", 1}, {"sequence", 1024}, {"precision", "bf16_mixed"}}},
              {"strategy", {{"system", "resident"}}}}
      .dump();
}

/// What must hold of the three systems on any box: what is kept nearer to the GPU is faster and
/// takes more room there, and what fits nearer fits farther away when the drives are large enough.
void expect_order(const json& resident, const json& offload, const json& infinity) {
  const auto bytes = [](const json& result, const char* tier) {
    return result.at("peak_bytes").at(tier).at("total").get<std::uint64_t>();
  };
  if (offload.at("feasible")) {
    ASSERT_TRUE(infinity.at("feasible")) << infinity.at("infeasible");
    EXPECT_LT(offload.at("step_time_s"), infinity.at("step_time_s"));
    EXPECT_EQ(bytes(offload, "ssd"), 0u);
    EXPECT_GT(bytes(infinity, "ssd"), 0u);
  }
  if (resident.at("feasible") && offload.at("feasible")) {
    EXPECT_LT(resident.at("step_time_s"), offload.at("step_time_s"));
    EXPECT_LT(bytes(resident, "host"), bytes(offload, "host"));
  }
}

TEST(Compare, OrdersTheSystemsAlikeOnEachBoxAndModel) {
  const Workplace place;
  std::string files;
  const std::vector<std::pair<std::string, int>> boxes{
      {"gaming_4090", 1}, {"workstation_2gpu", 2}, {"a100_40_4gpu", 4}};
  const std::vector<std::string> models{"gpt2", "llama-3.2-3b", "llama-3.1-8b"};
  for (const auto& [box, gpus] : boxes)
    for (const std::string& model : models) {
      place.write(model + "." + box + ".json", scenario(model, box, gpus));
      files += " " + model + "." + box + ".json";
    }
  const Ended ended = shell(place, "spillway compare" + files + three_systems + " --json");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const json results = ended.json();
  ASSERT_EQ(results.size(), 3 * boxes.size() * models.size());
  for (std::size_t i = 0; i < results.size(); i += 3) {
    SCOPED_TRACE(results[i].at("scenario").at("name").get<std::string>());
    expect_order(results[i], results[i + 1], results[i + 2]);
  }
  // 16 bytes a parameter: 2 GB of GPT-2 fit everywhere, 128 GB of 8e9 parameters on no 24 GiB
  EXPECT_EQ(results[0].at("feasible"), true);
  EXPECT_EQ(results[6].at("feasible"), false);
}

TEST(Compare, TakesSystemsWithBlanksCommasAndMixesByName) {
  const std::string file = "scenarios/examples/tiny.json";
  const Ended commas = spillway("compare " + file + " --system resident,zero_offload --json");
  ASSERT_EQ(commas.exit, 0) << commas.err;
  ASSERT_EQ(commas.json().size(), 2u);
  const std::vector<std::string> ways{
      "compare " + file + " --system resident zero_offload --json",
      "compare --system resident zero_offload " + file + " --json",
      "compare --system resident --json --system zero_offload " + file};
  for (const std::string& words : ways) {
    const Ended blanks = spillway(words);
    ASSERT_EQ(blanks.exit, 0) << words << blanks.err;
    ASSERT_EQ(blanks.json().size(), 2u) << words;
    EXPECT_EQ(blanks.json()[1].at("step_time_s"), commas.json()[1].at("step_time_s"));
  }
  const Ended mix = spillway("compare " + file + " --system resident mix_8b_workstation --json");
  ASSERT_EQ(mix.exit, 0) << mix.err;
  const json strategy = mix.json().at(1).at("scenario").at("strategy");
  EXPECT_EQ(strategy.at("system"), "lohan");
  EXPECT_EQ(strategy.at("weights").at("home"), "host");
  EXPECT_EQ(spillway("compare --system resident").exit, 2) << "no scenario";
  EXPECT_EQ(spillway("compare " + file + " --system resident nowhere").exit, 2);
}

TEST(Compare, SaysInItsCsvToWhatEachIsLimited) {
  const Ended rows = spillway("compare scenarios/examples/gpt2_resident.json --csv");
  ASSERT_EQ(rows.exit, 0) << rows.err;
  EXPECT_THAT(rows.out, HasSubstr(",limited_by,"));
  EXPECT_THAT(rows.out, HasSubstr(",gpu,"));
}

TEST(Compare, WritesTheRowsOfItsTableAsCsvWithThoseLeftOut) {
  const Ended rows = spillway(
      "compare scenarios/examples/qwen7b_one_box.json --system zero_offload smart_infinity --csv");
  ASSERT_EQ(rows.exit, 0) << rows.err;
  std::istringstream in(rows.out);
  std::string header, offload, left_out;
  std::getline(in, header), std::getline(in, offload), std::getline(in, left_out);
  EXPECT_LT(std::count(header.begin(), header.end(), ','), 42) << header;
  EXPECT_THAT(header, HasSubstr(",tokens_per_s,"));
  EXPECT_TRUE(offload.starts_with("zero_offload,")) << offload;
  EXPECT_TRUE(left_out.starts_with("smart_infinity,\"left out: ") ||
              left_out.starts_with("smart_infinity,left out: "))
      << left_out;
  const Ended all = spillway("compare scenarios/examples/tiny.json --csv=all");
  EXPECT_THAT(all.out, HasSubstr("scenario.machine.gpu.memory"));
}

TEST(Compare, MarksTheBestOfARowAndSaysWhyOneDoesNotFit) {
  const Ended ended =
      spillway("compare scenarios/examples/llama8b_memascend_c1.json" + three_systems);
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("optimizer_states"));
  EXPECT_THAT(line_of(ended.out, "fits"), HasSubstr("no: gpu"));
  const std::string time = line_of(ended.out, "step time");
  EXPECT_EQ(std::count(time.begin(), time.end(), '*'), 1) << time;
  EXPECT_LT(time.find('*'), time.rfind(' ')) << "zero_offload is faster: " << time;
}

// Each step of MLP-Offload's ablation is a setting more on DeepSpeed's run; none may lose.
TEST(Compare, ShowsTheCumulativeAblationOfMlpOffload) {
  const Ended ended = spillway("compare scenarios/examples/mlp_offload_ablation/*.json --json");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const json steps = ended.json();
  ASSERT_EQ(steps.size(), 5u);
  const auto of = [&](std::size_t i) { return steps[i].at("step_time_s").get<double>(); };
  EXPECT_LT(of(1), 0.95 * of(0));              // caching: fewer reads and writes
  EXPECT_LT(of(2), 0.8 * of(1));               // no gradients on the drive
  EXPECT_LT(of(3), 1.001 * of(2));             // a lock must not cost
  EXPECT_LT(of(4), 0.75 * of(3));              // a second path
  EXPECT_NEAR(of(0) / of(3), 1.6, 0.1 * 1.6);  // "up to" in the paper, without the second path
  EXPECT_NEAR(of(0) / of(4), 2.5, 0.1 * 2.5);
}

// Beside the systems a model of experts has ways that leave these alone outside the GPU.
TEST(Compare, OfAllSystemsTriesExpertsOutsideTheGpu) {
  const Ended ended = spillway(
      "compare deepseek_v2_lite_cached_experts --system all --set training.experts=stacked --csv");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  for (const char* one : {"\nresident with recomputation and experts on the CPU,",
                          "\nzero_infinity with experts in host memory,",
                          "\nzero_infinity with experts in host memory and a cache of 12 GiB,"})
    EXPECT_THAT(ended.out, HasSubstr(one));
}

TEST(Compare, OfAllSystemsLeavesOutWhomTheBoxRulesOut) {
  const Ended ended = spillway("compare scenarios/examples/tiny.json --system all --csv");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("left out: smart_infinity: strategy.optimizer.device: "));
  for (const char* one : {"\nresident,yes,", "\nzero_infinity,yes,", "\nlohan,yes,", "\ng10,yes,"})
    EXPECT_THAT(ended.out, HasSubstr(one));
  EXPECT_THAT(line_of(ended.out, "smart_infinity,"), HasSubstr("left out: strategy."));
  // alone it has nobody to be left out by
  const Ended alone = spillway("compare scenarios/examples/tiny.json --system smart_infinity");
  EXPECT_EQ(alone.exit, 2);
}

TEST(Compare, GivesARowOfCsvForEachResult) {
  const Ended ended = spillway(
      "compare scenarios/examples/tiny.json scenarios/examples/gpt2_resident.json --csv=all "
      "--system zero_offload,zero_infinity");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_EQ(std::count(ended.out.begin(), ended.out.end(), '\n'), 5);
  EXPECT_THAT(ended.out, HasSubstr("\n\"GPT-2 small, everything on the GPU\",zero_infinity,sim,"));
}

TEST(Compare, SaysWhichPartsOfTheFileNoSystemHas) {
  const Workplace place;
  json own = json::parse(scenario("gpt2", "gaming_4090", 1));
  own["strategy"] = {
      {"system", "zero_offload"}, {"preset", "deepspeed_0.19"}, {"optimizer", {{"device", "cpu"}}}};
  place.write("own.json", own.dump());
  const std::string words =
      "warning: preset deepspeed_0.19, strategy.optimizer.device of own.json left out: each system "
      "runs with its own parts";
  EXPECT_THAT(shell(place, "spillway compare own.json --system resident,zero_offload --csv").err,
              HasSubstr(words));
  EXPECT_EQ(shell(place, "spillway compare own.json --csv").err, "");
  place.write("plain.json", scenario("gpt2", "gaming_4090", 1));
  EXPECT_EQ(shell(place, "spillway compare plain.json --system resident,zero_offload --csv").err,
            "");
}

}  // namespace
}  // namespace spillway::e2e::compare_test
