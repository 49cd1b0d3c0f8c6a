#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/located_json.hpp"

namespace spillway::scenarios {

/// What a ds_config.json does not say.
struct ImportOptions {
  std::string model;                      ///< shipped name, or path of a Hugging Face config.json
  std::string machine;                    ///< shipped name or path
  std::optional<std::uint64_t> ranks;     ///< data-parallel ranks; none: every GPU of the machine
  std::optional<std::uint64_t> sequence;  ///< tokens; none: 4096, at most the model's positions
};

struct Imported {
  nlohmann::json scenario;         ///< as a person would write it
  std::vector<std::string> notes;  ///< what was assumed and what has no effect here
};

/// The scenario that a DeepSpeed configuration describes, full fine-tuning only. "auto" becomes
/// what the Hugging Face integration fills in: reduce bucket h^2, prefetch bucket 0.9 h^2,
/// persistence 10 h. Settings that the file leaves out become the defaults of current DeepSpeed.
///   Result  system resident (nothing offloaded), zero_offload (to the CPU) or zero_infinity (to
///   NVMe) Throws  ScenarioError: wrong values, settings that DeepSpeed itself refuses, LoRA,
///   quantization, 8-bit and
///           1-bit optimizers
Imported import_deepspeed(const LocatedJson& ds_config, const ImportOptions& options);

}  // namespace spillway::scenarios
