#include "strategies/parts/update/state_paths.hpp"
#include "tests/strategies/machine/machines.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>

/// Whose turn it is on the storages that share the optimizer states.
namespace spillway::strategies::state_paths_test {
namespace {

using ::testing::ElementsAre;

Task<> use(StatePaths* paths, std::size_t path, bool writes, Event* done, std::vector<int>* log,
           int id) {
  const Semaphore::Lock turn = co_await paths->turn(path, writes);
  log->push_back(id);
  co_await *done;
}

/// Two read on path 0, then two write there, then one reads on path 1.
Task<> crowd(Machine* machine, StatePaths* paths, std::vector<int>* log) {
  Event first_done(machine->scheduler()), done(machine->scheduler());
  done.set();
  std::vector<Pending<>> all;
  all.push_back(machine->spawn(use(paths, 0, false, &first_done, log, 1)));
  all.push_back(machine->spawn(use(paths, 0, false, &done, log, 2)));
  all.push_back(machine->spawn(use(paths, 0, true, &done, log, 3)));
  all.push_back(machine->spawn(use(paths, 0, true, &done, log, 4)));
  all.push_back(machine->spawn(use(paths, 1, false, &done, log, 5)));
  first_done.set();
  for (Pending<>& each : all) co_await each;
}

std::vector<int> order(const Overrides& more = {}) {
  Overrides overrides{"machine=mlp_offload_t1", "training.precision=bf16_mixed", "parallel.data=2"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  const description::Scenario scenario = small_model("llama", "mlp_offload", overrides);
  const Decision decision = decided_as_written(scenario);
  CountingMachine machine(scenario);
  Job job(decision);
  NodeShared shared(machine, scenario);
  job.shared = &shared;
  StatePaths paths(machine, rank0, job);
  EXPECT_EQ(paths.count(), 2u);
  std::vector<int> log;
  std::vector<Task<>> ranks;
  ranks.push_back(crowd(&machine, &paths, &log));
  machine.run_ranks(std::move(ranks));
  return log;
}

TEST(StatePaths, WhoWritesGoesBeforeWhoReads) {
  // 1 holds path 0, and the other path is free
  EXPECT_THAT(order(), ElementsAre(1, 5, 3, 4, 2));
}

TEST(StatePaths, LanesLetSoManyIn) {
  EXPECT_THAT(order({R"(strategy.optimizer.lanes={"nvme": 2})"}), ElementsAre(1, 2, 3, 4, 5));
}

TEST(StatePaths, WithoutLocksNobodyWaits) {
  EXPECT_THAT(order({"strategy.optimizer.tier_lock=false"}), ElementsAre(1, 2, 3, 4, 5));
}

TEST(StatePaths, ARankAloneOnItsNodeNeedsNoLock) {
  EXPECT_THAT(order({"parallel.data=1"}), ElementsAre(1, 2, 3, 4, 5));
}

}  // namespace
}  // namespace spillway::strategies::state_paths_test
