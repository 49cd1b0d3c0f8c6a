#include "scenarios/json/schema_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/description/names.hpp"
#include "tests/scenarios/complaints.hpp"

namespace spillway::scenarios::schema_check_test {
namespace {

/// The complaints about the strategy `text`, a line each.
std::string about(const std::string& text) {
  std::string lines;
  for (const auto& complaint : check_schema(parse_located(text, "s.json"), "strategy"))
    lines += (lines.empty() ? "" : "\n") + to_string(complaint);
  return lines;
}

TEST(SchemaCheck, OffersTheNearestKeyForAnUnknownOne) {
  EXPECT_EQ(about(R"({"weigths": {}})"),
            "s.json:1:2: weigths: no such key; did you mean \"weights\"?");
  EXPECT_EQ(
      about(R"({"gradients": {"xyz": 1}})"),
      "s.json:1:16: gradients.xyz: no such key; known: accumulation, collective, convert, d2h, "
      "flush_tail, "
      "fused_accumulation, init_copy, lands, main_gradients, memory, norm, overlap, pinned, "
      "policy, reduce_bucket, slabs, staging_buffer, sums");
}

TEST(SchemaCheck, DoesNotOfferKeysThatAreReadForOldFilesOnly) {
  const std::string lines = about(R"({"optimizer": {"compression": 1, "xyz": 1}})");
  EXPECT_THAT(lines,
              testing::HasSubstr("optimizer.xyz: no such key; known: adapt, buffers, cpu_share"));
}

// A load is a word, a list or an object: what is wrong with an object is said of objects.
TEST(SchemaCheck, NamesWhatIsWrongInsideAnObjectThatMayBeAListToo) {
  const auto of_load = [](const std::string& load) {
    const std::string text = R"({"micro_batch": 1, "expert_load": )" + load + "}";
    std::string lines;
    for (const auto& complaint :
         check_schema(parse_located(R"({"training": )" + text + "}", "s"), "scenario"))
      if (complaint.path.starts_with("training.expert_load")) lines += to_string(complaint) + "\n";
    return lines;
  };
  EXPECT_EQ(of_load(R"({"zip": 1})"),
            "s:1:48: training.expert_load.zipf: missing; write a number\n"
            "s:1:49: training.expert_load.zip: no such key; did you mean \"zipf\"?\n");
  EXPECT_EQ(of_load(R"({"zipf": 1, "top": 3})"),
            "s:1:60: training.expert_load.top: no such key; known: zipf\n");
  EXPECT_EQ(of_load(R"({"zipf": -1})"), "s:1:57: training.expert_load.zipf: -1 is below 0\n");
  EXPECT_EQ(of_load(R"({"zipf": "a"})"),
            "s:1:57: training.expert_load.zipf: \"a\" is not a number\n");
  EXPECT_EQ(of_load("7"),
            "s:1:48: training.expert_load: 7 is not a list [...] or an object {...} or \"even\"\n");
  EXPECT_EQ(of_load("[1, 2]"), "");
}

TEST(SchemaCheck, OffersTheNearestWordForAnUnknownOne) {
  EXPECT_EQ(about(R"({"weights": {"home": "sdd"}})"),
            "s.json:1:22: weights.home: no \"sdd\"; did you mean \"ssd\"? known: gpu, host, ssd");
}

TEST(SchemaCheck, ShowsAQuantityWithItsUnit) {
  EXPECT_EQ(
      about(R"({"optimizer": {"subgroup": "1e8"}})"),
      "s.json:1:28: optimizer.subgroup: \"1e8\" has no unit; write a count such as \"1e8 params\"");
  EXPECT_EQ(about(R"({"optimizer": {"host_cache": 12}})"),
            "s.json:1:30: optimizer.host_cache: 12 has no unit; write a size such as \"12 GiB\" or "
            "\"auto\"");
  EXPECT_EQ(about(R"({"gradients": {"flush_tail": true}})"),
            "s.json:1:30: gradients.flush_tail: true is not a text in quotes");
}

TEST(SchemaCheck, NamesTheTypeThatIsExpected) {
  EXPECT_EQ(
      about(R"({"weights": {"overlap": "yes", "prefetch_blocks": 1.5, "buffer_count": "x"}})"),
      "s.json:1:25: weights.overlap: \"yes\" is not true or false\n"
      "s.json:1:51: weights.prefetch_blocks: 1.5 is not a whole number\n"
      "s.json:1:72: weights.buffer_count: no \"x\"; write a whole number or \"auto\"");
  EXPECT_EQ(about("[]"), "s.json:1:1: [] is not an object {...}");
}

TEST(SchemaCheck, NamesTheBoundThatIsCrossed) {
  EXPECT_EQ(about(R"({"optimizer": {"buffers": 0}})"),
            "s.json:1:27: optimizer.buffers: 0 is below 1");
  EXPECT_EQ(about(R"({"plan": {"headroom": 1.5}})"), "s.json:1:23: plan.headroom: 1.5 is above 1");
  EXPECT_EQ(about(R"({"plan": {"headroom": 1}})"), "");
}

TEST(SchemaCheck, RefusesAnEntryThatStandsTwice) {
  EXPECT_EQ(about(R"({"activations": {"homes": ["ssd", "ssd"]}})"),
            "s.json:1:27: activations.homes: an entry stands twice");
}

TEST(SchemaCheck, SaysWhatIsMissingAndHowItLooks) {
  const auto found = check_schema(parse_located(R"({"name": "m", "pcie": {"h2d": "1 GB/s"},
      "gpu": {"memory": "1 GB", "compute": {}, "memory_rate": "1 GB/s"}})",
                                                "m.json"),
                                  "machine");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(to_string(found[0]), "m.json:1:1: host: missing; write an object {...}");
  EXPECT_EQ(to_string(found[1]),
            "m.json:1:23: pcie.d2h: missing; write a rate such as \"6.9 GB/s\"");
}

