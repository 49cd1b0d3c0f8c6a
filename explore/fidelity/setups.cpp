#include "explore/fidelity/setups.hpp"

#include "scenarios/json/schema_check.hpp"
#include "strategies/rules/rules.hpp"

namespace spillway::explore {

using description::Complaint;

namespace {

/// The system that a complaint says is not in the catalogue; "" when it says something else.
std::string missing_system(const description::ScenarioError& error) {
  const std::vector<Complaint>& complaints = error.complaints();
  if (complaints.size() != 1 || complaints.front().path != "strategy.system") return "";
  const std::string& message = complaints.front().message;  // no "lohan"
  const std::size_t start = message.find('"');
  if (!message.starts_with("no \"") || message.size() < start + 2) return "";
  return message.substr(start + 1, message.size() - start - 2);
}

/// Resolves setups one by one and remembers what it has seen.
class SetupReader {
 public:
  explicit SetupReader(const std::vector<std::string>& overrides) : overrides_(overrides) {}

  Setup resolve(const scenarios::LocatedJson& setup) {
    const std::string key = setup.place("").file + "\n" + setup.value.dump();
    if (const auto known = seen_.find(key); known != seen_.end()) return known->second;
    return seen_[key] = fresh(setup);
  }

  std::vector<description::Scenario> scenarios() {
    if (!complaints_.empty()) {
      scenarios::tidy(complaints_);
      throw description::ScenarioError(complaints_);
    }
    return std::move(scenarios_);
  }

 private:
  Setup fresh(const scenarios::LocatedJson& setup) {
    try {
      description::Scenario scenario =
          scenarios::read_scenario(setup, overrides_, systems_).scenario;
      const std::vector<Complaint> refused = strategies::unsupported(scenario);
      if (refused.empty()) return {add(std::move(scenario)), ""};
      return {std::nullopt, refused.front().path + ": " + refused.front().message};
    } catch (const description::ScenarioError& error) {
      const std::string system = missing_system(error);
      if (!system.empty()) return {std::nullopt, "the system " + system + " is not there yet"};
      complaints_.insert(complaints_.end(), error.complaints().begin(), error.complaints().end());
      return {std::nullopt, "wrong"};
    }
  }

  std::size_t add(description::Scenario scenario) {
    nlohmann::json content = scenario;
    content.erase("name");
    const auto [known, fresh] = runs_.emplace(content.dump(), scenarios_.size());
    if (fresh) scenarios_.push_back(std::move(scenario));
    return known->second;
  }

  const std::vector<std::string>& overrides_;
  const std::vector<scenarios::SystemInfo> systems_ = known_systems();
  std::map<std::string, Setup> seen_;
  std::map<std::string, std::size_t> runs_;
  std::vector<description::Scenario> scenarios_;
  std::vector<Complaint> complaints_;
};

}  // namespace

Setups resolve_setups(const std::vector<scenarios::Figure>& figures,
                      const std::vector<std::string>& overrides) {
  SetupReader reader(overrides);
  Setups setups;
  for (const scenarios::Figure& figure : figures) {
    auto& of = setups.of.emplace_back();
    for (const auto& [name, setup] : figure.setups) of[name] = reader.resolve(setup);
  }
  setups.scenarios = reader.scenarios();
  return setups;
}

}  // namespace spillway::explore
