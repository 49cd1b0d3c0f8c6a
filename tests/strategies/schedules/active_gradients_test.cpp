#include "sim/plugin.hpp"
#include "strategies/bounds/bounds.hpp"
#include "strategies/layout/job.hpp"
#include "strategies/run/numerics.hpp"
#include "tests/strategies/systems/contents.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>
#include <algorithm>

/// Sub-groups that are updated while backward goes on.
namespace spillway::strategies::active_gradients_test {
namespace {

constexpr std::uint64_t parameters = 8'030'261'248, norms = 65 * 4096;
constexpr std::uint64_t swapped = parameters - norms;
constexpr std::uint64_t embedding = 128256 * 4096ull;
// rates of memascend_c1
constexpr double p = parameters, r = 14e9, w = 9.5e9, adam = 0.8e9;

/// Llama-3.1-8B on memascend_c1, one block a sub-group, its drive without latency or loss.
description::Scenario llama(const std::string& policy, Overrides more = {}) {
  Overrides overrides{"strategy.system=memascend",           "training.precision=bf16_mixed",
                      "strategy.gradients.policy=" + policy, "strategy.gradients.accumulation=fp16",
                      "strategy.optimizer.grouping=layers",  "strategy.optimizer.subgroup=1 params",
                      "strategy.optimizer.buffers=9"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  description::Scenario scenario = example("llama8b_memascend_c1", overrides);
  description::StorageSpec& nvme = scenario.machine.storage[0];
  nvme.mixed_efficiency = 1;
  nvme.latency = nvme.file_overhead = description::Seconds(0);
  return scenario;
}

description::Scenario small(const std::string& policy, Overrides more = {}) {
  more.insert(more.begin(), {"strategy.gradients.policy=" + policy, "training.precision=bf16_mixed",
                             "strategy.optimizer.grouping=layers", "strategy.optimizer.buffers=9",
                             "machine.host.module_hooks=0 s"});
  return small_model("llama", "memascend", more);
}

/// What works at the same time of an optimizer's three kinds of work.
class Overlaps final : public OperationWatch {
 public:
  void started(const Operation& operation) override { change(operation, 1); }
  void finished(const Operation& operation) override { change(operation, -1); }
  bool read_under_adam = false, write_under_adam = false, read_under_write = false;
  int most_adams = 0;

 private:
  static bool of_states(const Operation& operation) {
    return std::any_of(operation.operands.begin(), operation.operands.end(), [](const auto& used) {
      const Block& block = *used.view.block.get();
      return block.tier == TierId::storage && block.purpose == Purpose::optimizer_states;
    });
  }
  void change(const Operation& operation, int by) {
    if (operation.phase == Phase::init) return;
    if (operation.kind == OperationKind::cpu_kernel && operation.cpu.work == CpuWork::adam)
      adams_ += by;
    if (operation.kind == OperationKind::read && of_states(operation)) reads_ += by;
    if (operation.kind == OperationKind::write && of_states(operation)) writes_ += by;
    most_adams = std::max(most_adams, adams_);
    read_under_adam |= reads_ > 0 && adams_ > 0;
    write_under_adam |= writes_ > 0 && adams_ > 0;
    read_under_write |= reads_ > 0 && writes_ > 0;
  }
  using Phase = result::Phase;
  int reads_ = 0, writes_ = 0, adams_ = 0;
};

Overlaps watched(const description::Scenario& scenario) {
  const Decision decision = decided_as_written(scenario);
  const std::unique_ptr<Machine> machine = sim::open_sim_machine(scenario, false);
  Overlaps overlaps;
  machine->recorder().set_watch(&overlaps);
  run(*machine, decision, "sim");
  return overlaps;
}

TEST(ActiveGradients, MoveWhatAnUpdateAfterBackwardMoves) {
  for (const char* policy : {"active", "active_naive", "host_fp16"}) {
    SCOPED_TRACE(policy);
    const result::IoBytes io = count(llama(policy, {"strategy.gradients.convert=cpu"})).result.io;
    EXPECT_EQ(io.ssd_read, 16 * swapped + 12 * norms);
    EXPECT_EQ(io.ssd_write, 14 * swapped + 12 * norms);
    EXPECT_EQ(io.d2h, 2 * parameters);
    EXPECT_EQ(io.h2d, 4 * swapped + 2 * norms);
  }
}

TEST(ActiveGradients, HideTheUpdateBehindBackwardAndTheDrive) {
  const result::Result run = simulate(llama("active"));
  // the drive is all that counts, but for the first and the last sub-group: the head's states come
  // when its gradient has left, the embedding's Adam has nothing left to hide behind
  const double ends = (12.0 * embedding) / r + embedding / adam;
  EXPECT_GT(run.step_time_s, 16 * p / r + 14 * p / w);
  EXPECT_LT(run.step_time_s, 16 * p / r + 14 * p / w + ends);
  EXPECT_LT(run.step_time_s,
            simulate(llama("host_fp16", {"strategy.gradients.convert=cpu"})).step_time_s -
                0.8 * p / adam);
}

TEST(ActiveGradients, NaiveOnesAreReadUpdatedAndWrittenInTurn) {
  const result::Result run = simulate(llama("active_naive"));
  const double turns = 12 * p / r + 14 * p / w + p / adam;
  // besides: the weights of both passes, of which backward's share the drive with the turns
  EXPECT_GT(run.step_time_s, turns + 2 * p / r);
  EXPECT_LT(run.step_time_s, turns + 4 * p / r + 12.0 * embedding / r);
}

TEST(ActiveGradients, ReadUnderAdamAndWriteUnderAdam) {
  const Overlaps active = watched(small("active"));
  EXPECT_TRUE(active.read_under_adam);
  EXPECT_TRUE(active.write_under_adam);
  EXPECT_EQ(active.most_adams, 1);
  const Overlaps naive = watched(small("active_naive"));
  EXPECT_FALSE(naive.read_under_adam);
  EXPECT_FALSE(naive.write_under_adam);
  EXPECT_FALSE(naive.read_under_write);
  EXPECT_EQ(naive.most_adams, 1);
}

TEST(ActiveGradients, PhasesEndWithTheGpusBackwardAndWithTheLastWrite) {
  const result::Result run = simulate(llama("active"));
  EXPECT_NEAR(run.forward_s + run.backward_s + run.update_s, run.step_time_s, 1e-9);
  EXPECT_GT(run.phase_busy.at("backward").cpu, 0.5);  // Adam is at work
  EXPECT_EQ(run.phase_busy.at("update").gpu, 0);
}

TEST(ActiveGradients, LandInThreeBuffersOfTheLargestSubgroup) {
  // one sub-group is incomplete at a time, one is in Adam and one is written; padded to sectors
  const result::PeakBytes host = count(llama("active")).result.host;
  EXPECT_EQ(at_peak(host, "optimizer_gradient_buffers"), 3 * 2 * (embedding + 4096));
  EXPECT_EQ(at_peak(host, "gradient_flat_buffer"), 0u);
  EXPECT_EQ(at_peak(host, "swap_out_buffer"), 0u);
}

TEST(ActiveGradients, OfSeveralMicroBatchesAreUpdatedInTheLast) {
  const Counted run = count(llama("active", {"training.gradient_accumulation=3"}));
  EXPECT_EQ(run.result.io.ssd_write, 14 * swapped + 12 * norms);
  EXPECT_EQ(run.result.io.d2h, 3 * 2 * parameters);
  EXPECT_EQ(at_peak(run.result.host, "gradient_flat_buffer"), 2 * parameters);
  EXPECT_EQ(at_peak(run.result.host, "optimizer_gradient_buffers"), 0u);
}

TEST(ActiveGradients, ReadAheadSavesTheWaitForTheFirstStates) {
  const result::Result later = simulate(llama("active"));
  const result::Result ahead = simulate(llama("active", {"strategy.optimizer.read_ahead=2"}));
  EXPECT_LT(ahead.step_time_s, later.step_time_s);
  EXPECT_EQ(ahead.io.ssd_read, later.io.ssd_read);
}

TEST(ActiveGradients, WithoutAWaitNoStepLastsAsLongAsAdam) {
  const Overrides slow{"machine.host.adam=0.1 Gparam/s", "strategy.optimizer.home=ssd"};
  const auto with = [](Overrides overrides, const char* more) {
    overrides.emplace_back(more);
    return llama("active", overrides);
  };
  const description::Scenario loose = with(slow, "strategy.optimizer.wait=false");
  const result::Result waits = simulate(llama("active", slow)), runs_on = simulate(loose);
  const double slow_adam = p / 0.1e9;
  EXPECT_GT(waits.step_time_s, slow_adam);
  EXPECT_LT(runs_on.step_time_s, slow_adam);
  EXPECT_EQ(runs_on.io.ssd_write, waits.io.ssd_write);
  EXPECT_EQ(runs_on.io.ssd_read, waits.io.ssd_read);
  // with a fast one there is nothing to wait for, but for what leaves a moment later
  const Overrides fast{"machine.host.adam=14 Gparam/s"};
  EXPECT_LE(simulate(with(fast, "strategy.optimizer.wait=false")).step_time_s,
            1.001 * simulate(llama("active", fast)).step_time_s);
  const Counted counted = count(loose);
  EXPECT_LE(bounds_of(counted.demands.back(), loose).step(), runs_on.step_time_s);
}

TEST(ActiveGradients, WithoutAWaitTrainSomethingElse) {
  const description::Scenario loose = small("active", {"strategy.optimizer.wait=false"});
  EXPECT_FALSE(numerics_of(loose) == numerics_of(small("active", {})));
  EXPECT_THROW(reference_of(loose), description::ScenarioError);
}

/// Every model, on one and two ranks and with both kinds of grouping: no conflict, no byte that is
/// read before it is written or from the step before.
TEST(ActiveGradients, LeaveNothingStale) {
  for (const std::string& model : small_models())
    for (const char* policy : {"active", "active_naive"})
      for (const char* grouping : {"layers", "parameter_groups"})
        for (const char* ranks : {"1", "2", "3"}) {
          SCOPED_TRACE(model + " " + policy + " " + grouping + " " + ranks);
          const description::Scenario scenario = small_model(
              model, "memascend",
              {"training.precision=bf16_mixed", std::string("strategy.gradients.policy=") + policy,
               std::string("strategy.optimizer.grouping=") + grouping,
               std::string("parallel.data=") + ranks, "strategy.optimizer.subgroup=1e6 params",
               "strategy.optimizer.buffers=6", "run.steps=1"});
          const Decision decision = decided_as_written(scenario);
          const std::unique_ptr<Machine> machine = sim::open_sim_machine(scenario, false);
          Contents contents(*machine);
          machine->recorder().set_watch(&contents);
          result::Result simulated;
          EXPECT_NO_THROW(simulated = run(*machine, decision, "sim"));
          EXPECT_THAT(contents.faults(), ::testing::IsEmpty());
          const result::Result counted = count(scenario).result;
          EXPECT_TRUE(simulated.feasible());
          EXPECT_EQ(counted.io.ssd_write, simulated.io.ssd_write);
          EXPECT_EQ(counted.io.ssd_read, simulated.io.ssd_read);
          EXPECT_EQ(counted.operations, simulated.operations);
        }
}

TEST(ActiveGradients, UpdateStatesInHostMemoryToo) {
  const result::Result after =
      simulate(llama("host_fp16", {"strategy.system=zero_offload", "strategy.gradients.convert=cpu",
                                   "machine.host.memory=256 GiB", "training.micro_batch=8"}));
  const result::Result during =
      simulate(llama("active", {"strategy.system=zero_offload", "machine.host.memory=256 GiB",
                                "training.micro_batch=8"}));
  ASSERT_TRUE(after.feasible());
  ASSERT_TRUE(during.feasible());
  EXPECT_LT(during.step_time_s, after.step_time_s);
  EXPECT_EQ(during.io.ssd_read, 0u);
  EXPECT_EQ(at_peak(during.host, "optimizer_gradient_buffers"), 3 * 2 * (embedding + 4096));
}

TEST(ActiveGradients, AreRefusedWhereTheyCannotWork) {
  const auto refused = [](const Overrides& overrides) {
    try {
      small("active", overrides);
    } catch (const description::ScenarioError& error) {
      return error.complaints().front().path;
    }
    return std::string();
  };
  EXPECT_EQ(refused({}), "");
  EXPECT_EQ(refused({"strategy.optimizer.order=ascending"}), "strategy.optimizer.order");
  EXPECT_EQ(refused({"strategy.gradients.convert=gpu"}), "strategy.gradients.convert");
  EXPECT_EQ(refused({"training.precision=fp16_mixed"}), "strategy.gradients.policy");
  EXPECT_EQ(refused({"strategy.gradients.policy=host_fp16", "strategy.optimizer.read_ahead=1"}),
            "strategy.optimizer.read_ahead");
  EXPECT_EQ(refused({"strategy.gradients.policy=active_naive", "strategy.optimizer.wait=false"}),
            "strategy.optimizer.wait");
  EXPECT_EQ(refused({"strategy.optimizer.buffers=3", "strategy.optimizer.wait=false"}),
            "strategy.optimizer.wait");
}

TEST(Subgroups, OfLayersEndWhereLayersDo) {
  // embedding, two blocks, norm and head; a target of one block and a half takes two
  const auto groups = [](const char* target) {
    const description::Scenario scenario =
        small("active", {std::string("strategy.optimizer.subgroup=") + target});
    const Decision decision = decided_as_written(scenario);
    const Job job(decision);
    std::vector<std::uint64_t> sizes;
    for (const Subgroup& group : job.subgroups) sizes.push_back(group.elements);
    return sizes;
  };
  const std::uint64_t vocabulary = 5000 * 1024, of_block = 3 * 4096 * 1024 + 3 * 1024 * 1024 + 2048;
  EXPECT_THAT(groups("1 params"),
              ::testing::ElementsAre(vocabulary, of_block, of_block, vocabulary + 1024));
  EXPECT_THAT(groups("20e6 params"),
              ::testing::ElementsAre(vocabulary + of_block, of_block + vocabulary + 1024));
}

}  // namespace
}  // namespace spillway::strategies::active_gradients_test
