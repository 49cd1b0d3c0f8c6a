#pragma once

#include "explore/workers/worker_pool.hpp"

namespace spillway::explore {

/// What each worker of a job is told.
struct ClusterJob {
  std::string program;   ///< of ours, at the same path on each machine
  std::size_t jobs = 1;  ///< simulations at a time, of each worker
  double limit_s = 600;  ///< for one simulation
};

/// A worker on each of the nodes of the Slurm allocation that this process is in, started and
/// watched by srun.
///   Throws  ScenarioError outside of one
std::vector<WorkerPlace> slurm_workers(const ClusterJob& job);

/// A worker on each of these hosts, which may be named twice, started and watched by mpirun.
///   hosts   "node1,node2"
///   Throws  ScenarioError when it names none
std::vector<WorkerPlace> mpirun_workers(const ClusterJob& job, const std::string& hosts);

}  // namespace spillway::explore
