#include "scenarios/reading/read_scenario.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/scenarios/complaints.hpp"
#include "tests/scenarios/temporary_files.hpp"
#include "tests/scenarios/test_systems.hpp"

namespace spillway::scenarios::read_scenario_test {
namespace {

using namespace description;

constexpr const char* plain = R"({
  "name": "plain", "model": "gpt2", "machine": "memascend_c1",
  "training": { "precision": "fp16_mixed" },
  "strategy": { "system": "zero_infinity" }
})";

Resolved read(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return read_scenario(parse_located(text, "a.json"), overrides, test_systems());
}

std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return complaints_of([&] { read(text, overrides); });
}

std::string source(const Resolved& resolved, const std::string& path) {
  const std::vector<Setting> settings = resolved.settings();
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const Setting& setting) { return setting.path == path; });
  return found == settings.end() ? "no such setting" : found->source;
}

TEST(ReadScenario, TakesWhatIsNotSaidFromTheSystem) {
  const Resolved resolved = read(plain);
  const Strategy& parts = resolved.scenario.strategy;
  EXPECT_EQ(parts.weights.pool, PoolKind::monolithic);
  EXPECT_EQ(parts.optimizer.buffers, 4u);
  EXPECT_EQ(resolved.scenario.model_name, "gpt2");
  EXPECT_EQ(resolved.scenario.machine.name, "memascend_c1");
  EXPECT_EQ(source(resolved, "strategy.optimizer.buffers"), "default of zero_infinity");
  EXPECT_EQ(source(resolved, "training.precision"), "a.json:3");
  EXPECT_EQ(source(resolved, "training.micro_batch"), "default");
  EXPECT_EQ(source(resolved, "machine.pcie.pageable_h2d"), "default: as pcie.pageable_d2h");
  EXPECT_TRUE(resolved.warnings.empty());
}

TEST(ReadScenario, PutsThePresetBetweenSystemAndScenario) {
  const Resolved resolved = read(R"({"model": "gpt2", "machine": "lohan_4090",
    "training": {"precision": "fp16_mixed"},
    "strategy": {"system": "zero_infinity", "preset": "deepspeed_0.9.3",
                 "optimizer": {"subgroup": "5e8 params"}}})");
  const Strategy& parts = resolved.scenario.strategy;
  EXPECT_EQ(parts.optimizer.subgroup, Params(500'000'000));     // scenario over preset
  EXPECT_EQ(parts.optimizer.buffers, 8u);                       // preset over system
  EXPECT_EQ(parts.gradients.policy, GradientPolicy::ssd_fp32);  // system
  EXPECT_EQ(source(resolved, "strategy.optimizer.buffers"), "preset deepspeed_0.9.3");
  EXPECT_EQ(source(resolved, "strategy.optimizer.subgroup"), "a.json:4");
}

TEST(ReadScenario, ReadsRecomputeAsCheckpointGpu) {
  const auto resolved = read(plain, {"strategy.activations.policy=recompute"});
  EXPECT_EQ(resolved.scenario.strategy.activations.policy, ActivationPolicy::checkpoint_gpu);
}

TEST(ReadScenario, OverridesAnyPathAndFindsListItemsByName) {
  const Resolved resolved =
      read(plain, {"training.micro_batch=8", "training.precision=bf16_mixed",
                   "machine.storage.nvme.count=4", "machine.host.memory=64 GiB", "name=\"8\""});
  EXPECT_EQ(resolved.scenario.training.micro_batch, 8u);
  EXPECT_EQ(resolved.scenario.training.precision, Precision::bf16_mixed);
  EXPECT_EQ(resolved.scenario.machine.storage.at(0).count, 4u);
  EXPECT_EQ(resolved.scenario.machine.host.memory, 64_GiB);
  EXPECT_EQ(resolved.scenario.name, "8");
  EXPECT_EQ(source(resolved, "machine.host.memory"), "--set machine.host.memory=64 GiB");
}

TEST(ReadScenario, OffersTheNearestPathForAWrongOverride) {
  EXPECT_EQ(refusal(plain, {"training.micro_bach=8"}),
            "--set training.micro_bach=8: training.micro_bach: no such key; did you mean "
            "\"micro_batch\"?");
  EXPECT_EQ(refusal(plain, {"machine.storage.nvm.count=4"}),
            "--set machine.storage.nvm.count=4: storage: no \"nvm\"; did you mean \"nvme\"? known: "
            "nvme");
  EXPECT_EQ(
      refusal(plain, {"machine.host.memory=64"}),
      "--set machine.host.memory=64: machine.host.memory: 64 has no unit; write a size such as "
      "\"64 GiB\"");
  EXPECT_EQ(refusal(plain, {"micro_batch"}),
            "--set micro_batch: not of the form path=value; write for example --set "
            "training.micro_batch=8");
  EXPECT_EQ(refusal(plain, {"name.x=1"}),
            "--set name.x=1: name: has nothing inside that could be set");
}

