#include "explore/workers/cluster.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

namespace spillway::explore {

using description::refuse;

namespace {

std::vector<std::string> with_worker(std::vector<std::string> command, const ClusterJob& job) {
  for (const std::string& word :
       {job.program, std::string("worker"), std::string("--jobs"), std::to_string(job.jobs),
        std::string("--limit"), fmt::format("{}", job.limit_s)})
    command.push_back(word);
  return command;
}

}  // namespace

std::vector<WorkerPlace> slurm_workers(const ClusterJob& job) {
  const char* said = std::getenv("SLURM_JOB_NUM_NODES");
  const unsigned long nodes = said ? std::strtoul(said, nullptr, 10) : 0;
  if (nodes == 0)
    refuse("--srun", "this is no Slurm job", "--slurm N prints the script of one with N nodes");
  std::vector<WorkerPlace> places;
  for (unsigned long node = 0; node < nodes; ++node)
    places.push_back(worker_of_command(
        fmt::format("the worker of node {}", node),
        with_worker({"srun", "--nodes=1", "--ntasks=1", fmt::format("--relative={}", node),
                     fmt::format("--cpus-per-task={}", job.jobs), "--overlap", "--unbuffered",
                     "--kill-on-bad-exit=1"},
                    job)));
  return places;
}

std::vector<WorkerPlace> mpirun_workers(const ClusterJob& job, const std::string& hosts) {
  std::vector<WorkerPlace> places;
  std::istringstream list(hosts);
  for (std::string host; std::getline(list, host, ',');) {
    if (host.empty()) continue;
    std::vector<std::string> command = {"mpirun", "--host", host, "-n", "1", "--bind-to", "none"};
    for (const char* name : {"SPILLWAY_PLUGINS", "SPILLWAY_DATA"})
      if (std::getenv(name)) command.insert(command.end(), {"-x", name});
    places.push_back(worker_of_command(fmt::format("worker {} ({})", places.size(), host),
                                       with_worker(std::move(command), job)));
  }
  if (places.empty()) refuse("--mpirun", "names no host", "write for example --mpirun node1,node2");
  return places;
}

}  // namespace spillway::explore
