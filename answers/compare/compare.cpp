#include "answers/compare/compare.hpp"

#include "answers/simulate/simulate.hpp"
#include "explore/remedies/planning.hpp"
#include "explore/trials/expert_ways.hpp"
#include "explore/trials/spread.hpp"
#include "models/architecture/architecture.hpp"
#include "reports/result/what_if.hpp"
#include "scenarios/json/schema_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace spillway::answers {

using description::Complaint;

namespace {

std::string reason_of(const Complaint& complaint) {
  std::string text = complaint.path + ": " + complaint.message;
  if (!complaint.hint.empty()) text += "; " + complaint.hint;
  return text;
}

bool is_of_all(const CompareQuestion& question) {
  return question.systems == std::vector<std::string>{"all"};
}

std::vector<std::string> systems_of(const CompareQuestion& question) {
  if (!is_of_all(question)) return question.systems;
  std::vector<std::string> names;
  for (const scenarios::SystemInfo& system : explore::known_systems()) names.push_back(system.name);
  return names;
}

/// The scenario of a file; its warnings go to the field.
description::Scenario read(const std::string& file, const std::vector<std::string>& overrides,
                           Field& field) {
  scenarios::Resolved resolved =
      scenarios::read_scenario(std::filesystem::path(file), overrides, explore::known_systems(),
                               scenarios::Refuse::what_cannot_run);
  std::vector<std::string> words = std::move(resolved.warnings);
  for (const std::string& note : models::architecture_of(resolved.scenario).notes)
    words.push_back(resolved.scenario.model_name + ": " + note);
  for (std::string& warning : words)
    if (std::find(field.warnings.begin(), field.warnings.end(), warning) == field.warnings.end())
      field.warnings.push_back(std::move(warning));
  return std::move(resolved.scenario);
}

/// "preset deepspeed_0.19, strategy.weights.home and 3 more": what the file says of its
/// strategy besides the system. Empty: nothing, or the file cannot be read.
std::string parts_of(const std::string& file) {
  constexpr std::size_t most_named = 4;
  std::vector<std::string> words;
  try {
    const auto resolved =
        scenarios::read_scenario(std::filesystem::path(file), {}, explore::known_systems());
    for (const scenarios::Setting& one : resolved.settings()) {
      if (!one.path.starts_with("strategy.") || one.path == "strategy.system") continue;
      if (one.path == "strategy.preset")
        words.insert(words.begin(), "preset " + one.value);
      else if (one.source.find(".json:") != std::string::npos)
        words.push_back(one.path);
    }
  } catch (const description::ScenarioError&) {
    return "";  // whoever reads it with the system says what is wrong
  }
  std::string more;
  if (words.size() > most_named + 1) {
    more = fmt::format(" and {} more", words.size() - most_named);
    words.resize(most_named);
  }
  return fmt::format("{}{}", fmt::join(words, ", "), more);
}

/// Says once what all systems do without.
void warn_of_parts(const std::string& file, Field& field) {
  if (const std::string parts = parts_of(file); !parts.empty())
    field.warnings.push_back(fmt::format(
        "{} of {} left out: each system runs with its own parts; without --system the file runs as "
        "it is",
        parts, file));
}

/// Of a model of experts, beside every system: what leaves these alone outside the GPU. None where
/// the file cannot be read as it is: its systems say what is wrong.
std::vector<explore::Way> other_ways(const CompareQuestion& question, const std::string& file) {
  if (!is_of_all(question)) return {};
  try {
    Field unused;
    return explore::expert_ways(read(file, question.overrides, unused));
  } catch (const description::ScenarioError&) {
    return {};
  }
}

/// Each system's own parts on one file. What is wrong for all of them is wrong in the file.
void add_systems(const CompareQuestion& question, const std::vector<std::string>& systems,
                 const std::string& file, Field& field, std::vector<Complaint>& complaints) {
  std::vector<explore::Way> ways;
  for (const std::string& system : systems) {
    ways.push_back(explore::way_named(system));
    ways.back().name = system;
  }
  for (explore::Way& way : other_ways(question, file)) ways.push_back(std::move(way));
  for (const std::string& name : systems)
    if (const strategies::System* system = strategies::find_system(name))
      for (explore::Way& way : explore::chosen_ways(*system)) ways.push_back(std::move(way));
  const std::string stem = std::filesystem::path(file).stem().string();
  const auto label_of = [&](const std::string& way) {
    return question.scenarios.size() > 1 ? stem + " " + way : way;
  };
  std::set<std::string> seen;  // resolved
  std::vector<Complaint> refused;
  std::vector<answer::LeftOut> left_out;
  bool any = false;
  for (const explore::Way& way : ways) {
    // the parts of one system mean nothing to another: only the name is kept
    std::vector<std::string> overrides = way.overrides;
    overrides.insert(overrides.end(), question.overrides.begin(), question.overrides.end());
    const std::string label = label_of(way.name);
    try {
      Entry entry{label, read(file, overrides, field)};
      if (!way.beside.empty()) entry.beside = label_of(way.beside);
      const bool is_new = seen.insert(nlohmann::json(entry.scenario).dump()).second;
      if (!way.beside.empty() && !is_new) continue;
      field.entries.push_back(std::move(entry));
      any = true;
    } catch (const description::ScenarioError& error) {
      if (!way.beside.empty()) continue;
      const auto& all = error.complaints();
      refused.insert(refused.end(), all.begin(), all.end());
      left_out.push_back({label, reason_of(all.front())});
    }
  }
  if (any)
    field.left_out.insert(field.left_out.end(), left_out.begin(), left_out.end());
  else
    complaints.insert(complaints.end(), refused.begin(), refused.end());
}

}  // namespace

