#include "cli/slurm_script.hpp"

#include "scenarios/description/text.hpp"

#include <fmt/format.h>

namespace spillway::cli {

namespace {

constexpr std::size_t usual_jobs = 16;

}  // namespace

std::string slurm_script(const SlurmJob& job) {
  const std::string program = description::shell_word(job.program),
                    space = description::shell_quoted(job.space),
                    database = description::shell_quoted(job.database);
  std::string more;
  for (const std::string& word : job.more) more += " " + description::shell_word(word);
  const std::string head =
      fmt::format("#!/bin/bash\n#SBATCH --job-name=spillway-explore\n#SBATCH --cpus-per-task={}\n",
                  job.jobs ? job.jobs : usual_jobs);
  const std::string again = fmt::format("{} explore {} --db {}", program, space, database);
  if (job.srun)
    return head + fmt::format(
                      "#SBATCH --nodes={nodes}\n"
                      "#SBATCH --ntasks-per-node=1\n"
                      "#SBATCH --no-kill\n"
                      "# A lost node's points are done by the others. The same job again goes on,\n"
                      "# whatever ended this one.\n"
                      "exec {again}{more} --srun --jobs $SLURM_CPUS_PER_TASK\n",
                      fmt::arg("nodes", job.parts), fmt::arg("again", again),
                      fmt::arg("more", more));
  return head + fmt::format(
                    "#SBATCH --array=0-{last}\n"
                    "# When all have ended, whether they finished or not:\n"
                    "#   {program} explore merge {database} {database}.[0-9]*\n"
                    "#   {again}{more}\n"
                    "exec {again}.$SLURM_ARRAY_TASK_ID{more} "
                    "--shard $SLURM_ARRAY_TASK_ID/{parts} --jobs $SLURM_CPUS_PER_TASK\n",
                    fmt::arg("last", job.parts - 1), fmt::arg("database", database),
                    fmt::arg("again", again), fmt::arg("more", more), fmt::arg("parts", job.parts),
                    fmt::arg("program", program));
}

}  // namespace spillway::cli
