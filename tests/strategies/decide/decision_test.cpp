#include "sim/plugin.hpp"
#include "strategies/decide/decide.hpp"
#include "strategies/decide/decision_json.hpp"
#include "strategies/machine/setup.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies::decision_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// A small training of a system that has something to decide.
struct Asked {
  std::string name, model, system;
  Overrides overrides = {};
};

std::vector<Asked> all_asked() {
  const Overrides tight = {"training.micro_batch=32", "machine.gpu.memory=1250 MiB"};
  const std::map<std::string, Overrides> need = {
      {"teraio", {"machine.gpu.memory=760 MiB"}},
      {"g10", {"machine.gpu.memory=760 MiB"}},
      {"flashneuron", tight},
      {"capuchin", tight},
      {"checkmate", {"training.micro_batch=32", "machine.gpu.memory=1300 MiB"}},
      {"ssdtrain", {"strategy.activations.min_elements=100000"}},
      {"smart_infinity",
       {R"(machine.storage.nvme.near_storage={"read": "3 GB/s", )"
        R"("write": "2 GB/s", "adam": "0.2 Gparam/s"})"}}};
  std::vector<Asked> all;
  for (const System& system : catalogue()) {
    const auto found = need.find(system.name);
    all.push_back(
        {system.name, "llama", system.name, found == need.end() ? Overrides() : found->second});
  }
  const auto with = [](Overrides one, const std::string& more) {
    one.push_back(more);
    return one;
  };
  all.push_back({"a_planner_beside_states_on_drives",
                 "llama",
                 "lohan",
                 {"strategy.activations.policy=plan", "strategy.activations.planner=capuchin",
                  R"(strategy.activations.homes=["host"])", "training.micro_batch=32",
                  "machine.gpu.memory=1000 MiB"}});
  all.push_back({"g10_over_saved_tensors", "gpt2", "flashneuron",
                 with(tight, "strategy.activations.planner=g10")});
  all.push_back({"two_ranks_swap", "mixtral", "lohan", {"parallel.data=2"}});
  all.push_back({"two_stages",
                 "llama",
                 "resident",
                 {"parallel.pipeline=2", "training.gradient_accumulation=3"}});
  all.push_back(
      {"stages_cut_by_time",
       "llama",
       "resident",
       {"parallel.pipeline=2", "training.gradient_accumulation=3", "model.num_hidden_layers=8",
        "model.vocab_size=32768", "training.loss=plain", "training.micro_batch=16",
        "machine.gpu.elementwise=separate", "machine.gpu.memory_rate=123.4567891 GB/s"}});
  all.push_back(
      {"two_planned_stages",
       "llama",
       "teraio",
       {"parallel.pipeline=2", "training.gradient_accumulation=2", "machine.gpu.memory=640 MiB"}});
  all.push_back({"migration_rate",
                 "gpt2",
                 "teraio",
                 {"machine.gpu.memory=760 MiB", "strategy.plan.migration_rate=8 GB/s"}});
  all.push_back({"too_small_a_gpu", "llama", "teraio", {"machine.gpu.memory=300 MiB"}});
  all.push_back({"too_small_a_host", "llama", "lohan", {"machine.host.memory=2 GiB"}});
  return all;
}

description::Scenario scenario_of(const Asked& asked) {
  Overrides overrides = {"run.steps=1"};
  overrides.insert(overrides.end(), asked.overrides.begin(), asked.overrides.end());
  return small_model(asked.model, asked.system, overrides);
}

json result_of(const Decision& decision) {
  const auto machine = sim::open_sim_machine(decision->scenario, false);
  if (decision->tiers == Tiers::grow) machine->let_tiers_grow();
  return run(*machine, decision, "sim");
}

Decision read_again(const json& stored) {
  return read_decision(stored, reread(scenario_in(stored)));
}

class Decisions : public ::testing::TestWithParam<Asked> {};
INSTANTIATE_TEST_SUITE_P(OfSystems, Decisions, ::testing::ValuesIn(all_asked()),
                         [](const auto& info) { return info.param.name; });

TEST_P(Decisions, AreRepeatedFromTheirJsonToTheSameResult) {
  const Decision decision = decided(scenario_of(GetParam()), Tiers::grow);
  const std::string text = decision_json(decision).dump();
  const Decision again = read_again(json::parse(text));
  EXPECT_EQ(decision_json(again).dump(), text);
  EXPECT_EQ(again->fates.fates, decision->fates.fates);
  const json result = result_of(decision);
  EXPECT_EQ(result_of(again), result);
  EXPECT_EQ(result.at("scenario"), decision->question);
}