Field field_of(const CompareQuestion& question) {
  Field field;
  std::vector<Complaint> complaints;
  const std::vector<std::string> systems = systems_of(question);
  if (auto unknown = explore::unknown_systems(systems, true); !unknown.empty())
    throw description::ScenarioError(std::move(unknown));
  for (const std::string& file : question.scenarios) {
    if (!systems.empty()) {
      add_systems(question, systems, file, field, complaints);
      warn_of_parts(file, field);
      continue;
    }
    try {
      field.entries.push_back(
          {std::filesystem::path(file).stem().string(), read(file, question.overrides, field)});
    } catch (const description::ScenarioError& error) {
      complaints.insert(complaints.end(), error.complaints().begin(), error.complaints().end());
    }
  }
  scenarios::tidy(complaints);  // what is wrong in a file is wrong for each system
  if (!complaints.empty()) throw description::ScenarioError(std::move(complaints));
  return field;
}

namespace {

/// A run that takes part, or leaves the field: a bug or a simulation that took too long stays.
void add_run(const explore::Backend& backend, const Entry& entry, explore::Outcome outcome,
             const CompareEffort& effort, answer::Comparison& comparison) {
  if (!outcome.complaints.empty()) {
    comparison.left_out.push_back({entry.label, reason_of(outcome.complaints.front())});
    return;
  }
  if (outcome.not_tried) {
    comparison.left_out.push_back({entry.label, "not done in time"});
    return;
  }
  if (outcome.result && effort.range)
    outcome.result->range =
        explore::range_of(backend, entry.scenario, *outcome.result, entry.scenario.run.seed);
  comparison.runs.push_back({entry.label, std::move(outcome.result), std::move(outcome.failure),
                             entry.scenario.strategy.system, entry.scenario});
}

/// What limits each of a few; of many it takes too long.
///   entries  of the runs, in their order
void add_what_ifs(const explore::Backend& backend, const std::vector<Entry>& entries,
                  answer::Comparison& comparison) {
  constexpr std::size_t few = 4;
  if (comparison.runs.size() > few) return;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto& result = comparison.runs[i].result;
    if (result && result->feasible())
      result::add_what_ifs(*result, explore::what_next(backend, entries[i].scenario));
  }
}

/// In a sentence each; with the machine's name where there are several.
std::vector<std::string> old_prices_among(const std::vector<Entry>& entries,
                                          const std::string& today) {
  std::map<std::string, std::string> old;  // by machine
  for (const Entry& entry : entries)
    if (const std::string words = old_prices_words(entry.scenario.machine, today); !words.empty())
      old[entry.scenario.machine.name] = words;
  std::vector<std::string> all;
  for (const auto& [machine, words] : old)
    all.push_back(old.size() > 1 ? machine + ": " + words : words);
  return all;
}

double tokens_of(const explore::Outcome& outcome) {
  return outcome.result && outcome.result->feasible() ? outcome.result->tokens_per_s : 0;
}

/// By entry: of those that differ in what a system's own search chooses, all but the fastest, which
/// has to be faster than the system as it stands.
std::vector<bool> beaten(const std::vector<Entry>& entries,
                         const std::vector<explore::Outcome>& outcomes) {
  std::map<std::string, std::size_t> fastest;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    const auto [best, fresh] =
        fastest.try_emplace(entry.beside.empty() ? entry.label : entry.beside, i);
    if (!fresh && tokens_of(outcomes[i]) > tokens_of(outcomes[best->second])) best->second = i;
  }
  std::vector<bool> all;
  for (std::size_t i = 0; i < entries.size(); ++i)
    all.push_back(!entries[i].beside.empty() && fastest.at(entries[i].beside) != i);
  return all;
}

}  // namespace

answer::Comparison compare(const explore::Backend& backend, Field field,
                           const CompareEffort& effort) {
  std::vector<description::Scenario> scenarios;
  for (const Entry& entry : field.entries) scenarios.push_back(entry.scenario);
  std::vector<explore::Outcome> outcomes = explore::simulate_all(
      backend, scenarios, 0, explore::default_limit_s, {explore::WhenFull::find_need});
  const bool any = std::any_of(outcomes.begin(), outcomes.end(),
                               [](const explore::Outcome& one) { return one.complaints.empty(); });
  explore::Backend patient = backend;  // what was found is to be whole, whatever ended the search
  patient.watch = {};
  answer::Comparison comparison;
  comparison.left_out = std::move(field.left_out);
  std::vector<Entry> kept;
  const std::vector<bool> left_out = beaten(field.entries, outcomes);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (left_out[i]) continue;
    if (!any && !outcomes[i].complaints.empty())
      throw description::ScenarioError(std::move(outcomes[i].complaints));
    const std::size_t before = comparison.runs.size();
    add_run(patient, field.entries[i], std::move(outcomes[i]), effort, comparison);
    if (comparison.runs.size() > before) kept.push_back(field.entries[i]);
  }
  if (effort.what_ifs) add_what_ifs(backend, kept, comparison);
  for (answer::Compared& run : comparison.runs)
    if (run.result) date_prices(*run.result, effort.today);
  comparison.old_prices = old_prices_among(kept, effort.today);
  return comparison;
}

}  // namespace spillway::answers
