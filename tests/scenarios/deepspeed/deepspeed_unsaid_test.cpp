#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/deepspeed/export_deepspeed.hpp"
#include "scenarios/deepspeed/import_deepspeed.hpp"
#include "scenarios/json/hjson.hpp"
#include "tests/reports/text/words_of.hpp"
#include "tests/scenarios/complaints.hpp"
#include "tests/scenarios/test_systems.hpp"

namespace spillway::scenarios::deepspeed_unsaid_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// gpt2 on the two GPUs of memascend_c1.
Imported import(const std::string& text, const std::string& version = "",
                const std::string& machine = "memascend_c1") {
  ImportOptions options;
  options.model = "gpt2";
  options.machine = machine;
  options.deepspeed = version;
  return import_deepspeed(parse_hjson(text, "ds.json"), options);
}
std::vector<std::string> notes(const std::string& text, const std::string& version = "") {
  return text::words_of(import(text, version).notes);
}

/// A scenario of gpt2 with these keys, exported.
Exported exported(const std::string& keys, bool nearest = false,
                  const std::string& strategy = R"({"system": "resident"})") {
  const std::string scenario =
      R"({"model": "gpt2", "machine": "memascend_c1", "strategy": )" + strategy + ", " + keys + "}";
  const auto resolved = read_scenario(parse_located(scenario, "a.json"), {}, test_systems());
  ExportOptions options;
  options.nearest = nearest;
  return export_deepspeed(resolved.scenario, test_systems(), options);
}

TEST(ImportDeepSpeed, RefusesABatchThatNoNumberOfGpusShares) {
  // 3 on each of two make 6, and 7 are 3 on 2.33
  EXPECT_THAT(complaints_of([] { import(R"({"train_batch_size": 7})"); }),
              HasSubstr("7 samples do not split over 2 GPUs: DeepSpeed stops there"));
}

TEST(ImportDeepSpeed, SaysThatAutocastMultipliesIn16Bits) {
  EXPECT_THAT(notes(R"({"torch_autocast": {"enabled": true, "dtype": "bfloat16"}})"),
              Contains("torch_autocast: products run in 16 bits there, with weights in fp32; here "
                       "they run in fp32, so the time is an upper bound"));
  EXPECT_THAT(notes(R"({"torch_autocast": {"enabled": false}})"),
              Not(Contains(HasSubstr("torch_autocast: "))));
}

// BF16_Optimizer reads its fp32 gradients where they are; without ZeRO PyTorch's optimizer does.
TEST(ImportDeepSpeed, TakesNormsOfCopiesWhereZeroDoes) {
  const auto norm = [](const std::string& keys) {
    return import("{" + keys + "}").scenario["strategy"]["gradients"].value("norm", "in_place");
  };
  for (const char* stage : {"1", "2", "3"}) {
    const std::string zero = std::string(R"("zero_optimization": {"stage": )") + stage + "}";
    EXPECT_EQ(norm(zero), "fp64");
    EXPECT_TRUE(import("{" + zero + "}").scenario["strategy"]["optimizer"]["unscale"]);
  }
  EXPECT_EQ(norm(R"("zero_optimization": {"stage": 0})"), "in_place");
  EXPECT_EQ(norm(R"("bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp32"},
                    "zero_optimization": {"stage": 1})"),
            "in_place");
}

TEST(ExportDeepSpeed, SaysThatItTakesNormsOfCopiesWhateverIsAsked) {
  const auto about_norms = [](const std::string& parallel) {
    const std::string keys = R"("training": {"precision": "bf16_mixed", "micro_batch": 1,
                                 "sequence": 64}, "parallel": )";
    return text::words_of(exported(keys + parallel, true).notes);
  };
  EXPECT_THAT(about_norms(R"({"data": 2, "zero_stage": 2})"),
              Contains(HasSubstr("gradients.norm: DeepSpeed's norms copy a gradient in fp64")));
  EXPECT_THAT(about_norms(R"({"data": 2, "zero_stage": 0})"),
              Not(Contains(HasSubstr("gradients.norm"))));
}

