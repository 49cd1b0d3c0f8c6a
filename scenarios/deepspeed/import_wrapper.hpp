#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/text/text.hpp"
#include "scenarios/deepspeed/deepspeed_keys.hpp"
#include "scenarios/deepspeed/deepspeed_version.hpp"

namespace spillway::scenarios {

/// What DeepSpeed puts around the optimizer that it is given.
enum class Wrapper {
  none,  ///< PyTorch's own optimizer steps weights of 32 bits
  /// Stages 1 to 3, but what BF16_Optimizer takes.
  zero,
  /// Masters and states are shared between ranks as in stage 1, whatever the stage says, beside
  /// fp32 gradients of all weights.
  bf16_optimizer,
  /// Each GPU has all masters and states; of weights in bf16 too.
  fp16_optimizer
};

struct WrapperFound {
  Wrapper wrapper = Wrapper::none;
  std::string accumulation = "fp16";  ///< type in which gradients add up: fp32 fp16 bf16
  std::vector<text::Text> notes;      ///< what follows from it that the file does not say
};

/// By stage, types and version. Where DeepSpeed stops at them, `keys` has the complaint.
///   stage, offloads  as the file has them
WrapperFound read_wrapper(DeepSpeedKeys& keys, const DeepSpeedVersion& version,
                          const std::string& precision, std::uint64_t stage, bool offloads);

}  // namespace spillway::scenarios
