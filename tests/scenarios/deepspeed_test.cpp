#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/export_deepspeed.hpp"
#include "scenarios/import_deepspeed.hpp"
#include "tests/scenarios/complaints.hpp"
#include "tests/scenarios/temporary_files.hpp"
#include "tests/scenarios/test_systems.hpp"

namespace spillway::scenarios::deepspeed_test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

/// gpt2 is 768 wide; memascend_c1 has two GPUs.
Imported import(const std::string& text) {
  ImportOptions options;
  options.model = "gpt2";
  options.machine = "memascend_c1";
  return import_deepspeed(parse_located(text, "ds.json"), options);
}
std::string refusal(const std::string& text) {
  return complaints_of([&] { import(text); });
}

TEST(ImportDeepSpeed, ChoosesTheSystemByWhatIsOffloaded) {
  const auto system = [](const std::string& zero) {
    return import("{\"zero_optimization\": " + zero + "}").scenario["strategy"]["system"];
  };
  EXPECT_EQ(system(R"({"stage": 3})"), "resident");
  EXPECT_EQ(system(R"({"stage": 2, "offload_optimizer": {"device": "cpu"}})"), "zero_offload");
  EXPECT_EQ(system(R"({"stage": 3, "offload_optimizer": {"device": "nvme"}})"), "zero_infinity");
  EXPECT_EQ(system(R"({"stage": 3, "offload_param": {"device": "nvme"}})"), "zero_infinity");
}

TEST(ImportDeepSpeed, ResolvesAutoFromTheModelsWidth) {
  const json strategy = import(R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 3,
    "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto",
    "stage3_param_persistence_threshold": "auto"}})")
                            .scenario["strategy"];
  EXPECT_EQ(strategy["gradients"]["reduce_bucket"], "589824 params");      // 768^2
  EXPECT_EQ(strategy["weights"]["prefetch_bucket"], "530841 params");      // 0.9 x 768^2 = 530841.6
  EXPECT_EQ(strategy["weights"]["persistence_threshold"], "7680 params");  // 10 x 768
}

TEST(ImportDeepSpeed, ReadsNumbersWrittenAsFloats) {
  const json strategy = import(R"({"zero_optimization": {"stage": 3, "sub_group_size": 1e8,
    "offload_optimizer": {"device": "nvme", "pipeline_read": true, "pipeline_write": true},
    "offload_param": {"device": "nvme", "buffer_count": 5, "buffer_size": 4e7,
                      "max_in_cpu": 1e9}}})")
                            .scenario["strategy"];
  EXPECT_EQ(strategy["optimizer"]["subgroup"], "1e8 params");
  EXPECT_EQ(strategy["optimizer"]["buffers"], 8);
  EXPECT_EQ(strategy["weights"]["buffer_size"], "4e7 params");
  EXPECT_EQ(strategy["weights"]["prefetch_blocks"], 0);  // 5 buffers hold no block ahead
}

TEST(ImportDeepSpeed, CompletesTheThreeBatchSizes) {
  // 32 samples in all = 4 x accumulation x 2 ranks
  const json training = import(R"({"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4})")
                            .scenario["training"];
  EXPECT_EQ(training["gradient_accumulation"], 4);
  EXPECT_EQ(
      refusal(R"({"train_batch_size": 33, "train_micro_batch_size_per_gpu": 4})"),
      "ds.json:1:22: train_batch_size: micro-batch 4 x accumulation 4 x 2 ranks is 32; make the "
      "three agree, none of them 0");
}

TEST(ImportDeepSpeed, SaysWhatItAssumedAndIgnored) {
  const Imported imported =
      import(R"({"train_micro_batch_size_per_gpu": "auto", "steps_per_print": 5,
    "hello": 1, "zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}})");
  EXPECT_THAT(
      imported.notes,
      Contains("train_micro_batch_size_per_gpu: \"auto\" follows the trainer's arguments, taken "
               "as 1"));
  EXPECT_THAT(imported.notes, Contains("hello: ignored, spillway does not read it"));
  EXPECT_THAT(imported.notes, Contains("steps_per_print: no effect on memory, bytes or time here"));
  EXPECT_THAT(imported.notes,
              Contains("zero_optimization.offload_param: ignored, DeepSpeed offloads "
                       "parameters in stage 3 only"));
  EXPECT_THAT(imported.notes,
              Contains("training.sequence: not in a DeepSpeed configuration, taken as "
                       "1024"));
}

