#include "answers/deepspeed/deepspeed.hpp"

#include "answers/advice.hpp"

#include "scenarios/document/document.hpp"
#include "scenarios/json/hjson.hpp"
#include "strategies/decide/gpu_share.hpp"
#include "strategies/decide/tensors.hpp"

#include <algorithm>

namespace spillway::answers {

namespace {

constexpr double limit_s = 20;  // of a simulation

/// Simulates what was imported, in processes of their own; nothing where they cannot be run.
std::vector<explore::Outcome> simulated(const explore::Backend& backend,
                                        std::initializer_list<nlohmann::json> imported) {
  try {
    std::vector<description::Scenario> resolved;
    for (const nlohmann::json& scenario : imported)
      resolved.push_back(scenarios::read_scenario(scenario, {}, explore::known_systems()).scenario);
    return explore::simulate_all(backend, resolved, 0, limit_s);
  } catch (const description::ScenarioError&) {
    return std::vector<explore::Outcome>(imported.size());
  }
}

void refuse_named(const std::vector<std::string>& overrides) {
  for (const std::string& one : overrides)
    for (const std::string named : {"model", "machine"})
      if (one.starts_with(named + ".") || one.starts_with(named + "="))
        throw description::ScenarioError(
            {{"command line", 0, 0, "--set", "\"" + one + "\" is no matter of the configuration",
              "write --" + named + ", or change it where the scenario is simulated"}});
}

/// The scenario of the file, and over what was assumed what the person says.
scenarios::Imported imported_from(const std::string& file, const scenarios::ImportOptions& options,
                                  const std::vector<std::string>& overrides) {
  auto imported = scenarios::import_deepspeed(scenarios::read_hjson(file), options);
  if (overrides.empty()) return imported;
  refuse_named(overrides);
  const auto document =
      scenarios::assemble(scenarios::located_at(imported.scenario, {}), overrides);
  if (!document.complaints.empty()) throw description::ScenarioError(document.complaints);
  scenarios::read_scenario(document.scenario, {},
                           explore::known_systems());  // refuses what is wrong
  imported.scenario = document.scenario.value;
  std::erase_if(imported.notes, [&](const text::Text& note) {
    return std::any_of(overrides.begin(), overrides.end(), [&](const std::string& one) {
      return words(note).starts_with(one.substr(0, one.find('=')) + ":");
    });
  });
  return imported;
}

/// "" where it fits, or nobody could say in time.
text::Text advice_for(const explore::Backend& backend, const scenarios::Exported& exported) {
  const explore::Resolve resolve = explore::resolving([&](std::vector<std::string> overrides) {
    overrides.insert(overrides.begin(), exported.overrides.begin(), exported.overrides.end());
    return scenarios::read_scenario(exported.scenario, overrides, explore::known_systems(),
                                    scenarios::Refuse::what_cannot_run)
        .scenario;
  });
  const auto scenario = resolve({});
  if (!scenario) return {};
  const auto outcomes = explore::simulate_all(backend, std::span(&*scenario, 1), 1, limit_s,
                                              {explore::WhenFull::find_need});
  const auto& result = outcomes.front().result;
  if (!result || result->feasible()) return {};
  return text::filled("on {} this does not fit: {}",
                      {scenario->machine.name, advice_on(backend, *scenario, *result, resolve)});
}

/// A default that two versions differ in, and what it costs.
answer::PinningDefault pinning_of(const explore::Backend& backend, const std::string& file,
                                  const scenarios::ImportOptions& options,
                                  const std::vector<std::string>& overrides,
                                  const scenarios::Imported& imported) {
  answer::PinningDefault pinning;
  pinning.pins = imported.version.pins_by_default();
  scenarios::ImportOptions other = options;
  other.deepspeed = pinning.pins ? "0.18" : "0.19";
  const auto there = imported_from(file, other, overrides);
  pinning.other_version = there.version.text();
  const auto outcomes = simulated(backend, {imported.scenario, there.scenario});
  const auto &here = outcomes[0].result, &elsewhere = outcomes[1].result;
  if (here && elsewhere && here->feasible() && elsewhere->feasible())
    pinning.cost = {here->host.total, elsewhere->host.total, here->step_time_s,
                    elsewhere->step_time_s};
  return pinning;
}

/// Of versions that rounded the CPU's share down: how many more the GPU had; "": as many as now.
text::Text note_on_older_share(double ratio, std::size_t subgroups, const std::string& version) {
  const std::size_t now = strategies::subgroups_of_gpu(ratio, subgroups);
  const std::size_t then =
      subgroups - static_cast<std::size_t>(ratio * static_cast<double>(subgroups));
  if (then == now) return {};
  const auto all = static_cast<double>(subgroups);  // half a sub-group more, which is rounded down
  const double alike = then == subgroups ? 0 : 1 - (static_cast<double>(then) + 0.5) / all;
  return text::filled(
      "offload_optimizer.ratio: DeepSpeed {} gives the GPU {} of a rank's {} sub-groups, since "
      "until "
      "0.17 it rounds the CPU's share down; what is simulated gives it {}, as DeepSpeed does since "
      "0.18; --set strategy.optimizer.cpu_share={} gives it {}",
      {version, text::count(then), text::count(subgroups), text::count(now),
       text::number(alike, text::Quantity::digits), text::count(then)});
}

/// Where the share that the GPU takes comes to nothing, or to less than the version has it take;
/// "": it is not asked for, or is as one expects.
///   says_share  the scenario's share is a person's, and not the file's
text::Text note_on_share(const scenarios::Imported& imported, bool says_share) {
  const auto scenario =
      scenarios::read_scenario(imported.scenario, {}, explore::known_systems()).scenario;
  const double share = scenario.strategy.optimizer.cpu_share;
  if (share == 1) return {};
  const strategies::Prepared prepared = strategies::prepare(scenario);
  const auto tables = strategies::decide_tensors(scenario, prepared);
  if (!says_share && !imported.version.gpu_has_first_subgroups())
    if (auto older = note_on_older_share(share, strategies::subgroups_in(tables.at(0)),
                                         imported.version.text());
        !older.empty())
      return older;
  return strategies::idle_share_note(scenario, prepared, tables);
}

/// A configuration may say what nothing can run, and DeepSpeed would stop at: ranks that are no
/// GPUs, buffers below the largest tensor.
void refuse_what_cannot_run(const std::string& file, const nlohmann::json& scenario) {
  try {
    scenarios::read_scenario(scenario, {}, explore::known_systems(),
                             scenarios::Refuse::what_cannot_run);
  } catch (const description::ScenarioError& error) {
    std::vector<description::Complaint> complaints = error.complaints();
    for (description::Complaint& one : complaints) {
      one.file = file;
      one.line = one.column = 0;
      one.hint += std::string(one.hint.empty() ? "" : "; ") + "here, or by --set";
    }
    throw description::ScenarioError(std::move(complaints));
  }
}

}  // namespace

answer::ImportedScenario import_configuration(const explore::Backend& backend,
                                              const std::string& file,
                                              const scenarios::ImportOptions& options,
                                              const std::vector<std::string>& overrides) {
  const auto imported = imported_from(file, options, overrides);
  refuse_what_cannot_run(file, imported.scenario);
  answer::ImportedScenario answer;
  answer.scenario = imported.scenario;
  answer.version = imported.version.text();
  answer.notes = imported.notes;
  const bool says_share = std::any_of(
      overrides.begin(), overrides.end(),
      [](const std::string& one) { return one.starts_with("strategy.optimizer.cpu_share="); });
  if (text::Text note = note_on_share(imported, says_share); !note.empty())
    answer.notes.push_back(std::move(note));
  if (imported.pinning_unsaid)
    answer.pinning = pinning_of(backend, file, options, overrides, imported);
  return answer;
}

answer::ExportedConfiguration export_configuration(const explore::Backend& backend,
                                                   const description::Scenario& scenario,
                                                   const scenarios::ExportOptions& options) {
  scenarios::Exported exported =
      scenarios::export_deepspeed(scenario, explore::known_systems(), options);
  if (text::Text advice = advice_for(backend, exported); !advice.empty())
    exported.notes.insert(exported.notes.begin(), std::move(advice));
  return {std::move(exported.ds_config), exported.version.text(), std::move(exported.scenario),
          exported.needs_nvme_path, std::move(exported.notes)};
}

}  // namespace spillway::answers
