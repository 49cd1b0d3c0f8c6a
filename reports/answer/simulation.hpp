#pragma once

#include "reports/answer/remedy.hpp"

namespace spillway::answer {

/// A value that the run used and where it came from.
struct Setting {
  std::string path;    ///< "training.micro_batch"
  std::string value;   ///< as a scenario would say it
  std::string source;  ///< "a.json:12", "--set ...", "preset NAME", "default of SYSTEM", "default",
                       ///< or the machine file's own source: "datasheet, ..."
};

/// What one more piece of hardware, or a faster one, would bring.
struct WhatIf {
  std::string name;                    ///< "one more ssd"
  std::string resource;                ///< that it relieves: gpu pcie cpu network, name of a drive
  std::optional<double> step_time_s;   ///< absent: the step does not fit with it
  std::optional<double> tokens_per_s;  ///< of the same samples a step
  text::Text why;                      ///< of what changes nothing: what stands against it
};

/// Settings that cost nothing, with which a step of the same samples is shorter.
struct FasterSettings {
  std::string words;                   ///< "strategy.weights.home host"
  std::vector<std::string> overrides;  ///< "path=value", for --set
  double step_time_s = 0, tokens_per_s = 0;
};

/// What `spillway simulate` answers: one scenario, where its values came from, what would make it
/// faster, and, where it does not fit, what makes it fit.
struct Simulation {
  result::Result result;
  std::vector<Setting> settings;       ///< by path; the model's keys stay out
  std::vector<WhatIf> what_ifs;        ///< the shortest step first; none of a run that does not fit
  std::optional<Remedies> remedy;      ///< absent: it fits, or nobody asked
  std::vector<FasterSettings> faster;  ///< the shortest step first
  std::string old_prices;              ///< which prices are more than a year old; "": none is
  std::vector<std::string> warnings;   ///< about what is legal, but hardly meant
};

/// Of the result's what-ifs.
std::vector<WhatIf> what_ifs_of(const result::Result& result);

/// {"schema": "spillway/answer/simulate/1", "result", "settings", "what_if", "faster", ...}.
void to_json(nlohmann::json& json, const Simulation& simulation);
/// Reads what to_json and what flat() write, of this release or an older one.
///   Throws  ScenarioError on another schema, and with the path of a value of the wrong type
void from_json(const nlohmann::json& json, Simulation& simulation);

/// The result as JSON, whose names stay where they are, and beside them "settings", "what_if",
/// "faster" and "remedy": what `simulate --json` prints.
nlohmann::json flat(const Simulation& simulation);

void to_json(nlohmann::json& json, const Setting& setting);
void from_json(const nlohmann::json& json, Setting& setting);
void to_json(nlohmann::json& json, const WhatIf& what_if);
void from_json(const nlohmann::json& json, WhatIf& what_if);
void to_json(nlohmann::json& json, const FasterSettings& settings);
void from_json(const nlohmann::json& json, FasterSettings& settings);

}  // namespace spillway::answer
