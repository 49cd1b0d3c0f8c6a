#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "reports/text/text.hpp"
#include "scenarios/json/located_json.hpp"

namespace spillway::scenarios {

/// What a file of PEFT's says of a training.
struct ImportedAdapter {
  nlohmann::json training;        ///< `method` and `lora`
  std::vector<text::Text> notes;  ///< what has no effect on memory, bytes or time here
};

/// The adapters that an adapter_config.json describes. What it leaves out has PEFT's default.
///   Source  PEFT's LoraConfig: r 8, lora_alpha 8; with use_rslora the scale is alpha / sqrt(r)
///   Throws  ScenarioError: adapters of other kinds; targets that are a regular expression or left
///           out, ranks of single modules, biases or whole modules that are trained besides
ImportedAdapter import_adapter(const LocatedJson& config);

}  // namespace spillway::scenarios
