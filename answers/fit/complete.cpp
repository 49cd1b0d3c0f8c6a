#include "answers/fit/complete.hpp"

#include "answers/fit/change.hpp"
#include "explore/lower_plans.hpp"
#include "explore/planning.hpp"
#include "explore/spread.hpp"
#include "reports/result/what_if.hpp"
#include "scenarios/description/bugs.hpp"
#include "strategies/catalogue.hpp"

#include <algorithm>

namespace spillway::answers {

using description::Scenario;
using nlohmann::json;

namespace {

Scenario scenario_of(const result::Result& result) {
  return scenarios::read_scenario(result.scenario, {}, explore::known_systems(),
                                  strategies::unsupported)
      .scenario;
}

/// What is worked out in a child of its own.
enum class Task : std::uint8_t { runnable, change, best, best_plan };

/// With what would make it faster, and how far its headline numbers may be off.
result::Result with_prospects(const explore::Backend& backend, const Scenario& scenario,
                              result::Result result, const explore::Effort& effort) {
  result::add_what_ifs(result, explore::what_next(backend, scenario, effort));
  result.range = explore::range_of(backend, scenario, result, scenario.run.seed, effort);
  return result;
}

/// The part of the answer as JSON: "change" or "result", "bugs" and "simulated".
json part_of(explore::Backend backend, Task task, bool lower_plans, const FitAnswer& answer) {
  json part = {{"simulated", 0}, {"bugs", json::array()}};
  backend.in_this_process = true;
  backend.on_bug = [&part](const std::string& bug) { part["bugs"].push_back(bug); };
  if (task == Task::change) {
    std::uint64_t simulated = 0;
    if (const auto found = best_change(backend, *answer.runnable, simulated))
      part["change"] = *found;
    part["simulated"] = simulated;
    return part;
  }
  const result::Result& found = task == Task::runnable ? *answer.runnable : *answer.best;
  const Scenario scenario = scenario_of(found);
  if (task == Task::best_plan) {
    const auto outcome = explore::simulate_all(backend, std::span(&scenario, 1)).front();
    if (outcome.result) part["result"] = *outcome.result;
    part["simulated"] = 1;
    return part;
  }
  part["result"] = with_prospects(backend, scenario, found, {explore::WhenFull::stop, lower_plans});
  return part;
}

/// As with simulations, an error of a child is its own.
std::string text_of(const explore::Backend& backend, Task task, bool lower_plans,
                    const FitAnswer& answer) {
  try {
    return part_of(backend, task, lower_plans, answer).dump();
  } catch (const std::exception& error) {
    return json{{"simulated", 0}, {"bugs", {description::as_bug(error.what())}}}.dump();
  }
}

/// What-ifs and ranges of `prospects`, in proportion to what `plan` takes.
void move_prospects(const result::Result& prospects, result::Result& plan) {
  std::map<std::string, result::WhatIf> next = prospects.next;
  for (auto& [name, what_if] : next)
    if (what_if.step_time_s) *what_if.step_time_s *= plan.step_time_s / prospects.step_time_s;
  result::add_what_ifs(plan, std::move(next));
  const json before = prospects, after = plan;
  for (const auto& [path, range] : prospects.range) {
    std::string pointer = "/" + path;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    const json::json_pointer at(pointer);
    if (!before.contains(at) || !after.contains(at) || !after[at].is_number()) continue;
    const double factor = after[at].get<double>() / before[at].get<double>();
    plan.range[path] = {factor * range.first, factor * range.second};
  }
}

void take(const explore::Backend& backend, const json& part, Task task, FitAnswer& answer) {
  answer.simulated += part.at("simulated").get<std::uint64_t>();
  for (const json& bug : part.at("bugs"))
    if (backend.on_bug) backend.on_bug(bug.get<std::string>());
  if (part.contains("change")) answer.change = part.at("change").get<FitChange>();
  if (!part.contains("result")) return;
  auto found = part.at("result").get<result::Result>();
  if (task == Task::runnable) answer.runnable = std::move(found);
  if (task == Task::best) answer.best = std::move(found);
  if (task != Task::best_plan) return;
  move_prospects(*answer.best, found);
  answer.best = std::move(found);
}

/// Those that take longest first. A plan for less comes after the one for all of the machine, whose
/// what-ifs and ranges it takes over.
std::vector<Task> tasks_of(const FitAnswer& answer, bool same, bool lower_plans) {
  std::vector<Task> tasks;
  if (answer.best && !same) {
    tasks.push_back(Task::best);
    if (!lower_plans && !explore::lower_plans(scenario_of(*answer.best), *answer.best).empty())
      tasks.push_back(Task::best_plan);
  }
  if (answer.runnable) tasks.insert(tasks.end(), {Task::runnable, Task::change});
  return tasks;
}

}  // namespace

void complete(const explore::Backend& backend, bool lower_plans, FitAnswer& answer) {
  const bool same =
      answer.runnable && answer.best && answer.runnable->scenario == answer.best->scenario;
  const std::vector<Task> tasks = tasks_of(answer, same, lower_plans);
  backend.prepare();
  const std::function<std::string(std::size_t)> work = [&](std::size_t i) {
    return text_of(backend, tasks[i], lower_plans, answer);
  };
  const std::vector<explore::Piece> pieces = explore::in_children(
      tasks.size(), work, explore::default_jobs(), explore::default_limit_s, backend.watch);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const json part = json::parse(pieces[i].text, nullptr, false);
    if (part.is_object())
      take(backend, part, tasks[i], answer);
    else if (pieces[i].end == explore::Piece::End::done && backend.on_bug)
      backend.on_bug(explore::read_outcome(pieces[i].text, pieces[i].status).failure);
  }
  if (same) answer.best = answer.runnable;
}

}  // namespace spillway::answers
