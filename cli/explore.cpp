#include "cli/common.hpp"
#include "cli/explore_report.hpp"
#include "cli/explore_show.hpp"
#include "cli/from_database.hpp"
#include "cli/monitor.hpp"
#include "cli/plan_common.hpp"
#include "cli/prices.hpp"
#include "cli/slurm_script.hpp"
#include "cli/verbs.hpp"
#include "explore/evolution/evolution.hpp"
#include "explore/search/estimate.hpp"
#include "explore/search/explorer.hpp"
#include "explore/search/filling.hpp"
#include "explore/workers/cluster.hpp"
#include "hw_backend/device/interrupt.hpp"
#include "reports/words/human.hpp"
#include "reports/words/table.hpp"
#include "scenarios/description/bugs.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/description/text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

namespace spillway::cli {

namespace {

struct ExploreVerbOptions {
  PriceOptions prices;
  std::string space;
  std::string database;
  std::string budget;
  std::size_t jobs = 0;
  double limit_s = 600;
  std::string search = "exhaustive";
  std::uint64_t seed = 1, samples = 1024;
  std::string shard;
  std::uint64_t slurm = 0;
  std::string silence = "30s";
  bool count = false, json = false, simulate_all = false, srun = false;
  bool ask = false, progress = false;
  std::string mpirun;
};

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

/// What a script for sbatch has to know.
SlurmJob job_of(const ExploreVerbOptions& options) {
  SlurmJob job{own_program(),
               options.space,
               options.database,
               options.slurm,
               options.jobs,
               options.srun,
               {}};
  if (options.simulate_all) job.more.emplace_back("--simulate-all");
  const auto add = [&job](const char* option, std::string value) {
    job.more.insert(job.more.end(), {option, std::move(value)});
  };
  if (!options.budget.empty()) add("--budget", options.budget);
  if (options.srun && options.silence != ExploreVerbOptions{}.silence)
    add("--silence", options.silence);
  if (options.limit_s != ExploreVerbOptions{}.limit_s)
    add("--limit", fmt::format("{}", options.limit_s));
  if (options.search != ExploreVerbOptions{}.search) {
    add("--search", options.search);
    add("--seed", fmt::format("{}", options.seed));
    add("--samples", fmt::format("{}", options.samples));
  }
  return job;
}

/// Seconds of an option such as --budget; 0 when it is not given.
double time_of(const std::string& option, const std::string& text) {
  if (text.empty()) return 0;
  const auto parsed = description::parse_quantity(description::Dimension::seconds, text);
  const std::string hint = "write for example " + option + " 10min";
  if (!parsed.problem.empty()) refuse(option, parsed.problem, hint);
  if (parsed.value <= 0) refuse(option, "is no time", hint);
  return static_cast<double>(parsed.value);
}

/// "2/8": the third of eight.
void read_shard(const std::string& text, explore::ExploreOptions& into) {
  if (text.empty()) return;
  unsigned long shard = 0, shards = 0;
  int end = 0;
  const bool read = std::sscanf(text.c_str(), "%lu/%lu%n", &shard, &shards, &end) == 2;
  if (!read || static_cast<std::size_t>(end) != text.size() || shard >= shards)
    refuse("--shard", "\"" + text + "\" is no shard", "write for example 0/8, up to 7/8");
  if (into.search == explore::Search::nsga2)
    refuse("--shard", "a genetic search needs all points", "drop --shard or take another --search");
  into.shard = shard;
  into.shards = shards;
}

explore::Search search_of(const std::string& name) {
  if (name == "sobol") return explore::Search::sobol;
  return name == "nsga2" ? explore::Search::nsga2 : explore::Search::exhaustive;
}

/// On standard error: in a terminal a line that is drawn over again, else, where they are asked
/// for, lines that begin with "progress: ".
class ProgressLine {
 public:
  ProgressLine(std::uint64_t points, bool lines)
      : points_(points), terminal_(isatty(STDERR_FILENO)), shown_(terminal_ || lines) {}
  ~ProgressLine() {
    if (terminal_) std::fputs("\r\x1b[K", stderr);
  }
  ProgressLine(const ProgressLine&) = delete;