TEST(ImportDeepSpeed, RefusesAnOptimizerThatNoCpuHasHere) {
  EXPECT_THAT(complaints_of([] {
                import(R"({"optimizer": {"type": "SGD"}, "zero_optimization": {"stage": 2,
                           "offload_optimizer": {"device": "cpu"}}})");
              }),
              HasSubstr("the CPU optimizers of this version are Adam and Lion"));
}

TEST(ImportDeepSpeed, RefusesAnOptimizerThatNobodyHas) {
  for (const char* name : {"AdamX", "AdamWW", "FusedAdam", "CPUAdam"})
    EXPECT_THAT(complaints_of(
                    [&] { import(std::string(R"({"optimizer": {"type": ")") + name + R"("}})"); }),
                HasSubstr("known: Adam, AdamW"))
        << name;
  EXPECT_THAT(complaints_of([] { import(R"({"optimizer": {"type": "AdamWW"}})"); }),
              HasSubstr("did you mean \"AdamW\"?"));
  for (const char* name : {"adam", "AdamW", "MuAdam", "RAdam"})
    EXPECT_NO_THROW(import(std::string(R"({"optimizer": {"type": ")") + name + R"("}})")) << name;
}

// Of PyTorch's and of others' optimizers ZeRO takes two.
TEST(ImportDeepSpeed, SaysWhereZeroWantsLeaveForAnOptimizer) {
  const auto asks = Contains(HasSubstr("zero_allow_untested_optimizer: DeepSpeed's ZeRO stops"));
  const std::string zero = R"("}, "zero_optimization": {"stage": 2})";
  for (const std::string name : {"SGD", "AdamW8bit"}) {
    const std::string type = R"({"optimizer": {"type": ")" + name;
    EXPECT_THAT(notes(type + zero + "}"), asks) << name;
    EXPECT_THAT(notes(type + zero + R"(, "zero_allow_untested_optimizer": true})"), Not(asks));
    EXPECT_THAT(notes(type + R"("}})"), Not(asks)) << name;
  }
  EXPECT_THAT(notes(R"({"optimizer": {"type": "AdamW)" + zero + "}"), Not(asks));
}

TEST(ImportDeepSpeed, SaysThatStagesAreNotTaken) {
  EXPECT_THAT(notes(R"({"pipeline": {"stages": 2}})"),
              Contains("parallel.pipeline: 1, pipeline.stages is not taken; --ranks 1 and "
                       "--set parallel.pipeline=2 ask for them"));
  EXPECT_THAT(notes(R"({"pipeline": {"stages": "auto"}})"),
              Not(Contains(HasSubstr("pipeline.stages"))));
}

TEST(ImportDeepSpeed, SaysThatDeepCompileOffloads) {
  EXPECT_THAT(notes(R"({"compile": {"deepcompile": true, "offload_activation": true}})"),
              Contains(HasSubstr("compile.offload_activation: DeepCompile moves tensors")));
  EXPECT_THAT(notes(R"({"compile": {"offload_activation": false}})"),
              Contains(HasSubstr("no effect on memory, bytes or time here: compile.off")));
}

// Without offload_optimizer masters and states are on the GPU, whatever parameters do.
TEST(ImportDeepSpeed, LeavesStatesOnTheGpuWhereParametersAloneAreOffloaded) {
  for (const char* device : {"cpu", "nvme"}) {
    const Imported alone =
        import(R"({"zero_optimization": {"stage": 3, "offload_param": {"device": ")" +
               std::string(device) + R"("}}})");
    EXPECT_EQ(alone.scenario["strategy"]["system"], "resident") << device;
    EXPECT_THAT(
        text::words_of(alone.notes),
        Contains(HasSubstr("offload_param: without offload_optimizer DeepSpeed keeps fp32 masters, "
                           "states and gradients on the GPU")));
  }
}

