#include "answers/worker/answer_request.hpp"
#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "reports/trace/chrome_trace.hpp"

#include <unistd.h>
#include <memory>
#include <sstream>

namespace spillway::cli {

namespace {

struct WorkerOptions {
  std::size_t jobs = 1;
  double limit_s = 600;
};

std::string chrome_trace(const result::Trace& trace) {
  std::ostringstream text;
  reports::write_chrome_trace(text, trace);
  return text.str();
}

void worker(const WorkerOptions& options) {
  explore::prepare_worker(simulator());
  explore::ForkServer(answers::answer_request(simulator(), chrome_trace), options.jobs,
                      options.limit_s, STDIN_FILENO, STDOUT_FILENO)
      .run();
}

constexpr const char* worker_footer =
    R"(Requests, a line each:
  {"id": 1, "scenario": {...}, "want": ["result"], "limit_s": 60}
  {"cancel": 1}
A scenario is what a file would say, or resolved. To want: result, settings (with their sources,
and warnings), trace (of the Chrome format), what_if, faster (settings that cost nothing), remedy
(of what does not fit), bound (what no run betters, without a simulation): as "simulate --json" has
them. "when_full": "stop" ends what does not fit at its first request that fails;
"today": "2026-11-22" names prices a year older.
Answers, a line each:
  {"id": 1, "progress": {"seconds": 1.0, and each part of the answer as soon as it is known}}
  {"id": 1, "seconds": 1.4, "result": {...}, and the rest, but for a trace that was told before}
  {"id": 1, "seconds": 0.1, "errors": [...]}, or {..., "failure": "..."} of what was cancelled, took
  too long, crashed or had no process; "unanswered": [...] of a what_if, faster or remedy that may
  miss something, as some of its simulations could not be done
With --jobs 1 in the order of the requests; with more, whatever is done first, and what needs no
simulation waits for none. At the end of its input it finishes what is under way.

Example:
  echo '{"id": 1, "scenario": {"model": "gpt2", "machine": "gaming_4090", )"
    R"("strategy": {"system": "resident"}}}' | spillway worker)";

}  // namespace

void add_worker(CLI::App& app) {
  auto options = std::make_shared<WorkerOptions>();
  CLI::App* verb = app.add_subcommand(
      "worker", "reads scenarios and writes what they come to, one JSON line each");
  verb->add_option("--jobs", options->jobs, "simulations at a time; else one, in order")
      ->check(CLI::Range(std::uint64_t{1}, most_jobs));
  verb->add_option("--limit", options->limit_s, "seconds after which a scenario is given up")
      ->transform(seconds_with_unit())
      ->check(positive_number());
  verb->footer(worker_footer);
  verb->callback([options] { worker(*options); });
}

}  // namespace spillway::cli
