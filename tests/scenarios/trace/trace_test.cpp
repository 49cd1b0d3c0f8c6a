#include "scenarios/description/data_files.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/reading/lifetimes_file.hpp"
#include "scenarios/trace/import_trace.hpp"
#include "scenarios/trace/trace_text.hpp"
#include "tests/reports/text/words_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

/// Traces as PyTorch 2 writes them: one training step of two layers on each of two GPUs, with
/// everything that a profiler puts between kernels.
namespace spillway::scenarios {
namespace {

using namespace strategies::planner;
using description::ScenarioError;
using nlohmann::json;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::uint64_t MiB = 1 << 20;

std::string data(const std::string& name) {
  return read_packed((std::filesystem::path(SPILLWAY_SOURCE_DIR) / "tests/data" / name).string());
}

ImportedTrace imported(const std::string& text, TraceOptions options = {}) {
  return import_trace(text, "t.json", "", "", options);
}

std::string complaint_of(const std::string& text, TraceOptions options = {}) {
  try {
    imported(text, options);
  } catch (const ScenarioError& error) {
    return to_string(error.complaints().front());
  }
  return "";
}

/// First and last kernel of the tensors of so many bytes.
std::vector<std::pair<std::uint32_t, std::uint32_t>> lives(const Lifetimes& lifetimes,
                                                           std::uint64_t bytes) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
  for (const LifetimeTensor& tensor : lifetimes.tensors)
    if (tensor.bytes == bytes)
      all.emplace_back(tensor.active.front().first, tensor.active.back().last);
  std::sort(all.begin(), all.end());
  return all;
}

TEST(KinetoTrace, TellsTheKernelsAndTensorsOfAStep) {
  const ImportedTrace trace = imported(data("kineto_two_gpus.json"));
  const Lifetimes& step = trace.lifetimes;
  EXPECT_TRUE(faults_of(step).empty());
  // mm, gelu, mm, loss, then back through them, and one fused update; copies are none
  ASSERT_EQ(step.kernels.size(), 10u);
  EXPECT_THAT(step.kernels[1].name, HasSubstr("GeluCUDAKernelImpl"));
  EXPECT_EQ(step.kernels[0].stream, 7u);
  EXPECT_NEAR(step.kernels[1].start_s, 412.7e-6, 1e-12);  // the first one's length; gaps left out
  // two layers' outputs and their gradients, as the script that was recorded makes them
  using Lives = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  EXPECT_EQ(lives(step, 128 * MiB), (Lives{{0, 7}, {1, 6}, {2, 4}, {4, 6}, {6, 7}, {7, 8}}));
  // gradients are there when the step ends; those of the step before were freed before it began
  EXPECT_EQ(lives(step, 64 * MiB), (Lives{{5, 9}, {8, 9}}));
  EXPECT_EQ(lives(step, 128 * 1024), (Lives{{0, 8}}));  // the batch
}

TEST(KinetoTrace, KeepsOnTheGpuWhatWasThereBeforeAndAfter) {
  // 3 GiB + 12 KiB when it began, of which 2 x 64 MiB were freed
  const ImportedTrace trace = imported(data("kineto_two_gpus.json"));
  const std::uint64_t standing = 3072 * MiB + 12288 - 128 * MiB;
  ASSERT_EQ(lives(trace.lifetimes, standing).size(), 1u);
  EXPECT_EQ(lives(trace.lifetimes, standing)[0], std::pair(0u, 9u));
  EXPECT_THAT(text::words_of(trace.notes),
              Contains(HasSubstr("2.88 GiB were allocated before the recording")));
  // fullest at the product behind gelu: four tensors, one gradient, batch and loss besides
  const auto alive = alive_bytes(trace.lifetimes);
  EXPECT_EQ(*std::max_element(alive.begin(), alive.end()),
            standing + 4 * 128 * MiB + 64 * MiB + 128 * 1024 + 512);
}

TEST(KinetoTrace, IsReadForOneGpuOfSeveral) {
  const ImportedTrace second = imported(data("kineto_two_gpus.json"), {false, 1});
  EXPECT_EQ(second.lifetimes.kernels.size(), 10u);
  EXPECT_EQ(lives(second.lifetimes, 5120 * MiB - 128 * MiB).size(), 1u);
  EXPECT_THAT(complaint_of(data("kineto_two_gpus.json"), {false, 4}),
              HasSubstr("it has kernels of 0, 1"));
}

// Infinite occupancies, a path of Windows, a kernel whose name is no UTF-8 and has a raw tab: as
// other versions and systems write them; and packed.
TEST(KinetoTrace, NeedNotBeQuiteJson) {
  const std::string found = data("kineto_as_found.json.gz");
  EXPECT_FALSE(json::accept(found));
  const Lifetimes clean = imported(data("kineto_two_gpus.json")).lifetimes;
  const Lifetimes mended = imported(found).lifetimes;
  EXPECT_EQ(write_lifetimes(mended).tensors, write_lifetimes(clean).tensors);
  ASSERT_EQ(mended.kernels.size(), clean.kernels.size());
  EXPECT_EQ(mended.kernels[2].name, "ampere??_sgemm 128x64_nn");
}

TEST(KinetoTrace, ThatWasCutOffSaysWhere) {
  const std::string whole = data("kineto_two_gpus.json");
  const std::string half = whole.substr(0, whole.size() / 2);
  const auto lines = std::count(half.begin(), half.end(), '\n') + 1;
  EXPECT_THAT(complaint_of(half), AllOf(HasSubstr("t.json:" + std::to_string(lines) + ":"),
                                        HasSubstr("ends in the middle")));
}

std::string events(const std::string& more) {
  return R"({"traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "a", "ts": 10.5, "dur": 2, "args": {"device": 0}},
    {"ph": "X", "cat": "kernel", "name": "b", "ts": 20, "dur": 2, "args": {"device": 0}},)" +
         more + "]}";
}