TEST(ReadScenario, OffersTheNearestSystemModelMachineAndPreset) {
  EXPECT_EQ(refusal(R"({"model": "gpt3", "machine": "memascend_c3",
 "strategy": {"system": "zero_infinty", "preset": "deepspeed_0.15"}})")
                .substr(0, 59),
            "a.json:1:11: model: no \"gpt3\"; did you mean \"gpt2\"? known: ");
  const std::string all = refusal(R"({"model": "gpt2", "machine": "memascend_c3",
 "strategy": {"system": "zero_infinty", "preset": "deepspeed_0.15"}})");
  EXPECT_THAT(all, testing::HasSubstr("a.json:1:30: machine: no \"memascend_c3\"; did you mean "));
  EXPECT_THAT(all,
              testing::HasSubstr("a.json:2:25: strategy.system: no \"zero_infinty\"; did you mean "
                                 "\"zero_infinity\"? known: "
                                 "resident, zero_offload, zero_infinity, memascend, ssdtrain"));
  EXPECT_THAT(all,
              testing::HasSubstr("a.json:2:51: strategy.preset: no \"deepspeed_0.15\"; did you "
                                 "mean \"deepspeed_0.16\"?"));
}

TEST(ReadScenario, SaysWhatIsMissing) {
  EXPECT_EQ(
      refusal("{}"),
      "a.json:1:1: machine: missing; write a text in quotes or an object {...}\n"
      "a.json:1:1: model: missing; write a name of models/library or the path of a config.json\n"
      "a.json:1:1: strategy: missing; write an object {...}");
  EXPECT_EQ(refusal(R"({"model": "gpt2", "machine": "memascend_c1", "strategy": {}})"),
            "a.json:1:58: strategy.system: missing; known: resident, zero_offload, zero_infinity, "
            "memascend, ssdtrain");
}

TEST(ReadScenario, NeedsNoModelForAnIoBench) {
  const Resolved resolved = read(R"({"machine": "memascend_c2", "strategy": {"system": "memascend"},
    "run": {"io_bench": {"op": "write", "bytes": 2097152, "requests": 3}}})");
  ASSERT_TRUE(resolved.scenario.run.io_bench);
  EXPECT_EQ(resolved.scenario.run.io_bench->bytes, 2_MiB);
  EXPECT_EQ(resolved.scenario.run.io_bench->requests, 3u);
}

TEST(ReadScenario, LocatesErrorsOfAnInlineModelAndMachine) {
  EXPECT_EQ(refusal(R"({"model": {"model_type": "gpt2",
  "n_embd": "wide"}, "strategy": {"system": "resident"},
 "machine": "memascend_c1"})")
                .substr(0, 29),
            "a.json:2:13: model.n_embd: \"w");
  EXPECT_THAT(refusal(R"({"model": "gpt2", "strategy": {"system": "resident"},
 "machine": {"name": "m", "gpu": {"memory": "24 GB", "compute": {"fp16": "1"},
   "memory_rate": "1 TB/s"}, "pcie": {"h2d": "1 GB/s", "d2h": "1 GB/s"},
   "host": {"memory": "1 GB", "memory_rate": "1 GB/s"}}})"),
              "a.json:2:74: machine.gpu.compute.fp16: \"1\" has no unit; write a speed such as "
              "\"1 TFLOPS\"");
}

TEST(ReadScenario, ResolvesToAScenarioThatResolvesToItself) {
  for (const char* preset :
       {"deepspeed_0.16", "deepspeed_0.17", "deepspeed_0.18", "deepspeed_0.19", "deepspeed_0.9.3",
        "deepspeed_zero3_nvme_optimizer", "deepspeed_fp32_tensor_parallel"}) {
    const nlohmann::json once = read(plain, {std::string("strategy.preset=") + preset}).scenario;
    const nlohmann::json twice = read_scenario(once, {}, test_systems()).scenario;
    EXPECT_EQ(once, twice) << preset;
  }
}

TEST(ReadScenario, LaysExpertsStackedUnlessTheyShallBeSeparate) {
  const std::string path = "training.experts";
  const Resolved resolved = read(plain);
  EXPECT_EQ(resolved.scenario.training.experts, ExpertLayout::stacked);
  EXPECT_EQ(source(resolved, path), "default");
  const Resolved other = read(plain, {"model=mixtral-8x7b", path + "=separate"});
  EXPECT_EQ(other.scenario.training.experts, ExpertLayout::separate);
  EXPECT_EQ(source(other, path), "--set training.experts=separate");
  // a pool's buffer must hold a matrix of one expert, 14336 x 4096, or all of gate and up
  const std::string size = "strategy.weights.buffer_size=200e6 params";
  EXPECT_NO_THROW(read(plain, {"model=mixtral-8x7b", size, path + "=separate"}));
  EXPECT_NE(refusal(plain, {"model=mixtral-8x7b", size}).find("939524096 params"),
            std::string::npos);
  EXPECT_NE(refusal(plain, {path + "=stackd"}).find("did you mean \"stacked\"?"),
            std::string::npos);
}