TEST_P(Decisions, LeaveNothingAutomatic) {
  const json all = decision_json(decided(scenario_of(GetParam())));
  EXPECT_THAT(all.dump(), ::testing::Not(HasSubstr("\"auto\"")));
}

/// Paths of what is null in `value`.
void add_nulls(const json& value, const json::json_pointer& path,
               std::vector<json::json_pointer>& nulls) {
  if (value.is_null()) nulls.push_back(path);
  if (value.is_object())
    for (const auto& [key, child] : value.items()) add_nulls(child, path / key, nulls);
}

/// Some value of each knob that may be left open.
const std::map<std::string, json> other_values = {
    {"/activations/swap_bytes", "1 MB"},     {"/gradients/lands", "states"},
    {"/gradients/pinned", "exact"},          {"/optimizer/buffers", 7},
    {"/gradients/collective", "all_reduce"}, {"/gradients/sums", "at_end"},
    {"/optimizer/host_cache", "1 GiB"},      {"/weights/buffer_count", 3},
    {"/weights/buffer_size", "5 params"},    {"/weights/pinned", "exact"}};

/// A knob is null where no value of it changes the run, or where times decide that the run
/// measures: the decision then has what the first steps do.
TEST_P(Decisions, LeaveOpenWhatNobodyReadsOrTimesDecide) {
  const Decision decision = decided(scenario_of(GetParam()));
  const json all = decision_json(decision), result = result_of(decision);
  std::vector<json::json_pointer> nulls;
  add_nulls(all.at("scenario").at("strategy"), json::json_pointer(), nulls);
  for (const json::json_pointer& path : nulls) {
    if (path.parent_pointer() == "/optimizer/paths"_json_pointer) {
      EXPECT_TRUE(all.at("shares").contains(path.back()));
    } else if (all.contains("cached_modules") && path == "/activations/swap_bytes"_json_pointer) {
      EXPECT_EQ(all.at("cached_modules").size(), decision->scenario.node_ranks());
    } else {
      ASSERT_TRUE(other_values.contains(path.to_string())) << path;
      Decided other = *decision;
      json strategy = other.scenario.strategy;
      strategy[path] = other_values.at(path.to_string());
      strategy.get_to(other.scenario.strategy);
      EXPECT_EQ(result_of(Decision(std::move(other))), result) << path;
    }
  }
}

/// What planners decided stands in the scenario that runs, and the result's says what was asked.
TEST(Decision, SaysWhatAutoStoodFor) {
  const Decision decision = decided(small_model("llama", "lohan"));
  const description::ActivationsPart& part = decision->scenario.strategy.activations;
  ASSERT_TRUE(part.swap_bytes);
  EXPECT_EQ(part.swap_bytes->value(), decision->report.at("swap_bytes").get<std::uint64_t>());
  EXPECT_EQ(decision->question.at("/strategy/activations/swap_bytes"_json_pointer), "auto");
  EXPECT_TRUE(decided(small_model("llama", "mlp_offload"))->scenario.strategy.optimizer.buffers);
}

/// Values that parts would find by themselves, from the rest of the scenario.
TEST(Decision, SaysWhatItsPartsSettle) {
  using description::Landing;
  const auto parts_of = [](const std::string& system, Overrides overrides = {}) {
    return decided(small_model("llama", system, overrides))->scenario.strategy;
  };
  const description::Strategy lohan = parts_of("lohan");
  EXPECT_EQ(lohan.weights.buffer_count, 9u);                               // 2 + 7 x 1 block
  EXPECT_EQ(lohan.weights.buffer_size, description::Params(5000 * 1024));  // the words
  EXPECT_EQ(lohan.gradients.lands, Landing::flat);
  EXPECT_EQ(lohan.gradients.pinned, lohan.pinned);
  const description::Strategy memascend = parts_of("memascend");
  EXPECT_EQ(memascend.weights.buffer_count, std::nullopt);  // counts its own, by shape
  const description::Strategy in_states =
      parts_of("zero_offload", {"parallel.zero_stage=1", "strategy.weights.home=gpu"});
  EXPECT_EQ(in_states.gradients.lands, Landing::states);
  EXPECT_TRUE(parts_of("colossal_gemini").weights.chunk->value);
  // its sub-groups all stay in their buffers, of three states each
  const description::Strategy cached = parts_of("mlp_offload");
  ASSERT_TRUE(cached.optimizer.buffers && cached.optimizer.host_cache);
  EXPECT_GT(cached.optimizer.host_cache->value(), 0u);
  EXPECT_EQ(parts_of("resident").gradients.lands, std::nullopt);  // nobody reads it
}