std::string memory(double at, int address, int bytes, const std::string& more = "") {
  return json{{"ph", "i"},
              {"name", "[memory]"},
              {"ts", at},
              {"args", {{"Addr", address}, {"Bytes", bytes}, {"Device Type", 1}}}}
             .dump() +
         more;
}

TEST(KinetoTrace, TakesAnAddressThatIsGivenOutAgainForFreed) {
  const ImportedTrace trace = imported(events(memory(1, 512, 64, ",") + memory(15, 512, 32)));
  ASSERT_EQ(trace.lifetimes.tensors.size(), 2u);
  EXPECT_EQ(lives(trace.lifetimes, 64)[0], std::pair(0u, 0u));
  EXPECT_EQ(lives(trace.lifetimes, 32)[0], std::pair(1u, 1u));
}

TEST(KinetoTrace, HasATensorOfTheStepBeforeUpToWhereItIsFreed) {
  const ImportedTrace trace = imported(events(memory(15, 512, -64)));
  ASSERT_EQ(trace.lifetimes.tensors.size(), 1u);
  EXPECT_EQ(lives(trace.lifetimes, 64)[0], std::pair(0u, 0u));
  EXPECT_FALSE(trace.lifetimes.tensors[0].persistent);
}

TEST(KinetoTrace, SaysThatItHasSeveralSteps) {
  std::string steps;
  for (const char* name : {"ProfilerStep#7", "ProfilerStep#8", "ProfilerStep#8"})
    steps += json{{"ph", "X"}, {"cat", "user_annotation"}, {"name", name}, {"ts", 1}}.dump() + ",";
  EXPECT_THAT(text::words_of(imported(events(steps + memory(1, 512, 64))).notes),
              Contains(HasSubstr("records 2 steps")));
}

TEST(MendedTrace, LeavesJsonAsItIs) {
  const std::string clean =
      R"({"a": [-1.5e-3, true, null, "é\\\"\u00e9\n{NaN}", "-inf"], "b": {}})";
  EXPECT_EQ(mended(clean), clean);
}

TEST(MendedTrace, ReplacesWhatJsonHasNot) {
  EXPECT_EQ(mended("[NaN, -Infinity, inf, -nan]"), "[null, null, null, null]");
  EXPECT_EQ(mended(R"("C:\Users\new\u12")"), R"("C:/Users\new/u12")");
  // a lone continuation, an overlong slash, a surrogate, the end inside a character
  EXPECT_EQ(mended("\"\x80|\xC0\xAF|\xED\xA0\x80|\xE2\x82"), "\"?|??|???|??");
  EXPECT_EQ(mended("\"a\tb\"\t"), "\"a b\"\t");
}

}  // namespace
}  // namespace spillway::scenarios