TEST(ReadScenario, ReadsNominalParametersWithAndWithoutUnit) {
  for (const char* text : {"nominal_params=\"13e9\"", "nominal_params=13e9 params"})
    EXPECT_EQ(read(plain, {text}).scenario.nominal_params, Params(13'000'000'000));
  EXPECT_EQ(
      refusal(plain, {"nominal_params=13 GiB"}),
      "--set nominal_params=13 GiB: nominal_params: \"13 GiB\" is not a count; write a count such "
      "as \"13 params\"");
}

TEST(ReadScenario, RefusesWhatNoScheduleRunsWhereThatIsAskedFor) {
  const auto refused = [](Refuse refuse) {
    return complaints_of([&] {
      read_scenario(parse_located(plain, "a.json"), {"strategy.optimizer.subgroup=0 params"},
                    test_systems(), refuse);
    });
  };
  EXPECT_EQ(refused(Refuse::contradictions), "");
  EXPECT_EQ(refused(Refuse::what_cannot_run),
            "--set strategy.optimizer.subgroup=0 params: strategy.optimizer.subgroup: a sub-group "
            "of no parameters; write a size such as \"1e8 params\"");
}

TEST(ReadScenario, RefusesAValueThatIsNestedTooDeep) {
  nlohmann::json deep;
  for (int i = 0; i < 100; ++i) deep = nlohmann::json::array({deep});
  EXPECT_EQ(complaints_of([&] { read_scenario(deep, {}, test_systems()); }),
            "nested deeper than 64 levels");
}

TEST(Extends, MergesKeyByKeyAndReplacesListsAndPathsWhole) {
  const TemporaryFiles files;
  files.write("base.json", R"({"model": "gpt2", "machine": "mlp_offload_t1",
    "training": {"micro_batch": 2, "sequence": 512},
    "strategy": {"system": "zero_infinity",
                 "optimizer": {"buffers": 9, "paths": {"nvme": 1, "pfs": 2}},
                 "activations": {"homes": ["host", "ssd"]}}})");
  const std::string top = files.write("sub/top.json", R"({"extends": "../base.json",
    "training": {"micro_batch": 4},
    "strategy": {"optimizer": {"paths": {"pfs": "auto"}}, "activations": {"homes": ["ssd"]}}})");
  const Resolved resolved = read_scenario(std::filesystem::path(top), {}, test_systems());
  const Scenario& scenario = resolved.scenario;
  EXPECT_EQ(scenario.training.micro_batch, 4u);
  EXPECT_EQ(scenario.training.sequence, 512u);
  EXPECT_EQ(scenario.strategy.optimizer.buffers, 9u);
  ASSERT_EQ(scenario.strategy.optimizer.paths.size(), 1u);
  EXPECT_FALSE(scenario.strategy.optimizer.paths.at("pfs"));
  EXPECT_EQ(scenario.strategy.activations.homes, std::vector<std::string>{"ssd"});
  EXPECT_EQ(scenario.name, "top");
  EXPECT_EQ(files.relative(source(resolved, "training.sequence")), "sub/../base.json:2");
}

TEST(Extends, RefusesACircle) {
  const TemporaryFiles files;
  const std::string one = files.write("one.json", R"({"extends": "two.json"})");
  files.write("two.json", R"({"extends": "one.json", "model": "gpt2", "machine": "memascend_c1",
    "strategy": {"system": "resident"}})");
  EXPECT_EQ(
      files.relative(
          complaints_of([&] { read_scenario(std::filesystem::path(one), {}, test_systems()); })),
      "two.json:1:13: extends: the files extend each other in a circle: one.json -> two.json -> "
      "one.json");
}

TEST(Extends, OffersTheNearestFile) {
  const TemporaryFiles files;
  files.write("llama.json", "{}");
  const std::string top = files.write("top.json", R"({"extends": "lama.json", "model": "gpt2",
    "machine": "memascend_c1", "strategy": {"system": "resident"}})");
  EXPECT_EQ(files.relative(complaints_of(
                [&] { read_scenario(std::filesystem::path(top), {}, test_systems()); })),
            "top.json:1:13: extends: no file \"lama.json\"; did you mean \"llama.json\"?");
}

// "c.json" has the ending alone in common with it.
TEST(Extends, OffersNoFileThatIsAlikeInItsEndingAlone) {
  const TemporaryFiles files;
  files.write("c.json", "{}");
  const std::string top = files.write("scenario.json", R"({"extends": "nope.json", "model": "gpt2",
    "machine": "memascend_c1", "strategy": {"system": "resident"}})");
  EXPECT_EQ(files.relative(complaints_of(
                [&] { read_scenario(std::filesystem::path(top), {}, test_systems()); })),
            "scenario.json:1:13: extends: no file \"nope.json\"");
}

TEST(Extends, LocatesAnErrorInTheBase) {
  const TemporaryFiles files;
  files.write("base.json", "{\n \"training\": {\"sequence\": 0}}");
  const std::string top = files.write("top.json", R"({"extends": "base.json", "model": "gpt2",
    "machine": "memascend_c1", "strategy": {"system": "resident"}})");
  EXPECT_EQ(files.relative(complaints_of(
                [&] { read_scenario(std::filesystem::path(top), {}, test_systems()); })),
            "base.json:2:27: training.sequence: 0 is below 1");
}

}  // namespace
}  // namespace spillway::scenarios::read_scenario_test
