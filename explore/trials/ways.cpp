#include "explore/trials/ways.hpp"

#include "explore/outcome/outcomes.hpp"
#include "explore/outcome/started_today.hpp"
#include "explore/trials/expert_ways.hpp"
#include "reports/result/way.hpp"
#include "scenarios/document/document.hpp"
#include "scenarios/json/shipped.hpp"
#include "strategies/systems/catalogue.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace spillway::explore {

using nlohmann::json;

namespace {

/// What a mix swaps: " + weights.home host".
void add_parts(const json& part, const std::string& path, std::string& name) {
  if (part.is_object()) {
    for (const auto& [key, child] : part.items())
      add_parts(child, path.empty() ? key : path + "." + key, name);
  } else if (path != "system") {
    name += " + " + path + " " + (part.is_string() ? part.get<std::string>() : part.dump());
  }
}

/// The parts of a scenario that ships as an example or stands in a file.
Way mix_of(const std::string& asked) {
  const scenarios::LocatedJson scenario =
      scenarios::read_located(scenarios::named_file(asked, "scenarios/examples", "--mix"));
  const json* strategy = scenario.find("/strategy");
  const json* system = scenario.find("/strategy/system");
  if (!system || !system->is_string())
    throw description::ScenarioError({{"", 0, 0, "--mix", asked + " has no strategy.system",
                                       "name a scenario that swaps parts"}});
  Way way{system->get<std::string>(), {"strategy=" + strategy->dump()}, false};
  add_parts(*strategy, "", way.name);
  return way;
}

/// A trainer's own loop is written in any of these ways, and which is chosen by hand; other systems
/// decide it themselves.
void add_ways(const strategies::System& system, std::vector<Way>& ways) {
  using description::ActivationPolicy;
  const ActivationPolicy policy = system.defaults().activations.policy;
  const std::string name = system.name;
  const bool own_loop =
      system.program == strategies::Program::trainer && policy == ActivationPolicy::keep;
  ways.push_back({name, {started_today(system)}, policy == ActivationPolicy::plan, own_loop});
  if (const auto& form = system.other_form)
    ways.push_back({name + form->name,
                    {started_today(system, json::parse(form->parts)),
                     fmt::format("parallel.zero_stage={}", form->zero_stage)}});
  for (Way& way : chosen_ways(system)) ways.push_back(std::move(way));
  if (!own_loop) return;
  for (const auto& [with, chosen] : {std::pair{result::with_recomputation, "recompute"},
                                     std::pair{result::with_offloading, "offload"}})
    ways.push_back({name + with,
                    {started_today(system, {{"activations", {{"policy", chosen}}}})},
                    false,
                    true});
}

/// All ways would be one and the same system under names that are not theirs.
void refuse_a_system(const std::vector<std::string>& overrides) {
  for (const std::string& one : overrides) {
    const std::string path = one.substr(0, one.find('='));
    if (path == "strategy" || path == "strategy.system")
      throw description::ScenarioError(
          {{"", 0, 0, "--set " + path, "all systems that are tried would become this one",
            path == "strategy"
                ? "name systems by --system, and parts one by one"
                : "use --system " + one.substr(std::min(path.size() + 1, one.size()))}});
  }
}

/// The job in a way, in the user's words too; nothing where it is refused: whoever simulates it
/// says what is wrong.
std::optional<description::Scenario> resolved(const json& job, const Way& way,
                                              const std::vector<std::string>& overrides,
                                              const std::vector<scenarios::SystemInfo>& systems) {
  std::vector<std::string> all = way.overrides;
  all.insert(all.end(), overrides.begin(), overrides.end());
  try {
    return scenarios::read_scenario(job, all, systems).scenario;
  } catch (const description::ScenarioError&) {
    return std::nullopt;
  }
}

/// What a way trains, and how; "" where it is refused.
std::string what_is_trained(const std::optional<description::Scenario>& scenario) {
  if (!scenario) return "";
  const json whole = *scenario;
  return whole.at("strategy").dump() + whole.at("training").dump();
}

/// Behind the others, where the model has experts.
void add_expert_ways(const std::vector<std::string>& systems, const json& job,
                     const std::vector<std::string>& overrides,
                     const std::vector<scenarios::SystemInfo>& known, std::vector<Way>& ways) {
  for (const Way& way : ways) {
    const auto scenario = resolved(job, way, overrides, known);
    if (!scenario) continue;
    std::vector<Way> more = expert_ways(*scenario, systems);
    ways.insert(ways.end(), more.begin(), more.end());
    return;
  }
}

std::vector<std::string> shipped_mixes() {
  std::vector<std::string> names = scenarios::shipped_names("scenarios/examples");
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("mix_"); });
  return names;
}

}  // namespace

