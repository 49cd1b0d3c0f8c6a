#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/deepspeed/export_deepspeed.hpp"
#include "scenarios/deepspeed/import_deepspeed.hpp"
#include "scenarios/json/hjson.hpp"
#include "tests/reports/text/words_of.hpp"
#include "tests/scenarios/complaints.hpp"
#include "tests/scenarios/deepspeed/imported.hpp"
#include "tests/scenarios/temporary_files.hpp"
#include "tests/scenarios/test_systems.hpp"

namespace spillway::scenarios::deepspeed_test {
namespace {

using nlohmann::json;
using test::import;
using testing::Contains;
using testing::HasSubstr;

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
  EXPECT_EQ(system(R"({"stage": 3, "offload_param": {"device": "nvme"},
                       "offload_optimizer": {"device": "cpu"}})"),
            "zero_infinity");
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

TEST(ImportDeepSpeed, FetchesAheadAsManyBlocksAsMayLive) {
  const auto blocks = [](const std::string& live) {
    return import(R"({"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"},
                      "offload_optimizer": {"device": "cpu"}, "stage3_max_live_parameters": )" +
                  live + "}}")
        .scenario["strategy"]["weights"]["prefetch_blocks"];
  };
  EXPECT_EQ(blocks("1e9"), 12);   // all that gpt2 has
  EXPECT_EQ(blocks("2.2e7"), 3);  // 7.09e6 each: the one that runs, two and a part of a third
  EXPECT_EQ(blocks("1"), 1);
}

TEST(ImportDeepSpeed, CompletesTheThreeBatchSizes) {
  // 32 samples in all = 4 x accumulation x 2 ranks
  const json training = import(R"({"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4})")
                            .scenario["training"];
  EXPECT_EQ(training["gradient_accumulation"], 4);
  EXPECT_EQ(
      refusal(R"({"train_batch_size": 33, "train_micro_batch_size_per_gpu": 4})"),
      "ds.json:1:22: train_batch_size: 33 samples are no multiple of micro-batch 4 x accumulation "
      "1; make the three agree");
}

TEST(ImportDeepSpeed, TakesAFileOfMoreGpusAndSaysWhatAStepHas) {
  // 64 samples = 4 x 2 on 8 GPUs; on two of them 4 x 2 x 2 = 16
  const Imported imported = import(R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 2})");
  EXPECT_EQ(imported.scenario["training"]["micro_batch"], 4);
  EXPECT_THAT(text::words_of(imported.notes),
              Contains("train_batch_size: 64 samples are micro-batch 4 x accumulation 2 on 8 GPUs; "
                       "on 2 DeepSpeed stops unless it is 16, which is taken"));
}

TEST(ImportDeepSpeed, SaysWhatItAssumedAndIgnored) {
  const Imported imported =
      import(R"({"train_micro_batch_size_per_gpu": "auto", "steps_per_print": 5, "dump_state": true,
    "hello": 1, "zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}})");
  EXPECT_THAT(
      text::words_of(imported.notes),
      Contains("train_micro_batch_size_per_gpu: \"auto\" follows the trainer's arguments, taken "
               "as 1"));
  EXPECT_THAT(text::words_of(imported.notes), Contains("hello: no key of DeepSpeed's, ignored"));
  EXPECT_THAT(text::words_of(imported.notes),
              Contains("no effect on memory, bytes or time here: dump_state, steps_per_print"));
  EXPECT_THAT(text::words_of(imported.notes),
              Contains("zero_optimization.offload_param: ignored, DeepSpeed offloads "
                       "parameters in stage 3 only"));
  EXPECT_THAT(text::words_of(imported.notes),
              Contains("training.sequence: not in a DeepSpeed configuration, taken as "
                       "1024"));
}

TEST(ImportDeepSpeed, NamesTheKeyThatWasMeant) {
  const auto notes =
      text::words_of(import(R"({"gradient_acumulation_steps": 4, "stage3_max_live_parameters": 1,
    "zero_optimization": {"stage": 3, "overlap_com": true}})")
                         .notes);
  EXPECT_THAT(notes, Contains("gradient_acumulation_steps: no key of DeepSpeed's, ignored; did you "
                              "mean \"gradient_accumulation_steps\"?"));
  EXPECT_THAT(notes, Contains("zero_optimization.overlap_com: no key of DeepSpeed's, which refuses "
                              "it; did you mean \"overlap_comm\"?"));
  EXPECT_THAT(notes, Contains("stage3_max_live_parameters: no key of DeepSpeed's, ignored; it "
                              "belongs into zero_optimization"));
}