TEST(ImportDeepSpeed, RaisesBuffersThatHoldTooLittle) {
  const auto made = [](const std::string& optimizer, const std::string& keys) {
    return import(R"({"optimizer": {"type": ")" + optimizer +
                  R"("}, "zero_optimization": {"stage": 3,
      "offload_param": {"device": "nvme", "nvme_path": "/fast", "buffer_count": 1},
      "offload_optimizer": {"device": "nvme", "nvme_path": "/fast", )" +
                  keys + "}}}");
  };
  const Imported adam = made("AdamW", R"("buffer_count": 5, "pipeline_read": true)");
  EXPECT_EQ(adam.scenario["strategy"]["optimizer"]["buffers"], 8);
  EXPECT_EQ(adam.scenario["strategy"]["weights"]["buffer_count"], 2);
  EXPECT_THAT(text::words_of(adam.notes),
              Contains("zero_optimization.offload_optimizer.buffer_count: 5 hold no sub-group of "
                       "Adam beside the one that pipeline_read or pipeline_write has in flight, "
                       "DeepSpeed stops; taken as 8"));
  const Imported lion = made("Lion", R"("buffer_count": 6, "pipeline_write": true)");
  EXPECT_EQ(lion.scenario["strategy"]["optimizer"]["buffers"], 6);
}

// memascend_c2 has two drives, and which of them has the folder its name does not tell.
TEST(ImportDeepSpeed, SaysOnHowManyDrivesAFolderIsTakenToLie) {
  const auto of = [](const std::string& device) {
    const std::string zero = R"({"stage": 3, "offload_optimizer": {"device": ")" + device +
                             R"(", "nvme_path": "/fast"}})";
    return text::words_of(
        import(R"({"zero_optimization": )" + zero + "}", "", "memascend_c2").notes);
  };
  EXPECT_THAT(
      of("nvme"),
      Contains("zero_optimization.offload_optimizer.nvme_path: \"/fast\" is taken to lie on "
               "a stripe of the 2 drives of nvme; where it is on one of them, simulate with "
               "--set machine.storage.nvme.count=1"));
  EXPECT_THAT(of("nvme"), Not(Contains(HasSubstr("no effect on memory, bytes or time here: "))));
  EXPECT_THAT(of("cpu"), Not(Contains(HasSubstr("a stripe of the"))));
  const Imported two = import(R"({"zero_optimization": {"stage": 3,
      "offload_param": {"device": "nvme", "nvme_path": "/a"},
      "offload_optimizer": {"device": "nvme", "nvme_path": "/b"}}})",
                              "", "memascend_c2");
  EXPECT_THAT(text::words_of(two.notes),
              Contains(HasSubstr("offload_param.nvme_path: \"/a\" and zero_optimization."
                                 "offload_optimizer.nvme_path: \"/b\" are taken to lie on a "
                                 "stripe of the 2 drives of nvme; where both are on one")));
}

TEST(ExportDeepSpeed, SaysWhatNoScenarioHolds) {
  const auto of = [](const char* optimizer) {
    return text::words_of(
        exported(R"("training": {"optimizer": ")" + std::string(optimizer) + "\"}").notes);
  };
  EXPECT_THAT(of("adamw"), Contains(HasSubstr("optimizer.params, scheduler: not written, as")));
  EXPECT_THAT(of("adamw"), Contains(HasSubstr("gradient_clipping: Hugging Face's Trainer stops")));
  // the trainer brings the optimizer
  EXPECT_THAT(of("adafactor"), Not(Contains(HasSubstr("optimizer.params"))));
}

TEST(ImportDeepSpeed, TakesTheMeshOfSequencesAndData) {
  const auto parallel = [](const std::string& keys) {
    return import("{" + keys + "}").scenario["parallel"];
  };
  const auto both = parallel(R"("sequence_parallel_size": 2, "data_parallel_size": 1)");
  EXPECT_EQ(both["context"], 2);
  EXPECT_EQ(both["data"], 1);
  // two GPUs have no room for two times two ranks
  EXPECT_THAT(notes(R"({"sequence_parallel_size": 2, "data_parallel_size": 2})"),
              Contains("data_parallel_size: 2 ranks, of which the GPUs here are 1"));
  EXPECT_THAT(notes(R"({"sequence_parallel_size": 2})"),
              Contains(HasSubstr("makes its groups only beside data_parallel_size")));
}

