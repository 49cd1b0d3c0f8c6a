#include "scenarios/reading/read_scenario.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "models/architecture/adapters.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/document/document.hpp"
#include "scenarios/document/read_machine.hpp"
#include "scenarios/json/schema_check.hpp"
#include "scenarios/json/shipped.hpp"
#include "scenarios/reading/plausible.hpp"
#include "scenarios/reading/read_model.hpp"
#include "scenarios/reading/settings.hpp"
#include "strategies/rules/rules.hpp"

namespace spillway::scenarios {

using description::Complaint;
using description::Params;
using description::Scenario;
using description::ScenarioError;
using nlohmann::json;

namespace {

bool deeper_than(const json& value, int levels) {
  if (!value.is_structured()) return false;
  return levels == 0 || std::any_of(value.begin(), value.end(), [levels](const json& child) {
           return deeper_than(child, levels - 1);
         });
}

/// Takes a document to a resolved scenario, collecting complaints on the way.
class Resolver {
 public:
  Resolver(Document document, const std::vector<SystemInfo>& systems, Refuse refuse)
      : document_(std::move(document)), systems_(systems), refuse_(refuse) {}

  Resolved run() {
    complaints_ = document_.complaints;
    add(check_schema(document_.scenario, "scenario"));
    if (document_.scenario.value.is_object()) {
      read_machine_part();
      read_model_part();
      read_strategy_part();
    }
    stop_when_wrong();
    read_rest();
    const strategies::rules::Settled settled = check_together();
    result_.warnings = settled.warnings;
    stop_when_wrong();
    result_.settings = [scenario = result_.scenario, document = std::move(document_),
                        preset = std::move(preset_.value),
                        settled] { return settings_of(scenario, document, preset, settled); };
    return std::move(result_);
  }

 private:
  const json* find(const char* pointer) const { return document_.scenario.find(pointer); }
  void add(const std::vector<Complaint>& more) {
    complaints_.insert(complaints_.end(), more.begin(), more.end());
  }
  void complain(const std::string& path, const std::string& message, const std::string& hint) {
    complaints_.push_back(placed_in(document_.scenario, {"", 0, 0, path, message, hint}));
  }
  void stop_when_wrong() {
    if (complaints_.empty()) return;
    tidy(complaints_);
    throw ScenarioError(complaints_);
  }

  void read_machine_part() {
    Referenced& machine = document_.machine;
    if (!machine.present) return;
    const std::string prefix = machine.inline_object() ? "machine." : "";
    std::vector<Complaint> found = check_machine(machine.json, prefix);
    for (Complaint& complaint : found)
      if (prefix.empty() && complaint.file.starts_with("--set "))
        complaint.path = "machine." + complaint.path;
    if (found.empty()) machine.json.value.get_to(result_.scenario.machine);
    result_.scenario.machine.shown_by = machine.shown_by;
    add(found);
  }

  void read_model_part() {
    const Referenced& model = document_.model;
    if (!find("/model")) {
      const json* run = find("/run");
      if (!run || !run->is_object() || !run->contains("io_bench"))
        complain("model", "missing", "write a name of models/library or the path of a config.json");
      return;
    }
    if (!model.present) return;
    const std::size_t before = complaints_.size();
    result_.scenario.model = model.json.value;
    result_.scenario.model_name = model_name();
    models::Architecture architecture =
        read_config(model.json, result_.scenario.model_name, model.inline_object() ? "model." : "",
                    complaints_);
    if (complaints_.size() == before) architecture_ = std::move(architecture);
  }
  std::string model_name() const {
    if (!document_.model.name.empty()) return document_.model.name;
    const json& config = document_.model.json.value;
    const auto given = config.find("_name_or_path");
    const bool named = given != config.end() && given->is_string() && *given != "";
    return named ? given->get<std::string>() : "the scenario's own model";
  }

  void read_strategy_part() {
    const json* strategy = find("/strategy");
    if (!strategy || !strategy->is_object()) return;
    const bool presettable = strategy->contains("preset") && (*strategy)["preset"].is_string();
    if (presettable) read_preset((*strategy)["preset"].get<std::string>());
    std::vector<std::string> known;
    for (const SystemInfo& system : systems_) known.push_back(system.name);
    if (!strategy->contains("system")) {
      complain("strategy.system", "missing", fmt::format("known: {}", fmt::join(known, ", ")));
    } else if ((*strategy)["system"].is_string()) {
      const std::string name = (*strategy)["system"].get<std::string>();
      const auto found = std::find_if(systems_.begin(), systems_.end(),
                                      [&](const SystemInfo& one) { return one.name == name; });
      if (found == systems_.end())
        complaints_.push_back(unknown_name(document_.scenario.place("/strategy/system"),
                                           "strategy.system", name, known));
      else
        system_ = &*found;
    }
  }

