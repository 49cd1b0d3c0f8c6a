#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spillway::cli {

/// An exploration on a cluster.
struct SlurmJob {
  std::string program;            ///< with the path under which all nodes see it
  std::string space, database;    ///< files that all nodes see under these names
  std::uint64_t parts = 1;        ///< jobs of an array, or nodes of one job
  std::size_t jobs = 0;           ///< simulations at a time of each; 0: 16
  bool srun = false;              ///< one job in which points go to whoever is free
  std::vector<std::string> more;  ///< words of further options, not quoted
};

/// The script for sbatch: an array of shards, which asks nothing of a node but the program and says
/// how to join them; with `srun` one job that gives the answer itself.
std::string slurm_script(const SlurmJob& job);

}  // namespace spillway::cli
