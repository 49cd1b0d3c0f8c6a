#pragma once

#include "strategies/schedules/streaming_rank.hpp"
#include "tests/strategies/systems/systems.hpp"

/// What parts of one rank need around them, without a schedule that runs them.
namespace spillway::strategies {

/// One rank's job of a scenario on a machine that only counts, whose operations end at once.
struct PartsRig {
  explicit PartsRig(const description::Scenario& its_scenario)
      : decision(decided_as_written(its_scenario)),
        scenario(decision->scenario),
        machine(scenario),
        job(decision),
        steps(machine, scenario),
        shared(machine, scenario) {
    job.steps = &steps;
    job.shared = &shared;
  }

  void run(Task<> body) {
    std::vector<Task<>> ranks;
    ranks.push_back(std::move(body));
    machine.run_ranks(std::move(ranks));
  }
  std::uint64_t gpu_used() const { return machine.usage(TierId::gpu, rank).used; }
  std::uint64_t gpu_free() const { return machine.usage(TierId::gpu, rank).free; }
  /// Takes all of the GPU but `bytes`, with an allocator that rounds nothing.
  Buffer fill_gpu_but(std::uint64_t bytes) {
    return machine.allocate_now(TierId::gpu, rank, Bytes(gpu_free() - bytes), Purpose::workspace);
  }

  Decision decision;
  const description::Scenario& scenario;
  CountingMachine machine;
  Job job;
  Steps steps;
  NodeShared shared;
  Rank rank{0};
};

}  // namespace spillway::strategies
