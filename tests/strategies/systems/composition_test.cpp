#include "sim/plugin.hpp"
#include "strategies/bounds/bounds.hpp"
#include "tests/strategies/systems/combinations.hpp"
#include "tests/strategies/systems/contents.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>
#include <functional>
#include <set>
#include <variant>

/// Every pair of values of two parts, on every system, on both machines: what is refused says why,
/// and what is not refused leaves no memory allocated.
namespace spillway::strategies {
namespace {

using namespace description;
using nlohmann::json;

/// Knobs of a strategy that are no part to combine.
const std::set<std::string> not_parts{"system", "preset", "gpu_capacity"};

void add_paths(const json& object, const std::string& prefix, std::vector<std::string>& paths) {
  for (const auto& [key, value] : object.items()) {
    const bool is_part = value.is_object() && prefix == "strategy." && key != "paths";
    if (is_part)
      add_paths(value, prefix + key + ".", paths);
    else if (!not_parts.contains(key))
      paths.push_back(prefix + key);
  }
}

TEST(Composition, HasEveryKnobOfAStrategy) {
  std::vector<std::string> paths, known;
  add_paths(json(Strategy{}), "strategy.", paths);
  for (const PartChoice& part : parts()) known.push_back(part.path);
  for (const std::string& path : paths) EXPECT_THAT(known, ::testing::Contains(path));
}

std::string in_words(const Complaint& complaint) {
  return complaint.path + ": " + complaint.message + "; " + complaint.hint;
}

/// The last words of a path: what people call the part.
std::string part_name(const std::string& path) { return path.substr(path.rfind('.') + 1); }

/// Names of parts that `text` mentions.
std::set<std::string> parts_in(const std::string& text) {
  std::set<std::string> names;
  for (const PartChoice& part : parts())
    if (text.find(part_name(part.path)) != std::string::npos) names.insert(part_name(part.path));
  return names;
}

using Read = std::variant<Scenario, std::vector<Complaint>>;

Read read(const Base& base, const Overrides& more) {
  Overrides overrides{"machine=mlp_offload_t1", "machine.gpu.gpudirect=true", "run.steps=1"};
  for (const Overrides* list : {&base.overrides, &more})
    overrides.insert(overrides.end(), list->begin(), list->end());
  try {
    return small_model("llama", base.system, overrides);
  } catch (const ScenarioError& error) {
    return error.complaints();
  }
}

bool legal(const Read& read) { return read.index() == 0; }

/// A refusal says where, what and what to do. One that neither value gets alone names both, or one
/// and the part of the system that it contradicts.
void expect_reasons(const std::vector<Complaint>& complaints, const Pair& pair, bool of_the_pair) {
  EXPECT_FALSE(complaints.empty());
  std::string all;
  for (const Complaint& complaint : complaints) {
    EXPECT_FALSE(complaint.path.empty()) << complaint.message;
    EXPECT_FALSE(complaint.message.empty()) << complaint.path;
    EXPECT_FALSE(complaint.hint.empty()) << complaint.path << ": " << complaint.message;
    all += in_words(complaint) + "\n";
  }
  if (!of_the_pair) return;
  const std::set<std::string> named = parts_in(all);
  EXPECT_GE(named.size(), 2u) << all;
  const auto names = [&](const std::string& override) {
    return named.contains(part_name(override.substr(0, override.find('='))));
  };
  EXPECT_TRUE(names(pair.one) || names(pair.other)) << all;
}

void expect_books_closed(Machine& machine, const Contents& contents) {
  Ledger& ledger = machine.ledger();
  for (std::uint32_t tier = 0; tier < ledger.tiers(); ++tier) {
    EXPECT_EQ(ledger.used(tier), ledger.kept(tier)) << ledger.name(tier) << " is not given back";
    if (ledger.capacity(tier)) {
      EXPECT_LE(ledger.peak_bytes(tier), ledger.capacity(tier)) << ledger.name(tier);
    }
  }
  EXPECT_THAT(contents.faults(), ::testing::IsEmpty());
}

result::Result run_watched(Machine& machine, const Decision& decision, const char* backend) {
  Contents contents(machine);
  const description::OptimizerPart& optimizer = decision->scenario.strategy.optimizer;
  // an update that the next forward ends reads states that were written two steps before
  const std::uint64_t delayed = optimizer.delayed_share > 0 ? 1 : 0;
  contents.allow_staleness(std::min<std::uint64_t>(optimizer.staleness, 1000) + delayed);
  contents.allow_late_gradients(delayed);
  if (decision->scenario.training.method != description::Method::full)
    contents.allow_frozen_weights();
  machine.recorder().set_watch(&contents);
  const result::Result result = run(machine, decision, backend);
  EXPECT_TRUE(result.feasible());
  expect_books_closed(machine, contents);
  return result;
}

void expect_same_bytes(const result::IoBytes& one, const result::IoBytes& other) {
  const auto all = [](const result::IoBytes& io) {
    std::uint64_t read = 0, written = 0;
    for (const auto& [name, bytes] : io.by_storage) read += bytes.read, written += bytes.write;
    return std::tuple(read, written, io.h2d, io.d2h, io.network, io.gpu_direct);
  };
  EXPECT_EQ(all(one), all(other));
}

json without_wall(const result::Result& result) {
  json object = result;
  object.erase("wall");
  return object;
}

/// The demand with the bytes of each storage that the simulation moved: measured rates, which the
/// counting machine has not, decide how several of them share.
Demand as_moved(Demand demand, const result::IoBytes& io, const Topology& topology) {
  for (std::size_t i = 0; i < topology.storages.size(); ++i) {
    for (PhaseDemand& phase : demand.phases) phase.storages[i].read = phase.storages[i].written = 0;
    const result::StorageBytes& bytes = io.by_storage.at(topology.storages[i].name);
    demand.of(result::Phase::update).storages[i].read = bytes.read;
    demand.of(result::Phase::update).storages[i].written = bytes.write;
  }
  return demand;
}

void expect_sound(const Scenario& scenario, bool twice) {
  const Decision decision = decided_as_written(scenario);
  CountingMachine counting(scenario);
  const result::Result counted = run_watched(counting, decision, "counting");
  const auto simulate_it = [&] {
    const std::unique_ptr<Machine> machine = sim::open_sim_machine(scenario, false);
    return run_watched(*machine, decision, "sim");
  };
  const result::Result simulated = simulate_it();
  // what a cache of tensors stores and reads back depends on time, which counting has not; so does
  // how often an update that no step waits for comes round
  if (scenario.strategy.activations.policy != description::ActivationPolicy::tensor_cache &&
      scenario.strategy.optimizer.staleness != description::any_staleness) {
    expect_same_bytes(counted.io, simulated.io);
    EXPECT_EQ(counted.operations, simulated.operations);
    // an update that is one step late ends behind the last step
    const bool late = scenario.strategy.optimizer.staleness == 1;
    const Demand& last = counting.demands().end()[late ? -2 : -1];
    const Demand demand = as_moved(last, simulated.io, counting.topology());
    const double bound = bounds_of(demand, scenario).step();
    EXPECT_GT(bound, 0);
    EXPECT_GE(simulated.step_time_s, bound * (1 - 1e-9));
  }
  if (twice) {
    EXPECT_EQ(without_wall(simulated), without_wall(simulate_it()));
  }
}

/// Engines make each other slower in one process, and a crash must not hide behind another pair.
void in_a_child(const std::function<void()>& work) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    work();
    std::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "see above; a signal, if nothing is there";
}

#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t every = 20;  ///< of the pairs: they take ten times as long
#else
constexpr std::size_t every = 1;
#endif
constexpr std::size_t shards = 8;
constexpr std::size_t of_one_child = 50;
constexpr std::size_t run_twice = 5;  ///< every so many pairs, to see that a run repeats itself

class Pairs : public ::testing::TestWithParam<std::tuple<Base, std::size_t>> {
 protected:
  bool alone(const std::string& value) {
    const auto [known, fresh] = alone_.try_emplace(value);
    if (fresh) known->second = legal(read(std::get<0>(GetParam()), {value}));
    return known->second;
  }

