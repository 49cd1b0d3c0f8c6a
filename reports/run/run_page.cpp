#include "reports/run/run_page.hpp"

#include "reports/result/control.hpp"
#include "reports/result/needs.hpp"
#include "reports/result/what_if.hpp"
#include "reports/run/compare_table.hpp"
#include "reports/run/remedy_report.hpp"
#include "reports/run/simulate_report.hpp"
#include "reports/run/timeline.hpp"
#include "reports/run/validation_report.hpp"
#include "reports/words/finished_run.hpp"
#include "reports/words/phases.hpp"
#include "reports/words/verdict.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <utility>

namespace spillway::reports {

using result::PeakBytes;
using result::Result;
using view::Document;
using view::filled;
using view::Heading;
using view::Paragraph;
using view::Text;
using view::Tone;

namespace {

using Runs = std::span<const PageRun>;

bool trains(const Result& r) { return r.feasible() && !r.io_bench.is_object(); }

/// One run's part of a section: alone it takes the width, else it stands beside the others'.
template <class Part>
void side_by_side(Document& page, Runs runs, Part part) {
  view::Columns columns;
  bool any = false;
  for (const PageRun& run : runs) {
    Document& column = columns.documents.emplace_back();
    part(column, run);
    any = any || !column.blocks.empty();
    if (runs.size() > 1)
      column.blocks.insert(column.blocks.begin(), {Heading{run.label, 3}, false});
  }
  if (!any) return;
  if (runs.size() > 1) return void(page.add(std::move(columns)));
  page.append(std::move(columns.documents.front()));
}

template <class Part>
void section(Document& page, Runs runs, const char* title, const char* id, Part part) {
  page.add(Heading{title, 2, id});
  side_by_side(page, runs, part);
}

/// How far a prediction was off.
Text agreement(const result::Validation& v) {
  const double predicted = v.predicted.step_time_s, measured = v.measured.step_time_s;
  if (!v.predicted.feasible()) return verdict_sentence(v.predicted);
  if (!v.measured.feasible()) return "Predicted to fit; measured: " + verdict_sentence(v.measured);
  if (!v.times_compare() || measured <= 0)
    return "It ran as predicted to; bytes and peaks compare, times do not.";
  return filled("Predicted {} per step, measured {}: {} off.",
                {view::seconds(predicted), view::seconds(measured),
                 view::change((predicted - measured) / measured)});
}

void add_verdict(Document& part, const PageRun& run) {
  const Result& r = run.result;
  part.add(
      Paragraph{run.validation ? agreement(*run.validation) : verdict_sentence(r), Tone::verdict});
  for (const Text& note : run.notes) part.add(Paragraph{note, Tone::warning});
}

void add_limits(Document& part, const PageRun& run) {
  const Result& r = run.result;
  if (const Text limit = limit_sentence(r); !limit.empty()) part.add(Paragraph{limit});
  if (!trains(r)) return;
  add_phases(part, r);
  for (view::Block& block : part.blocks)
    if (auto* table = std::get_if<view::Table>(&block.content))
      for (std::vector<view::Cell>& row : table->rows)
        row.front().text = plain(words(row.front().text));
  add_traffic(part, r);
  add_states(part, r);
}

/// What a purpose is, and what decides how large it is.
std::string note_of(const std::string& tier, const std::string& purpose, const Result& r) {
  std::string note = std::string(result::meaning_of(tier, purpose));
  const std::string setting = result::setting_of(tier, purpose, r.scenario, 1);
  if (!setting.empty())
    note += (note.empty() ? "" : "; ") + ("set by " + setting) + "; shrinks with " +
            result::shrinks_with(tier, purpose, r.scenario);
  return note;
}

std::vector<std::pair<std::string, std::uint64_t>> biggest_first(const PeakBytes& peak) {
  std::vector<std::pair<std::string, std::uint64_t>> all;
  for (const auto& one : peak.by_purpose)
    if (one.second > 0) all.push_back(one);
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return all;
}

view::Bar tier_bar(const std::string& tier, const char* label, const Result& r,
                   const PeakBytes& peak) {
  view::Bar bar{label, {}};
  for (const auto& [purpose, bytes] : biggest_first(peak))
    bar.parts.push_back({plain(purpose), tier_number(tier, bytes), note_of(tier, purpose, r)});
  std::uint64_t taken = peak.total + peak.reserve;
  for (const result::TierNeed& need : result::needs_of(r))
    if (need.tier == tier && !r.feasible()) taken = std::max(need.needed, peak.total);
  if (taken > peak.total)
    bar.parts.push_back(
        {"kept free for the system", tier_number(tier, taken - peak.total), "", true});
  bar.beside = tier_number(tier, taken);
  if (peak.capacity == 0) return bar;
  bar.limit = tier_number(tier, peak.capacity);
  bar.beside = Text(r.feasible() ? "" : "needs ") +
               tier_number(tier, r.feasible() ? peak.total : taken) + " of " +
               tier_number(tier, peak.capacity);
  if (taken > peak.capacity)
    bar.beside += Text(", ") + tier_number(tier, taken - peak.capacity) + " too much";
  return bar;
}

void add_peaks(Document& part, const PageRun& run) {
  const Result& r = run.result;
  view::Bars bars;
  bars.each_its_own = true;
  view::Tree tree{"Each buffer, what decides its size, and what makes it smaller", {}};
  const std::tuple<const char*, const char*, const PeakBytes*> tiers[] = {
      {"gpu", "GPU memory", &r.gpu},
      {"host", "Host memory", &r.host},
      {"ssd", "SSD", &r.ssd},
      {"remote", "Remote storage", &r.remote}};
  for (const auto& [tier, label, peak] : tiers) {
    if (peak->total == 0) continue;
    bars.bars.push_back(tier_bar(tier, label, r, *peak));
    view::Node node{label, tier_number(tier, peak->total), "", {}};
    if (!peak->phase.empty()) node.note = "fullest in " + peak->phase;
    for (const auto& [purpose, bytes] : biggest_first(*peak))
      node.parts.push_back({purpose, tier_number(tier, bytes), note_of(tier, purpose, r), {}});
    tree.roots.push_back(std::move(node));
  }
  if (bars.bars.empty()) return;
  part.add(Paragraph{"Of the fullest GPU, and of one node with all of its ranks.", Tone::note});
  part.add(std::move(bars)).add(std::move(tree));
}

void add_timeline(Document& page, const PageRun& run, bool named) {
  const auto window = last_step(run.trace);
  if (!window || !trains(run.result)) return;
  if (named) page.add(Heading{run.label, 3});
  if (run.validation)
    page.add(
        Paragraph{"The step as predicted. spillway validate --trace FILE writes the measured "
                  "one beside it: for spillway gui, or ui.perfetto.dev.",
                  Tone::note});
  page.add(timeline(run.trace, *window));
  for (view::Series& series : memory_over_time(run.result, run.trace, *window))
    page.add(std::move(series));
}

void add_timelines(Document& page, Runs runs) {
  const bool any = std::any_of(runs.begin(), runs.end(), [](const PageRun& run) {
    return trains(run.result) && last_step(run.trace);
  });
  if (!any) return;
  page.add(Heading{"One step over time", 2, "timeline"});
  for (const PageRun& run : runs) add_timeline(page, run, runs.size() > 1);
}

void add_gains(Document& part, const PageRun& run) {
  const Result& r = run.result;
  for (const PageRemedy& remedy : run.remedies) {
    part.add(Paragraph{remedy_words(remedy.words, remedy.result)});
    part.add(view::Verbatim{"", remedy.command});
  }
  for (const answer::FasterSettings& free : run.faster)
    part.add(Paragraph{faster_words(free, r.step_time_s) + "."});
  if (!r.feasible() && run.remedies.empty())
    part.add(Paragraph{"Nothing that was tried makes it fit: spillway simulate says what was."});
  view::Table table{{{"with", view::Align::left},
                     {"a step takes"},
                     {"instead of"},
                     {"change"},
                     {"because", view::Align::left}},
                    {}};
  for (const auto& [name, what_if] : best_first(r)) {
    const bool fits = what_if.step_time_s.has_value();
    table.rows.push_back({name,
                          fits ? view::Cell(view::seconds(*what_if.step_time_s)) : "does not fit",
                          view::seconds(r.step_time_s),
                          fits && r.step_time_s > 0
                              ? view::Cell(view::change(*what_if.step_time_s / r.step_time_s - 1))
                              : "",
                          what_if.why});
  }
  drop_silent_columns(table);
  if (!table.rows.empty()) part.add(std::move(table));
}

void add_cost(Document& part, const PageRun& run) {
  const Result& r = run.result;
  if (trains(r)) {
    add_wear(part, r);
    if (!r.wear || r.wear->write_bytes_per_day <= 0)
      part.add(Paragraph{"No drive is written: none wears."});
    if (r.run) part.add(finished_run_table(r));
  }
  add_remarks(part, r);
}

bool is_assumed(const Setting& setting) {
  return view::origin_of(setting.source) == view::Origin::assumed;
}

/// Where a value was said that is no default and no machine's own.
bool is_said(const Setting& setting) {
  if (setting.source.starts_with("--")) return true;
  return setting.source.find(".json:") != std::string::npos &&
         setting.source.find("scenarios/machines/") == std::string::npos;
}

/// "mine.json:3" of "/home/me/mine.json:3": a page travels, and folders do not go with it.
std::string short_source(const std::string& source) {
  const std::size_t file = source.find(".json:"), folder = source.rfind('/', file);
  const bool path = file != std::string::npos && source.starts_with("/");
  return path && folder != std::string::npos ? source.substr(folder + 1) : source;
}

template <class Shown>
view::Table settings_table(const std::vector<Setting>& settings, Shown shown) {
  view::Table table{
      {{"input", view::Align::left}, {"value", view::Align::left}, {"from", view::Align::left}},
      {}};
  for (const Setting& setting : settings)
    if (shown(setting))
      table.rows.push_back({setting.path, setting.value, short_source(setting.source)});
  return table;
}

bool any_setting(const Setting&) { return true; }

std::uint64_t assumed_of(const PageRun& run) {
  return static_cast<std::uint64_t>(
      std::count_if(run.settings.begin(), run.settings.end(), is_assumed));
}

void add_assumptions(Document& part, const PageRun& run) {
  if (run.settings.empty()) return;
  if (assumed_of(run) == 0) {
    part.add(Paragraph{"Every number of the machine is measured, from a data sheet or a paper."});
    return;
  }
  part.add(Paragraph{
      filled("{} of {} inputs are assumed: nobody states them, and the answer moves with them.",
             {view::count(assumed_of(run)), view::count(run.settings.size())})});
  part.add(settings_table(run.settings, is_assumed));
}

/// Assumed, with the same value for the same reason in every run.
bool is_shared(const Setting& setting, Runs runs) {
  return is_assumed(setting) && std::all_of(runs.begin(), runs.end(), [&](const PageRun& run) {
           return std::any_of(run.settings.begin(), run.settings.end(), [&](const Setting& other) {
             return other.path == setting.path && other.value == setting.value &&
                    other.source == setting.source;
           });
         });
}

/// What all runs share once, then what else each of them takes.
void add_shared_assumptions(Document& page, Runs runs) {
  const auto shared = [&](const Setting& setting) { return is_shared(setting, runs); };
  view::Table table = settings_table(runs.front().settings, shared);
  const std::uint64_t count = table.rows.size();
  if (count == 0) return side_by_side(page, runs, add_assumptions);
  page.add(Paragraph{filled(
      "Inputs that are assumed, alike for all of these runs: {}. Nobody states them, and the "
      "answers move with them.",
      {view::count(count)})});
  page.add(std::move(table));
  side_by_side(page, runs, [&](Document& part, const PageRun& run) {
    const std::uint64_t more = assumed_of(run) - count;
    part.add(Paragraph{filled(
        "{} of {} inputs are assumed, {}.",
        {view::count(assumed_of(run)), view::count(run.settings.size()),
         more == 0 ? Text("as above")
                   : Text(view::count(more)) + " of them for this run alone or with a value of "
                                               "its own"})});
    view::Table own = settings_table(run.settings, [&](const Setting& setting) {
      return is_assumed(setting) && !shared(setting);
    });
    if (!own.rows.empty()) part.add(std::move(own));
  });
}

void add_inputs(Document& part, const PageRun& run) {
  std::vector<Setting> said;
  std::copy_if(run.settings.begin(), run.settings.end(), std::back_inserter(said), is_said);
  if (!said.empty()) part.add(settings_table(said, any_setting));
  if (!run.settings.empty()) {
    view::Table all = settings_table(run.settings, any_setting);
    all.folded = fmt::format("All {} inputs, each with where it comes from", run.settings.size());
    part.add(std::move(all));
  }
  part.add(view::Verbatim{"The scenario, complete", run.result.scenario.dump(2), true});
}

std::string seed_of(const Result& r) {
  const nlohmann::json::json_pointer seed("/run/seed");
  return r.scenario.is_object() && r.scenario.contains(seed) ? r.scenario.at(seed).dump() : "0";
}

void add_foot(Document& page, Runs runs, const PageOrigin& origin) {
  page.add(view::Verbatim{"This page again", origin.command});
  std::string seeds;
  for (const PageRun& run : runs)
    if (const std::string seed = seed_of(run.result); seeds.find(seed) == std::string::npos)
      seeds += (seeds.empty() ? "" : ", ") + seed;
  page.add(Paragraph{origin.version + "; seed " + seeds +
                         ". With the same commit and model version the same scenario gives the "
                         "same numbers. Point at a number to read all of its digits.",
                     Tone::note});
  for (std::size_t i = 0; i < runs.size(); ++i)
    page.add(view::Data{fmt::format("result-{}", i + 1), nlohmann::json(runs[i].result).dump()});
}

std::string title_of(const PageRun& run) {
  const std::string name = scenario_title(run.result);
  return fmt::format("{}: {} ({})", name.empty() ? run.label : name, run.result.system,
                     backend_words(run.result.backend));
}

std::string title_of(Runs runs) {
  if (runs.size() == 1) return title_of(runs.front());
  std::string title;
  for (const PageRun& run : runs) title += (title.empty() ? "" : " and ") + run.label;
  return title;
}

void add_comparison(Document& page, Runs runs) {
  std::vector<Contender> contenders;
  for (const PageRun& run : runs) contenders.push_back({run.label, &run.result, ""});
  page.add(Heading{"Side by side", 2, "compare"});
  page.append(compare_document(contenders));
}

void add_validations(Document& page, Runs runs) {
  bool first = true;
  for (const PageRun& run : runs) {
    if (!run.validation) continue;
    page.add(Heading{"Predicted and measured", 2, std::exchange(first, false) ? "validation" : ""});
    page.append(validation_document(*run.validation));
  }
}

}  // namespace

Document run_page(Runs runs, const PageOrigin& origin) {
  Document page;
  page.title = title_of(runs);
  page.add(Heading{page.title, 1});
  side_by_side(page, runs, add_verdict);
  add_validations(page, runs);
  if (runs.size() > 1) add_comparison(page, runs);
  section(page, runs, "What limits it", "limits", add_limits);
  section(page, runs, "Memory at its fullest", "peaks", add_peaks);
  add_timelines(page, runs);
  section(page, runs, "What would make it better", "better", add_gains);
  section(page, runs, "Wear and cost", "cost", add_cost);
  page.add(Heading{"Assumptions", 2, "assumptions"});
  runs.size() > 1 ? add_shared_assumptions(page, runs) : side_by_side(page, runs, add_assumptions);
  section(page, runs, "Inputs", "inputs", add_inputs);
  add_foot(page, runs, origin);
  return page;
}

}  // namespace spillway::reports