std::vector<Way> chosen_ways(const strategies::System& system) {
  std::vector<json> all = {json::object()};
  for (const strategies::Choice& choice : system.choices) {
    std::vector<json> longer;
    for (const json& parts : all)
      for (const double value : choice.values) {
        longer.push_back(parts);
        json& chosen = longer.back()[choice.part][choice.key] = value;
        if (value == std::floor(value))
          chosen = static_cast<std::uint64_t>(value);  // "1", not "1.0"
      }
    all = std::move(longer);
  }
  std::vector<Way> ways;
  const json defaults = system.defaults();
  for (const json& parts : all) {
    json merged = defaults;
    merged.merge_patch(parts);
    if (merged == defaults) continue;  // numbers compare by value
    Way way{system.name, {started_today(system, parts)}};
    way.beside = system.name;
    add_parts(parts, "", way.name);
    ways.push_back(std::move(way));
  }
  return ways;
}

std::string parts_in_name(const std::vector<std::string>& overrides) {
  std::string name;
  for (std::string part : overrides) {
    constexpr std::string_view strategy = "strategy.";
    if (part.starts_with(strategy)) part.erase(0, strategy.size());
    std::replace(part.begin(), part.end(), '=', ' ');
    name += " + " + part;
  }
  return name;
}

bool is_mix(const std::string& name) {
  const std::vector<std::string> shipped = scenarios::shipped_names("scenarios/examples");
  return !strategies::find_system(name) &&
         std::find(shipped.begin(), shipped.end(), name) != shipped.end();
}

Way way_named(const std::string& name) {
  if (is_mix(name)) return mix_of(name);
  const strategies::System* system = strategies::find_system(name);
  return {
      name, {system ? started_today(*system) : R"(strategy={"system": ")" + name + "\"}"}, false};
}

std::vector<description::Complaint> unknown_systems(const std::vector<std::string>& systems,
                                                    bool mixes) {
  std::vector<std::string> known;
  for (const strategies::System& system : strategies::catalogue()) known.emplace_back(system.name);
  std::vector<description::Complaint> complaints;
  for (const std::string& name : systems)
    if (!strategies::find_system(name) && !(mixes && is_mix(name)))
      complaints.push_back({"", 0, 0, "--system", description::no_such_name(name),
                            description::known_names(name, known)});
  return complaints;
}

std::vector<Way> ways_of(const std::vector<std::string>& asked,
                         const std::vector<std::string>& mixes_asked) {
  if (auto complaints = unknown_systems(asked, false); !complaints.empty())
    throw description::ScenarioError(std::move(complaints));
  std::vector<Way> ways;
  for (const strategies::System& system : strategies::catalogue())
    if (asked.empty() ? system.defaults().optimizer.staleness == 0
                      : std::find(asked.begin(), asked.end(), system.name) != asked.end())
      add_ways(system, ways);
  std::vector<std::string> mixes = mixes_asked;
  if (mixes.empty() && asked.empty()) mixes = shipped_mixes();
  for (const std::string& mix : mixes)
    if (mix != "none") ways.push_back(mix_of(mix));
  return ways;
}

std::vector<Way> ways_of(const std::vector<std::string>& systems,
                         const std::vector<std::string>& mixes, const json& job,
                         const std::vector<std::string>& overrides) {
  refuse_a_system(overrides);
  std::vector<Way> ways = ways_of(systems, mixes);
  const std::vector<scenarios::SystemInfo> known = known_systems();
  add_expert_ways(systems, job, overrides, known, ways);
  if (overrides.empty()) return ways;
  std::set<std::string> seen;
  std::erase_if(ways, [&](const Way& way) {
    const std::string what = what_is_trained(resolved(job, way, overrides, known));
    return !what.empty() && !seen.insert(what).second;
  });
  return ways;
}

}  // namespace spillway::explore