  void show(const explore::Progress& progress) {
    if (!shown_ || progress.seconds < next_s_) return;
    next_s_ = progress.seconds + (terminal_ ? 0.2 : 1);
    const double rate = static_cast<double>(progress.done) / std::max(progress.seconds, 1e-9);
    const double left =
        static_cast<double>(points_ - std::min(points_, progress.done)) / std::max(rate, 1e-9);
    std::string text =
        fmt::format("{} of {} points, {} simulated, {} pruned, {}/s, {} left, front {}",
                    reports::human_count(progress.done), reports::human_count(points_),
                    reports::human_count(progress.counts.simulated),
                    reports::human_count(progress.counts.pruned), reports::human_number(rate),
                    progress.done == 0 ? "unknown time" : reports::human_time(left),
                    progress.front->points().size());
    std::fputs((terminal_ ? "\r" + text + "\x1b[K" : "progress: " + text + "\n").c_str(), stderr);
  }

 private:
  std::uint64_t points_;
  bool terminal_, shown_;
  double next_s_ = 0;
};

std::uint64_t points_in(const explore::Points& points) {
  if (points.space().where.empty()) return points.count();
  std::uint64_t count = 0;
  coarse_first(points, std::vector<bool>(points.space().axes.size(), false),
               [&](const explore::Coordinates&) { return ++count > 0; });
  return count;
}

/// Points that an estimate looks at, and the seconds that it may take.
constexpr std::size_t estimate_points = 32;
constexpr double estimate_limit_s = 10;

/// "About 14 s with 2 at a time: ..."
std::string estimate_words(const explore::Estimate& found, std::size_t jobs) {
  std::string text = fmt::format(
      "Of {} spread over the space, bounds alone leave {}. About {} to bound all of them",
      found.sampled, reports::human_share(found.open_share), reports::human_time(found.bounds_s));
  if (found.mean_s > 0)
    text += fmt::format(
        " and {} to simulate what they leave with {} at a time ({} to {} each); the best that is "
        "found rules out more, so it is usually less",
        reports::human_time(found.simulations_s), jobs, reports::human_time(found.shortest_s),
        reports::human_time(found.longest_s));
  return text + ".";
}

std::size_t jobs_of(const ExploreVerbOptions& options) {
  return options.jobs ? options.jobs : explore::usable_cores();
}

explore::Estimate estimated(Monitor& monitor, const explore::Points& points, std::uint64_t number,
                            std::size_t jobs) {
  const explore::Estimate found =
      explore::estimate(monitor.backend(), points, number, estimate_points, jobs);
  monitor.clear();
  return found;
}

void count(const explore::Points& points, const ExploreVerbOptions& options) {
  const std::uint64_t number = points_in(points);
  const std::size_t jobs = jobs_of(options);
  Monitor monitor("estimating", estimate_limit_s);
  const explore::Estimate found = estimated(monitor, points, number, jobs);
  if (options.json)
    return print_json({{"points", number},
                       {"seconds_per_point", found.mean_s * static_cast<double>(jobs)},
                       {"sampled", found.sampled},
                       {"open_share", found.open_share},
                       {"bounds_s", found.bounds_s},
                       {"simulations_s", found.simulations_s}});
  print(fmt::format("{} points.\n", reports::human_count(number)));
  if (found.sampled > 0)
    print(reports::paragraph(estimate_words(found, jobs), reports::screen_of(stdout)));
  if (!found.whole) print(monitor.why() + ": the estimate rests on less than it should.\n");
  monitor.finish();
}

/// On other machines; none: here.
std::vector<explore::WorkerPlace> workers_of(const ExploreVerbOptions& options) {
  if (!options.srun && options.mpirun.empty()) return {};
  const explore::ClusterJob job{own_program(), jobs_of(options), options.limit_s};
  return options.srun ? explore::slurm_workers(job) : explore::mpirun_workers(job, options.mpirun);
}

/// That the options which a script will carry are ones that it can run with.
void check_times(const ExploreVerbOptions& options) {
  time_of("--budget", options.budget);
  time_of("--silence", options.silence);
}

void warn_of_one_generation(const ExploreVerbOptions& options) {
  const std::size_t population = explore::EvolutionTask().population;
  if (options.search != "nsga2" || options.samples >= 2 * population) return;
  warn(
      fmt::format("--samples {}: nsga2 looks at a first generation of {} points and evolves none; "
                  "from {} on it does",
                  options.samples, population, 2 * population));
}

explore::ExploreOptions how_of(const ExploreVerbOptions& options) {
  explore::ExploreOptions how;
  how.jobs = options.jobs;
  how.limit_s = options.limit_s;
  how.budget_s = time_of("--budget", options.budget);
  how.silence_s = time_of("--silence", options.silence);
  how.prune = !options.simulate_all;
  how.search = search_of(options.search);
  how.seed = options.seed;
  how.samples = options.samples;
  how.notice = [](const std::string& text) {
    std::fprintf(stderr, "%s\n", description::printable(text).c_str());
  };
  read_shard(options.shard, how);
  how.workers = workers_of(options);
  return how;
}

/// "Writes r.db, which is not there yet."
std::string writes_words(const scenarios::Space& space, const std::string& file) {
  std::error_code unknown;  // what cannot be looked at is refused when it is opened
  const std::string path = std::filesystem::absolute(file, unknown).lexically_normal().string();
  const std::string beside = " Beside it are " + std::filesystem::path(path).filename().string() +
                             "-wal and -shm while it runs.";
  if (!std::filesystem::exists(file, unknown) || std::filesystem::file_size(file, unknown) == 0)
    return "Writes " + path + ", which is not there yet." + beside;
  explore::Store store(file, explore::Database::Access::read);
  explore::refuse_while_filled(store, file);
  const std::string id = explore::row_of(space).id;
  for (const explore::SpaceRow& row : store.spaces()) {
    if (row.id != id) continue;
    const auto run = store.run(row.space);
    const std::string known =
        run ? fmt::format(", which has {} of {} points", reports::human_count(run->done),
                          reports::human_count(run->points))
            : "";
    return "Goes on in " + path + known + (row.finished ? "; it is finished." : ".") + beside;
  }
  return "Adds this space to " + path + ", which has others." + beside;
}

/// Says what will be written, and where, and waits for a yes.
void ask_to_start(const scenarios::Space& space, const explore::Points& points,
                  const ExploreVerbOptions& options) {
  require_writable("--db", options.database);
  const std::string writes = writes_words(space, options.database);
  const std::uint64_t number = points_in(points);
  const std::size_t jobs = jobs_of(options);
  Monitor monitor("estimating", estimate_limit_s);
  const explore::Estimate found = estimated(monitor, points, number, jobs);
  monitor.finish();
  std::string text =
      fmt::format("{}: {} points.\n", space.name, reports::human_count(number)) + writes + "\n";
  if (found.sampled > 0) text += estimate_words(found, jobs) + "\n";
  std::fputs(text.c_str(), stderr);
  require_yes(stderr);
}

void run(const ExploreVerbOptions& options) {
  scenarios::Space space = scenarios::read_space(options.space, explore::known_systems());
  price_anew(options.prices, space.base);
  const explore::Points points(space);
  const explore::Measures checked(points);
  if (options.count) return count(points, options);
  if (options.database.empty())
    refuse("--db", "missing", "name the file that keeps the results, or ask --count");
  if (options.slurm) {
    check_times(options);
    return print(slurm_script(job_of(options)));
  }
  explore::ExploreOptions how = how_of(options);
  warn_of_one_generation(options);
  if (options.ask) ask_to_start(space, points, options);
  int signal = 0;
  const hw_backend::InterruptGuard guard;
  how.stop = [&signal] {
    try {
      hw_backend::stop_if_interrupted();
    } catch (const hw_backend::Interrupted& interrupted) {
      signal = interrupted.signal();
    }
    return signal != 0;
  };
  explore::Exploration done;
  {
    const bool all = how.search == explore::Search::exhaustive;
    how.points = all ? points_in(points) : std::min(how.samples, points.count());
    ProgressLine line(how.points, options.progress);
    how.progress = [&line](const explore::Progress& progress) { line.show(progress); };
    done = explore::explore(simulator(), points, options.database, how);
  }
  explore::Store store(options.database, explore::Database::Access::read);
  print_front(store, done.space, options.json ? Form::json : Form::table);
  for (const explore::PointRow& point : store.points(done.space, "verdict = 'failed'"))
    description::is_bug(point.reason) ? notice_bug(point.reason) : notice_unanswered(point.reason);
  if (signal != 0) {
    std::fprintf(stderr, "interrupted; the same command goes on\n");
    throw CLI::RuntimeError(128 + signal);  // as a shell says it
  }
}

/// Whether SQLite keeps it beside one of the parts, as it does when a writer was killed: a pattern
/// for the shards matches it too.
bool belongs_to_another(const std::string& file, const std::vector<std::string>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
    return file == part + "-wal" || file == part + "-shm";
  });
}

