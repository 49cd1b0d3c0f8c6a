#include "explore/explain.hpp"
#include "cli/common.hpp"
#include "cli/explore_report.hpp"
#include "reports/human.hpp"
#include "reports/table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace spillway::cli {

using explore::NextStep;
using nlohmann::json;
using result::Result;

namespace {

/// "12 % more", "3 % less", "no change".
std::string change(double from, double to) {
  const double share = to / from - 1;
  if (std::abs(share) < 0.0005) return "no change";
  return reports::human_share(std::abs(share)) + (share > 0 ? " more" : " less");
}

/// Parts of the step in which a resource works.
double busy(const Result& result, const std::string& resource) {
  const result::Utilization& all = result.utilization;
  if (const auto found = all.storage.find(resource); found != all.storage.end())
    return found->second;
  if (resource == "gpu") return all.gpu;
  if (resource == "h2d") return all.h2d;
  if (resource == "d2h") return all.d2h;
  return resource == "cpu" ? all.cpu : all.network;
}

std::string with_price(const Result& from, const Result& to) {
  if (!from.price_usd || !to.price_usd || *from.price_usd == *to.price_usd) return "";
  const double more = *to.price_usd - *from.price_usd;
  return fmt::format(" for {} {}", reports::human_price(std::abs(more)),
                     more > 0 ? "more" : "less");
}

std::string clause(const Result& now, const NextStep& step) {
  if (!step.result) return fmt::format("{} it cannot run: {}.", step.words, step.reason);
  return fmt::format(
      "{}: {} tokens/s, {}{}.", step.words, reports::human_number(step.result->tokens_per_s),
      change(now.tokens_per_s, step.result->tokens_per_s), with_price(now, *step.result));
}

const NextStep* best(const std::vector<NextStep>& steps, bool systems) {
  const NextStep* most = nullptr;
  for (const NextStep& step : steps) {
    if (!step.result || step.words.starts_with("the system ") != systems) continue;
    if (!most || step.result->tokens_per_s > most->result->tokens_per_s) most = &step;
  }
  return most;
}

/// The paragraph about one point.
std::string paragraph_of(const explore::PointRow& point, const Result& now,
                         const std::vector<NextStep>& steps) {
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
  text += fmt::format(". The busiest resource is {}, {} of the step.", now.bottleneck,
                      reports::human_share(busy(now, now.bottleneck)));
  if (now.wear && now.wear->lifetime_years)
    text += fmt::format(" Its drives last {}.", reports::human_years(*now.wear->lifetime_years));
  for (const NextStep& step : steps)
    if (!step.words.starts_with("the system ")) text += " With " + clause(now, step);
  if (const NextStep* most = best(steps, false))
    text += " Of these, " + most->words + " brings most.";
  if (const NextStep* other = best(steps, true))
    text += " Best of the other systems, with its own parts, is " + clause(now, *other);
  return text;
}

json step_json(const NextStep& step) {
  json out = {{"change", step.words}, {"reason", step.reason}, {"result", nullptr}};
  if (step.result) out["result"] = *step.result;
  return out;
}

}  // namespace

void print_explanation(explore::Store& store, std::int64_t space, std::uint64_t number, Form form) {
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
  const std::vector<NextStep> steps = explore::next_steps(simulator(), stored["scenario"]);
  if (form == Form::table)
    return print(reports::paragraph(paragraph_of(*point, now, steps), reports::screen_of(stdout)));
  json all = json::array();
  for (const NextStep& step : steps) all.push_back(step_json(step));
  print_json({{"number", number}, {"point", point->point}, {"result", stored}, {"steps", all}});
}

}  // namespace spillway::cli