  void check(const Pair& pair, bool twice) {
    const Base& base = std::get<0>(GetParam());
    SCOPED_TRACE(base.name + " " + pair.one + " " + pair.other);
    const Read both = read(base, {pair.one, pair.other});
    if (const auto* complaints = std::get_if<std::vector<Complaint>>(&both))
      expect_reasons(*complaints, pair, alone(pair.one) && alone(pair.other));
    else
      EXPECT_NO_THROW(expect_sound(std::get<Scenario>(both), twice));
  }

 private:
  std::map<std::string, bool> alone_;
};

TEST_P(Pairs, AreRefusedWithAReasonOrKeepTheirBooks) {
  sim::prepare_sim();
  const auto& [base, shard] = GetParam();
  const std::vector<Pair> pairs = pairs_for(base, shard, shards);
  for (std::size_t first = 0; first < pairs.size(); first += of_one_child)
    in_a_child([&] {
      for (std::size_t i = first; i < std::min(pairs.size(), first + of_one_child); i += every)
        check(pairs[i], i % run_twice == 0);
    });
}

INSTANTIATE_TEST_SUITE_P(All, Pairs,
                         ::testing::Combine(::testing::ValuesIn(bases()),
                                            ::testing::Range<std::size_t>(0, shards)),
                         [](const auto& test) {
                           return std::get<0>(test.param).name + "_" +
                                  std::to_string(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace spillway::strategies