/// What times decide that the run measures begins with the storages' nominal rates.
TEST(Decision, HasTheFirstSharesOfPathsThatFollowRates) {
  const Decision decision = decided(small_model("llama", "mlp_offload"));
  const json shares = decision_json(decision).at("shares");
  for (const StorageInfo& storage : setup_for(decision->scenario, false, false).topology.storages)
    EXPECT_EQ(shares.at(storage.name), std::min(storage.read, storage.write).value());
  EXPECT_FALSE(decision_json(decided(small_model("llama", "lohan"))).contains("shares"));
}

/// A machine without a clock measures nothing that a cache could plan its budget by.
TEST(Decision, HasTheBudgetThatACacheBeginsWith) {
  const Overrides fast = {"strategy.activations.min_elements=100000",
                          "strategy.activations.write_rate=1000 GB/s"};
  const Decision decision = decided(small_model("llama", "ssdtrain", fast));
  const auto stored_modules = [](const Decision& one) {
    CountingMachine machine(one->scenario);
    return run(machine, one, "counting").plan.at("offloaded_modules").get<std::size_t>();
  };
  ASSERT_EQ(decision->cached_modules.size(), 1u);
  EXPECT_GT(decision->cached_modules[0], 1u);
  EXPECT_EQ(stored_modules(decision), decision->cached_modules[0]);
  Decided less = *decision;
  less.cached_modules[0] = 1;
  EXPECT_EQ(stored_modules(Decision(std::move(less))), 1u);
  Overrides limited = fast;
  limited.emplace_back("strategy.activations.swap_bytes=1 MB");
  EXPECT_TRUE(decided(small_model("llama", "ssdtrain", limited))->cached_modules.empty());
}

/// Buffers that are held throughout, of the run that was decided.
TEST(Decision, HasTheBuffersOfItsRun) {
  const Decision decision = decided(small_model("llama", "zero_infinity", {"run.steps=1"}));
  const auto machine = sim::open_sim_machine(decision->scenario, false);
  const result::Result run_of_it = run(*machine, decision, "sim");
  const json stored = decision_json(decision, &run_of_it);
  const auto named = [&](const char* purpose) {
    for (const json& one : stored.at("buffers"))
      if (one.at("purpose") == purpose) return one;
    return json();
  };
  // rounded up to a power of two each: 9 x 5000 x 1024 x 2 B in 16 MiB
  const json pool = {{"tier", "host"},
                     {"rank", 0},
                     {"purpose", "parameter_pool"},
                     {"lifetime", "permanent"},
                     {"set_by", "strategy.weights.buffer_count"},
                     {"count", 9},
                     {"bytes", 16u << 20}};
  EXPECT_EQ(named("parameter_pool"), pool);
  EXPECT_EQ(named("optimizer_swap_buffers").at("count"), 4);
  EXPECT_TRUE(named("activations").is_null());
  EXPECT_NO_THROW(require_same_buffers(stored, read_again(stored), run_of_it));
  json other = stored;
  other["buffers"][0]["count"] = 77;
  EXPECT_THROW(require_same_buffers(other, read_again(other), run_of_it),
               description::ScenarioError);
}

/// All that a decision knows of runs is what its probe says.
TEST(Decision, IsMadeByWhatItsProbeSays) {
  const description::Scenario scenario = small_model("llama", "capuchin");
  const auto prepared = std::make_shared<const Prepared>(prepare(scenario));
  const std::uint64_t room = scenario.machine.gpu.usable().value();
  int probes = 0;
  const auto moved = [&](std::uint64_t peak) {
    const Probe probe = [&](const Candidate& candidate) {
      ++probes;
      EXPECT_EQ(&candidate.prepared, prepared.get());  // shared by all of them
      return Peaks{true, peak, 0};
    };
    const Decision decision = decide(scenario, prepared, probe);
    return decision->report.at("swap_bytes").get<std::uint64_t>() +
           decision->report.at("recomputed_bytes").get<std::uint64_t>();
  };
  EXPECT_EQ(moved(room), 0u);
  EXPECT_GE(moved(room + (1 << 20)), 1u << 20);
  EXPECT_GE(probes, 3);
}