TEST(ImportDeepSpeed, NamesAMisspeltSectionOnceAndFirstOfAll) {
  const Imported imported = import(R"({"bf17": {"enabled": true},
    "zero_optimizaton": {"stage": 3, "overlap_comm": true, "offload_param": {"device": "cpu"}}})");
  EXPECT_EQ(imported.scenario["training"]["precision"], "fp32");
  EXPECT_EQ(imported.scenario["parallel"]["zero_stage"], 0);
  ASSERT_GE(imported.notes.size(), 2u);
  EXPECT_EQ(imported.notes[0],
            "bf17: no section of DeepSpeed's, all of it is ignored; did you mean \"bf16\"?");
  EXPECT_EQ(imported.notes[1],
            "zero_optimizaton: no section of DeepSpeed's, all of it is ignored; did you mean "
            "\"zero_optimization\"?");
  EXPECT_THAT(text::words_of(imported.notes),
              testing::Not(Contains(HasSubstr("zero_optimizaton."))));
}

TEST(ImportDeepSpeed, NamesTheOffloadSectionThatWasMeant) {
  const auto first_note = [](const std::string& text) { return words(import(text).notes.at(0)); };
  const std::string refused =
      ": no section of DeepSpeed's, which refuses it; here all of it is ignored; did you mean ";
  for (const std::string name : {"offload_optimizr", "offload_optimiser"})
    EXPECT_EQ(first_note("{\"zero_optimization\": {\"stage\": 3, \"" + name +
                         "\": {\"device\": \"cpu\"}}}"),
              "zero_optimization." + name + refused + "\"offload_optimizer\"?");
  EXPECT_EQ(first_note(R"({"zero_optimization": {"stage": 3, "offload_parm": {"buffer_cnt": 5}}})"),
            "zero_optimization.offload_parm" + refused + "\"offload_param\"?");
  EXPECT_EQ(first_note(R"({"offload_optimizer": {"device": "cpu"}})"),
            "offload_optimizer: no section of DeepSpeed's, all of it is ignored; it belongs into "
            "zero_optimization");
  EXPECT_EQ(first_note(R"({"offload_parm": {"device": "cpu"}})"),
            "offload_parm: no section of DeepSpeed's, all of it is ignored; did you mean "
            "\"offload_param\", inside zero_optimization?");
}

TEST(ImportDeepSpeed, NamesWhatItDoesNotSimulate) {
  const auto notes = text::words_of(import(R"({
    "zero_optimization": {"stage": 3, "zero_quantized_weights": true, "zero_hpz_partition_size": 1,
                          "zenflow": {"topk_ratio": 0.1, "update_interval": 4}}})")
                                        .notes);
  EXPECT_THAT(notes, Contains(HasSubstr("zero_quantized_weights: ZeRO++ gathers weights in 8")));
  EXPECT_THAT(notes, Contains(HasSubstr("zenflow: not simulated but in stage 2")));
  EXPECT_THAT(notes, testing::Not(Contains(HasSubstr("zero_hpz_partition_size: ZeRO++"))));
}

TEST(ImportDeepSpeed, RefusesWhatItCannotDescribe) {
  EXPECT_EQ(refusal(R"({"lora": {"r": 8}})"),
            "ds.json:1:10: lora: DeepSpeed's configuration says nothing of adapters; name PEFT's "
            "adapter_config.json beside it (--adapter), or say --set training.method=lora");
  EXPECT_EQ(refusal(R"({"optimizer": {"type": "AdamW8bit"},
  "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}})"),
            "ds.json:1:24: optimizer.type: \"AdamW8bit\" has 8-bit states, which no CPU updates; "
            "use AdamW, or leave offload_optimizer out");
  EXPECT_EQ(refusal(R"({"zero_optimization": {"stage": [0, 1, 2]}})"),
            "ds.json:1:33: zero_optimization.stage: [0,1,2] is a list of values to try, as the "
            "autotuner reads it; write one of them; plan settings searches too");
}

TEST(ImportDeepSpeed, RefusesAFileOfAnotherProgram) {
  EXPECT_THAT(refusal(R"({"compute_environment": "LOCAL_MACHINE",
                          "deepspeed_config": {"zero_stage": 3}})"),
              HasSubstr("this is Accelerate's configuration"));
  EXPECT_THAT(refusal(R"({"model": "llama-3.1-8b"})"), HasSubstr("none of its keys"));
  EXPECT_NO_THROW(import("{}"));
}

