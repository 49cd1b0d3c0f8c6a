#include "cli/common.hpp"
#include "tests/sweep/sweep.hpp"

#include <fmt/format.h>
#include <cstdio>

/// Simulates scenarios at random, deterministic by their seed, and says what came of them. Exit
/// code 1: one ended with a bug, or got slower on a better machine.
namespace {

using namespace spillway;

void print(const char* what, const std::vector<sweep::Finding>& findings) {
  for (const sweep::Finding& one : findings)
    fmt::print("  {}: {}: {}\n    {}\n", one.number, what, one.what, one.scenario);
}

void print(const std::vector<sweep::Slower>& slower) {
  for (const sweep::Slower& one : slower)
    fmt::print("  {}: {} with better {}: {:.4g} s -> {}{}\n    {}\n", one.number, one.system,
               one.axis, one.before_s,
               one.after_s > 0 ? fmt::format("{:.4g} s, {:+.2f} %", one.after_s, 100 * one.more())
                               : "does not fit",
               one.planned ? "" : ", by no other plan", one.scenario);
}

void print_compared(const sweep::Options& options, const sweep::Counts& counts) {
  for (const auto& [axis, compared] : counts.compared) {
    std::uint64_t slower = 0;
    for (const sweep::Slower& one : counts.slower) slower += one.axis == axis;
    fmt::print("  better {}: {} compared, {} slower by more than {:.2g} %\n", axis, compared,
               slower, 100 * options.tolerance);
  }
  print(counts.slower);
  fmt::print("  {} more slower by no other plan and at most {:.2g} %, as their queues have it\n",
             counts.reordered.size(), 100 * options.queue_tolerance);
  print(counts.reordered);
}

void print(const sweep::Options& options, const sweep::Counts& counts) {
  fmt::print(
      "{} scenarios of seed {}: {} feasible, {} infeasible, {} refused in each attempt, {} skipped "
      "as too large, {} too slow, {} internal, {} faster than possible\n",
      counts.all(), options.seed, counts.feasible, counts.infeasible, counts.refused_always,
      counts.too_large, counts.too_slow.size(), counts.internal.size(), counts.impossible.size());
  for (const auto& [what, count] : counts.refused)
    fmt::print("  {:5} attempts refused: {}\n", count, what);
  print("bug", counts.internal);
  print("too slow", counts.too_slow);
  print("impossible", counts.impossible);
  print_compared(options, counts);
}

}  // namespace

int main(int argc, char** argv) {
  sweep::Options options;
  CLI::App app("Simulates scenarios at random and says what came of them.");
  app.add_option("--seed", options.seed);
  app.add_option("--first", options.first, "number of the first scenario");
  app.add_option("--scenarios", options.scenarios);
  app.add_option("--system", options.system, "of those drawn, only those of this system");
  app.add_option("--limit", options.limit_s, "seconds of a scenario");
  app.add_option("--compare-of", options.compare_of,
                 "of so many that fit one is simulated on better machines too; 0: none");
  app.add_option("--tolerance", options.tolerance,
                 "share of a step by which a better machine may be slower");
  app.add_option("--queue-tolerance", options.queue_tolerance,
                 "the same where no other plan is the cause");
  CLI11_PARSE(app, argc, argv);
  const auto progress = [&](const sweep::Counts& counts) {
    std::fprintf(stderr, "%llu of %llu, %zu internal, %zu slower\n",
                 static_cast<unsigned long long>(counts.all()),
                 static_cast<unsigned long long>(options.scenarios), counts.internal.size(),
                 counts.slower.size());
  };
  const sweep::Counts counts = sweep::sweep(cli::simulator(), options, progress);
  print(options, counts);
  return counts.internal.empty() && counts.slower.empty() && counts.impossible.empty() ? 0 : 1;
}
