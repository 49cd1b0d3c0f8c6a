#include "explore/explain.hpp"
#include "cli/common.hpp"
#include "cli/explore_report.hpp"
#include "explore/measure.hpp"
#include "reports/human.hpp"
#include "reports/table.hpp"
#include "scenarios/description/bugs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cmath>

namespace spillway::cli {

using explore::NextStep;
using nlohmann::json;
using result::Result;

namespace {

/// "12 % more", "3 % less", "30.1 times as many", "no change".
std::string change(double from, double to) {
  constexpr double many = 3;
  if (to >= many * from) return reports::human_number(to / from) + " times as many";
  const double share = to / from - 1;
  if (std::abs(share) < 0.0005) return "no change";
  return reports::human_share(std::abs(share)) + (share > 0 ? " more" : " less");
}

std::string with_price(const Result& from, const Result& to) {
  if (!from.price_usd || !to.price_usd || *from.price_usd == *to.price_usd) return "";
  const double more = *to.price_usd - *from.price_usd;
  return fmt::format(" for {} {}", reports::human_price(std::abs(more)),
                     more > 0 ? "more" : "less");
}

/// What the space wants besides tokens and dollars, where it changes: ", wear.lifetime_years 2.4
/// instead of 3.1".
std::string other_objectives(const explore::SpaceRow& space, const Result& now,
                             const Result& then) {
  const json before = now, after = then;
  std::string text;
  for (const explore::ObjectiveRow& one : space.objectives) {
    if (one.path == "price_usd" || one.path == "step_time_s" || one.path.starts_with("throughput."))
      continue;
    const std::string old = human_value(one.path, explore::number_in(before, one.path));
    const std::string fresh = human_value(one.path, explore::number_in(after, one.path));
    if (old != fresh) text += fmt::format(", {} {} instead of {}", one.path, fresh, old);
  }
  return text;
}

std::string clause(const explore::SpaceRow& space, const Result& now, const NextStep& step) {
  if (!step.result && description::is_bug(step.reason))
    return fmt::format("{} there is no answer: {}.", step.words, step.reason);
  if (!step.result) return fmt::format("{} it cannot run: {}.", step.words, step.reason);
  return fmt::format("{}: {} tokens/s, {}{}{}{}.", step.words,
                     reports::human_number(step.result->tokens_per_s),
                     change(now.tokens_per_s, step.result->tokens_per_s),
                     with_price(now, *step.result), other_objectives(space, now, *step.result),
                     step.unmet.empty() ? "" : "; it breaks " + step.unmet);
}

bool of_system(const NextStep& step) { return step.words.starts_with("the system "); }

/// The fastest that meets the constraints.
const NextStep* best(const std::vector<NextStep>& steps, bool systems) {
  const NextStep* most = nullptr;
  for (const NextStep& step : steps) {
    if (!step.result || !step.unmet.empty() || of_system(step) != systems) continue;
    if (!most || step.result->tokens_per_s > most->result->tokens_per_s) most = &step;
  }
  return most;
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
std::string bargains(const explore::SpaceRow& space, const Result& now,
                     const std::vector<NextStep>& steps) {
  std::vector<std::string> found;
  for (const NextStep& step : steps) {
    if (!step.result || !step.unmet.empty() || of_system(step)) continue;
    const Result& then = *step.result;
    const bool cheaper = now.price_usd && then.price_usd && *then.price_usd < *now.price_usd;
    if (cheaper && then.tokens_per_s >= now.tokens_per_s &&
        other_objectives(space, now, then).empty())
      found.push_back(step.words);
  }
  if (found.empty()) return "";
  return fmt::format(
      " Not in the space, cheaper and no slower: with {}. A larger space may have better points.",
      fmt::join(found, ", with "));
}

/// The paragraph about one point.
std::string paragraph_of(const explore::SpaceRow& space, const explore::PointRow& point,
                         const Result& now, const std::vector<NextStep>& steps) {
  std::string text = fmt::format("Point {}", point.number);
  const char* before = ": ";
  for (const auto& [axis, value] : point.point.items()) {
    text += before + axis + " " + (value.is_string() ? value.get<std::string>() : value.dump());
    before = ", ";
  }
  text +=
      fmt::format(". It trains at {} tokens/s, {} a step", reports::human_number(now.tokens_per_s),
                  reports::human_time(now.step_time_s));
  if (now.price_usd) text += ", on a box for " + reports::human_price(*now.price_usd);
  text += ".";
  if (const NextStep* limit = best(steps, false);
      limit && limit->result->tokens_per_s > 1.005 * now.tokens_per_s)
    text += " It is limited by " + relieved_by(limit->words) + ".";
  if (now.wear && now.wear->lifetime_years)
    text += fmt::format(" Its drives last {}.", reports::human_years(*now.wear->lifetime_years));
  for (const NextStep& step : steps)
    if (!of_system(step)) text += " With " + clause(space, now, step);
  if (const NextStep* most = best(steps, false)) {
    const bool more = most->result->tokens_per_s > now.tokens_per_s * 1.0005;
    text += more ? " Of these, " + most->words + " brings most" : " None of these brings more";
    if (more && most->most_tokens_per_s)
      text += fmt::format("; bounds would allow it {} tokens/s",
                          reports::human_number(*most->most_tokens_per_s));
    text += ".";
  }
  text += bargains(space, now, steps);
  if (const NextStep* other = best(steps, true))
    text += " Best of the other systems, with its own parts, is " + clause(space, now, *other);
  return text;
}

json step_json(const NextStep& step) {
  json out = {{"change", step.words},
              {"reason", step.reason},
              {"unmet", step.unmet},
              {"most_tokens_per_s", nullptr},
              {"result", nullptr}};
  if (step.most_tokens_per_s) out["most_tokens_per_s"] = *step.most_tokens_per_s;
  if (step.result) out["result"] = *step.result;
  return out;
}

}  // namespace

void print_explanation(explore::Store& store, std::int64_t space, std::uint64_t number, Form form) {
  const explore::SpaceRow asked = space_row(store, space);
  const auto point = store.point(space, number);
  if (!point)
    refuse("POINT", fmt::format("the database does not know point {}", number),
           "spillway explore show FILE --csv lists the numbers of the front");
  const json stored = store.result(point->key);
  if (!stored.contains("scenario") || stored.contains("failure"))
    refuse("POINT",
           fmt::format("point {} is {}, not on the front{}{}", number, point->verdict,
                       point->reason.empty() ? "" : ": ", point->reason),
           "only points of the front have whole results");
  const auto now = stored.get<Result>();
  std::vector<explore::AxisRow> axes;
  for (const std::string& axis : asked.axes) axes.push_back({axis, store.axis_values(space, axis)});
  const std::vector<NextStep> steps =
      explore::next_steps(simulator(), stored["scenario"], axes, point->point, asked.constraints);
  if (form == Form::table)
    return print(
        reports::paragraph(paragraph_of(asked, *point, now, steps), reports::screen_of(stdout)));
  json all = json::array();
  for (const NextStep& step : steps) all.push_back(step_json(step));
  print_json({{"number", number}, {"point", point->point}, {"result", stored}, {"steps", all}});
}

}  // namespace spillway::cli