TEST(ImportDeepSpeed, RefusesASectionThatIsNoObject) {
  EXPECT_EQ(refusal(R"({"zero_optimization": "stage 3"})"),
            "ds.json:1:23: zero_optimization: \"stage 3\" is no section, and DeepSpeed stops "
            "there; write \"zero_optimization\": {\"stage\": 3} or leave it out");
  EXPECT_EQ(refusal(R"({"bf16": true})"),
            "ds.json:1:10: bf16: true is no section, and DeepSpeed stops there; write \"bf16\": "
            "{\"enabled\": true} or leave it out");
  EXPECT_EQ(refusal(R"({"checkpoint": null})"),
            "ds.json:1:16: checkpoint: null is no section, and DeepSpeed stops there; write an "
            "object {...} or leave it out");
  for (const char* wrong : {R"({"zero_optimization": 3})", R"({"zero_optimization": null})",
                            R"({"fp16": "auto"})", R"({"optimizer": "AdamW"})", R"({"aio": []})",
                            R"({"activation_checkpointing": true})", R"({"data_types": "fp32"})"})
    EXPECT_THAT(refusal(wrong), HasSubstr("is no section")) << wrong;
}

TEST(ImportDeepSpeed, TakesWhatDeepSpeedTakesInPlaceOfASection) {
  EXPECT_EQ(import(R"({"zero_optimization": true})").scenario["parallel"]["zero_stage"], 1);
  EXPECT_EQ(import(R"({"zero_optimization": false})").scenario["parallel"]["zero_stage"], 0);
  EXPECT_EQ(refusal(R"({"aio": null})"), "");
  EXPECT_THAT(text::words_of(import(R"({"bf16": "BF16_SECTION"})").notes),
              Contains("bf16: filled in by a script, taken as not set"));
}

TEST(ImportDeepSpeed, TakesOlderNamesOfKeys) {
  const Imported old = import(R"({"zero_optimization": {"stage": 3, "cpu_offload": true,
    "cpu_offload_params": true, "cpu_offload_use_pin_memory": false, "max_live_parameters": 7}})");
  const json& strategy = old.scenario["strategy"];
  EXPECT_EQ(strategy["optimizer"]["home"], "host");
  EXPECT_EQ(strategy["weights"]["home"], "host");
  EXPECT_EQ(strategy["weights"]["max_live"], "7 params");
  EXPECT_EQ(strategy["gradients"]["d2h"], "pageable");
  EXPECT_THAT(text::words_of(old.notes),
              Contains("zero_optimization.cpu_offload: deprecated, taken as "
                       "offload_optimizer with device \"cpu\""));
  EXPECT_EQ(import(R"({"zero_optimization": true})").scenario["parallel"]["zero_stage"], 1);
}

TEST(ImportDeepSpeed, PinsByDefaultSinceTheReleaseThatDoes) {
  const std::string text =
      R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}})";
  const auto d2h = [&](const std::string& version) {
    return import(text, version).scenario["strategy"]["gradients"]["d2h"];
  };
  EXPECT_EQ(d2h(""), "pinned");  // 0.19.6
  EXPECT_EQ(d2h("0.19.5"), "pinned");
  EXPECT_EQ(d2h("0.19.4"), "pageable");
  EXPECT_EQ(d2h("0.18"), "pageable");
  EXPECT_EQ(d2h("0.17.2"), "pageable");
  EXPECT_TRUE(import(text).pinning_unsaid);
  EXPECT_EQ(import(text, "0.17").scenario["strategy"]["preset"], "deepspeed_0.17");
  EXPECT_EQ(complaints_of([&] { import(text, "1.0"); }),
            "--deepspeed: no \"1.0\" of DeepSpeed is described; known: 0.19, 0.18, 0.17, 0.16 and "
            "0.9.3, also with a third number");
}

TEST(ImportDeepSpeed, GradientsAddUpInTheTypeOfTheWeightsUnlessSaid) {
  // DeepSpeed's engine.get_data_types
  const auto width = [](const std::string& more) {
    return import(R"({"bf16": {"enabled": true}, )" + more +
                  R"("zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}})")
        .scenario["strategy"]["gradients"]["accumulation"];
  };
  EXPECT_EQ(width(""), "fp16");  // two bytes
  EXPECT_EQ(width(R"("data_types": {"grad_accum_dtype": "fp32"}, )"), "fp32");
}

