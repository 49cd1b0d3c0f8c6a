#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/deepspeed/import_deepspeed.hpp"
#include "scenarios/json/hjson.hpp"
#include "tests/reports/text/words_of.hpp"
#include "tests/scenarios/deepspeed/imported.hpp"

namespace spillway::scenarios::import_reduction_test {
namespace {

using test::import;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> notes(const std::string& text, const std::string& version = "") {
  return text::words_of(import(text, version).notes);
}

/// gradients.collective of a configuration of ZeRO; "auto" where it says nothing.
std::string collective(const std::string& zero, const std::string& version = "") {
  const auto found = import("{\"zero_optimization\": {" + zero + "}}", version)
                         .scenario.at("strategy")
                         .at("gradients")
                         .value("collective", "auto");
  return found;
}

TEST(ImportDeepSpeed, ReducesGradientsAsThatDeepSpeedDoes) {
  EXPECT_EQ(collective(R"("stage": 2)"), "all_reduce");
  EXPECT_EQ(collective(R"("stage": 2, "reduce_scatter": true)"), "all_reduce");
  EXPECT_EQ(collective(R"("stage": 2, "use_multi_rank_bucket_allreduce": false)"), "auto");
  EXPECT_EQ(collective(R"("stage": 2, "use_multi_rank_bucket_allreduce": false,
                          "reduce_scatter": false)"),
            "all_reduce");
  EXPECT_EQ(collective(R"("stage": 1)"), "auto");
  EXPECT_EQ(collective(R"("stage": 1, "use_multi_rank_bucket_allreduce": false)"),
            "reduce_scatter");
  EXPECT_EQ(collective(R"("stage": 3)"), "auto");
  EXPECT_EQ(collective(R"("stage": 3, "reduce_scatter": false)"), "all_reduce");
  EXPECT_EQ(collective(R"("stage": 3, "reduce_scatter": false)", "0.9.3"), "auto");
  // buckets of several ranks came with 0.12.4
  EXPECT_EQ(collective(R"("stage": 2)", "0.9.3"), "auto");
  EXPECT_EQ(collective(R"("stage": 1)", "0.9.3"), "reduce_scatter");
}

TEST(ImportDeepSpeed, SaysWhatOfReductionsIsNotSimulated) {
  const auto zero = [](const std::string& keys) {
    return notes("{\"zero_optimization\": {" + keys + "}}");
  };
  EXPECT_THAT(zero(R"("stage": 1, "use_multi_rank_bucket_allreduce": false,
                      "offload_optimizer": {"device": "cpu"})"),
              Contains(HasSubstr("so network bytes are an upper bound")));
  EXPECT_THAT(zero(R"("stage": 2, "reduce_scatter": true)"), Not(Contains(HasSubstr("no effect"))));
  EXPECT_THAT(zero(R"("stage": 3, "use_multi_rank_bucket_allreduce": true)"),
              Contains("no effect on memory, bytes or time here: "
                       "zero_optimization.use_multi_rank_bucket_allreduce"));
  EXPECT_THAT(zero(R"("stage": 3, "reduce_scatter": true)"), Not(Contains(HasSubstr("no effect"))));
}

TEST(ImportDeepSpeed, SaysInWhichTypeGradientsAreReduced) {
  const std::string mixed = R"({"bf16": {"enabled": true}, )";
  const char* wide = "communication_data_type: DeepSpeed reduces gradients in fp32; here in 16";
  EXPECT_THAT(notes(mixed + R"("communication_data_type": "fp32"})"), Contains(HasSubstr(wide)));
  EXPECT_THAT(notes(mixed + R"("communication_data_type": "bf16"})"),
              Not(Contains(HasSubstr("communication_data_type"))));
  EXPECT_THAT(notes(R"({"communication_data_type": "fp16"})"),
              Contains(HasSubstr("reduces gradients in fp16; here in fp32")));
  EXPECT_THAT(notes(mixed + R"("seq_parallel_communication_data_type": "fp32"})"),
              Contains(HasSubstr("no effect on memory, bytes or time here: "
                                 "seq_parallel_communication_data_type")));
}

TEST(ImportDeepSpeed, SaysThatRanksOfSequencesReduceInFp32) {
  const std::string shared = R"({"bf16": {"enabled": true}, "sequence_parallel_size": 2,
    "data_parallel_size": 1)";
  const char* wide = "seq_parallel_communication_data_type: unless it says otherwise";
  EXPECT_THAT(notes(shared + "}"), Contains(HasSubstr(wide)));
  EXPECT_THAT(notes(shared + R"(, "seq_parallel_communication_data_type": "fp32"})"),
              Contains(HasSubstr(wide)));
  EXPECT_THAT(notes(shared + R"(, "seq_parallel_communication_data_type": "bf16"})"),
              Not(Contains(HasSubstr(wide))));
}

}  // namespace
}  // namespace spillway::scenarios::import_reduction_test
