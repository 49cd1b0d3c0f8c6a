#pragma once

#include "reports/result/result.hpp"
#include "reports/view/text.hpp"

#include <string>

namespace spillway::reports {

/// "yes", or "no: host, gpu; first gradient_flat_buffer in init": the tiers that are too small.
std::string verdict(const result::Result& result);

/// The answer in one or two sentences: how fast and what it is limited by, or which buffer does not
/// fit where, in which phase and by how much; of an I/O bench its rate.
std::string headline(const result::Result& result);
view::Text headline_text(const result::Result& result);

/// The same in two: whether it fits, and how fast or what lacks; then what limits it, or the first
/// request that found no room, "" where nothing does.
view::Text verdict_sentence(const result::Result& result);
view::Text limit_sentence(const result::Result& result);

/// The scenario's name, else its model's and machine's, else "".
std::string scenario_title(const result::Result& result);

/// "300.0 MiB of each GPU and 4.00 GiB of host memory"; "" where nothing is kept for the system.
std::string reserves(const result::Result& result);

/// By how many steps kernels see updates late, in the mean and, where that differs, at most:
/// "11.0 steps, 12 at most"; "" where they see each in time.
view::Text lateness_words(const result::Result& result);

/// GPUs of the machine, and how many of them the scenario uses; both 0 where it does not say.
struct GpuUse {
  std::uint64_t used = 0, all = 0;
  std::uint64_t idle() const { return all - used; }
};
GpuUse gpu_use(const result::Result& result);

/// Bytes of a tier as it is sold: memory in GiB, storage in GB.
std::string tier_bytes(const std::string& tier, std::uint64_t bytes);
view::Number tier_number(const std::string& tier, std::uint64_t bytes);

/// "GPU memory", "host memory", "SSD".
std::string tier_name(const std::string& tier);

}  // namespace spillway::reports