TEST(ImportDeepSpeed, CopiesThatChangeTypeAreThoseOfItsVersion) {
  const auto parts = [](const std::string& more, const std::string& version) {
    return import(R"({"bf16": {"enabled": true}, )" + more, version).scenario["strategy"];
  };
  const std::string stage_3 =
      R"("zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}})";
  EXPECT_EQ(parts(stage_3, "0.9.3")["gradients"]["d2h"], "typed");
  EXPECT_NE(parts(stage_3, "0.16")["gradients"]["d2h"], "typed");
  const std::string wide = R"("data_types": {"grad_accum_dtype": "fp32"}, )";
  EXPECT_NE(parts(wide + stage_3, "0.9.3")["gradients"]["d2h"], "typed");
  // new weights of the GPU in all versions; those of the host and of stage 2 in none
  for (const char* version : {"0.9.3", "0.16", "0.19"})
    EXPECT_EQ(parts(stage_3, version)["weights"]["h2d"], "typed") << version;
  const std::string stage_2 =
      R"("zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}})";
  EXPECT_FALSE(parts(stage_2, "0.9.3")["weights"].contains("h2d"));
  const std::string on_host =
      R"("zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"},
         "offload_optimizer": {"device": "cpu"}}})";
  EXPECT_FALSE(parts(on_host, "0.19")["weights"].contains("h2d"));
}

TEST(ImportDeepSpeed, MainGradientsAreThoseOfBf16Optimizer) {
  const auto main = [](const std::string& more, const char* stage) {
    const auto gradients = import(R"({"bf16": {"enabled": true}, )" + more +
                                  R"("zero_optimization": {"stage": )" + stage + "}}")
                               .scenario["strategy"]["gradients"];
    return gradients.value("main_gradients", false);
  };
  const std::string wide = R"("data_types": {"grad_accum_dtype": "fp32"}, )";
  EXPECT_TRUE(main(wide, "1"));
  EXPECT_FALSE(main("", "1"));
  EXPECT_FALSE(main(wide, "2"));
}

TEST(ImportDeepSpeed, TakesTheRatioOfTwinFlowWhereDeepSpeedDoes) {
  const auto with = [](const char* stage, const char* device, const char* ratio,
                       const std::string& version = "") {
    return import(fmt::format(R"({{"zero_optimization": {{"stage": {}, "offload_optimizer":
                                  {{"device": "{}", "nvme_path": "/", "ratio": {}}}}}}})",
                              stage, device, ratio),
                  version);
  };
  const auto share = [](const Imported& one) {
    return one.scenario["strategy"]["optimizer"].value("cpu_share", 1.0);
  };
  EXPECT_EQ(share(with("3", "cpu", "0.4")), 0.4);
  EXPECT_EQ(share(with("3", "cpu", "0")), 0);
  EXPECT_THAT(text::words_of(with("3", "cpu", "0.4").notes),
              testing::Not(Contains(HasSubstr("offload_optimizer.ratio"))));
  for (const Imported& ignored :
       {with("2", "cpu", "0.4"), with("3", "nvme", "0.4"), with("3", "cpu", "0.4", "0.9.3")}) {
    EXPECT_EQ(share(ignored), 1);
    EXPECT_THAT(text::words_of(ignored.notes),
                Contains(HasSubstr("offload_optimizer.ratio: ignored")));
  }
  EXPECT_THAT(complaints_of([&] { with("3", "cpu", "1.5"); }), HasSubstr("from 0 to 1"));
}

TEST(ImportDeepSpeed, KnowsWhatSwitchesPrefetchingOff) {
  const auto zero = [](const std::string& more) {
    return import(R"({"zero_optimization": {"stage": 3, )" + more + "}}");
  };
  const Imported none = zero(R"("stage3_prefetch_bucket_size": 0)");
  EXPECT_EQ(none.scenario["strategy"]["weights"]["prefetch_bucket"], "0 params");
  EXPECT_THAT(text::words_of(none.notes),
              Contains("zero_optimization.stage3_prefetch_bucket_size: 0 switches all "
                       "prefetching off"));
  const Imported serial = zero(R"("overlap_comm": false)");
  EXPECT_EQ(serial.scenario["strategy"]["weights"]["prefetch_blocks"], 0);
}