TEST(ImportDeepSpeed, RefusesAdaptersAndQuantization) {
  EXPECT_EQ(
      refusal(R"({"lora": {"r": 8}})"),
      "ds.json:1:10: lora: adapters and quantization are not described; spillway describes full "
      "fine-tuning only");
  EXPECT_EQ(refusal(R"({"optimizer": {"type": "AdamW8bit"}})"),
            "ds.json:1:24: optimizer.type: \"AdamW8bit\" is a compressed optimizer, not described; "
            "spillway describes Adam and SGD in full width");
  EXPECT_EQ(
      refusal(R"({"optimizer": {"type": "OneBitAdam"}})"),
      "ds.json:1:24: optimizer.type: \"OneBitAdam\" is a compressed optimizer, not described; "
      "spillway describes Adam and SGD in full width");
  EXPECT_EQ(refusal(R"({"zero_optimization": {"stage": 3, "zero_quantized_weights": true}})"),
            "ds.json:1:62: zero_optimization.zero_quantized_weights: quantized transfers are not "
            "described; set it to false");
}

TEST(ImportDeepSpeed, RefusesAQuantizedModelAndAnAdapter) {
  const TemporaryFiles files;
  ImportOptions options;
  options.machine = "memascend_c1";
  options.model = files.write("adapter_config.json", "{\"peft_type\": \"LORA\"}");
  const auto config = parse_located("{}", "ds.json");
  EXPECT_EQ(files.relative(complaints_of([&] { import_deepspeed(config, options); })),
            "adapter_config.json:1:2: peft_type: a quantized model or an adapter is not described; "
            "spillway describes full fine-tuning only; name the base model");
}

TEST(ImportDeepSpeed, RefusesWhatDeepSpeedRefuses) {
  EXPECT_EQ(refusal(R"({"fp16": {"enabled": true}, "bf16": {"enabled": true}})"),
            "ds.json:1:49: bf16.enabled: fp16 and bf16 are both enabled; keep one");
  EXPECT_EQ(
      refusal(R"({"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "nvme"}}})"),
      "ds.json:1:68: zero_optimization.offload_optimizer.device: \"nvme\" needs "
      "zero_optimization.stage 3; set stage to 3 or device to \"cpu\"");
  EXPECT_EQ(refusal(R"({"zero_optimization": {"stage": 3, "reduce_bucket_size": -1}})"),
            "ds.json:1:58: zero_optimization.reduce_bucket_size: -1 is not a whole number from 0 "
            "to 1e15; "
            "write a number or \"auto\"");
}

TEST(ExportDeepSpeed, WritesBuffersThatHoldTheModel) {
  const auto scenario = parse_located(R"({"model": "gpt2", "machine": "memascend_c1",
    "training": {"precision": "fp16_mixed", "micro_batch": 3}, "parallel": {"data": 2},
    "strategy": {"system": "memascend"}})",
                                      "a.json");
  const Exported exported = export_deepspeed(read_scenario(scenario, {}, test_systems()).scenario);
  const json& zero = exported.ds_config["zero_optimization"];
  EXPECT_EQ(exported.ds_config["train_batch_size"], 6);  // 3 x 1 x 2
  EXPECT_EQ(exported.ds_config["fp16"]["enabled"], true);
  EXPECT_EQ(zero["offload_param"]["buffer_count"], 9);          // 2 + 7
  EXPECT_EQ(zero["offload_param"]["buffer_size"], 19'298'688);  // 50257 x 768 / 2
  EXPECT_EQ(zero["offload_optimizer"]["device"], "nvme");
  EXPECT_THAT(exported.notes, Contains(HasSubstr("strategy.weights.pool")));
}

TEST(ExportDeepSpeed, ImportsAgainAsTheSameParts) {
  const Imported once = import(R"({"fp16": {"enabled": true}, "train_micro_batch_size_per_gpu": 2,
    "zero_optimization": {"stage": 3, "sub_group_size": 1e8, "offload_param": {"device": "nvme"},
    "offload_optimizer": {"device": "nvme", "pipeline_write": true, "buffer_count": 12}}})");
  const auto resolved = read_scenario(once.scenario, {}, test_systems()).scenario;
  const Imported twice = import(export_deepspeed(resolved).ds_config.dump());
  json expected = once.scenario;
  expected["strategy"]["weights"]["buffer_count"] = 9;  // written out
  expected["strategy"]["weights"]["buffer_size"] = "19298688 params";
  EXPECT_EQ(twice.scenario, expected);
}

TEST(ExportDeepSpeed, RefusesPartsThatDeepSpeedDoesNotHave) {
  const auto scenario = parse_located(R"({"model": "gpt2", "machine": "memascend_c1",
    "strategy": {"system": "memascend", "gradients": {"policy": "active"}}})",
                                      "a.json");
  const auto resolved = read_scenario(scenario, {}, test_systems()).scenario;
  EXPECT_EQ(
      complaints_of([&] { export_deepspeed(resolved); }),
      "strategy.gradients.policy: DeepSpeed has nothing like \"active\"; export a scenario of "
      "zero_infinity, zero_offload or resident");
}

}  // namespace
}  // namespace spillway::scenarios::deepspeed_test
