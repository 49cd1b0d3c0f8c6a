#include "cli/explore_show.hpp"

#include "cli/common.hpp"
#include "cli/explore_report.hpp"
#include "cli/from_database.hpp"
#include "cli/plan_common.hpp"
#include "cli/prices.hpp"
#include "explore/search/filling.hpp"
#include "reports/words/human.hpp"
#include "scenarios/document/offers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace spillway::cli {

namespace {

struct ShowOptions {
  PriceOptions prices;
  std::string database;
  std::int64_t space = 0;
  std::string group;
  bool why = false, json = false, csv = false;
};

/// The space that is asked for, or the last one.
std::int64_t space_in(explore::Store& store, const std::string& file, std::int64_t asked) {
  const std::vector<explore::SpaceRow> spaces = store.spaces();
  if (spaces.empty()) refuse(file, "holds no search space yet", "explore one into it");
  if (asked == 0) return spaces.back().space;
  const bool known = std::any_of(spaces.begin(), spaces.end(),
                                 [&](const auto& one) { return one.space == asked; });
  if (!known)
    refuse("--space", fmt::format("no space {}", asked),
           fmt::format("there are 1 to {}", spaces.size()));
  return asked;
}

/// Of an exploration that has not ended: who is at work, or stopped without a word.
std::string run_words(const std::optional<explore::RunRow>& run) {
  if (!run || run->ended) return "";
  const std::string who = fmt::format("process {} of {}", run->process, run->host);
  const std::string done = fmt::format("{} of {} points", reports::human_count(run->done),
                                       reports::human_count(run->points));
  if (explore::is_gone(*run))
    return fmt::format("{} has ended before it was through, after {}; the same command goes on.\n",
                       who, done);
  if (run->silent_s < explore::silent_after_s)
    return fmt::format("{} is at work on it: {} so far.\n", who, done);
  return fmt::format("{} has been silent for {}, after {}; the same command goes on.\n", who,
                     reports::human_time(run->silent_s), done);
}

void show(const ShowOptions& options) {
  explore::Store store(options.database, explore::Database::Access::read);
  const std::int64_t space = space_in(store, options.database, options.space);
  const Form form = options.json ? Form::json : options.csv ? Form::csv : Form::table;
  if (options.prices.any())
    return print_repriced(
        store, space, scenarios::read_offers(options.prices.prices, options.prices.offers), form);
  if (options.why) return print_reasons(store, space, form);
  if (!options.group.empty()) return print_groups(store, space, options.group, form);
  print_front(store, space, form);
  if (form == Form::table) print(run_words(store.run(space)));
}

}  // namespace

void add_explore_show(CLI::App& verb) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* show_verb = verb.add_subcommand("show", "what a database of explorations holds");
  show_verb->add_option("database", options->database, "its file")->required();
  show_verb->add_option("--space", options->space, "of several, which; else the last one");
  CLI::Option* group = show_verb->add_option("--best-per", options->group,
                                             "the best point for each value of this axis");
  show_verb->add_flag("--why", options->why, "why points are not accepted")->excludes(group);
  add_prices(*show_verb, options->prices);
  CLI::Option* json = show_verb->add_flag("--json", options->json, "as JSON");
  show_verb->add_flag("--csv", options->csv, "one line per point")->excludes(json);
  show_verb->footer(
      "Examples:\n  spillway explore scenarios/spaces/ssds_until_gpu_limit.json --db drives.db\n"
      "  spillway explore show drives.db");
  show_verb->callback([options] { from_database(options->database, [&] { show(*options); }); });
}

void add_explore_explain(CLI::App& verb) {
  auto options = std::make_shared<ShowOptions>();
  auto point = std::make_shared<std::uint64_t>(0);
  CLI::App* explain = verb.add_subcommand(
      "explain", "why a point of the front is what it is, and what each next step would bring");
  explain->add_option("database", options->database, "its file")->required();
  explain->add_option("point", *point, "its number, as show has it")->required();
  explain->add_option("--space", options->space, "of several, which; else the last one");
  explain->add_flag("--json", options->json, "with the whole result of each step");
  auto limit_s = std::make_shared<double>(plan_limit_s);
  add_limit(*explain, *limit_s, plan_limit_help);
  explain->footer(
      "Examples:\n  spillway explore scenarios/spaces/ssds_until_gpu_limit.json --db drives.db\n"
      "  spillway explore explain drives.db 15");
  explain->callback([options, point, limit_s] {
    from_database(options->database, [&] {
      explore::Store store(options->database, explore::Database::Access::read);
      print_explanation(store, space_in(store, options->database, options->space), *point,
                        options->json ? Form::json : Form::table, *limit_s);
    });
  });
}

}  // namespace spillway::cli
