#include "strategies/systems/catalogue.hpp"
#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies {
namespace {

using result::Lifetime;

/// Notes after how many steps each buffer of a permanent purpose is given back.
class Ends {
 public:
  ///   on_storages  their extents too; not of states that move between several storages
  Ends(CountingMachine& machine, bool on_storages) : machine_(machine), on_storages_(on_storages) {
    machine.ledger().on_birth = [this](std::uint32_t id, const Ledger::Entry& entry) {
      alive_[id] = entry;
    };
    machine.ledger().on_end = [this](std::uint32_t id, double) { note(alive_.at(id)); };
  }

  ~Ends() {
    machine_.ledger().on_birth = nullptr;
    machine_.ledger().on_end = nullptr;
  }

  /// Expects that all of them were there to the end of the run.
  void expect_at_the_end() const {
    EXPECT_GT(ends_.size(), 0u);
    for (const auto& [purpose, steps] : ends_)
      EXPECT_EQ(steps, machine_.recorder().steps().size()) << purpose << " ends before the run";
  }

 private:
  void note(const Ledger::Entry& entry) {
    const Topology& topology = machine_.topology();
    const char* tier = entry.tier < topology.ranks    ? "gpu"
                       : entry.tier == topology.ranks ? "host"
                                                      : "ssd";
    const result::PurposeRow& row = *result::row_of(tier, to_string(entry.purpose));
    if (row.lifetime == Lifetime::permanent && (on_storages_ || row.tier != "ssd"))
      ends_.emplace_back(std::string(tier) + " " + std::string(row.name),
                         machine_.recorder().steps().size());
  }

  CountingMachine& machine_;
  bool on_storages_;
  std::map<std::uint32_t, Ledger::Entry> alive_;
  std::vector<std::pair<std::string, std::size_t>> ends_;
};

class Lifetimes : public ::testing::TestWithParam<std::string> {};

/// What a purpose's row calls permanent is what bounds count as held in every step.
TEST_P(Lifetimes, OfPermanentBuffersLastAsLongAsTheRun) {
  for (const char* more : {"training.gradient_accumulation=1", "training.gradient_accumulation=2",
                           "parallel.data=2", "strategy.activations.policy=checkpoint_host"}) {
    SCOPED_TRACE(more);
    Overrides overrides = {"run.steps=2", more};
    if (GetParam() == "smart_infinity")
      overrides.push_back(R"(machine.storage.nvme.near_storage={"read": "3 GB/s", )"
                          R"("write": "2 GB/s", "adam": "0.2 Gparam/s"})");
    description::Scenario scenario;
    try {
      scenario = small_model("llama", GetParam(), overrides);
    } catch (const description::ScenarioError&) {
      continue;  // the system has no such part
    }
    const Decision decision = decided(scenario);
    CountingMachine machine(decision->scenario);
    const Ends ends(machine, scenario.strategy.optimizer.paths.empty());
    EXPECT_TRUE(run(machine, decision, "counting").feasible());
    ends.expect_at_the_end();
  }
}

std::vector<std::string> systems_that_move_no_states() {
  std::vector<std::string> names;
  for (const System& system : catalogue())
    if (!plans_steps(system.name)) names.push_back(system.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Systems, Lifetimes, ::testing::ValuesIn(systems_that_move_no_states()),
                         [](const auto& system) { return system.param; });

}  // namespace
}  // namespace spillway::strategies