TEST(ImportDeepSpeed, RefusesAQuantizedModelAndAnAdapter) {
  const TemporaryFiles files;
  ImportOptions options;
  options.machine = "memascend_c1";
  options.model = files.write("adapter_config.json", "{\"peft_type\": \"LORA\"}");
  const auto config = parse_located("{}", "ds.json");
  EXPECT_EQ(
      files.relative(complaints_of([&] { import_deepspeed(config, options); })),
      "adapter_config.json:1:2: peft_type: a quantized model or an adapter is no model to start "
      "from; name the base model, and what is trained of it by --adapter or --set");
  options.model = "Qwen/Qwen3-8B-AWQ";  // as its file would be
  EXPECT_EQ(complaints_of([&] { import_deepspeed(config, options); }),
            "quantization_config: a quantized model or an adapter is no model to start from; name "
            "the base model, and what is trained of it by --adapter or --set");
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

/// A scenario of gpt2 with `strategy`, exported.
Exported exported(const std::string& strategy, const ExportOptions& options = {}) {
  const std::string text = R"({"model": "gpt2", "machine": "memascend_c1",
    "training": {"precision": "fp16_mixed", "micro_batch": 3}, "parallel": {"data": 2},
    "strategy": )" + strategy +
                           "}";
  const auto resolved = read_scenario(parse_located(text, "a.json"), {}, test_systems());
  return export_deepspeed(resolved.scenario, test_systems(), options);
}

TEST(ExportDeepSpeed, WritesBuffersThatHoldTheModel) {
  const Exported made = exported(R"({"system": "zero_infinity", "preset": "deepspeed_0.16"})");
  const json& zero = made.ds_config["zero_optimization"];
  EXPECT_EQ(made.ds_config["train_batch_size"], 6);  // 3 x 1 x 2
  EXPECT_EQ(made.ds_config["fp16"]["enabled"], true);
  EXPECT_EQ(zero["offload_param"]["buffer_count"], 9);          // 2 + 7
  EXPECT_EQ(zero["offload_param"]["buffer_size"], 19'298'688);  // 50257 x 768 / 2
  EXPECT_EQ(zero["offload_optimizer"]["device"], "nvme");
  EXPECT_EQ(made.version.text(), "0.16");
}

TEST(ExportDeepSpeed, WritesTheRatioOfTwinFlow) {
  const char* const share =
      R"({"system": "zero_offload", "preset": "deepspeed_0.19", "optimizer": {"cpu_share": 0.25}})";
  EXPECT_EQ(exported(share).ds_config["zero_optimization"]["offload_optimizer"]["ratio"], 0.25);
  const Exported all = exported(R"({"system": "zero_offload", "preset": "deepspeed_0.19"})");
  EXPECT_FALSE(all.ds_config["zero_optimization"]["offload_optimizer"].contains("ratio"));
  // a release that knows no ratio steps all on the CPU
  ExportOptions old;
  old.deepspeed = "0.9.3";
  EXPECT_THAT(complaints_of([&] { exported(share, old); }),
              HasSubstr("strategy.optimizer.cpu_share"));
}

TEST(ExportDeepSpeed, NeverSwitchesOffPrefetchingThatIsOn) {
  const auto zero = [](const std::string& blocks) {
    return exported(R"({"system": "zero_infinity", "preset": "deepspeed_0.16",
                        "weights": {"prefetch_blocks": )" +
                    blocks + "}}")
        .ds_config["zero_optimization"];
  };
  EXPECT_GT(zero("1")["stage3_prefetch_bucket_size"], 0);
  EXPECT_GT(zero("1")["stage3_max_live_parameters"], 0);
  EXPECT_EQ(zero("0")["stage3_prefetch_bucket_size"], 0);
}

TEST(ExportDeepSpeed, PrefetchesNoMoreThanMayLive) {
  for (const char* home : {"host", "ssd"}) {
    const json zero = exported(fmt::format(R"({{"system": "zero_infinity",
        "preset": "deepspeed_0.16", "weights": {{"home": "{}", "prefetch_blocks": 1,
        "prefetch_bucket": "all", "max_live": "all"}}}})",
                                           home))
                          .ds_config["zero_optimization"];
    const std::uint64_t bucket = zero["stage3_prefetch_bucket_size"];
    EXPECT_LE(bucket, zero["stage3_max_live_parameters"]) << home;
    // the table of tokens, 50257 x 768, the one of positions and a block beside it
    EXPECT_LT(bucket, 124'439'808) << home;  // all of gpt2
    EXPECT_GT(bucket, 0) << home;
  }
}

