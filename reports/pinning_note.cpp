#include "reports/pinning_note.hpp"

#include "reports/human.hpp"

#include <fmt/format.h>

namespace spillway::reports {

std::string pinning_note(const answer::ImportedScenario& imported) {
  if (!imported.pinning) return "";
  const answer::PinningDefault& pinning = *imported.pinning;
  std::string words =
      fmt::format("zero_optimization.offload_optimizer.pin_memory: not set; DeepSpeed {} {}, {} {}",
                  imported.version,
                  pinning.pins ? "pins host memory (since 0.19.5)" : "does not pin host memory",
                  pinning.other_version, pinning.pins ? "does not" : "does (since 0.19.5)");
  if (const auto& cost = pinning.cost)
    words += fmt::format(": host peak {} here and {} there, step {} and {}",
                         human_memory(cost->host_bytes), human_memory(cost->other_host_bytes),
                         human_time(cost->step_time_s), human_time(cost->other_step_time_s));
  return words;
}

}  // namespace spillway::reports
