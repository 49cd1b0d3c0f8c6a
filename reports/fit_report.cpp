#include "cli/fit_report.hpp"

#include "cli/common.hpp"
#include "reports/dated_price.hpp"
#include "reports/finished_run.hpp"
#include "reports/human.hpp"
#include "reports/range.hpp"
#include "reports/result/what_if.hpp"
#include "reports/table.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <cmath>

namespace spillway::cli {

using answers::FitAnswer;
using nlohmann::json;
using reports::Align;
using reports::Cell;
using result::Result;

namespace {

std::string batch_words(const json& scenario) {
  const json& training = scenario.at("training");
  const auto micro = training.at("micro_batch").get<std::uint64_t>();
  const auto times = training.at("gradient_accumulation").get<std::uint64_t>();
  const json& parallel = scenario.at("parallel");
  std::string text = fmt::format("micro-batch {}", micro);
  if (times > 1) text += fmt::format(" x {}", times);
  for (const char* how : {"data", "tensor", "pipeline"})
    if (const auto ranks = parallel.at(how).get<std::uint64_t>(); ranks > 1)
      text += fmt::format(", {} {}", how, ranks);
  return text;
}

std::string of_capacity(const result::PeakBytes& peak) {
  if (peak.total == 0) return "-";
  return reports::human_memory(peak.total) +
         (peak.capacity > 0 ? " of " + reports::human_memory(peak.capacity) : "");
}

constexpr double days_a_year = 365;

/// The day on which the maker's warranty of the drives ends, at this pace and from today on:
/// "2027-03-01 (3 months of training)"; "-" where nothing is written or rated.
std::string warranty_words(const Result& r) {
  if (!r.wear || r.wear->rated_write_bytes <= 0 || r.wear->write_bytes_per_day <= 0) return "-";
  const double days = r.wear->rated_write_bytes / r.wear->write_bytes_per_day;
  const std::string span = reports::human_years(days / days_a_year);
  constexpr double far = 100 * days_a_year;  // a calendar says nothing there
  if (days > far) return "in " + span;
  const auto end = std::chrono::system_clock::now() +
                   std::chrono::hours(static_cast<std::int64_t>(std::floor(days * 24)));
  return fmt::format("{:%Y-%m-%d} ({} of training)", fmt::gmtime(end), span);
}

/// A line of the table: what it says of each result.
struct Line {
  const char* title;
  std::string (*of)(const Result&);
};

const Line lines[] = {
    {"system", [](const Result& r) { return r.system; }},
    {"runs with", [](const Result& r) { return r.runs_with ? r.runs_with->program : "-"; }},
    {"batch", [](const Result& r) { return batch_words(r.scenario); }},
    {"tokens/s",
     [](const Result& r) {
       return reports::with_range(reports::human_number(r.tokens_per_s), r,
                                  "throughput.tokens_per_s", reports::human_number);
     }},
    {"step",
     [](const Result& r) {
       return reports::with_range(reports::human_time(r.step_time_s), r, "step_time_s",
                                  reports::human_time);
     }},
    {"limited by",
     [](const Result& r) {
       const std::string limit = result::limited_by(r);
       return limit.empty() ? "nothing alone" : limit;
     }},
    {"GPU peak", [](const Result& r) { return of_capacity(r.gpu); }},
    {"host peak", [](const Result& r) { return of_capacity(r.host); }},
    {"on drives",
     [](const Result& r) {
       return r.ssd.total == 0 ? "-" : reports::human_bytes(static_cast<double>(r.ssd.total));
     }},
    {"drives' warranty ends", [](const Result& r) { return warranty_words(r); }},
    {"price of the box",
     [](const Result& r) {
       return r.price_usd ? reports::human_price(*r.price_usd) + reports::old_prices_beside(r)
                          : std::string("-");
     }},
};

/// The answers side by side; one column where they are the same.
std::string table_of(const FitAnswer& answer) {
  std::vector<std::pair<std::string, const Result*>> shown;
  const bool same =
      answer.runnable && answer.best && answer.runnable->scenario == answer.best->scenario;
  if (answer.runnable) shown.emplace_back("best to run today", &*answer.runnable);
  if (answer.best && !same) shown.emplace_back("best of all", &*answer.best);
  reports::Table table;
  table.columns.push_back({"", Align::left, 0});
  for (const auto& [title, unused] : shown) table.columns.push_back({title, Align::left, 0});
  const auto add = [&](const std::string& title, const auto& text) {
    std::vector<Cell> row = {title};
    bool says = false;
    for (const auto& [unused, result] : shown) {
      row.emplace_back(text(*result));
      says = says || (row.back().text != "-" && !row.back().text.empty());
    }
    if (says) table.rows.push_back(std::move(row));
  };
  for (const Line& line : lines) add(line.title, line.of);
  if (answer.answer()->run)
    for (const reports::RunLine& line : reports::run_lines()) add(line.title, line.of);
  return to_text(table, reports::screen_of(stdout));
}

/// What each way would need of every tier, the cheapest to buy for first.
std::string needs_table(const FitAnswer& answer) {
  constexpr std::size_t most_rows = 6;
  reports::Table table;
  table.columns = {{"needs", Align::left, 0},
                   {"GPU memory", Align::left, 0},
                   {"host memory", Align::left, 0},
                   {"on drives", Align::left, 0},
                   {"runs with", Align::left, 0}};
  for (const answers::FitNeed& need : answer.needs) {
    if (table.rows.size() == most_rows) break;
    std::vector<Cell> row = {need.words};
    for (const char* tier : {"gpu", "host", "ssd"}) {
      const auto needed = need.needed_bytes.find(tier);
      if (needed == need.needed_bytes.end() || needed->second == 0) {
        row.emplace_back("-");
        continue;
      }
      const bool drives = tier == std::string("ssd");
      const auto words = [&](std::uint64_t bytes) {
        return drives ? reports::human_bytes(static_cast<double>(bytes))
                      : reports::human_memory(bytes);
      };
      const std::uint64_t has = need.has_bytes.at(tier);
      row.emplace_back(words(needed->second) + " of " + words(has) +
                       (has > 0 && needed->second > has ? " *" : ""));
    }
    row.emplace_back(need.runs_with ? need.runs_with->program : "-");
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) return "";
  reports::drop_silent_columns(table);
  return to_text(table, reports::screen_of(stdout)) + "* too small\n";
}

/// ", for $2,816 more".
std::string price_words(const FitAnswer& answer, const answers::FitChange& change) {
  const auto now = answer.answer() ? answer.answer()->price_usd : answer.price_usd;
  if (!change.price_usd) return "";
  if (!now) return ", on a box for " + reports::human_price(*change.price_usd);
  const double more = *change.price_usd - *now;
  constexpr double cent = 0.01;
  if (std::abs(more) < cent) return "";
  return fmt::format(", for {} {}", reports::human_price(std::abs(more)),
                     more > 0 ? "more" : "less");
}

std::string change_words(const FitAnswer& answer) {
  if (!answer.change)
    return answer.runnable
               ? "Neither more host memory nor one more drive or card, as far as the board takes "
                 "them, makes it faster."
               : "No memory, drives or card of the catalogue that this box takes makes it fit.";
  const answers::FitChange& change = *answer.change;
  std::string text = (answer.runnable ? "What helps most: "
                      : answer.fits   ? "What makes it fit with what people can run: "
                                      : "What makes it fit: ") +
                     change.words;
  if (change.tokens_per_s && answer.runnable)
    text += fmt::format(", {:+.0f} %",
                        100 * (*change.tokens_per_s / answer.runnable->tokens_per_s - 1));
  if (change.tokens_per_s)
    text += fmt::format(", {} tokens/s", reports::human_number(*change.tokens_per_s));
  return text + price_words(answer, change) + ".";
}

void say(const std::string& text) {
  if (!text.empty()) print(reports::paragraph(text, reports::screen_of(stdout)));
}

}  // namespace

void print_fit(const FitWords& words, const FitAnswer& answer) {
  if (!answer.fits) {
    say(fmt::format("{} on {}: does not fit{}.", words.model, words.box,
                    words.runnable ? " with what people can run" : ""));
    if (const std::string needs = needs_table(answer); !needs.empty()) print("\n" + needs + "\n");
  } else {
    say(fmt::format("{} on {}: fits{}.", words.model, words.box,
                    answer.runnable ? "" : ", but with nothing that people can run today"));
    print("\n" + table_of(answer) + "\n");
    if (!answer.runnable)
      if (const std::string needs = needs_table(answer); !needs.empty()) print(needs + "\n");
  }
  say(change_words(answer));
  for (const std::string& note : answer.notes) say("Note: " + note + ".");
  if (!answer.fits) return;
  for (const std::string& note : answer.answer()->notes) say("Note: " + note + ".");
  say(reports::range_note(*answer.answer()));
  if (words.out.empty()) say("--out FILE writes the scenario.");
}

}  // namespace spillway::cli