TEST(SchemaCheck, ReportsEverythingAtOnce) {
  const std::string all = about(R"({"a": 1, "b": 2, "weights": {"c": 3, "home": 4}})");
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 3);  // four complaints
}

template <class E>
void expect_words(const char* pointer, const std::vector<std::string>& beside = {}) {
  std::vector<std::string> wanted(description::names_of<E>.begin(), description::names_of<E>.end());
  wanted.insert(wanted.end(), beside.begin(), beside.end());
  auto words =
      schema("strategy").at(nlohmann::json::json_pointer(pointer)).get<std::vector<std::string>>();
  std::sort(words.begin(), words.end());
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(words, wanted) << pointer;
}

TEST(SchemaCheck, KnowsTheWordsOfEveryEnumOfTheParts) {
  using namespace description;
  expect_words<Home>("/properties/weights/properties/home/enum");
  expect_words<PoolKind>("/properties/weights/properties/pool/enum");
  expect_words<PinnedPolicy>("/properties/weights/properties/pinned/enum", {"auto"});
  expect_words<ActivationPolicy>("/properties/activations/properties/policy/enum", {"recompute"});
  expect_words<GradientPolicy>("/properties/gradients/properties/policy/enum");
  expect_words<Width>("/properties/gradients/properties/accumulation/enum");
  expect_words<ConvertOn>("/properties/gradients/properties/convert/enum");
  expect_words<CopyMemory>("/properties/gradients/properties/d2h/enum");
  expect_words<OptimizerDevice>("/properties/optimizer/properties/device/enum");
  expect_words<SubgroupOrder>("/properties/optimizer/properties/order/enum");
  expect_words<Grouping>("/properties/optimizer/properties/grouping/enum");
  expect_words<OverflowCheck>("/properties/overflow_check/enum");
  expect_words<PinnedPolicy>("/properties/pinned/enum");
  expect_words<IoEngine>("/properties/io_engine/enum");
  expect_words<GpuAllocator>("/properties/gpu_allocator/enum");
}

}  // namespace
}  // namespace spillway::scenarios::schema_check_test
