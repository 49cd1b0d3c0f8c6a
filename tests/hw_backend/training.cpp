#include "tests/hw_backend/training.hpp"

#include "scenarios/reading/read_scenario.hpp"
#include "strategies/decide/decide.hpp"
#include "strategies/run/numerics.hpp"
#include "strategies/systems/catalogue.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <nlohmann/json.hpp>

namespace spillway::hw_backend {

namespace {

using nlohmann::json;

std::vector<scenarios::SystemInfo> known_systems() {
  std::vector<scenarios::SystemInfo> known;
  for (const strategies::System& system : strategies::catalogue())
    known.push_back({system.name, system.defaults()});
  return known;
}

/// Storages of that many MB each.
json machine(std::uint64_t megabytes) {
  const auto storage = [&](const char* name) {
    return json{
        {"name", name},
        {"kind", "ssd"},
        {"count", 1},
        {"capacity", std::to_string(megabytes) + " MB"},
        {"read", "2 GB/s"},
        {"write", "1 GB/s"},
        {"near_storage", {{"read", "2 GB/s"}, {"write", "1 GB/s"}, {"adam", "0.1 Gparam/s"}}}};
  };
  return {{"name", "this one"},
          {"gpu",
           {{"count", 2},
            {"memory", "2 GiB"},
            {"reserve", "0 B"},
            {"memory_rate", "20 GB/s"},
            {"compute", {{"fp16", "50 GFLOPS"}, {"bf16", "50 GFLOPS"}, {"fp32", "50 GFLOPS"}}}}},
          {"pcie", {{"h2d", "2 GB/s"}, {"d2h", "2 GB/s"}}},
          {"host",
           {{"memory", "8 GiB"},
            {"reserve", "0 B"},
            {"memory_rate", "20 GB/s"},
            {"cores", 2},
            {"adam", "0.5 Gparam/s"},
            {"convert", "10 GB/s"}}},
          {"storage", {storage("nvme"), storage("second")}},
          {"network", {{"per_gpu", "2 GB/s"}}}};
}

/// Removes what lies there, of which a run may have left nothing but the directories it was given.
void expect_clean(const std::filesystem::path& root) {
  for (const auto& storage : std::filesystem::directory_iterator(root))
    for (const auto& left : std::filesystem::directory_iterator(storage))
      ADD_FAILURE() << "a run left " << left.path();
  std::filesystem::remove_all(root);
}

}  // namespace

std::size_t sample_step() {
#ifdef SPILLWAY_SANITIZED
  return 3;
#else
  return std::getenv("SPILLWAY_LONG_TESTS") ? 1 : 3;
#endif
}

std::vector<std::string> systems_under_test() {
  std::vector<std::string> all;
  for (const strategies::System& system : strategies::catalogue())
    if (system.name != std::string("resident")) all.emplace_back(system.name);
  return all;
}

bool selects_columns(const std::string& system) {
  return strategies::find_system(system)->defaults().optimizer.selected_share > 0;
}

description::Scenario small_training(const std::string& system, const Overrides& overrides,
                                     const Size& size) {
  const json scenario = {{"name", "small training"},
                         {"model",
                          {{"model_type", "llama"},
                           {"hidden_size", 256},
                           {"num_hidden_layers", size.blocks},
                           {"num_attention_heads", 8},
                           {"num_key_value_heads", 4},
                           {"intermediate_size", size.feed_forward},
                           {"vocab_size", 256},
                           {"tie_word_embeddings", false}}},
                         {"training",
                          {{"precision", "bf16_mixed"},
                           {"micro_batch", 1},
                           {"sequence", 32},
                           {"learning_rate", 1e-3}}},
                         {"machine", machine(size.blocks * size.feed_forward / 32)},
                         {"run", {{"warmup_steps", 1}, {"steps", 2}, {"checkpoint", true}}},
                         {"strategy",
                          {{"system", system},
                           {"optimizer", {{"subgroup", "2e6 params"}}},
                           {"gradients", {{"reduce_bucket", "1e6 params"}}}}}};
  return scenarios::read_scenario(scenario, overrides, known_systems(),
                                  scenarios::Refuse::what_cannot_run)
      .scenario;
}

RealRun train_for_real(const description::Scenario& scenario, RealRunOptions options, bool on_disk,
                       const std::optional<strategies::ActivationPlan>& plan,
                       const std::vector<strategies::Delays>& replay) {
  static int number = 0;
  const bool in_memory = !on_disk && std::filesystem::exists("/dev/shm");
  const std::filesystem::path root =
      (in_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path()) /
      ("spillway_real_" + std::to_string(getpid()) + "_" + std::to_string(number++));
  const std::size_t given = options.storages.size();
  for (std::size_t i = given; i < scenario.machine.storage.size(); ++i) {
    const description::StorageSpec& storage = scenario.machine.storage[i];
    RealStorage& directories = options.storages.emplace_back();
    for (std::uint64_t drive = 0; drive < storage.count; ++drive) {
      directories.directories.push_back(root / (storage.name + std::to_string(drive)));
      std::filesystem::create_directories(directories.directories.back());
    }
  }
  const strategies::Decision decision = strategies::repeating(
      plan ? strategies::decide_given(
                 scenario,
                 std::make_shared<const strategies::Prepared>(strategies::prepare(scenario)), *plan)
           : strategies::decided_as_written(scenario),
      replay);
  try {
    RealRun run = run_for_real(decision, options);
    expect_clean(root);
    return run;
  } catch (...) {
    expect_clean(root);
    throw;
  }
}

const RealRun& reference_run(const description::Scenario& scenario, const std::string& way) {
  struct Known {
    strategies::Numerics numerics;
    std::string way;
    RealRun run;
  };
  static std::deque<Known> all;
  const strategies::Numerics numerics = strategies::numerics_of(scenario);
  for (const Known& known : all)
    if (known.numerics == numerics && known.way == way) return known.run;
  all.push_back({numerics, way, train_for_real(strategies::reference_of(scenario))});
  return all.back().run;
}

void expect_its_references_end(const description::Scenario& scenario, const std::string& way) {
  const RealRun run = train_for_real(scenario);
  ASSERT_TRUE(run.result.feasible()) << json(run.result).at("infeasible");
  std::optional<RealRun> repeated;
  if (!run.delays.empty())
    repeated = train_for_real(strategies::reference_of(scenario), {}, false, {}, run.delays);
  const RealRun& reference = repeated ? *repeated : reference_run(scenario, way);
  ASSERT_TRUE(reference.result.feasible());
  EXPECT_LT(run.trained.losses.back(), run.trained.losses.front());
  EXPECT_EQ(run.trained.losses, reference.trained.losses);
  EXPECT_EQ(different(run.trained, reference.trained), 0u);
}

Overrides joined(Overrides all, const Overrides& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::uint64_t different(const Trained& one, const Trained& other) {
  std::uint64_t count = 0;
  for (std::size_t weight = 0; weight < one.masters.size(); ++weight) {
    const std::vector<float>& left = one.masters[weight];
    const std::vector<float>& right = other.masters[weight];
    if (left.size() != right.size()) {
      count += std::max(left.size(), right.size());
    } else if (std::memcmp(left.data(), right.data(), left.size() * sizeof(float)) != 0) {
      for (std::size_t i = 0; i < left.size(); ++i)
        count += std::bit_cast<std::uint32_t>(left[i]) != std::bit_cast<std::uint32_t>(right[i]);
    }
  }
  return count;
}

}  // namespace spillway::hw_backend
