#include "answers/fit/complete.hpp"

#include "answers/fit/change.hpp"
#include "explore/outcome/lower_plans.hpp"
#include "explore/remedies/planning.hpp"
#include "explore/trials/spread.hpp"
#include "reports/result/what_if.hpp"
#include "scenarios/description/bugs.hpp"
#include "scenarios/description/text.hpp"
#include "strategies/systems/catalogue.hpp"

#include <algorithm>

namespace spillway::answers {

using description::Scenario;
using nlohmann::json;

namespace {

/// What-ifs and ranges of `prospects`, in proportion to what `plan` takes.
void move_prospects(const result::Result& prospects, result::Result& plan) {
  std::map<std::string, result::WhatIf> next = prospects.next;
  for (auto& [name, what_if] : next)
    if (what_if.step_time_s) *what_if.step_time_s *= plan.step_time_s / prospects.step_time_s;
  result::add_what_ifs(plan, std::move(next));
  const json before = prospects, after = plan;
  for (const auto& [path, range] : prospects.range) {
    const json::json_pointer at(scenarios::pointer_of(path));
    if (!before.contains(at) || !after.contains(at) || !after[at].is_number()) continue;
    const double factor = after[at].get<double>() / before[at].get<double>();
    plan.range[path] = {factor * range.first, factor * range.second};
  }
}

}  // namespace

/// "change" and "more_samples", "result" with what would make it faster, or "range" of how far its
/// headline numbers may be off; "bugs" and "simulated".
json Completion::part_of(const explore::Backend& backend, const Wishes& wishes, const Found& found,
                         Task task) {
  json part = {{"simulated", 0}, {"bugs", json::array()}, {"unanswered", json::array()}};
  explore::Backend here = backend;
  here.in_this_process = true;
  here.on_bug = [&part](const std::string& failure, const std::string& scenario) {
    part["bugs"].push_back(json::array({failure, scenario}));
  };
  here.on_unanswered = [&part](const std::string& why) { part["unanswered"].push_back(why); };
  if (task == Task::change) {
    std::uint64_t simulated = 0;
    std::optional<answer::MoreSamples> more =
        more_samples(here, *found.runnable, wishes, simulated);
    if (const auto change = best_change(here, *found.runnable, wishes, more, simulated))
      part["change"] = *change;
    if (more) part["more_samples"] = *more;
    part["simulated"] = simulated;
    return part;
  }
  const bool runnable = task == Task::runnable_next || task == Task::runnable_range;
  result::Result result = runnable ? *found.runnable : *found.best;
  const Scenario scenario = explore::scenario_of(result);
  const explore::Effort effort{explore::WhenFull::stop, found.lower_plans};
  if (task == Task::runnable_range || task == Task::best_range) {
    part["range"] = explore::range_of(here, scenario, result, scenario.run.seed, effort);
    return part;
  }
  result::add_what_ifs(result, explore::what_next(here, scenario, effort));
  part["result"] = std::move(result);
  return part;
}

/// In as many children as there are cores, the first tasks first.
void Completion::start(const Found& found, std::vector<Task> tasks) {
  backend_.prepare();
  const auto work = [&backend = backend_, wishes = wishes_, found, tasks](std::size_t i) {
    try {
      return description::json_text(part_of(backend, wishes, found, tasks[i]));
    } catch (const std::exception& error) {
      const json bug = json::array({description::as_bug(error.what()), ""});
      const json part = {{"simulated", 0}, {"bugs", json::array({bug})}};
      return description::json_text(part);
    }
  };
  auto pool = std::make_unique<explore::ChildPool>(tasks.size(), work, explore::usable_cores(),
                                                   explore::default_limit_s, backend_.watch,
                                                   backend_.starts);
  shifts_.push_back({std::move(tasks), std::move(pool)});
}

void Completion::take(const json& part, Task task, FitAnswer& answer) const {
  answer.simulated += part.at("simulated").get<std::uint64_t>();
  for (const json& bug : part.at("bugs"))
    if (backend_.on_bug) backend_.on_bug(bug.at(0), bug.at(1));
  for (const json& why : part.value("unanswered", json::array()))
    if (backend_.on_unanswered) backend_.on_unanswered(why.get<std::string>());
  if (part.contains("change")) answer.change = part.at("change").get<FitChange>();
  if (part.contains("more_samples"))
    answer.more_samples = part.at("more_samples").get<MoreSamples>();
  auto& to =
      task == Task::runnable_next || task == Task::runnable_range ? answer.runnable : answer.best;
  if (part.contains("result")) {
    const auto range = std::move(to->range);
    to = part.at("result").get<result::Result>();
    to->range = range;
  }
  if (part.contains("range")) part.at("range").get_to(to->range);
}

void Completion::take(const explore::Piece& piece, Task task, FitAnswer& answer) const {
  const json part = json::parse(piece.text, nullptr, false);
  if (part.is_object()) return take(part, task, answer);
  if (piece.end == explore::Piece::End::not_tried) return;
  const std::string why = explore::outcome_of(piece).failure;
  if (backend_.on_bug && description::is_bug(why)) backend_.on_bug(why, "");
  if (backend_.on_unanswered) backend_.on_unanswered(why);
}

void Completion::begin(const Found& found) {
  start(found, {Task::runnable_next, Task::runnable_range, Task::change});
}

void Completion::finish(const Found& found, FitAnswer& answer) {
  answer.runnable = found.runnable;
  answer.best = found.best;
  answer.runnable_way = found.runnable_way;
  answer.best_way = found.best_way;
  const bool same =
      found.runnable && found.best && found.runnable->scenario == found.best->scenario;
  std::optional<result::Result> best_plan;
  if (found.best && !same) {
    start(found, {Task::best_next, Task::best_range});
    if (!found.lower_plans)
      best_plan = explore::with_lower_plans(backend_, explore::scenario_of(*found.best),
                                            *found.best, answer.simulated);
  }
  for (Shift& shift : shifts_) {
    const std::vector<explore::Piece> pieces = shift.pool->finish();
    for (std::size_t i = 0; i < pieces.size(); ++i) take(pieces[i], shift.tasks[i], answer);
  }
  if (best_plan && best_plan->step_time_s < answer.best->step_time_s) {
    move_prospects(*answer.best, *best_plan);
    answer.best = std::move(best_plan);
  }
  if (same) answer.best = answer.runnable;
}

}  // namespace spillway::answers