TEST(ExportDeepSpeed, SaysWhatTheTrainerMustBring) {
  const auto made = [](const std::string& training) {
    const std::string text = R"({"model": "gpt2", "machine": "memascend_c1", "training": {)" +
                             training + R"(}, "parallel": {"data": 2},
      "strategy": {"system": "zero_infinity", "preset": "deepspeed_0.16"}})";
    const auto resolved = read_scenario(parse_located(text, "a.json"), {}, test_systems());
    return export_deepspeed(resolved.scenario, test_systems());
  };
  const Exported plain = made(R"("fused_kernels": false)");
  EXPECT_TRUE(plain.overrides.empty());
  EXPECT_THAT(text::words_of(plain.notes), testing::Not(Contains(HasSubstr("must bring"))));
  const Exported fused = made(R"("fused_kernels": false, "loss": "fused")");
  EXPECT_THAT(fused.overrides, testing::ElementsAre("training.loss=fused"));
  EXPECT_EQ(fused.scenario["training"]["loss"], "fused");
  EXPECT_THAT(text::words_of(fused.notes),
              Contains(HasSubstr("training.loss: fused, which the trainer must "
                                 "bring")));
  EXPECT_THAT(words(fused.notes.back()),
              HasSubstr("--sequence 1024 --set training.loss=fused, this"));
}

TEST(ExportDeepSpeed, InventsNoPath) {
  const std::string strategy = R"({"system": "zero_infinity", "preset": "deepspeed_0.16"})";
  const Exported without = exported(strategy);
  EXPECT_TRUE(without.needs_nvme_path);
  EXPECT_FALSE(without.ds_config["zero_optimization"]["offload_param"].contains("nvme_path"));
  ExportOptions options;
  options.nvme_path = "/fast";
  const Exported with = exported(strategy, options);
  EXPECT_FALSE(with.needs_nvme_path);
  EXPECT_EQ(with.ds_config["zero_optimization"]["offload_optimizer"]["nvme_path"], "/fast");
}

TEST(ExportDeepSpeed, ImportsAgainAsTheSameParts) {
  const Imported once = import(R"({"fp16": {"enabled": true}, "train_micro_batch_size_per_gpu": 2,
    "zero_optimization": {"stage": 3, "sub_group_size": 1e8, "offload_param": {"device": "nvme"},
    "offload_optimizer": {"device": "nvme", "pipeline_write": true, "buffer_count": 12}}})");
  const auto resolved = read_scenario(once.scenario, {}, test_systems()).scenario;
  const Imported twice = import(export_deepspeed(resolved, test_systems()).ds_config.dump());
  json expected = once.scenario;
  expected["strategy"]["weights"]["buffer_count"] = 9;  // written out
  expected["strategy"]["weights"]["buffer_size"] = "19298688 params";
  EXPECT_EQ(twice.scenario, expected);
}

TEST(ExportDeepSpeed, RefusesPartsThatDeepSpeedDoesNotHave) {
  const std::string active = complaints_of([] {
    exported(R"({"system": "memascend", "gradients": {"policy": "active"},
                 "overflow_check": "none"})");
  });
  EXPECT_EQ(
      active,
      "strategy.gradients.policy: DeepSpeed has nothing like \"active\"; export a scenario of "
      "zero_infinity, zero_offload, superoffload or resident");
  const std::string pool = complaints_of([] { exported(R"({"system": "memascend"})"); });
  EXPECT_THAT(pool, HasSubstr("has nothing like \"adaptive\"; its own is monolithic"));
  EXPECT_THAT(pool, HasSubstr("strategy.io_engine: DeepSpeed "));
  EXPECT_THAT(pool, HasSubstr("strategy.pinned: DeepSpeed "));
}

TEST(ExportDeepSpeed, WritesTheNearestWhenAskedAndSaysWhatDiffers) {
  ExportOptions options;
  options.nearest = true;
  const Exported made = exported(R"({"system": "zero_infinity", "pinned": "exact"})", options);
  EXPECT_THAT(text::words_of(made.notes),
              Contains("strategy.pinned: DeepSpeed 0.19 has nothing like \"exact\"; "
                       "it does as power_of_two says"));
  EXPECT_EQ(made.scenario["strategy"]["pinned"], "power_of_two");
  EXPECT_THAT(complaints_of([&] { exported(R"({"system": "memascend"})", options); }),
              HasSubstr("strategy.system: DeepSpeed has nothing like \"memascend\""));
}

}  // namespace
}  // namespace spillway::scenarios::deepspeed_test