/// Blocks are alike, and so are their tensors' fates.
TEST(Decision, FoldsEqualFates) {
  const Decision decision = decided(small_model("llama", "lohan"));
  const json runs = decision_json(decision).at("fates").at("of_tensors");
  std::size_t tensors = 0;
  for (const json& run : runs) tensors += run.at(1).get<std::size_t>();
  EXPECT_EQ(tensors, decision->fates.fates.size());
  EXPECT_LT(runs.size(), tensors / 2);
  // what a policy stands for by itself needs no list
  EXPECT_FALSE(decision_json(decided(small_model("llama", "memascend"))).contains("fates"));
}

std::string refused(const json& decision) {
  try {
    read_again(decision);
  } catch (const description::ScenarioError& error) {
    return error.complaints().front().path + ": " + error.complaints().front().message;
  }
  return "";
}

TEST(Decision, IsRefusedWhereItDoesNotGoWithItsScenario) {
  const json good = decision_json(decided(small_model("llama", "lohan")));
  EXPECT_EQ(refused(good), "");
  const auto changed = [&](const char* path, const json& value) {
    json bad = good;
    bad[json::json_pointer(path)] = value;
    return refused(bad);
  };
  EXPECT_THAT(changed("/schema", "spillway/decision/9"), HasSubstr("version 9"));
  EXPECT_THAT(changed("/scenario", 3), HasSubstr("scenario: is missing"));
  EXPECT_THAT(changed("/fates", 3), HasSubstr("fates"));
  EXPECT_THAT(changed("/fates/of_tensors", json::array({{"nowhere", 2u}})), HasSubstr("no fate"));
  EXPECT_THAT(changed("/fates/of_tensors", json::array({{"keep", -2}})), HasSubstr("no pair"));
  EXPECT_THAT(changed("/fates/of_tensors", json::array({{"keep", 2u}})), HasSubstr("of 2 tensors"));
  EXPECT_THAT(changed("/fates/of_tensors", json::array({{"keep", std::uint64_t{1} << 60}})),
              HasSubstr("more tensors"));
  const std::uint64_t all = decided(small_model("llama", "lohan"))->fates.fates.size();
  EXPECT_THAT(changed("/fates/of_tensors", json::array({{"host", all}})),
              HasSubstr("no forward saves"));
  EXPECT_THAT(changed("/fates/by_module", true), HasSubstr("activations.policy"));
  EXPECT_THAT(changed("/fates/staging_buffers", 0), HasSubstr("between 1 and 64"));
  EXPECT_THAT(changed("/tensors", 3), HasSubstr("a table for each pipeline stage"));
  EXPECT_THAT(changed("/tensors/0/rows/0/weight", "fp32"), HasSubstr("holds weights otherwise"));
  EXPECT_THAT(changed("/tensors/0/rows/0/home", "tape"), HasSubstr("tensors"));
  EXPECT_THAT(changed("/tiers", "melt"), HasSubstr("tiers"));
  EXPECT_THAT(changed("/question", json::array({{{"op", "remove"}, {"path", "/no"}}})),
              HasSubstr("question"));
  EXPECT_THAT(changed("/shares", {{"nvme", 1.5}}), HasSubstr("shares"));
  EXPECT_THAT(changed("/replay", json::array({json::object(), json::object()})),
              HasSubstr("replay"));
  json cached = decision_json(
      decided(small_model("llama", "ssdtrain", {"strategy.activations.min_elements=100000"})));
  cached["cached_modules"] = json::array({0});
  EXPECT_THAT(refused(cached), HasSubstr("begins with another budget"));
  json older = good;  // of a release without the tables, which follow from the scenario
  older.erase("tensors");
  EXPECT_EQ(refused(older), "");
  json without = good;
  without.erase("fates");
  EXPECT_THAT(refused(without), HasSubstr("needs a plan"));
  json planned = decision_json(
      decided(small_model("llama", "teraio", {"machine.gpu.memory=760 MiB", "run.steps=1"})));
  planned["migrations"][0]["moves"] = 1;
  EXPECT_THAT(refused(planned), HasSubstr("plans other moves"));
}

}  // namespace
}  // namespace spillway::strategies::decision_test