void add_merge(CLI::App& verb) {
  auto into = std::make_shared<std::string>();
  auto parts = std::make_shared<std::vector<std::string>>();
  CLI::App* merge_verb = verb.add_subcommand(
      "merge", "puts what several databases know into one, where exploring the space goes on");
  merge_verb->add_option("into", *into, "the database that gets it")->required();
  merge_verb->add_option("parts", *parts, "databases, which stay as they are")->required();
  merge_verb->footer(
      "Examples:\n"
      "  spillway explore scenarios/spaces/ssds_until_gpu_limit.json --db 0.db --shard 0/2\n"
      "  spillway explore scenarios/spaces/ssds_until_gpu_limit.json --db 1.db --shard 1/2\n"
      "  spillway explore merge all.db 0.db 1.db");
  merge_verb->callback([into, parts] {
    explore::Store store(*into, explore::Database::Access::write);
    for (const std::string& part : *parts)
      if (!belongs_to_another(part, *parts))
        print(fmt::format("{}: {} scenarios\n", description::printable(part),
                          reports::human_count(store.take_over(part))));
  });
}

}  // namespace

void add_explore(CLI::App& app) {
  auto options = std::make_shared<ExploreVerbOptions>();
  CLI::App* verb = app.add_subcommand("explore", "the best points of a space of scenarios");
  verb->add_option("space", options->space, "the space file");
  verb->add_option("--db", options->database,
                   "the file that keeps the results; what it knows is not simulated again");
  add_prices(*verb, options->prices);
  verb->add_option("--jobs", options->jobs, "simulations at a time; else one for each core")
      ->check(CLI::Range(std::uint64_t{1}, most_jobs));
  verb->add_option("--limit", options->limit_s, "seconds after which a simulation is given up")
      ->transform(seconds_with_unit())
      ->check(positive_number());
  verb->add_option("--budget", options->budget, "time for all of it, such as 10min");
  verb->add_option("--search", options->search,
                   "exhaustive, coarse first; sobol, a spread of points; nsga2, a genetic search")
      ->check(CLI::IsMember({"exhaustive", "sobol", "nsga2"}));
  verb->add_option("--seed", options->seed, "of sobol and nsga2: the same finds the same");
  verb->add_option("--samples", options->samples, "points that sobol and nsga2 look at")
      ->check(positive_number());
  verb->add_option("--shard", options->shard,
                   "of N parts of the space, only part I; explore merge joins their databases")
      ->type_name("I/N");
  CLI::Option* srun =
      verb->add_flag("--srun", options->srun,
                     "simulate on all nodes of the Slurm job that this is in, --jobs each");
  verb->add_option("--mpirun", options->mpirun,
                   "simulate on these hosts, --jobs each, with workers that mpirun starts")
      ->type_name("HOST,...")
      ->excludes(srun);
  verb->add_option(
      "--silence", options->silence,
      "of a worker that has work to do: one of another machine is then given up, and this one's "
      "started anew; else 30s");
  verb->add_option("--slurm", options->slurm,
                   "run nothing: print the sbatch script of N shards, with --srun of N nodes")
      ->check(positive_number())
      ->type_name("N");
  verb->add_flag("--count", options->count, "how many points, and how long they may take");
  verb->add_flag("--simulate-all", options->simulate_all, "prune nothing by bounds");
  verb->add_flag("--ask", options->ask,
                 "wait for a line \"yes\" after saying what will be written, and where");
  verb->add_flag("--progress", options->progress,
                 "a line each second on standard error, where that is no terminal");
  verb->add_flag("--json", options->json, "the front with whole results");
  verb->footer("Example:\n  spillway explore scenarios/spaces/ssds_until_gpu_limit.json --count");
  add_explore_show(*verb);
  add_merge(*verb);
  add_explore_explain(*verb);
  verb->callback([options, verb] {
    if (!verb->get_subcommands().empty()) return;
    if (options->space.empty()) refuse("space", "missing", "name a space file");
    std::error_code unknown;  // what cannot be looked at is refused when it is opened
    if (options->database.empty() || !std::filesystem::exists(options->database, unknown))
      return run(*options);
    from_database(options->database, [&] { run(*options); });
  });
}

}  // namespace spillway::cli
