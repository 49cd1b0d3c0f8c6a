#pragma once

#include "reports/result/result.hpp"

#include <string>

namespace spillway::result {

/// Behind the name of a system whose user chooses whether blocks compute again in backward what
/// they would keep else, or what they keep waits for it in host memory.
inline constexpr const char *with_recomputation = " with recomputation",
                            *with_offloading = " with activation offloading";
/// Behind the name, or behind one of those, where the CPU multiplies by the experts.
inline constexpr const char *with_experts_on_cpu = " with experts on the CPU",
                            *and_experts_on_cpu = " and experts on the CPU";

/// The system of a result in words: "lohan", "resident with recomputation".
std::string way_of(const Result& result);

/// Whether DeepSpeed keeps checkpoints in host memory for it, which it does in trainers that call
/// deepspeed.checkpointing: those of Hugging Face keep them on the GPU.
bool needs_deepspeed_checkpointing(const Result& result);

}  // namespace spillway::result