  void read_preset(const std::string& name) {
    const Place place = document_.scenario.place("/strategy/preset");
    const Referenced preset =
        read_reference(name, "scenarios/presets", place, "strategy.preset", complaints_);
    if (!preset.present) return;
    const std::vector<Complaint> found = check_schema(preset.json, "preset");
    add(found);
    if (found.empty()) preset_ = part_of(preset.json, "/strategy");
  }

  void read_rest() {
    Scenario& scenario = result_.scenario;
    if (const json* name = find("/name"))
      scenario.name = name->get<std::string>();
    else
      scenario.name = std::filesystem::path(document_.scenario.place("").file).stem().string();
    if (const json* training = find("/training")) from_json(*training, scenario.training);
    if (const json* parallel = find("/parallel")) from_json(*parallel, scenario.parallel);
    if (const json* run = find("/run")) from_json(*run, scenario.run);
    if (const json* nominal = find("/nominal_params")) read_nominal(nominal->get<std::string>());
    LocatedJson strategy = located_at(json(system_->defaults), {});
    if (preset_.value.is_object()) merge_over(strategy, preset_, "");
    merge_over(strategy, part_of(document_.scenario, "/strategy"), "");
    strategy.value.erase("note");
    from_json(strategy.value, scenario.strategy);
  }

  void read_nominal(const std::string& text) {
    const auto with_unit = description::parse_quantity(description::Dimension::params, text);
    const auto bare = description::parse_quantity(description::Dimension::params, text + " params");
    const auto& parsed = with_unit.problem.empty() ? with_unit : bare;
    if (!parsed.problem.empty())
      complain("nominal_params", with_unit.problem, with_unit.hint);
    else
      result_.scenario.nominal_params = Params(static_cast<std::uint64_t>(parsed.value));
  }

  strategies::rules::Settled check_together() {
    std::optional<models::Model> model;
    if (architecture_) {
      architecture_->expert_layout = result_.scenario.training.experts;
      model = models::build_model(*architecture_);
      try {
        model = models::as_trained(*model, result_.scenario.training);
      } catch (const ScenarioError& error) {
        for (Complaint complaint : error.complaints())
          complaints_.push_back(placed_in(document_.scenario, std::move(complaint)));
      }
    }
    const strategies::rules::Written written = [this](const std::string& path) {
      return document_.scenario.find(pointer_of(path)) != nullptr;
    };
    strategies::rules::Verdict verdict = strategies::rules::check(
        strategies::rules::all(), result_.scenario,
        {result_.scenario, model ? &*model : nullptr, &system_->defaults, &written}, refuse_);
    for (Complaint& complaint : verdict.complaints)
      complaints_.push_back(placed_in(document_.scenario, std::move(complaint)));
    add(implausible(result_.scenario, document_.scenario));
    return std::move(verdict.settled);
  }

  Document document_;
  const std::vector<SystemInfo>& systems_;
  Refuse refuse_;
  const SystemInfo* system_ = nullptr;
  LocatedJson preset_;
  std::optional<models::Architecture> architecture_;
  std::vector<Complaint> complaints_;
  Resolved result_;
};

}  // namespace

Resolved read_scenario(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                       const std::vector<SystemInfo>& systems, Refuse refuse) {
  const std::string found = named_file(file.string(), "scenarios/examples", "scenario");
  return read_scenario(read_located(found), overrides, systems, refuse);
}

Resolved read_scenario(const LocatedJson& scenario, const std::vector<std::string>& overrides,
                       const std::vector<SystemInfo>& systems, Refuse refuse) {
  return Resolver(assemble(scenario, overrides), systems, refuse).run();
}

Resolved read_scenario(const json& scenario, const std::vector<std::string>& overrides,
                       const std::vector<SystemInfo>& systems, Refuse refuse) {
  if (deeper_than(scenario, 64))
    throw ScenarioError({{"", 0, 0, "", "nested deeper than 64 levels", ""}});
  return read_scenario(located_at(scenario, {}), overrides, systems, refuse);
}

}  // namespace spillway::scenarios
