#pragma once

#include "reports/result/result.hpp"
#include "scenarios/description/scenario.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::explore {

/// Settings of a job that cost nothing.
struct FreeSettings {
  std::string words;                   ///< "training.loss fused and training.fused_kernels true"
  std::vector<std::string> overrides;  ///< the same as "path=value"
  std::string such_as;                 ///< who has them: "Liger Kernel's"
  bool frees_gpu = false;              ///< GPU memory, at the cost of host memory
};

/// What a trainer has from Liger Kernel: a loss that never holds whole logits, and kernels that
/// keep nothing between their operators; of a frozen base in 8 or 4 bits then also, beside them,
/// experts as modules, which alone are quantised. None where the job has all of it.
///   Source  bitsandbytes packs nn.Linear; transformers 4 has such modules, and Axolotl quantises
///           experts that lie in one tensor
///   overrides  "path=value" of the user, who may have named either
std::vector<FreeSettings> fused_of(const description::Scenario& scenario,
                                   const std::vector<std::string>& overrides = {});

/// Of weights on drives as many in host memory as has room there, beside what the run keeps in it,
/// or all of them; nothing where none do, or the user says how many.
std::optional<FreeSettings> idle_host_of(const result::Result& run,
                                         const std::vector<std::string>& overrides = {});

/// Of weights on drives a part in host memory that the run leaves idle, the largest first: as many
/// as would fill it, and as idle_host_of leaves a twentieth free.
std::vector<FreeSettings> weights_in_idle_host_of(const result::Result& run);

/// Gradients that wait in host memory for an update by the CPU as the 16 bits that backward makes,
/// in place of fp32 sums of them; nothing where they are, or the user says how wide they are.
std::optional<FreeSettings> narrow_gradients_of(const description::Scenario& scenario,
                                                const std::vector<std::string>& overrides = {});

/// The same in pageable memory, which is not rounded up to a power of two as pinned buffers are;
/// nothing where nothing is rounded, or the user says which memory it is.
std::optional<FreeSettings> pageable_gradients_of(const description::Scenario& scenario,
                                                  const std::vector<std::string>& overrides = {});

/// What makes such gradients smaller, each more than the one before: as narrow_gradients_of; then
/// as pageable_gradients_of as well. None of adapters, whose gradients are small.
std::vector<FreeSettings> smaller_gradients_of(const description::Scenario& scenario,
                                               const std::vector<std::string>& overrides = {});

/// Inputs of blocks that wait in host memory for backward, in place of GPU memory; nothing where
/// they do, where blocks do not run again, or the user says what happens to activations.
std::optional<FreeSettings> checkpoints_in_host_of(const description::Scenario& scenario,
                                                   const std::vector<std::string>& overrides = {});

/// What is tried in place of a way that has no room, in this order: as checkpoints_in_host_of; each
/// of smaller_gradients_of; the last of these with such checkpoints too.
std::vector<FreeSettings> less_memory_of(const description::Scenario& scenario,
                                         const std::vector<std::string>& overrides = {});

/// Whether one of them sets the path.
bool name_path(const std::vector<std::string>& overrides, const std::string& path);

}  // namespace spillway::explore
