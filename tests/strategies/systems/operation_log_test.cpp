#include "scenarios/description/data_files.hpp"
#include "sim/plugin.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

/// Every operation of a whole run of each system, in the order in which schedules asked for them,
/// beside the file that says what it was: who changes a schedule sees what moved, and a change that
/// is to move nothing has to leave these files as they are. SPILLWAY_STORE_LOGS=1 writes them anew.
namespace spillway::strategies {
namespace {

/// A system with what makes all of it work on a model of two blocks.
struct Logged {
  std::string name;  ///< of the file
  std::string model, system;
  Overrides overrides = {};
};

/// Small enough a GPU that systems that move only what has no room have something to move: all
/// tensors but those of the running kernels, or what forward saves for backward.
const char* const tight = "machine.gpu.memory=760 MiB";
const Overrides tight_activations = {"training.micro_batch=32", "machine.gpu.memory=1250 MiB"};

std::vector<Logged> all_logged() {
  std::vector<Logged> all;
  const std::map<std::string, Overrides> need = {
      {"teraio", {tight}},
      {"g10", {tight}},
      {"flashneuron", tight_activations},
      {"capuchin", tight_activations},
      {"checkmate", {"training.micro_batch=32", "machine.gpu.memory=1300 MiB"}},
      {"ssdtrain", {"strategy.activations.min_elements=100000"}},
      {"slideformer", {"strategy.optimizer.home=ssd", "strategy.optimizer.ssd_share=0.5"}},
      {"superoffload",
       {"strategy.optimizer.cpu_share=0.5", "strategy.optimizer.subgroup=1e7 params"}},
      {"greedysnake",
       {"training.gradient_accumulation=2", "strategy.optimizer.subgroup=1e7 params"}},
      {"zenflow", {"training.precision=bf16_mixed", "run.steps=1"}},
      {"angel_ptm", {"run.steps=1", "strategy.optimizer.subgroup=2e7 params"}},
      {"smart_infinity",
       {R"(machine.storage.nvme.near_storage={"read": "3 GB/s", )"
        R"("write": "2 GB/s", "adam": "0.2 Gparam/s"})"}}};
  for (const System& system : catalogue()) {
    const auto found = need.find(system.name);
    all.push_back(
        {system.name, "llama", system.name, found == need.end() ? Overrides() : found->second});
  }
  // what no default has: ranks, stages, micro-batches, what runs again
  all.push_back({"zero_infinity_two_ranks",
                 "llama_tied",
                 "zero_infinity",
                 {"parallel.data=2", "training.gradient_accumulation=2", "run.steps=1"}});
  all.push_back(
      {"zero_offload_one_step_late", "gpt2", "zero_offload", {"strategy.optimizer.staleness=1"}});
  all.push_back({"zero_offload_twin_flow",
                 "llama",
                 "zero_offload",
                 {"strategy.optimizer.cpu_share=0.5", "parallel.data=2", "run.steps=1"}});
  all.push_back({"zenflow_two_ranks",
                 "llama",
                 "zenflow",
                 {"training.gradient_accumulation=2", "training.precision=bf16_mixed",
                  "parallel.data=2", "run.steps=1"}});
  all.push_back(
      {"zenflow_spread",
       "llama",
       "zenflow",
       {"training.gradient_accumulation=2", "training.precision=bf16_mixed", "parallel.data=2",
        "parallel.zero_stage=3", "strategy.optimizer.selected_states=host", "run.steps=1"}});
  all.push_back({"resident_two_stages",
                 "llama",
                 "resident",
                 {"parallel.pipeline=2", "training.gradient_accumulation=3"}});
  all.push_back(
      {"teraio_two_stages",
       "llama",
       "teraio",
       {"parallel.pipeline=2", "training.gradient_accumulation=2", "machine.gpu.memory=640 MiB"}});
  all.push_back({"lohan_two_ranks", "mixtral", "lohan", {"parallel.data=2", "run.steps=1"}});
  all.push_back({"resident_two_experts",
                 "mixtral",
                 "resident",
                 {"parallel.data=4", "parallel.expert=2", "run.steps=1", "machine.gpu.count=4"}});
  return all;
}

result::Trace trace_of(const Logged& logged) {
  // on a model so small all would wait for launches
  Overrides overrides = {"run.warmup_steps=0", "run.steps=2", "machine.host.launch=0 s",
                         "machine.host.module_hooks=0 s"};
  overrides.insert(overrides.end(), logged.overrides.begin(), logged.overrides.end());
  const description::Scenario written = small_model(logged.model, logged.system, overrides);
  const Decision decision = decided(written);
  const auto machine = sim::open_sim_machine(decision->scenario, true);
  const result::Result result = run(*machine, decision, "sim");
  EXPECT_TRUE(result.feasible()) << result.infeasible->purpose << " in " << result.infeasible->tier;
  return machine->recorder().trace();
}

/// A line a span: operation, engine, phase, what it is, bytes, and the operations whose end let it
/// start and whose data it moves. Without times, which sums of other tests hold. The first
/// `most_lines`: where updates come loosely, steps go on until twenty have been alike.
constexpr int most_lines = 1400;
std::string log_of(result::Trace trace) {
  std::stable_sort(trace.spans.begin(), trace.spans.end(),
                   [](const auto& a, const auto& b) { return a.operation < b.operation; });
  std::string text;
  int lines = 0;
  for (const result::TraceSpan& span : trace.spans) {
    if (span.operation == 0) continue;
    if (++lines > most_lines) break;
    text += fmt::format("{} | {} | {} | {} | {} B", span.operation, span.track, span.phase,
                        span.name, span.bytes);
    if (span.after != 0) text += fmt::format(" | after {}", span.after);
    if (span.from != 0) text += fmt::format(" | from {}", span.from);
    text += '\n';
  }
  return text;
}

/// The first line in which two logs differ, with its number in both.
std::string difference(const std::string& stored, const std::string& now) {
  std::istringstream a(stored), b(now);
  std::string before, after;
  for (int line = 1;; ++line) {
    const bool more_a = static_cast<bool>(std::getline(a, before));
    const bool more_b = static_cast<bool>(std::getline(b, after));
    if (!more_a && !more_b) return "";
    if (more_a && more_b && before == after) continue;
    return fmt::format("line {}: {}\n     now: {}", line, more_a ? before : "(its end)",
                       more_b ? after : "(its end)");
  }
}

class OperationLog : public ::testing::TestWithParam<Logged> {};

TEST_P(OperationLog, IsTheStoredOne) {
  const std::filesystem::path file = description::data_root() /
                                     "tests/strategies/systems/operation_logs" /
                                     (GetParam().name + ".log");
  const std::string now = log_of(trace_of(GetParam()));
  ASSERT_GT(now.size(), 1000u);
  if (std::getenv("SPILLWAY_STORE_LOGS")) {
    std::ofstream(file, std::ios::binary) << now;
    GTEST_SKIP() << "stored " << file;
  }
  std::ifstream stored(file, std::ios::binary);
  ASSERT_TRUE(stored) << file;
  const std::string before{std::istreambuf_iterator<char>(stored), {}};
  EXPECT_EQ(difference(before, now), "") << file;
}

INSTANTIATE_TEST_SUITE_P(Systems, OperationLog, ::testing::ValuesIn(all_logged()),
                         [](const auto& info) { return info.param.name; });

/// A system whose log holds none of what it is for would not be watched.
TEST(OperationLogs, HoldWhatTheSystemsMove) {
  for (const Logged& logged : all_logged()) {
    const bool stays = logged.system == "resident" || logged.system == "checkmate";
    std::uint64_t moved = 0, run_again = 0;
    std::set<std::string> forward;
    for (const result::TraceSpan& span : trace_of(logged).spans) {
      if (span.from != 0) moved += span.bytes;
      if (span.phase == "forward") forward.insert(span.name);
      run_again +=
          span.phase == "backward" && span.track == "rank 0 compute" && forward.contains(span.name);
    }
    EXPECT_EQ(moved > 0, !stays) << logged.name;
    EXPECT_TRUE(logged.system != "checkmate" || run_again > 0);
  }
}

}  // namespace
}  // namespace spillway::strategies
