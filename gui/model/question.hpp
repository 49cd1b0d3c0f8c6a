#pragma once

#include "gui/model/parts_box.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace spillway::gui {

/// What the What-if page asks: everything that its fields show. A value: undo keeps copies of it.
struct Question {
  std::string model = "qwen3-8b";
  nlohmann::json model_config;  ///< in place of the name: a config.json's content
  std::string machine;          ///< a shipped machine; "": `box`
  nlohmann::json machine_file;  ///< in place of both: a machine's content
  PartsBox box;
  std::uint64_t sequence = 4096, micro_batch = 1, gradient_accumulation = 1;
  std::string precision = "bf16_mixed";
  std::uint64_t data = 1, tensor = 1, pipeline = 1, zero_stage = 3;
  std::string system;   ///< "": the best that is found
  double tokens = 1e9;  ///< of the finished run; 0: not asked
  /// Everything else that an opened scenario says, and the parts of the strategy.
  nlohmann::json further = nlohmann::json::object();

  bool searches() const { return system.empty(); }
  bool operator==(const Question&) const = default;
};

/// A scenario, as people write it; `system` where the question leaves it open.
nlohmann::json scenario_of(const Question& question, const std::string& system = "zero_infinity");

/// The question that a scenario asks; what has no field stays in `further`.
///   scenario  without `extends`
Question question_of(const nlohmann::json& scenario);

/// `path`=`value` of an answer ("machine.host.memory=192 GiB"), applied. What belongs to a field
/// changes it.
///   Throws  ScenarioError: the path names nothing
Question with_overrides(const Question& question, const std::vector<std::string>& overrides);

/// Arguments of `spillway fit` for it, "fit" first.
///   file  where machine_file_of lies, where there is one
std::vector<std::string> fit_arguments(const Question& question, const std::string& file);

/// The machine that `spillway fit` must be given as a file; null where options say it.
nlohmann::json machine_file_of(const Question& question);

/// What people would type for the same answer.
std::string command_of(const Question& question);

}  // namespace spillway::gui
