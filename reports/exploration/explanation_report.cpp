#include "reports/exploration/exploration_report.hpp"
#include "reports/exploration/objectives.hpp"
#include "reports/result/number.hpp"
#include "reports/view/text_page.hpp"
#include "reports/words/table.hpp"
#include "reports/words/wear_words.hpp"
#include "scenarios/description/bugs.hpp"
#include "scenarios/description/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cmath>

namespace spillway::reports {

using answer::Explanation;
using answer::NextStep;
using answer::Space;
using nlohmann::json;
using result::Result;
using view::filled;
using view::Text;

namespace {

/// "+12.0 %", "no change", "x 30.1".
Text change(double from, double to) {
  constexpr double many = 3;
  if (to >= many * from) return filled("x {}", {view::number(to / from)});
  const double share = to / from - 1;
  return std::abs(share) < 0.0005 ? Text("no change") : Text(view::change(share));
}

/// What the space wants besides tokens, time and dollars.
std::vector<std::string> other_objectives(const Space& space) {
  std::vector<std::string> paths;
  for (const answer::Objective& one : space.objectives)
    if (one.path != "price_usd" && one.path != "step_time_s" &&
        !one.path.starts_with("throughput."))
      paths.push_back(one.path);
  return paths;
}

/// Whether all of them are the same.
bool same_objectives(const Space& space, const Result& now, const Result& then) {
  const json before = now, after = then;
  const auto paths = other_objectives(space);
  return std::all_of(paths.begin(), paths.end(), [&](const std::string& path) {
    return objective_text(path, result::number_in(before, path)) ==
           objective_text(path, result::number_in(after, path));
  });
}

void add_row(Table& table, const Space& space, const Result& now, const NextStep& step) {
  auto& cells = table.rows.emplace_back();
  cells.emplace_back(step.words);
  const std::vector<std::string> others = other_objectives(space);
  if (!step.result) {
    cells.insert(cells.end(), 3 + others.size(), "-");
    cells.emplace_back(description::is_bug(words(step.reason)) ? "no answer: " + step.reason
                                                               : step.reason);
    return;
  }
  const json whole = *step.result;
  cells.emplace_back(view::number(step.result->tokens_per_s));
  cells.emplace_back(change(now.tokens_per_s, step.result->tokens_per_s));
  cells.emplace_back(step.result->price_usd ? Text(view::dollars(*step.result->price_usd)) : "-");
  for (const std::string& path : others)
    cells.emplace_back(objective_text(path, result::number_in(whole, path)));
  cells.emplace_back(step.unmet.empty() ? Text() : "breaks " + step.unmet);
}

/// The point and each step from it, a line each.
Table table_of(const Space& space, const Result& now, const std::vector<NextStep>& steps) {
  Table table;
  table.columns = {{"with", Align::left, 0},
                   {"tokens/s", Align::right, 0},
                   {"change", Align::right, 0},
                   {"price", Align::right, 0}};
  for (const std::string& path : other_objectives(space))
    table.columns.push_back({objective_title(path), Align::right, 0});
  table.columns.push_back({"but", Align::left, 0});
  add_row(table, space, now, {"the point itself", false, now, "", "", std::nullopt, {}});
  for (const bool systems : {false, true})
    for (const NextStep& step : steps)
      if (step.system == systems) add_row(table, space, now, step);
  drop_silent_columns(table);
  return table;
}

/// The fastest of other systems, or of what could be bought.
template <class Accepts>
const NextStep* fastest(const std::vector<NextStep>& steps, bool systems, const Accepts& accepts) {
  const NextStep* most = nullptr;
  for (const NextStep& step : steps) {
    if (!step.result || step.system != systems || !accepts(step)) continue;
    if (!most || step.result->tokens_per_s > most->result->tokens_per_s) most = &step;
  }
  return most;
}

/// The fastest that meets the constraints.
const NextStep* best(const std::vector<NextStep>& steps, bool systems) {
  return fastest(steps, systems, [](const NextStep& step) { return step.unmet.empty(); });
}

/// What there is more of with a step.
std::string relieved_by(const std::string& words) {
  const std::string drives = "one more drive of ";
  if (words.starts_with(drives)) return words.substr(drives.size());
  if (words == "64 GiB of host memory more") return "host memory";
  for (const auto& [beginning, resource] :
       {std::pair{"a link", "pcie"}, std::pair{"a GPU", "gpu"}, std::pair{"a processor", "cpu"}})
    if (words.starts_with(beginning)) return resource;
  return "what is better with " + words;
}

/// What costs less and does as well, which only a space without it leaves out.
std::string bargains(const Space& space, const Result& now, const std::vector<NextStep>& steps) {
  std::vector<std::string> found;
  for (const NextStep& step : steps) {
    if (!step.result || !step.unmet.empty() || step.system) continue;
    const Result& then = *step.result;
    const bool cheaper = now.price_usd && then.price_usd && *then.price_usd < *now.price_usd;
    if (cheaper && then.tokens_per_s >= now.tokens_per_s && same_objectives(space, now, then))
      found.push_back(step.words);
  }
  if (found.empty()) return "";
  return fmt::format(
      "Not in the space, cheaper and no slower: with {}. A larger space may have better points.",
      fmt::join(found, ", with "));
}

/// What the point is.
Text about(const answer::Point& point, const Result& now, const std::vector<NextStep>& steps) {
  Text text = filled("Point {}", {view::plain(static_cast<double>(point.number))});
  const char* before = ": ";
  for (const auto& [axis, value] : point.point.items()) {
    text += before + axis + " " + axis_text(value);
    before = ", ";
  }
  text += filled(". It trains at {} tokens/s, {} a step",
                 {view::number(now.tokens_per_s), view::seconds(now.step_time_s)});
  if (now.price_usd) text += filled(", on a box for {}", {view::dollars(*now.price_usd)});
  text += ".";
  // by what helps most, whether or not it can be afforded
  const NextStep* limit = fastest(steps, false, [](const NextStep&) { return true; });
  if (limit && limit->result->tokens_per_s > 1.005 * now.tokens_per_s)
    text += " It is limited by " + relieved_by(limit->words) + ".";
  text += lifetimes_sentence(now);
  return text;
}

/// Which of the steps bring most.
Text best_words(const Result& now, const std::vector<NextStep>& steps) {
  Text text;
  if (const NextStep* most = best(steps, false)) {
    const bool more = most->result->tokens_per_s > now.tokens_per_s * 1.0005;
    const bool breaks = std::any_of(steps.begin(), steps.end(),
                                    [](const NextStep& step) { return !step.unmet.empty(); });
    text = more ? filled("Of what could be bought or sold{}, {} brings most",
                         {breaks ? " within the constraints" : "", most->words})
                : "Nothing that could be bought brings more";
    if (more && most->most_tokens_per_s)
      text += filled("; no schedule could bring it above {} tokens/s",
                     {view::number(*most->most_tokens_per_s)});
    text += ". ";
  }
  if (const NextStep* other = best(steps, true))
    text += filled(
        "Best of the other systems, each with its own parts and the samples of a step split as it "
        "does best, is {}: {} tokens/s, {}.",
        {other->words, view::number(other->result->tokens_per_s),
         change(now.tokens_per_s, other->result->tokens_per_s)});
  return text;
}

/// The two of best_words() as options of `spillway simulate`, a line each.
std::string commands(const std::vector<NextStep>& steps) {
  std::string lines;
  for (const bool systems : {false, true}) {
    const NextStep* step = best(steps, systems);
    if (!step || step->set.empty()) continue;
    lines += (lines.empty() ? "  " : "\n  ") + step->words + ":";
    for (const std::string& one : step->set) lines += " --set " + description::shell_word(one);
  }
  return lines;
}

}  // namespace

view::Document explanation_document(const Explanation& explanation) {
  const Result& now = explanation.result;
  const std::vector<NextStep>& steps = explanation.steps;
  view::Document document;
  document.title = explanation.space.name + ", point " + std::to_string(explanation.point.number);
  document.say(about(explanation.point, now, steps))
      .add(table_of(explanation.space, now, steps))
      .say(best_words(now, steps));
  if (std::string lines = commands(steps); !lines.empty())
    document.add(view::Verbatim{"", std::move(lines)}, true);
  const bool of_memory = std::any_of(steps.begin(), steps.end(), [](const NextStep& step) {
    return step.words.find("host memory") != std::string::npos;
  });
  if (of_memory) document.say(memory_without_price(now.scenario));
  return document.say(bargains(explanation.space, now, steps));
}

std::string explanation_report(const Explanation& explanation, const Screen& screen) {
  return to_text(explanation_document(explanation), screen);
}

}  // namespace spillway::reports