TEST(ImportDeepSpeed, WritesSettingsOfGatheringWhereSomethingIsGathered) {
  const std::string stage_three =
      R"({"zero_optimization": {"stage": 3, "stage3_prefetch_bucket_size": 5e7}})";
  EXPECT_TRUE(import(stage_three).scenario["strategy"]["weights"].contains("prefetch_bucket"));
  const auto weights = import(stage_three, "", "gaming_4090").scenario["strategy"]["weights"];
  for (const char* key : {"prefetch_blocks", "prefetch_bucket", "max_live", "max_reuse"})
    EXPECT_FALSE(weights.contains(key)) << key;
}

TEST(ExportDeepSpeed, WritesTheMeshOfSequencesAndData) {
  const Exported made = exported(R"("parallel": {"data": 1, "context": 2})");
  EXPECT_EQ(made.ds_config["sequence_parallel_size"], 2);
  EXPECT_EQ(made.ds_config["data_parallel_size"], 1);
  EXPECT_THAT(text::words_of(made.notes),
              Contains(HasSubstr("the trainer must bring Ulysses' attention")));
  EXPECT_FALSE(exported(R"("parallel": {"data": 2})").ds_config.contains("data_parallel_size"));
}

TEST(ExportDeepSpeed, SaysWhoSendsCheckpointsToHostMemory) {
  const Exported made =
      exported(R"("parallel": {"data": 2})", false,
               R"({"system": "zero_infinity", "activations": {"policy": "checkpoint_host"}})");
  EXPECT_EQ(made.ds_config["activation_checkpointing"]["cpu_checkpointing"], true);
  EXPECT_THAT(text::words_of(made.notes),
              Contains(HasSubstr("those of Hugging Face do not, and keep them on the GPU")));
}

TEST(ExportDeepSpeed, ComesNearestInAsManyBits) {
  for (const std::string half : {"bf16", "fp16"}) {
    const std::string pure = R"("training": {"precision": ")" + half + "\"}";
    EXPECT_THAT(complaints_of([&] { exported(pure); }),
                HasSubstr("its own is " + half + "_mixed: set that"));
    EXPECT_EQ(exported(pure, true).ds_config[half]["enabled"], true);
  }
}

TEST(ImportDeepSpeed, TakesOneBitOptimizersWhereDeepSpeedHasThem) {
  const std::string type = R"("optimizer": {"type": "OneBitAdam"})";
  EXPECT_THAT(notes("{" + type + "}"),
              Contains(HasSubstr("optimizer.type: \"OneBitAdam\" sends its momentum")));
  EXPECT_THAT(
      complaints_of([&] { import("{" + type + R"(, "zero_optimization": {"stage": 1}})"); }),
      HasSubstr("DeepSpeed stops at \"OneBitAdam\" beside ZeRO; use AdamW"));
}

// The trainer writes the sizes in place of "auto": they are there.
TEST(ImportDeepSpeed, MissesNoBatchThatTheTrainerFillsIn) {
  const auto neither = Contains(HasSubstr("neither it nor train_micro_batch_size_per_gpu"));
  EXPECT_THAT(notes("{}"), neither);
  EXPECT_THAT(notes(R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"})"),
              AllOf(Contains(HasSubstr("\"auto\" follows the trainer's arguments")), Not(neither)));
}

// Its sections of precisions became models of pydantic that refuse what they do not know.
TEST(ImportDeepSpeed, SaysWhichVersionsRefuseAnUnknownKeyOfAPrecision) {
  const char* const misspelt = R"({"bf16": {"enable": true}, "fp16": {"loss_scale_windw": 2}})";
  const auto newer = notes(misspelt);
  EXPECT_THAT(newer, Contains(HasSubstr("bf16.enable: no key of DeepSpeed's, which refuses it")));
  EXPECT_THAT(newer, Contains(HasSubstr("fp16.loss_scale_windw: no key of DeepSpeed's, which")));
  const auto older = notes(misspelt, "0.16");
  EXPECT_THAT(older, Contains(HasSubstr("bf16.enable: no key of DeepSpeed's, ignored")));
}

TEST(ImportDeepSpeed, RefusesABatchSizeInQuotes) {
  EXPECT_THAT(complaints_of([] { import(R"({"train_micro_batch_size_per_gpu": "4"})"); }),
              HasSubstr("train_micro_batch_size_per_gpu: \"4\" is a string"));
}

}  // namespace
}  // namespace spillway::scenarios::deepspeed_unsaid_test
