#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/deepspeed/export_deepspeed.hpp"
#include "scenarios/deepspeed/import_deepspeed.hpp"
#include "scenarios/json/hjson.hpp"
#include "tests/reports/text/words_of.hpp"
#include "tests/scenarios/complaints.hpp"
#include "tests/scenarios/test_systems.hpp"

namespace spillway::scenarios::deepspeed_tensor_parallel_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// gpt2 on the two GPUs of memascend_c1.
Imported import(const std::string& text, const std::string& version) {
  ImportOptions options;
  options.model = "gpt2";
  options.machine = "memascend_c1";
  options.deepspeed = version;
  return import_deepspeed(parse_hjson(text, "ds.json"), options);
}

// The engine's assertion is gone since pull request 8168, first released in 0.19.4.
TEST(ImportDeepSpeed, SaysWhichVersionsEndAtTheStart) {
  const auto notes = [](int stage, const std::string& version) {
    return text::words_of(import(fmt::format(R"({{"tensor_parallel": {{"autotp_size": 2}},
      "zero_optimization": {{"stage": {}}}}})",
                                             stage),
                                 version)
                              .notes);
  };
  const char* newer = "takes DeepSpeed 0.19.4 or newer";
  EXPECT_THAT(notes(3, "0.19"), Contains(HasSubstr(newer)));
  EXPECT_THAT(notes(3, "0.19"), Not(Contains(HasSubstr("ends at the start"))));
  EXPECT_THAT(notes(3, "0.19.3"),
              Contains(AllOf(HasSubstr("DeepSpeed 0.19.3 ends at the start"), HasSubstr(newer))));
  EXPECT_THAT(notes(2, "0.18"), Not(Contains(HasSubstr(newer))));
}

TEST(ExportDeepSpeed, SharesTensorsAtZeroStage3OnlyWhereItsVersionDoes) {
  const auto made = [](const char* home, const std::string& version) {
    const std::string text = fmt::format(
        R"({{"model": "gpt2", "machine": "memascend_c1", "training": {{"precision": "bf16_mixed"}},
        "parallel": {{"data": 1, "tensor": 2, "zero_stage": 2}},
        "strategy": {{"system": "zero_offload", "preset": "deepspeed_0.18",
        "weights": {{"home": "{}"}}}}}})",
        home);
    const auto resolved = read_scenario(parse_located(text, "a.json"), {}, test_systems());
    ExportOptions options;
    options.deepspeed = version;
    options.nearest = true;
    return export_deepspeed(resolved.scenario, test_systems(), options);
  };
  const char* newer = "takes DeepSpeed 0.19.4 or newer";
  EXPECT_THAT(
      complaints_of([&] { made("host", "0.18"); }),
      AllOf(HasSubstr("parallel.tensor: DeepSpeed 0.18 ends at the start"), HasSubstr(newer)));
  EXPECT_THAT(text::words_of(made("host", "0.19").notes), Contains(HasSubstr(newer)));
  EXPECT_THAT(text::words_of(made("gpu", "0.18").notes), Not(Contains(HasSubstr(newer))));
}

}  // namespace
}  // namespace spillway::scenarios::deepspeed_tensor_parallel_test
