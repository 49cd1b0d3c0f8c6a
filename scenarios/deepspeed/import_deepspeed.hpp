#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/architecture/model.hpp"
#include "reports/text/text.hpp"
#include "scenarios/deepspeed/deepspeed_version.hpp"
#include "scenarios/json/located_json.hpp"

namespace spillway::scenarios {

/// What a ds_config.json does not say.
struct ImportOptions {
  std::string model;                      ///< shipped name, or path of a Hugging Face config.json
  std::string machine;                    ///< shipped name or path
  std::optional<std::uint64_t> ranks;     ///< data-parallel ranks; none: every GPU of the machine
  std::optional<std::uint64_t> sequence;  ///< tokens; none: 4096, at most the model's positions
  std::string deepspeed;                  ///< version, "0.18"; "": the newest
  std::string adapter;                    ///< PEFT's adapter_config.json; "": all is trained
};

struct Imported {
  nlohmann::json scenario;        ///< as a person would write it
  std::vector<text::Text> notes;  ///< what was assumed and what has no effect here
  DeepSpeedVersion version;
  bool pinning_unsaid = false;  ///< pin_memory is this version's default
};

/// The scenario that a DeepSpeed configuration describes: full fine-tuning, or of the adapters that
/// a file of PEFT's has beside it. "auto" becomes what the Hugging Face integration fills in:
/// reduce bucket h^2, prefetch bucket 0.9 h^2, persistence 10 h. Settings that the file leaves out
/// become the defaults of the version.
///   Result  system resident (nothing offloaded), zero_offload (to the CPU) or zero_infinity (to
///           NVMe)
///   Throws  ScenarioError: wrong values, settings that DeepSpeed itself refuses, an autotuner's
///           lists, sections about adapters, 8-bit optimizers that are offloaded
Imported import_deepspeed(const LocatedJson& ds_config, const ImportOptions& options);

/// The same for a model and a number of GPUs that are known; `options.model` and `.machine` are
/// names only.
Imported import_deepspeed(const LocatedJson& ds_config, const ImportOptions& options,
                          const models::Model& model, std::uint64_t gpus);

}  // namespace spillway::scenarios
