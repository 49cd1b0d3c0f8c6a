#pragma once

#include <string>

namespace spillway::scenarios {

/// A release of DeepSpeed, as far as its defaults differ for one file.
struct DeepSpeedVersion {
  int major = 0, minor = 0, patch = 0;
  std::string preset;  ///< the shipped preset with what a configuration cannot say

  /// `pin_memory` of both offload sections is true where a file does not say.
  ///   Source  DeepSpeed pull request 8207, first released in 0.19.5
  bool pins_by_default() const { return at_least(19, 5); }
  /// Before, its engine ends at the start where tensor_parallel.autotp_size meets ZeRO stage 3.
  ///   Source  DeepSpeed pull request 8168, first released in 0.19.4
  bool trains_tensor_parallel_at_stage_3() const { return at_least(19, 4); }
  /// Before, weights in bf16 without ZeRO have BF16_Optimizer, which shares masters and states.
  ///   Source  DeepSpeed pull request 7515, first released in 0.17.6
  bool runs_bf16_without_zero() const { return at_least(17, 6); }
  /// gradient_clipping is 1 where a file does not say.
  ///   Source  DeepSpeed pull request 8068, first released in 0.19.3
  bool clips_by_default() const { return at_least(19, 3); }
  /// Its sections fp16 and bf16 refuse keys that it does not know, as zero_optimization always did.
  ///   Source  DeepSpeed pull request 6976, first released in 0.17.1; runtime/config_utils.py
  bool refuses_unknown_precision() const { return at_least(17, 1); }
  /// Twin-Flow's ratio gives the GPU the first sub-groups, (1 - ratio) of them rounded down;
  /// before, the CPU had the first, ratio of them rounded down.
  ///   Source  DeepSpeed pull request 7559, first released in 0.18.0; stage3.py, subgroup_to_device
  bool gpu_has_first_subgroups() const { return at_least(18, 0); }
  bool at_least(int of_minor, int of_patch) const {
    return minor > of_minor || (minor == of_minor && patch >= of_patch);
  }
  std::string text() const;
};

/// Of a scenario or a file that asks for both.
inline constexpr const char* tensor_parallel_at_stage_3 =
    "ZeRO stage 3 with tensor parallelism takes DeepSpeed 0.19.4 or newer";

/// "0.17", "0.18.3"; without the third number the last release of that series. "" is the newest.
///   Throws  ScenarioError for what is no version, and for one that no preset describes
DeepSpeedVersion deepspeed_version(const std::string& text);

/// The one that a preset of ours is for; its text is the preset's name without "deepspeed_".
///   Result  the newest where the preset is none of a version
DeepSpeedVersion version_of_preset(const std::string& preset);

}  // namespace spillway::scenarios
